//! Values of a page that a caller knows without being told: its own steps set them, and moved the focus.

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{StepOrigin, StepResult};
use cuebook_grammar::report::{RunReport, StepReport};
use cuebook_grammar::secret::FactText;

/// Adds to what was `shown` the values that steps of the caller set and that the page has `now`. A value that the page made
/// another of is no part of that, nor is anything else that came of a step.
pub(crate) fn take_in(shown: &mut Observation, now: &Observation, report: &RunReport) {
    let of_caller = |step: &&StepReport| step.origin == StepOrigin::Plan && matches!(step.result, StepResult::Ok);
    let mut targets = Vec::new();
    for step in report.steps.iter().filter(of_caller) {
        let action = &step.action.action;
        let Some(id) = action.target().and_then(|target| target.candidate_id()) else { continue };
        targets.push(id);
        let (Some(known), Some(seen)) = (find(shown, id), now.candidates.iter().find(|it| it.id == id)) else {
            continue;
        };
        if is_as_set(action, seen) {
            known.value.clone_from(&seen.value);
            known.states.checked = seen.states.checked;
        }
    }
    let Some(focused) = now.candidates.iter().find(|it| it.states.focused && targets.contains(&it.id)) else { return };
    for candidate in &mut shown.candidates {
        candidate.states.focused = candidate.id == focused.id;
    }
}

fn find(page: &mut Observation, id: CandidateId) -> Option<&mut Candidate> {
    page.candidates.iter_mut().find(|candidate| candidate.id == id)
}

/// Returns `true` if an element has what the step gives it. A secret is judged by the step's own postcondition.
fn is_as_set(action: &Action, seen: &Candidate) -> bool {
    match action {
        Action::Check(_) => seen.states.checked == Some(Toggle::True),
        Action::Uncheck(_) => seen.states.checked == Some(Toggle::False),
        Action::SetValue(set) => match (&set.value, &seen.value) {
            (Some(text), Some(seen)) => seen.clear() == text.clear(),
            (Some(text), None) => text.clear() == Some(""),
            (None, Some(FactText::Redacted { .. })) => set.credential_ref.is_some(),
            (None, _) => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::sample::page;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_page_made_another_of_is_not_as_it_was_set() {
        let mut seen = page("checkbox \"All\"").candidates.remove(0);
        let is_set =
            |step: serde_json::Value, seen: &Candidate| is_as_set(&serde_json::from_value(step).unwrap(), seen);
        let [check, uncheck] = ["check", "uncheck"].map(|verb| json!({ "type": verb, "targetRef": "c1" }));
        for (now, is_on, is_off) in
            [(Toggle::True, true, false), (Toggle::False, false, true), (Toggle::Mixed, false, false)]
        {
            seen.states.checked = Some(now);
            assert_eq!((is_set(check.clone(), &seen), is_set(uncheck.clone(), &seen)), (is_on, is_off), "{now:?}");
        }
        let set = json!({ "type": "setValue", "targetRef": "c1", "value": "ann" });
        for (now, is_as_set) in [("ann", true), ("ANN", false), ("", false)] {
            seen.value = Some(FactText::Clear(now.to_owned()));
            assert_eq!(is_set(set.clone(), &seen), is_as_set, "{now}");
        }
    }
}
