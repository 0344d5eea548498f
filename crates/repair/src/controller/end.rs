//! How a run, a plan and a step end.

use cuebook_grammar::action::Action;
use cuebook_grammar::outcome::{Cause, StepFailure};
use cuebook_grammar::plan::{BoundStep, Violation, ViolationCode, Violations};
use cuebook_grammar::record::StepRecord;
use cuebook_grammar::render::with_sources;
use cuebook_grammar::report::{ErrorCode, RunError, RunResult};
use cuebook_grammar::step::Step;

use crate::request::Interrupted;

/// Why the loop stopped.
pub(super) enum Stop {
    Interrupted,
    Broken { code: ErrorCode, message: String },
    Ended { result: RunResult, error: Option<RunError>, answer: Option<String> },
}

impl Stop {
    /// The stop of work that ended like this.
    pub(super) fn of(ended: Result<(), Self>) -> Self {
        ended.err().unwrap_or(Self::Ended { result: RunResult::Ok, error: None, answer: None })
    }
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl Stop {
    /// For `map_err`: an error of a layer, with its sources in the message.
    pub(super) fn broken<E: std::error::Error + 'static>(code: ErrorCode) -> impl FnOnce(E) -> Self {
        move |error| Self::Broken { code, message: with_sources(&error) }
    }

    pub(super) fn failed(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self::Ended { result: RunResult::Failed, error: Some(RunError::new(code, message)), answer: None }
    }
}

/// How a step ended for the plan that it belongs to.
pub(super) enum StepEnd {
    /// It succeeded; whether the page changed.
    Done { changed_page: bool },
    /// The page is not the one that the plan was made for: the rest of the plan is dropped.
    GroundGone,
    /// It failed for good.
    Failed(Box<StepFailure>),
}

/// How a plan ended.
pub(super) enum PlanEnd {
    Completed,
    Dropped,
    Failed(Box<StepFailure>),
}

/// Result of one attempt at a step.
pub(super) enum Attempt {
    Done { record: StepRecord, changed_page: bool },
    Failed { record: StepRecord, failure: Box<StepFailure>, bound: Box<BoundStep> },
    GroundGone,
}

/// Returns `true` if a planner's step is skipped and its plan goes on: a point that is none. Nothing was sent.
pub(super) fn is_skipped(step: &Step, failure: &StepFailure) -> bool {
    use Action as A;
    let is_point = matches!(step.action, A::ClickPoint(_) | A::DragPoints(_) | A::LongPressPoint(_));
    is_point && failure.cause == Cause::InvalidArgument && !failure.evidence.input_sent
}

/// Returns `true` if no plan can go on after this cause.
pub(super) const fn is_final(cause: Cause) -> bool {
    matches!(cause, Cause::BrowserGone | Cause::Unsupported)
}

pub(super) fn ended_by(failure: &StepFailure) -> Stop {
    let result = match failure.cause {
        cause if cause.is_block() => RunResult::Blocked,
        Cause::BrowserGone => RunResult::Error,
        Cause::Unproven => RunResult::Unproven,
        _ => RunResult::Failed,
    };
    Stop::Ended { result, error: Some(RunError::new(failure.cause, failure.message.clone())), answer: None }
}

pub(super) fn invalid(violations: Violations) -> Stop {
    let only_policy = violations.iter().all(|violation| violation.code == ViolationCode::PolicyBlocked);
    let result = if only_policy { RunResult::Blocked } else { RunResult::Invalid };
    Stop::Ended { result, error: Some(violations.into()), answer: None }
}

/// Drafts of a planner that keep failing the check are the planner's failure, not the user's: `invalidPlan`, unless it is
/// the policy that forbids them.
pub(super) fn rejected(violations: Violations) -> Stop {
    match invalid(violations) {
        Stop::Ended { result: RunResult::Invalid, error, answer } => {
            let error = error.map(|error| {
                let first = error.violations.first();
                let what = first.map(Violation::in_words).unwrap_or_default();
                let message = format!("no valid plan was written: {what}");
                RunError { code: ErrorCode::InvalidPlan, message, ..error }
            });
            Stop::Ended { result: RunResult::Failed, error, answer }
        }
        other => other,
    }
}
