//! Steps that undo one whose postcondition failed, as far as its effects tell.

use crate::action::{Action, Nothing, Press, SetValue};
use crate::facts::{Facts, Sample};
use crate::id::TargetRef;
use crate::outcome::{Cause, StepFailure};
use crate::secret::FactText;
use crate::step::Step;

impl StepFailure {
    /// Steps that lead back to where the failed step began; empty if nothing does, or if it sent a request that may have
    /// changed something on a server. They are offered to a planner, and carried out only if a plan has them: the
    /// condition may have been wrong, and what came of the step right.
    #[must_use]
    pub fn ways_back(&self) -> Vec<Step> {
        let effects = self.evidence.effects.as_ref();
        let has_asked_server = effects.is_some_and(|effects| effects.requests.iter().any(|request| request.changes()));
        if self.cause != Cause::PostconditionFailed || !self.evidence.input_sent || has_asked_server {
            return Vec::new();
        }
        let is_elsewhere = effects.is_some_and(|effects| effects.url_after != effects.url_before);
        let opened = |change: &String| ["+dialog", "+menu", "+listbox"].iter().any(|kind| change.starts_with(kind));
        if is_elsewhere {
            return vec![Action::GoBack(Nothing {}).into()];
        }
        if effects.is_some_and(|effects| effects.mutations.notable.iter().any(opened)) {
            return vec![Press::keys("Escape").into()];
        }
        let former = self.facts.conditions.as_ref().and_then(former_value);
        former.map(|(target, value)| SetValue::to(target, &value).into()).into_iter().collect()
    }
}

/// A field whose value is another one than before, and that value.
fn former_value(facts: &Facts) -> Option<(TargetRef, String)> {
    let (before, after) = (facts.before.as_ref()?, facts.samples.last()?);
    let value = |sample: &Sample, target: &TargetRef| {
        let element = sample.targets.get(target)?.element.as_ref()?;
        element.value.as_ref().and_then(FactText::clear).map(str::to_owned)
    };
    before.targets.keys().find_map(|target| {
        let (was, is) = (value(before, target)?, value(after, target)?);
        (was != is).then(|| (target.clone(), was))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::outcome::Stage;

    fn ways(cause: Cause, effects: Value, facts: Option<Value>) -> Vec<Value> {
        let mut failure = StepFailure::new(Stage::Postcondition, cause, "m");
        failure.evidence.input_sent = true;
        failure.evidence.effects = Some(serde_json::from_value(effects).unwrap());
        failure.facts.conditions = facts.map(|facts| serde_json::from_value(facts).unwrap());
        failure.ways_back().iter().map(|step| serde_json::to_value(step).unwrap()).collect()
    }

    #[test]
    fn a_failed_step_is_undone_by_what_came_of_it() {
        let failed = Cause::PostconditionFailed;
        let moved = json!({ "urlBefore": "http://a.test/", "urlAfter": "http://a.test/b" });
        assert_eq!(ways(failed, moved.clone(), None), [json!({ "type": "goBack" })]);
        let opened = json!({ "mutations": { "notable": ["+dialog \"Settings\""] } });
        assert_eq!(ways(failed, opened, None), [json!({ "type": "press", "keys": "Escape" })]);
        let mut sent = moved.clone();
        sent["requests"] = json!([{ "method": "POST", "url": "http://a.test/save" }]);
        assert_eq!(ways(failed, sent, None), [Value::Null; 0], "a server may have changed something");
        assert_eq!(ways(Cause::Covered, moved, None), [Value::Null; 0]);
        let field = |value: &str| {
            json!({ "atMs": 0, "url": "", "title": "", "targets": { "c1": { "matches": 1,
            "element": { "role": "textbox", "name": "Town", "value": value } } } })
        };
        let facts = json!({ "before": field("Bern"), "samples": [field("Basel")] });
        let back = json!({ "type": "setValue", "targetRef": "c1", "value": "Bern" });
        assert_eq!(ways(failed, json!({}), Some(facts)), [back]);
    }
}
