//! Requests to a planner, their results, and the choice of which of several drafts is run.

use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Plan, PlanDraft, Violations};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::PlanReply;

use super::ahead::StreamedPrefix;
use crate::again::is_seen_to_fail;

/// Kind of plan that a planner is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanKind {
    /// The plan of a task, of which steps may run while it arrives.
    Plan,
    /// The steps that mend one step of a plan.
    Mending,
}

/// Result of a request for a plan.
pub(super) enum PlannerReply {
    Answer(PlanReply, StreamedPrefix),
    /// A model wrote no valid plan.
    Invalid(Violations),
}

/// The first draft that passes the check, whose first step binds to what is seen now, and none of whose first preconditions
/// is seen to fail; else the first that lacks the last of these, else the first that passes; the first of all if none does.
pub(super) fn best(
    drafts: Vec<PlanDraft>,
    observation: &Observation,
    policy: &Policy,
) -> Option<(PlanDraft, Result<Plan, Violations>)> {
    let judged = drafts.into_iter().map(|draft| {
        let plan = draft.check(observation, policy);
        (draft, plan)
    });
    judged.min_by_key(|(_, plan)| match plan {
        Ok(plan) if plan.bind(0, observation).is_err() => 2,
        Ok(plan) => u8::from(begins_unmet(plan, observation)),
        Err(_) => 3,
    })
}

/// Which of several drafts [`best`] takes, and why it does not take each other one.
pub(super) fn choice(drafts: &[PlanDraft], page: &Observation, policy: &Policy) -> (usize, Vec<String>) {
    let judged: Vec<(u8, String)> = drafts
        .iter()
        .map(|draft| match draft.check(page, policy).and_then(|plan| plan.bind(0, page).map(drop).map(|()| plan)) {
            Ok(plan) if begins_unmet(&plan, page) => {
                (1, "a condition before its first steps is seen to fail".to_owned())
            }
            Ok(_) => (0, "it holds too, and came after the one that was taken".to_owned()),
            Err(violations) => {
                let rank = if draft.check(page, policy).is_ok() { 2 } else { 3 };
                let first = violations.first().map(ToString::to_string).unwrap_or_default();
                (rank, first)
            }
        })
        .collect();
    let taken = (0..judged.len()).min_by_key(|at| judged[*at].0).unwrap_or(0);
    let others = judged.into_iter().enumerate().filter(|(at, _)| *at != taken).map(|(_, (_, why))| why).collect();
    (taken, others)
}

/// Returns `true` if the page shows that a precondition fails of a step that runs on the page as it is: one before
/// which steps only read.
fn begins_unmet(plan: &Plan, page: &Observation) -> bool {
    let mut has_acted = false;
    plan.steps()
        .iter()
        .take_while(|checked| {
            !std::mem::replace(&mut has_acted, checked.step.action.kind().meta().effect != EffectClass::ReadOnly)
        })
        .flat_map(|checked| &checked.step.pre)
        .any(|condition| is_seen_to_fail(condition, page))
}
