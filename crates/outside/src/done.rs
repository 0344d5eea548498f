//! The result of an action, and whether the action reached the world.

use std::time::Duration;

use cuebook_grammar::Delivery;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure, StepOutcome};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::policy::Denied;
use serde_json::Value;

/// Result of an action: its delivery, which is its effect outside of this process, and the value that it returned.
pub(crate) type ActionResult<T = (Delivery, Value)> = Result<T, Failed>;

/// A failure, and whether the action may have taken effect nevertheless.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) delivery: Delivery,
    pub(crate) failure: Box<StepFailure>,
}

impl Failed {
    pub(crate) fn new(delivery: Delivery, cause: Cause, message: impl Into<String>) -> Self {
        Self { delivery, failure: Box::new(StepFailure::new(Stage::Act, cause, message)) }
    }

    pub(crate) fn blocked(delivery: Delivery, denied: Denied) -> Self {
        let mut failed = Self::new(delivery, Cause::PolicyBlocked, denied.message);
        failed.failure.facts.rule = Some(denied.rule);
        failed
    }

    pub(crate) fn late(delivery: Delivery) -> Self {
        Self::new(delivery, Cause::DeadlineExceeded, "the deadline of the step passed")
    }
}

/// [`Failed::new`] as an `Err`.
pub(crate) fn refused<T>(delivery: Delivery, cause: Cause, message: impl Into<String>) -> ActionResult<T> {
    Err(Failed::new(delivery, cause, message))
}

/// The outcome of `step`, which ran for `took`.
pub(crate) fn outcome(step: &BoundStep, done: ActionResult, took: Duration) -> StepOutcome {
    match done {
        Ok((delivery, data)) => StepOutcome::handled(step, delivery, Ok(data), took),
        Err(Failed { delivery, failure }) => StepOutcome::handled(step, delivery, Err(failure), took),
    }
}

pub(crate) use cuebook_grammar::render::{excerpt as shown, with_sources};

/// UTF-8 as a string, other bytes as `{"base64": …}`.
pub(crate) fn content(bytes: Vec<u8>) -> Value {
    use base64::Engine as _;
    match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => {
            let bytes = error.into_bytes();
            serde_json::json!({ "base64": base64::engine::general_purpose::STANDARD.encode(&bytes) })
        }
    }
}
