//! Which candidate a raw selector names.

use std::time::Instant;

use cuebook_grammar::action::ResolveSelector;
use cuebook_grammar::id::PageId;
use cuebook_grammar::locator::{ByCss, ByXPath, Locator, Strategy};
use cuebook_grammar::observation::Scope;
use cuebook_grammar::seam::Finding;
use cuebook_probe::{Ask, ProbeError};
use serde_json::json;

use crate::error::ModelError;
use crate::model::clean;
use crate::modeler::LivePageModeler;

pub(super) async fn resolve(
    modeler: &mut LivePageModeler,
    page: &PageId,
    selector: &ResolveSelector,
    until: Instant,
) -> Result<Finding, ModelError> {
    let strategy = match (&selector.css, &selector.xpath) {
        (Some(css), None) => Strategy::Css(ByCss { selector: css.clone() }),
        (None, Some(xpath)) => Strategy::XPath(ByXPath { expression: xpath.clone() }),
        _ => return Ok(Finding::Refused("expected one of css and xpath".to_owned())),
    };
    let probe = modeler.probe(page, until).await?;
    let located = match probe.locate(&Locator::from(strategy), &Ask::default(), until).await {
        Err(ProbeError::BadSelector { message }) => {
            return Ok(Finding::Refused(format!("expected a valid selector: {message}")));
        }
        other => other?,
    };
    let Some(found) = located.unique() else {
        return Ok(Finding::Refused(format!("{} elements match, not one", located.matches.len())));
    };
    let key = found.key.clone();
    if let Some(id) = modeler.candidate_at(page, &key) {
        return Ok(Finding::Candidate(id));
    }
    modeler.observe_page(page, Scope::Full, until).await?;
    Ok(match modeler.candidate_at(page, &key) {
        Some(id) => Finding::Candidate(id),
        None => Finding::Refused(format!(
            "{} {} cannot be acted on",
            found.facts.role,
            json!(clean::cut(&found.facts.name, 80))
        )),
    })
}
