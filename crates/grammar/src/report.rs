//! The report of a run: one JSON document, the same for exec, run and replay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::{EffectRecord, Judged};
use crate::plan::Violation;
pub use crate::record::RunResult;
use crate::record::{Failure, StepOrigin, StepRecord, StepResult};
use crate::step::Step;

/// The version of the report format. Raised as the record's.
pub const REPORT_VERSION: &str = "1.1";

/// Why a run did not end well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    /// A stable code: a cause, a violation code, or one of the command line's own.
    pub code: String,
    /// Expected against seen.
    pub message: String,
    /// What is wrong with a plan.
    #[serde(default)]
    pub violations: Vec<Violation>,
}

/// Tokens and calls of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Usage {
    /// Planning calls.
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
    /// Its position in order of execution.
    pub index: u32,
    /// Its position in its plan; null for steps that repair inserted.
    pub plan_index: Option<u32>,
    /// Why it ran.
    pub origin: StepOrigin,
    /// The full step, redacted.
    pub action: Step,
    /// What became of it.
    pub result: StepResult,
    /// Why the last attempt failed.
    pub failure: Option<Failure>,
    /// What it read.
    pub data: Option<Value>,
    /// Preconditions.
    #[serde(default)]
    pub pre: Vec<Judged>,
    /// Postconditions.
    pub post: Vec<Judged>,
    /// What it did.
    pub effects: Option<EffectRecord>,
    /// The action ran, but nothing that it did could be seen.
    #[serde(default)]
    pub no_observed_effect: bool,
    /// How many repairs were tried for it.
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

/// What `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// [`REPORT_VERSION`].
    pub schema_version: String,
    /// The run; null if none began.
    pub run_id: Option<String>,
    /// The folder of its log; null if none was made.
    pub run_dir: Option<String>,
    /// How it ended.
    pub result: RunResult,
    /// Why it did not end well.
    pub error: Option<RunError>,
    /// The answer, where the task asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The steps.
    pub steps: Vec<StepReport>,
    /// Tokens and calls.
    pub usage: Usage,
    /// How far the origin policy reached: `navigation`.
    pub enforcement: String,
}

impl RunReport {
    /// A report without a run.
    #[must_use]
    pub fn without_run(result: RunResult, error: RunError) -> Self {
        Self {
            schema_version: REPORT_VERSION.to_owned(),
            run_id: None,
            run_dir: None,
            result,
            error: Some(error),
            answer: None,
            steps: Vec::new(),
            usage: Usage::default(),
            enforcement: "navigation".to_owned(),
        }
    }
}
