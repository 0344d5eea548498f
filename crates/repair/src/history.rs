//! What planners see of the past.

use cuebook_grammar::outcome::{EffectRecord, StepOutcome, remark};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::seam::{HistoryEntry, PlannedStep};
use cuebook_grammar::step::Step;

/// The entry of a step that ran. `step` is the redacted one.
pub(crate) fn entry(
    step: Step,
    bound: &BoundStep,
    outcome: &StepOutcome,
    planned: Option<PlannedStep>,
) -> HistoryEntry {
    let effects = outcome.evidence().effects.as_ref();
    let (failure, remark, data) = match outcome {
        StepOutcome::Succeeded(success) => {
            (None, remark(success.evidence.no_observed_effect, effects), success.data.clone())
        }
        StepOutcome::Failed(failure) => (Some(format!("{}: {}", failure.cause.as_str(), failure.message)), None, None),
    };
    HistoryEntry {
        target: bound.main_target().and_then(|(_, target)| target.candidate()).map(|candidate| candidate.title()),
        failure,
        remark,
        data,
        changed_page: effects.is_some_and(EffectRecord::changes_page),
        planned,
        ..HistoryEntry::of(step)
    }
}
