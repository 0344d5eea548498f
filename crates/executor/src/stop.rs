//! Reasons why a step ends early.

use cuebook_cdp::{CallError, GoneReason, PageError};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_probe::ProbeError;

use crate::error::ExecutorError;

/// Why a step ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The step failed, for a cause that its outcome names.
    Failed(Box<StepFailure>),
    /// A dialog opened and blocks the page: what was seen so far is judged.
    Dialog,
    /// The page closed its own tab in response to the input: what was seen so far is judged.
    Closed,
    /// The browser or a sink failed: an error of the executor rather than an outcome of the step.
    Broken(ExecutorError),
}

/// The result of a part of a step.
pub(crate) type Part<T> = Result<T, Stop>;

impl From<StepFailure> for Stop {
    fn from(failure: StepFailure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

pub(crate) fn failed<T>(stage: Stage, cause: Cause, message: impl Into<String>) -> Part<T> {
    Err(StepFailure::new(stage, cause, message).into())
}

pub(crate) fn out_of_time(stage: Stage) -> Stop {
    let during = match stage {
        Stage::Resolve => "while resolving its target",
        Stage::Precondition => "while checking its preconditions",
        Stage::Actionability => "before its target was ready for input",
        Stage::Act => "before the action was complete",
        Stage::Postcondition => "while checking its postconditions",
        _ => "before it began",
    };
    StepFailure::new(stage, Cause::DeadlineExceeded, format!("the step timed out {during}")).into()
}

/// Converts a failed command to the end of a step.
pub(crate) fn call_stop(error: CallError, stage: Stage) -> Stop {
    match error {
        CallError::DeadlineExceeded { .. } => out_of_time(stage),
        CallError::SessionGone { reason, .. } => gone_stop(reason, stage),
        error => Stop::Broken(ExecutorError::Wire(error)),
    }
}

/// Converts the end of a session to the end of a step.
pub(crate) fn gone_stop(reason: GoneReason, stage: Stage) -> Stop {
    match reason {
        GoneReason::BrowserGone => StepFailure::new(stage, Cause::BrowserGone, "the browser is gone").into(),
        GoneReason::Crashed => StepFailure::new(stage, Cause::PageCrashed, "the renderer of the page crashed").into(),
        _ => StepFailure::new(stage, Cause::PageCrashed, "the tab was closed").into(),
    }
}

/// Converts a failed call into the page to the end of a step; a document that went away is a stale target.
pub(crate) fn probe_stop(error: ProbeError, stage: Stage) -> Stop {
    match error {
        ProbeError::Gone => {
            StepFailure::new(stage, Cause::TargetStale, "the document of the target was replaced").into()
        }
        ProbeError::Wire(error) => call_stop(error, stage),
        ProbeError::BadSelector { message } => {
            StepFailure::new(stage, Cause::InvalidArgument, format!("expected a valid selector: {message}")).into()
        }
        error @ ProbeError::FramePath { .. } => {
            StepFailure::new(stage, Cause::TargetNotFound, error.to_string()).into()
        }
        error => Stop::Broken(ExecutorError::Probe(error)),
    }
}

pub(crate) fn page_stop(error: PageError, stage: Stage) -> Stop {
    match error {
        PageError::Call(error) => call_stop(error, stage),
        PageError::DeadlineExceeded | PageError::NotClosed => out_of_time(stage),
        PageError::NoDialog => StepFailure::new(stage, Cause::InvalidArgument, "no dialog is open").into(),
        _ => gone_stop(GoneReason::Detached, stage),
    }
}
