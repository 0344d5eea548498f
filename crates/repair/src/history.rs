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
    let evidence = outcome.evidence();
    let effects = evidence.effects.as_ref();
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
        no_effect: evidence.no_observed_effect,
        refused: effects.and_then(refused),
        planned,
        ..HistoryEntry::of(step)
    }
}

/// The first answer from 400 to what a step asked for: a document, or a request that changes something. What a page
/// fetches beside them fails all day.
fn refused(effects: &EffectRecord) -> Option<String> {
    let is_document = |url: &str| effects.changes_page() && effects.url_after.as_deref() == Some(url);
    effects.requests.iter().find_map(|request| {
        let status = request.status.filter(|status| *status >= 400)?;
        let is_reading = matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        (!is_reading || is_document(&request.url))
            .then(|| format!("{} {} answered {status}", request.method, request.url))
    })
}
