//! Values of a page that a caller knows without being told: its own steps set them, and moved the focus.

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Candidate;
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
        match action {
            Action::SetValue(_) if is_as_set(action, seen.value.as_ref()) => known.value.clone_from(&seen.value),
            Action::Check(_) | Action::Uncheck(_) => known.states.checked = seen.states.checked,
            _ => {}
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

/// Returns `true` if the value is what the step states. A secret is judged by the step's own postcondition.
fn is_as_set(action: &Action, seen: Option<&FactText>) -> bool {
    match (action.text(), seen) {
        (Some(text), Some(seen)) => seen.clear() == text.clear(),
        (Some(text), None) => text.clear() == Some(""),
        (None, Some(FactText::Redacted { .. })) => action.credential().is_some(),
        (None, _) => false,
    }
}
