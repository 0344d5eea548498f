//! Step to outcome: resolve, check, arm, act, await, gather evidence.
//!
//! A [`LiveExecutor`] takes a bound step and a tab and answers with what became of it. Expected failure is
//! an outcome; an error means that the machinery broke.
//!
//! Invariants:
//! - Input reaches the element that the step means, or nobody: a guard in every frame stops the rest.
//! - Postconditions are armed before the first event is sent, and judged by the language on what was seen.
//! - After the deadline of a step nothing of it fires any more.
//! - What was typed into sensitive fields leaves this crate as digests only.
//!
//! Cost: a click on a page with one frame takes six round trips, of which the actionability check waits
//! for one animation frame.

mod actionability;
mod actions;
mod closed_roots;
mod downloads;
mod effects;
mod error;
mod executor;
mod facts;
mod hit_target;
mod input;
mod network;
mod options;
mod outside;
mod postconditions;
mod projection;
mod redaction;
mod resolve;
mod run;
mod script;
mod step;
mod stop;
mod verdicts;

pub use error::ExecutorError;
pub use executor::LiveExecutor;
pub use options::{BeforeUnload, ExecutorOptions, PeopleInput, ScreenshotMode};
pub use outside::{OutsideHandler, OutsideOptions};
