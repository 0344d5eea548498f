//! From a query to its answer.

use std::time::Instant;

use cuebook_grammar::id::PageId;
use cuebook_grammar::redaction::redacted;
use cuebook_grammar::render::{TextOptions, text};
use cuebook_grammar::seam::{Finding, Query};
use serde_json::Value;

use super::{find_elements, resolve_selector, search_page};
use crate::error::ModelError;
use crate::modeler::{LivePageModeler, next_dialog};
use crate::read::read;

pub(crate) async fn explore(
    modeler: &mut LivePageModeler,
    page: &PageId,
    query: &Query,
    until: Instant,
) -> Result<Finding, ModelError> {
    let wire = modeler.page(page)?;
    let mut events = wire.events();
    if wire.dialog().is_some() && !matches!(query, Query::Snapshot(_)) {
        return Ok(Finding::DialogOpen);
    }
    tokio::select! {
        found = answer(modeler, page, query, until) => found,
        Some(_) = next_dialog(&mut events) => Ok(Finding::DialogOpen),
    }
}

async fn answer(
    modeler: &mut LivePageModeler,
    page: &PageId,
    query: &Query,
    until: Instant,
) -> Result<Finding, ModelError> {
    match query {
        Query::Snapshot(scope) => {
            let mut observation = modeler.observe_page(page, *scope, until).await?;
            read(modeler, &mut observation, until).await?;
            // Before it is cut: half a secret would not be found.
            let whole = match modeler.redactor() {
                Some(redactor) => redacted(observation, redactor),
                None => Ok(observation),
            };
            Ok(match whole {
                Ok(observation) => Finding::Data(Value::String(text(&observation, &TextOptions::default()))),
                Err(error) => Finding::Refused(format!("the page cannot be shown: {error}")),
            })
        }
        Query::Search(search) => search_page::search_page(modeler, page, search, until).await,
        Query::Find(find) => find_elements::find_elements(modeler, page, find, until).await,
        Query::Resolve(selector) => resolve_selector::resolve(modeler, page, selector, until).await,
    }
}
