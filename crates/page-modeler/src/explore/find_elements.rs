//! Finds the elements that match a selector: role, name, text and attributes of each, with frame and nearest candidate.

use std::time::Instant;

use cuebook_grammar::action::FindElements;
use cuebook_grammar::id::{NodeKey, PageId};
use cuebook_grammar::seam::Finding;
use cuebook_probe::ProbeError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::in_frames::{in_frames, nearest_candidate};
use crate::error::ModelError;
use crate::modeler::LivePageModeler;

/// The most elements that are returned.
const HITS: usize = 100;

#[derive(Deserialize)]
struct FindReply {
    total: u64,
    elements: Vec<Value>,
}

pub(super) async fn find_elements(
    modeler: &mut LivePageModeler,
    page: &PageId,
    find: &FindElements,
    until: Instant,
) -> Result<Finding, ModelError> {
    let within: Option<NodeKey> = match &find.within {
        None => None,
        Some(target) => {
            let node = target.candidate_id().and_then(|id| modeler.node(page, id));
            if node.is_none() {
                return Ok(Finding::Refused(format!("`{target}` is not a candidate of the last observation")));
            }
            node
        }
    };
    let probe = modeler.probe(page, until).await?;
    let attributes: Vec<&str> = find.attributes.iter().flatten().map(|name| name.as_str()).collect();
    let node = within.as_ref().map_or(0, |key| key.node);
    let args = [json!(find.selector.as_str()), json!(attributes), json!(node), json!(HITS)];
    let function = "(cb, selector, attributes, within, limit) => cb.walk.find(selector, attributes, within, limit)";
    let answers = match in_frames(&probe, function, &args, until).await {
        Err(ModelError::Probe(ProbeError::BadSelector { message })) => {
            return Ok(Finding::Refused(format!("expected a valid selector: {message}")));
        }
        other => other?,
    };
    let mut total = 0;
    let mut elements = Vec::new();
    for frame in answers {
        if within.as_ref().is_some_and(|key| key.frame != frame.world.frame().as_str()) {
            continue;
        }
        let found: FindReply = serde_json::from_str(&frame.text).map_err(ProbeError::from)?;
        total += found.total;
        for mut element in found.elements {
            if elements.len() >= HITS {
                break;
            }
            if let Some(object) = element.as_object_mut() {
                object.remove("node");
                let nearest = object.get("nearest").and_then(Value::as_u64).unwrap_or(0);
                object.insert("nearest".into(), nearest_candidate(modeler, page, &frame.world, nearest));
                frame.tag(object);
            }
            elements.push(element);
        }
    }
    Ok(Finding::Data(json!({ "total": total, "elements": elements })))
}
