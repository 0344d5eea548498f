//! Replay: from the log of a run to a plan that needs no planner, what a second run did differently, and which parts of a
//! run that failed are enough to fail.
//!
//! Invariants:
//! - A [`Recording`] is made from a log and what lies beside it, and is one document; a [`Comparison`] is made from it and
//!   another log. Whoever runs the plan is above this crate.
//! - What was redacted is never replayed: it is replaced by a credential, or the recording is refused.
//! - A step that policy or a person stopped is no part of a recording.
//!
//! Deliberately absent: fixtures. A recording says what to do, not what the network answered; where its requests are
//! served from is the business of whoever opens the browser.

mod compare;
mod heal;
mod naming;
mod pictures;
mod recording;
mod reduction;
mod signature;
mod trace;
mod urls;

pub use compare::{COMPARISON_VERSION, Comparison, Divergence, DivergenceKind, compare};
pub use pictures::compare_pictures;
pub(crate) use recording::origin;
pub use recording::{Former, RECORDING_VERSION, Recorded, Recording};
pub use reduction::Reduction;
pub use signature::Signature;
pub use trace::{Method, StepTrace, TracedBody, TracedRequest};
pub use urls::{Aspect, BadAspects, Likeness};

#[cfg(test)]
mod tests;
