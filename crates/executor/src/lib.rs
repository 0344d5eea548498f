//! Step to outcome: resolve, check, arm, act, await, gather evidence.
//!
//! A [`LiveExecutor`] runs a bound step on a tab and returns its outcome. Expected failure is an outcome; an error means
//! that the machinery broke.
//!
//! ```no_run
//! use cuebook_executor::{ExecutorError, LiveExecutor};
//! use cuebook_grammar::deadline::Deadline;
//! use cuebook_grammar::id::PageId;
//! use cuebook_grammar::observation::Observation;
//! use cuebook_grammar::outcome::StepOutcome;
//! use cuebook_grammar::plan::{Author, PlanDraft};
//! use cuebook_grammar::policy::Policy;
//! use cuebook_grammar::seam::{DenyAll, Executor as _};
//!
//! /// Clicks the button `Save` of a tab, and waits for the page to say so.
//! async fn save(executor: &mut LiveExecutor, tab: &PageId, by: Deadline) -> Result<bool, ExecutorError> {
//!     let plan = r#"{ "version": "1.0",
//!         "candidates": { "save": { "strategy": "byRole", "role": "button", "name": "Save" },
//!                         "said": { "strategy": "byRole", "role": "status" } },
//!         "steps": [{ "type": "click", "targetRef": "save",
//!                     "post": [{ "kind": "elementTextContains", "target": "said", "text": "Saved" }] }] }"#;
//!     // A declared locator is resolved when its step runs: no observation is needed.
//!     let ground = Observation::blank(tab.clone(), "about:blank");
//!     let step = PlanDraft::read(plan, Author::Operator)
//!         .and_then(|draft| draft.check(&ground, &Policy::default()))
//!         .and_then(|plan| plan.bind(0, &ground));
//!     let Ok(step) = step else { return Ok(false) };
//!     match executor.run_step(tab, &step, &ground, &mut DenyAll, by).await? {
//!         StepOutcome::Succeeded(_) => Ok(true),
//!         // Where and why, with the facts that it was judged on.
//!         StepOutcome::Failed(failure) => {
//!             eprintln!("{:?}: {}", failure.cause, failure.message);
//!             Ok(false)
//!         }
//!     }
//! }
//! ```
//!
//! `examples/execute.rs` does so from the launch of a browser on; `docs/acting.md` and `docs/conditions.md` say what
//! each verb needs and how it is judged.
//!
//! Invariants:
//! - Input reaches the element that the step means, or nothing: a guard in every frame stops the rest.
//! - Postconditions are armed before the first event is sent, and judged by the language on the recorded facts.
//! - After the deadline of a step none of its events fires.
//! - Text that was typed into sensitive fields leaves this crate only as a digest.
//!
//! Cost: a click on a page with one frame takes six round trips, of which the actionability check waits
//! for one animation frame.

mod actionability;
mod actions;
mod activity;
mod closed_roots;
mod console;
mod denied;
mod downloads;
mod effects;
mod error;
mod executor;
mod facts;
mod gate;
mod hit_target;
mod input;
mod lanes;
mod late;
mod ledger;
mod meant;
mod network;
mod options;
mod postconditions;
mod projection;
mod redaction;
mod remains;
mod resolve;
mod retry;
mod run;
mod script;
mod seen;
mod settling;
mod stage;
mod step;
mod stop;
mod tape;
mod trace;
mod traffic;
mod verdicts;

pub use error::ExecutorError;
pub use executor::LiveExecutor;
pub use options::{BeforeUnload, ExecutorOptions, PeopleInput, ScreenshotMode};
#[doc(hidden)]
pub use tape::TraceSink;
