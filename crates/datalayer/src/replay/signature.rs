//! By what a failure is recognised.

use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::record::{RecordedTarget, RunResult, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::verdict::Verdict;
use serde::Serialize;

use super::urls::{Likeness, Side};
use crate::log::Run;

/// The failure that a run ended with, without what differs from one run to the next: times, ids, messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Signature {
    /// The verb of the step.
    pub verb: &'static str,
    /// Meaning of its target: the declared locator, or role and name of the observed candidate. `None` for verbs
    /// without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The URL of the page, without what looks generated.
    pub page: String,
    /// The stage at which it failed.
    pub stage: Stage,
    /// The cause of its failure.
    pub cause: Cause,
    /// The conditions that it waited for or asserted, or that did not hold before or after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Problems in the page because of the step, in words: alerts, refused values, failed requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Signature {
    /// That of the step that `run` ended with; `None` if it ended otherwise.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        let at = failed_step(run)?;
        let record = run.steps.get(at)?;
        let failure = record.failure.as_ref()?;
        let judged = match failure.stage {
            Stage::Precondition => &record.pre_check[..],
            Stage::Postcondition => &record.post_check,
            _ => &[],
        };
        let broken = if failure.cause == Cause::EffectUnknown { Verdict::Unknown } else { Verdict::Fails };
        let judged = judged.iter().filter(|judged| judged.verdict == broken).map(|judged| &judged.condition);
        let own = record.action.action.condition();
        let problems = record.effects.iter().flat_map(|effects| &effects.problems);
        Some(Self {
            verb: record.action.action.kind().meta().name,
            target: record.action.action.target().map(|target| meaning(record, target)),
            page: Likeness::default().url(Side::Recorded, url_before(run, at)?).unwrap_or_default(),
            stage: failure.stage,
            cause: failure.cause,
            conditions: own.into_iter().chain(judged).cloned().collect(),
            problems: problems.map(|problem| problem.message.clone()).collect(),
        })
    }

    /// Returns `true` if both may be of one failure, though one run named its targets by observed ids and the other by
    /// locators.
    #[must_use]
    pub fn resembles(&self, other: &Self) -> bool {
        (self.verb, &self.page, self.stage, self.cause) == (other.verb, &other.page, other.stage, other.cause)
            && self.conditions.len() == other.conditions.len()
    }
}

/// The position of the step of a plan that `run` ended with, if that step failed. Repairs that were tried in vain may
/// come after it.
pub(super) fn failed_step(run: &Run) -> Option<usize> {
    let ended_well = run.end.as_ref().is_some_and(|end| end.result == RunResult::Ok);
    let last = run.steps.iter().rposition(|record| record.origin == StepOrigin::Plan)?;
    let is_failed = run.steps.get(last).is_some_and(|record| record.result == StepResult::Failed);
    (is_failed && !ended_well).then_some(last)
}

/// The URL of the page that a step began on. Without an observation for it, its record has that of an earlier one.
fn url_before(run: &Run, at: usize) -> Option<&str> {
    let record = run.steps.get(at)?;
    let earlier = run.steps.get(..at)?.iter().rev().find_map(|step| step.effects.as_ref()?.url_after.as_deref());
    Some(earlier.filter(|_| record.observation.is_none()).unwrap_or(&record.url))
}

/// One whose locator the plan declares has that meaning, whatever it finds.
fn meaning(record: &StepRecord, target: &TargetRef) -> String {
    match record.candidates.get(target) {
        Some(RecordedTarget::Observed(candidate)) => format!("{} {:?}", candidate.role, candidate.name),
        Some(RecordedTarget::Declared(locator)) => locator.to_string(),
        None => target.to_string(),
    }
}
