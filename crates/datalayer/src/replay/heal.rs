//! A recording that fits the page as the replay found it.

use cuebook_grammar::action::Action;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::record::{RecordedTarget, StepRecord, StepResult};
use cuebook_grammar::step::Step;

use super::compare::{pairs, repairs_of};
use super::naming::Names;
use super::recording::{Former, Recorded, Recording, describe, is_opening, is_redacted};
use super::trace::StepTrace;
use crate::log::Run;

impl Recording {
    /// The recording with the targets that `replayed` found by other means, and with the repairs that it needed as steps
    /// before those that needed them. Everything else stays as it is. `None` if a step was not carried out, or cannot be
    /// described.
    #[must_use]
    pub fn healed(&self, replayed: &Run) -> Option<Self> {
        let mut healed = self.clone();
        healed.plan.steps.clear();
        healed.traces.clear();
        healed.recorded = replayed.header.as_ref().map(Recorded::of);
        let opening = replayed.steps.iter().rev().find(|record| is_opening(record));
        healed.traces.extend(opening.and_then(|record| StepTrace::of(0, record)));
        let mut names = Names { declared: self.plan.candidates.clone() };
        let records = pairs(self, replayed);
        let records = records.iter().filter(|pair| pair.number > 0).map(|pair| pair.replayed);
        for (step, record) in self.plan.steps.iter().zip(records) {
            let record = record.filter(|record| record.result == StepResult::Ok)?;
            for repair in repairs_of(record, replayed) {
                healed.plan.steps.push(declared(repair, &mut names, &mut healed.targets)?);
                healed.trace(repair);
            }
            for (was, is) in step.action.targets().into_iter().zip(record.action.action.targets()) {
                if let Some(RecordedTarget::Observed(_)) = record.candidates.get(is) {
                    let (locator, former) = describe(record, is)?;
                    names.declared.insert(was.clone(), locator);
                    healed.targets.insert(was.clone(), former);
                }
            }
            healed.plan.steps.push(acting_as(step, record));
            healed.trace(record);
        }
        healed.targets.retain(|_, former| *former != Former::default());
        healed.plan.candidates = names.declared;
        Some(healed)
    }

    /// Adds what came of the last step of the plan.
    fn trace(&mut self, record: &StepRecord) {
        let number = u32::try_from(self.plan.steps.len()).unwrap_or(u32::MAX);
        self.traces.extend(StepTrace::of(number, record));
    }
}

/// The step of the plan, in the way in which a repair carried it out.
fn acting_as(step: &Step, record: &StepRecord) -> Step {
    let mut step = step.clone();
    if record.action.action.kind() != step.action.kind()
        && let (Some(is), Some(was)) = (record.action.action.target(), step.action.target())
        && !is_redacted(&record.action.action)
    {
        let (is, was) = (is.clone(), was.clone());
        let mut action: Action = record.action.action.clone();
        action.retarget(&|target| if *target == is { was.clone() } else { target.clone() });
        step.action = action;
    }
    step
}

/// A repair as a step of the plan.
fn declared(
    repair: &StepRecord,
    names: &mut Names,
    targets: &mut std::collections::BTreeMap<TargetRef, Former>,
) -> Option<Step> {
    let mut step = repair.action.clone();
    let mut renamed = Vec::new();
    for target in repair.action.targets() {
        let (locator, former) = describe(repair, target)?;
        let name = names.declare(&super::recording::words(repair, target), &locator)?;
        targets.entry(name.clone()).or_insert(former);
        renamed.push((target.clone(), name));
    }
    step.retarget(&|target| {
        renamed.iter().find(|(from, _)| from == target).map_or_else(|| target.clone(), |(_, to)| to.clone())
    });
    (!is_redacted(&step)).then_some(step)
}
