//! The report of a run: one JSON document, the same for exec, run and replay.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::{Cause, EffectRecord, Judged, Late};
use crate::plan::{Violation, ViolationCode, Violations, listed};
pub use crate::record::RunResult;
use crate::record::{Failure, StepOrigin, StepRecord, StepResult};
use crate::step::Step;

/// The version of the report format, raised by the same rule as that of the record.
pub const REPORT_VERSION: &str = "1.6";

fn readable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    crate::wire::readable_version(deserializer, REPORT_VERSION)
}

macro_rules! error_codes {
    (causes { $($cause:ident)+ } violations { $($violation:ident)+ } both { $($both:ident)+ }
     runs { $( $(#[$doc:meta])+ $own:ident, )+ }) => {
        /// Why a run did not end well, as a stable code. Codes are added to, never renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub enum ErrorCode {
            $( #[doc = concat!("A step failed with [`Cause::", stringify!($cause), "`].")] $cause, )+
            $( #[doc = concat!("The plan has [`ViolationCode::", stringify!($violation), "`].")] $violation, )+
            $( #[doc = concat!("A step failed with [`Cause::", stringify!($both), "`], or the plan has a violation of \
                that name.")] $both, )+
            $( $(#[$doc])+ $own, )+
        }

        impl From<Cause> for ErrorCode {
            fn from(cause: Cause) -> Self {
                match cause {
                    $( Cause::$cause => Self::$cause, )+
                    $( Cause::$both => Self::$both, )+
                }
            }
        }

        impl From<ViolationCode> for ErrorCode {
            fn from(code: ViolationCode) -> Self {
                match code {
                    $( ViolationCode::$violation => Self::$violation, )+
                    $( ViolationCode::$both => Self::$both, )+
                }
            }
        }
    };
}

error_codes! {
    causes {
        TargetNotFound TargetAmbiguous TargetStale NotVisible NotStable NotEnabled NotEditable NotInView Covered
        NavigationFailed HttpError PreconditionFailed PostconditionFailed DeadlineExceeded
        ConfirmationDenied DialogOpen PageCrashed BrowserGone Unsupported EffectUnknown
        InputLost EffectPending Unproven
    }
    violations {
        Malformed UnsupportedVersion EmptyPlan TooManySteps UnknownTarget AmbiguousTarget UnsupportedVerb
        VacuousCondition ContradictoryConditions InvalidCondition InvalidLocator AfterPageChange AfterEnd DeclaredByModel
        UnknownAction
    }
    both { InvalidArgument OptionNotFound PolicyBlocked }
    runs {
        /// The run was interrupted.
        Interrupted,
        /// A replay of a test case made other requests, or looks otherwise, than when it was recorded.
        DiffersFromRecording,
        /// The planner repeats the same action on a page in the same state.
        Stuck,
        /// The planner has no plan for the page.
        NoPlan,
        /// The planner returned no valid plan.
        InvalidPlan,
        /// The plan says that the task cannot be done.
        TaskFailed,
        /// The plan asks a question, and no person answered.
        NeedsAnswer,
        /// The page asks whether a person is there, and none answered.
        Challenge,
        /// The plans, the repairs or the time of the run are used up.
        BudgetExceeded,
        /// The log cannot be written, so nothing may act.
        LogUnavailable,
        /// The page cannot be observed.
        ModelerBroken,
        /// The executor cannot drive the page.
        ExecutorBroken,
        /// An action outside of the page broke.
        HandlerBroken,
        /// The planner or its model cannot be reached, or broke.
        PlannerUnavailable,
        /// There is no usable browser.
        NoBrowser,
        /// The browser does not do what it should.
        BrowserBroken,
        /// The operating system gives no random bytes.
        NoRandomness,
        /// The key of a model's server is missing.
        NoKey,
        /// The built-in site cannot be served.
        SiteUnavailable,
        /// Flags that exclude each other.
        Usage,
        /// A file that cannot be read.
        Unreadable,
        /// A file that is too large.
        TooLarge,
        /// A URL that cannot be opened.
        InvalidUrl,
        /// A policy that cannot be read.
        InvalidPolicy,
        /// The settings of a model do not fit.
        InvalidEngine,
        /// A prompt template that cannot be used.
        InvalidPrompt,
        /// A task that contains no text.
        EmptyTask,
        /// A file that cannot be written.
        CannotWrite,
        /// A measurement that cannot be made.
        BenchBroken,
        /// A page that lacks the element to measure.
        NoTarget,
        /// The failure of a recorded run did not show again.
        NotReproduced,
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why a run did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{message} ({code})")]
pub struct RunError {
    /// The stable code: tools match on it.
    pub code: ErrorCode,
    /// Message that contrasts what was expected with what was seen.
    pub message: String,
    /// Faults of the plan; empty for other errors.
    #[serde(default)]
    pub violations: Vec<Violation>,
}

impl RunError {
    /// An error that is no violation of a plan.
    pub fn new(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), violations: Vec::new() }
    }
}

/// Has the code of the first violation.
impl From<Violations> for RunError {
    fn from(violations: Violations) -> Self {
        let violations = violations.into_vec();
        let code = violations.first().map_or(ErrorCode::InvalidPlan, |violation| violation.code.into());
        let (message, violations) = match &violations[..] {
            // The one place that it has stands in the message, too: readers may print nothing else.
            [only] => (only.in_words(), violations),
            _ => listed(violations),
        };
        Self { code, message, violations }
    }
}

/// Tokens and calls of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Number of calls of the model, invalid outputs included.
    pub planner_calls: u64,
    /// Tokens read by the model.
    pub input_tokens: u64,
    /// Tokens written by the model.
    pub output_tokens: u64,
}

impl Usage {
    /// Adds another usage to this one.
    pub fn add(&mut self, other: Self) {
        self.planner_calls += other.planner_calls;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

/// One step in the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    /// 0-based position in order of execution.
    pub index: u32,
    /// 0-based position in its plan; null for steps that a repair inserted.
    pub plan_index: Option<u32>,
    /// Reason for running it: the plan, a repair or the start URL.
    pub origin: StepOrigin,
    /// The full step, redacted.
    pub action: Step,
    /// Result of the step.
    pub result: StepResult,
    /// Why the last attempt failed.
    pub failure: Option<Failure>,
    /// Data that the step read.
    pub data: Option<Value>,
    /// Preconditions and their verdicts.
    #[serde(default)]
    pub pre: Vec<Judged>,
    /// Postconditions and their verdicts.
    pub post: Vec<Judged>,
    /// Effects that the step was seen to have.
    pub effects: Option<EffectRecord>,
    /// The action ran without a visible effect.
    #[serde(default)]
    pub no_observed_effect: bool,
    /// Number of repairs tried for it.
    pub repairs: u32,
    /// How long it took, all attempts together.
    pub duration_ms: u64,
}

impl StepReport {
    /// The report of a step that ran, from the record of its last attempt.
    #[must_use]
    pub fn of(record: &StepRecord, repairs: u32, duration_ms: u64) -> Self {
        Self {
            index: record.step_index,
            plan_index: record.plan_index,
            origin: record.origin,
            action: record.action.clone(),
            result: record.result,
            failure: record.failure.clone(),
            data: record.data.clone(),
            pre: record.pre_check.clone(),
            post: record.post_check.clone(),
            effects: record.effects.clone(),
            no_observed_effect: record.no_observed_effect,
            repairs,
            duration_ms,
        }
    }
}

/// Report that `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// Format version: [`REPORT_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// The run; null if none began.
    pub run_id: Option<String>,
    /// The folder of its log; null if none was made.
    pub run_dir: Option<String>,
    /// Result of the run.
    pub result: RunResult,
    /// Why it did not end well.
    pub error: Option<RunError>,
    /// The answer, where the task asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Steps in order of execution.
    pub steps: Vec<StepReport>,
    /// Tokens and calls of the model, over the whole run.
    pub usage: Usage,
    /// Enforcement of the policy's origins: `egress`, on everything that the browser requests, or `navigation`, on
    /// steps and the pages that they open.
    pub enforcement: String,
    /// Means that keeps a browser whose enforcement is `egress` from getting past the proxy: `namespace`, a separate
    /// network without any other way out, or `flags` of the browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// Reason why the enforcement is not `egress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcement_note: Option<String>,
    /// Consequences of its steps that came after the last of them had ended.
    #[serde(default, skip_serializing_if = "Late::is_empty")]
    pub late: Late,
}

impl RunReport {
    /// A report without a run.
    #[must_use]
    pub fn without_run(result: RunResult, error: Option<RunError>) -> Self {
        Self {
            schema_version: REPORT_VERSION.to_owned(),
            run_id: None,
            run_dir: None,
            result,
            error,
            answer: None,
            steps: Vec::new(),
            usage: Usage::default(),
            enforcement: "navigation".to_owned(),
            isolation: None,
            enforcement_note: None,
            late: Late::default(),
        }
    }

    /// Reads a report of this major version. Fields of a later minor version are ignored.
    ///
    /// # Errors
    /// [`ReadError`](crate::wire::ReadError) with the version, or the innermost value that does not fit.
    pub fn read(json: &str) -> Result<Self, crate::wire::ReadError> {
        crate::wire::read_versioned(json, REPORT_VERSION)
    }

    /// The report of a run, however it ended: the inverse of [`into_result`](Self::into_result).
    #[must_use]
    pub fn from_result(result: Result<Self, RunFailure>) -> Self {
        result.unwrap_or_else(|failure| *failure.report)
    }

    /// The report if the run ended well, for use with `?`.
    ///
    /// # Errors
    /// [`RunFailure`], with [`RunReport::error`], or [`ErrorCode::TaskFailed`] where the report states none.
    pub fn into_result(self) -> Result<Self, RunFailure> {
        match self.result {
            RunResult::Ok => Ok(self),
            _ => Err(self.into_failure()),
        }
    }

    /// The failure of a run that did not end well.
    #[must_use]
    pub fn into_failure(self) -> RunFailure {
        let error = self.error.clone().unwrap_or_else(|| {
            let message = format!("the run ended as {:?} without stating an error", self.result);
            RunError::new(ErrorCode::TaskFailed, message)
        });
        RunFailure { error, report: Box::new(self) }
    }
}

/// A run that did not end well. [`RunReport::from_result`] has the report in both cases.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct RunFailure {
    /// The reason, with a stable code.
    pub error: RunError,
    /// The report of the whole run, with the steps that did run.
    pub report: Box<RunReport>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_result_by_how_the_run_ended() {
        assert!(RunReport::without_run(RunResult::Ok, None).into_result().is_ok());
        let error = RunError::new(Cause::Covered, "expected a button in the open, saw a banner over it");
        let failed = RunReport::without_run(RunResult::Failed, Some(error.clone()));
        let failure = failed.into_result().unwrap_err();
        assert_eq!((failure.report.result, &failure.error), (RunResult::Failed, &error));
        assert_eq!(failure.to_string(), error.to_string());
        assert_eq!(error.to_string(), "expected a button in the open, saw a banner over it (covered)");
        let unstated = RunReport::without_run(RunResult::Blocked, None).into_result().unwrap_err();
        assert_eq!(unstated.error.code, ErrorCode::TaskFailed);
    }
}
