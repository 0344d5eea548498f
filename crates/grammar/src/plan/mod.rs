//! Plans: what a planner proposes ([`PlanDraft`]), and what may run ([`Plan`]).
//!
//! Invariant: a [`Plan`] is only made by [`PlanDraft::check`], and a [`BoundStep`] only by [`Plan::bind`].
//! One in hand has no target that is neither observed nor declared, no verb that its target does not
//! support, no state-changing step without a postcondition, and nothing that the policy forbids.

mod bind;
mod check;
mod draft;
mod observed;
mod support;
#[cfg(test)]
mod tests;
mod violation;

pub use bind::{BoundStep, BoundTarget};
pub use check::{CheckedStep, Plan, StatedCondition};
pub use draft::lenient::members as lenient;
pub use draft::{Author, MAX_GOAL, MAX_STEPS, PLAN_VERSION, PlanContext, PlanDraft};
pub use violation::{Violation, ViolationCode, Violations, listed};
