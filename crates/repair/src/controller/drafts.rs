//! What comes of a request for a plan, and which of several drafts is run.

use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Plan, PlanDraft, Violations};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::PlanReply;

use super::ahead::Ahead;

/// What came of a request for a plan.
pub(super) enum Heard {
    Answer(PlanReply, Ahead),
    /// A model wrote no valid plan.
    Invalid(Violations),
}

/// The first draft that passes the check and whose first step binds to what is seen now, else the first that passes;
/// the first of all if none does.
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
        Ok(plan) if plan.bind(0, observation).is_ok() => 0,
        Ok(_) => 1,
        Err(_) => 2,
    })
}
