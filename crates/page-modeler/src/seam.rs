//! The seam `PageModeler`, on live pages.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::seam::{Finding, Image, PageModeler, Query};

use crate::error::ModelError;
use crate::modeler::LivePageModeler;
use crate::{explore, picture};

impl PageModeler for LivePageModeler {
    type Error = ModelError;

    #[tracing::instrument(name = "observe", skip_all)]
    async fn observe(&mut self, page: &PageId, scope: Scope, deadline: Deadline) -> Result<Observation, ModelError> {
        self.observe_page(page, scope, deadline.instant()).await
    }

    #[tracing::instrument(name = "explore", skip_all)]
    async fn explore(&mut self, page: &PageId, query: &Query, deadline: Deadline) -> Result<Finding, ModelError> {
        explore::explore(self, page, query, deadline.instant()).await
    }

    #[tracing::instrument(name = "picture", skip_all)]
    async fn picture(
        &mut self,
        page: &PageId,
        observation: &Observation,
        deadline: Deadline,
    ) -> Result<Option<Image>, ModelError> {
        Ok(picture::take(&self.page(page)?, observation, deadline.instant()).await)
    }
}
