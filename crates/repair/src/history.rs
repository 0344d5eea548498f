//! What planners are told of the past.

use cuebook_grammar::outcome::{StepFailure, StepSuccess};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::seam::HistoryEntry;
use cuebook_grammar::step::Step;

fn target_of(bound: &BoundStep) -> Option<String> {
    bound.main_target().and_then(|(_, target)| target.candidate()).map(cuebook_grammar::candidate::Candidate::title)
}

/// The entry of a step that did what it said. `step` is the redacted one.
pub(crate) fn of_success(step: Step, bound: &BoundStep, success: &StepSuccess) -> HistoryEntry {
    HistoryEntry {
        step,
        target: target_of(bound),
        failure: None,
        data: success.data.clone(),
        changed_page: success.evidence.effects.as_ref().is_some_and(|effects| effects.changes_page()),
    }
}

/// The entry of a step that did not.
pub(crate) fn of_failure(step: Step, bound: Option<&BoundStep>, failure: &StepFailure) -> HistoryEntry {
    HistoryEntry {
        step,
        target: bound.and_then(target_of),
        failure: Some(format!("{}: {}", failure.cause.as_str(), failure.message)),
        data: None,
        changed_page: failure.evidence.effects.as_ref().is_some_and(|effects| effects.changes_page()),
    }
}
