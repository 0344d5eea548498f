//! The seam `PageModeler`, on live pages.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::seam::{Finding, Image, PageModeler, Query};
use cuebook_probe::picture::Secrecy;

use crate::error::ModelError;
use crate::modeler::LivePageModeler;
use crate::{explore, picture, read, unchanged};

impl PageModeler for LivePageModeler {
    type Error = ModelError;

    #[tracing::instrument(name = "observe", skip_all)]
    async fn observe(&mut self, page: &PageId, scope: Scope, deadline: Deadline) -> Result<Observation, ModelError> {
        let observed = self.observe_page(page, scope, deadline.instant()).await;
        self.noted(observed)
    }

    async fn prepare(&mut self, page: &PageId, scope: Scope, deadline: Deadline) -> Result<(), ModelError> {
        self.prepare_page(page, scope, deadline.instant()).await
    }

    #[tracing::instrument(name = "is_unchanged", skip_all)]
    async fn is_unchanged(&mut self, seen: &Observation, deadline: Deadline) -> Result<bool, ModelError> {
        unchanged::is_unchanged(self, seen, deadline.instant()).await
    }

    fn lost(&self) -> Option<Cause> {
        self.lost
    }

    #[tracing::instrument(name = "explore", skip_all)]
    async fn explore(&mut self, page: &PageId, query: &Query, deadline: Deadline) -> Result<Finding, ModelError> {
        let found = explore::explore(self, page, query, deadline.instant()).await;
        self.noted(found)
    }

    #[tracing::instrument(name = "read", skip_all)]
    async fn read(&mut self, observation: &mut Observation, deadline: Deadline) -> Result<(), ModelError> {
        let read = read::read(self, observation, deadline.instant()).await;
        self.noted(read)
    }

    #[tracing::instrument(name = "picture", skip_all)]
    async fn picture(
        &mut self,
        page: &PageId,
        observation: &Observation,
        deadline: Deadline,
    ) -> Result<Option<Image>, ModelError> {
        let probe = self.probe(page, deadline.instant()).await?;
        let secrecy = Secrecy::new(self.redactor(), false);
        Ok(picture::take(&probe, observation, secrecy, deadline.instant()).await)
    }
}
