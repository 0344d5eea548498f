//! Results of the reading steps of a plan, for people.

use std::path::Path;

use cuebook_grammar::action::Action;
use cuebook_grammar::record::{StepOrigin, StepResult};
use cuebook_grammar::report::StepReport;
use serde_json::Value;

use crate::text::{plain, plain_lines};

/// Returns the results of the reading steps of a plan in their order: texts as they are, documents as JSON, pictures by
/// their files. With several of them, each has a title.
pub(crate) fn in_words(steps: &[StepReport], run: &Path) -> String {
    let is_read = |step: &&StepReport| step.result == StepResult::Ok && step.origin == StepOrigin::Plan && reads(step);
    let read: Vec<(&StepReport, &Value)> =
        steps.iter().filter(is_read).filter_map(|step| Some((step, step.data.as_ref()?))).collect();
    let mut out = String::new();
    for (step, data) in &read {
        if read.len() > 1 {
            let number = step.plan_index.map_or(step.index, |index| index.saturating_add(1));
            out.push_str(&format!("step {number} ({}):\n", step.action.action.kind().meta().name));
        }
        out.push_str(plain_lines(&text(step, data, run)).trim_end_matches('\n'));
        out.push('\n');
    }
    out
}

/// Returns `true` if the step's result is its purpose. A page that became idle is no such result.
fn reads(step: &StepReport) -> bool {
    use Action as A;
    matches!(
        step.action.action,
        A::Extract(_)
            | A::Snapshot(_)
            | A::SearchPage(_)
            | A::FindElements(_)
            | A::ResolveSelector(_)
            | A::Screenshot(_)
            | A::Evaluate(_)
            | A::Fetch(_)
    ) || step.action.action.kind().meta().owner == cuebook_grammar::action::Owner::Handler
}

fn text(step: &StepReport, data: &Value, run: &Path) -> String {
    let member = |name: &str| data.get(name).and_then(Value::as_str);
    match (&step.action.action, data) {
        (_, Value::String(text)) => text.clone(),
        (Action::Screenshot(_), _) => match member("path") {
            Some(path) => plain(&run.join(path).display().to_string()),
            None => pretty(data),
        },
        _ => pretty(data),
    }
}

fn pretty(data: &Value) -> String {
    serde_json::to_string_pretty(data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(action: Value, data: Value) -> StepReport {
        let report = json!({
            "index": 1, "planIndex": 0, "origin": "plan", "action": action, "result": "ok", "failure": null, "data": data,
            "post": [], "effects": null, "repairs": 0, "durationMs": 5,
        });
        serde_json::from_value(report).unwrap()
    }

    #[test]
    fn what_was_read_is_printed_and_what_only_happened_is_not() {
        let extract = step(json!({ "type": "extract", "query": { "kind": "text" } }), json!("Total\u{1b}[31m: 5"));
        let idle = step(json!({ "type": "waitForIdle" }), json!({ "idle": true }));
        let picture = step(json!({ "type": "screenshot" }), json!({ "kind": "screenshot", "path": "artifacts/a.png" }));
        let run = Path::new("runs/1");
        let one = in_words(&[idle, extract.clone()], run);
        assert!(one.starts_with("Total") && !one.contains('\u{1b}') && one.ends_with(": 5\n"), "{one}");
        let two = in_words(&[extract, picture], run);
        assert!(two.starts_with("step 1 (extract):\nTotal") && two.contains("step 1 (screenshot):\nruns/1"), "{two}");
        assert_eq!(in_words(&[], run), "");
    }
}
