//! Goals that the planner `oracle` states: what the page will show once its plan is done, as far as the steps say that.
//!
//! Invariant: only the plan and the page are used, as a model could; nothing of how the suite judges the task.

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::wire;
use serde_json::{Value, json};

/// The conditions for a plan of these steps, which name the ids of `page`. `is_end` says that nothing follows them.
pub(crate) fn of(steps: &[Value], is_end: bool, page: &Observation) -> Vec<Condition> {
    let mut conditions: Vec<Value> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let target = step["targetRef"].as_str().unwrap_or_default();
        let id = TargetRef::new(target).ok().and_then(|target| target.candidate_id());
        let Some(candidate) = id.and_then(|id| page.candidate(id)) else { continue };
        let is_last = is_end && index + 1 == steps.len();
        // A field may go away with its form.
        let or_gone = |condition: Value| json!({ "kind": "anyOf", "conditions": [condition, hidden(target)] });
        match step["type"].as_str().unwrap_or_default() {
            "setValue" if is_readable(candidate) => {
                conditions.push(or_gone(json!({ "kind": "valueEquals", "target": target, "value": step["value"] })));
            }
            "type" if is_readable(candidate) => {
                conditions.push(or_gone(json!({ "kind": "valueContains", "target": target, "value": step["text"] })));
            }
            "select" if !candidate.options.is_empty() => {
                let values = if step["option"].is_array() { step["option"].clone() } else { json!([step["option"]]) };
                conditions.push(or_gone(json!({ "kind": "selectedValues", "target": target, "values": values })));
            }
            kind @ ("check" | "uncheck") => {
                conditions.push(or_gone(json!({ "kind": "checked", "target": target, "checked": kind == "check" })));
            }
            "click" | "longPress" if is_last && leads_away(step) => {
                conditions.push(json!({ "kind": "urlChanges" }));
                // What belongs to a row goes with it; a form may come back.
                if candidate.context.is_some() {
                    conditions.push(hidden(target));
                }
            }
            // What was pressed has the focus, is gone, or is called otherwise.
            "click" | "longPress" if is_last => {
                let focused = json!({ "kind": "focused", "target": target });
                let renamed = json!({ "kind": "changed", "target": target, "aspect": "name" });
                conditions.push(json!({ "kind": "anyOf", "conditions": [focused, hidden(target), renamed] }));
            }
            _ => {}
        }
    }
    // Those with secrets are none.
    conditions.into_iter().filter_map(|condition| wire::read(condition).ok()).collect()
}

/// Returns `true` if a step states that it opens another page.
pub(crate) fn leads_away(step: &Value) -> bool {
    let stated = step["post"].as_array().into_iter().flatten();
    stated.map(|condition| &condition["kind"]).any(|kind| kind == "urlChanges" || kind == "newTab")
        || ["navigate", "goBack", "goForward", "reload", "switchTab"].iter().any(|kind| step["type"] == *kind)
}

fn hidden(target: &str) -> Value {
    json!({ "kind": "hidden", "target": target })
}

/// Returns `true` if a later look shows the value.
fn is_readable(candidate: &Candidate) -> bool {
    candidate.control != ControlKind::Password
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::sample;

    use super::*;

    #[test]
    fn what_was_entered_stays_and_what_ends_the_task_shows() {
        let page = sample::page("textbox \"City\"\ntextbox \"Password\" password\nbutton \"Save\"");
        let steps = [
            json!({ "type": "setValue", "targetRef": "c1", "value": "Delft" }),
            json!({ "type": "setValue", "targetRef": "c2", "value": "hunter2" }),
            json!({ "type": "click", "targetRef": "c3" }),
        ];
        let words = |is_end| of(&steps, is_end, &page).iter().map(Condition::in_words).collect::<Vec<_>>();
        assert_eq!(words(true).len(), 2);
        assert_eq!(words(false).len(), 1, "the task goes on: {:?}", words(false));
    }
}
