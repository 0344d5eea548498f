//! Records of a run: one for every step that ran, and one for every call of a model.
//!
//! Invariants:
//! - A record is self-contained: its conditions can be judged again from the facts that it holds.
//! - No text of a sensitive target is in it; digests are.
//! - A step names the call that planned it, so that calls can be joined with the results of their steps.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::candidate::Candidate;
use crate::effect::EffectClass;
use crate::facts::Facts;
use crate::geometry::Rect;
use crate::id::{ObservationId, RunId, TargetRef};
use crate::locator::Locator;
use crate::outcome::{ArtifactRef, Cause, EffectRecord, FailureFacts, Judged, Late, Selectors, Stage, Timings};
use crate::planning::PlanningCall;
use crate::risk::RiskClass;
use crate::step::Step;
use crate::wire::ShortText;

/// The version of the record format. The major version is raised when an older reader would misread a
/// record, the minor version when a field is added.
pub const RECORD_VERSION: &str = "1.14";

fn readable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    crate::wire::readable_version(deserializer, RECORD_VERSION)
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunResult {
    /// The plan or the task was completed.
    Ok,
    /// A step or the task failed.
    Failed,
    /// Policy or a missing confirmation stopped it.
    Blocked,
    /// The input was invalid.
    Invalid,
    /// No usable browser or model, or the machinery broke.
    Error,
    /// The planner says that the task is done, and nothing shows it.
    Unproven,
    /// It was interrupted before its end, as by Ctrl-C.
    Interrupted,
}

impl RunResult {
    /// The exit code of the command line.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Invalid => 2,
            Self::Error => 3,
            Self::Blocked => 4,
            Self::Unproven => 5,
            Self::Interrupted => 130,
        }
    }
}

/// Why a step ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepOrigin {
    /// It stands in the plan.
    Plan,
    /// A repair inserted it; it has no position in the plan.
    Repair,
    /// It opened the start URL.
    Start,
    /// A person did it who had taken the browser over: nothing here carried it out, checked it or judged it.
    Person,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepResult {
    /// The action ran, and the stated postconditions came true.
    Ok,
    /// It was attempted and failed; the record states why.
    Failed,
    /// Policy or a person stopped it.
    Blocked,
    /// It never ran, so it had no effect.
    Skipped,
}

/// Entry that is written, durably, before a step may send input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepIntent {
    /// Format version: [`RECORD_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// Id of the run, equal in all entries of its log.
    pub run_id: RunId,
    /// 0-based position in order of execution.
    pub step_index: u32,
    /// 0-based position in its plan; absent for steps that a repair inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_index: Option<u32>,
    /// Reason for running it: the plan, a repair or the start URL.
    pub origin: StepOrigin,
    /// 1-based number of the attempt at the step.
    pub attempt: u32,
    /// [`PlanningRecord::planning_index`] of the call that planned it; absent if no model did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning: Option<u32>,
    /// Its plan: the id that its author gave it, else `p0`, `p1`, … in order; absent for steps of no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<ShortText>,
    /// The step that is about to run, redacted.
    pub action: Step,
    /// When it was written: milliseconds since 1970.
    pub ts_ms: u64,
}

/// When a step ran and how long it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// When it began: milliseconds since 1970.
    pub ts_ms: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// Where the time went.
    #[serde(default)]
    pub timings: Timings,
    /// Counts of wire traffic.
    #[serde(default)]
    pub cdp: CdpCounts,
}

/// Counts of traffic on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CdpCounts {
    /// Number of events that were examined.
    #[serde(default)]
    pub events: u64,
}

/// Why a step failed, on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Stage at which the step failed.
    pub stage: Stage,
    /// Cause of the failure.
    pub cause: Cause,
    /// Message that contrasts what was expected with what was seen.
    pub message: String,
    /// Facts on which the failure was judged.
    #[serde(default)]
    pub facts: FailureFacts,
}

/// A target as it was when the step was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RecordedTarget {
    /// A locator that the plan declared.
    Declared(Locator),
    /// A candidate that was observed.
    Observed(Box<Candidate>),
}

/// One step that ran: the article's fields and those that every metric needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// Format version: [`RECORD_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// Id of the run, equal in all entries of its log.
    pub run_id: RunId,
    /// 0-based position in order of execution.
    pub step_index: u32,
    /// 0-based position in its plan; absent for steps that a repair inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_index: Option<u32>,
    /// Reason for running it: the plan, a repair or the start URL.
    pub origin: StepOrigin,
    /// 1-based number of the attempt at the step.
    pub attempt: u32,
    /// [`PlanningRecord::planning_index`] of the call that planned it; absent if no model did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning: Option<u32>,
    /// Its plan: the id that its author gave it, else `p0`, `p1`, … in order; absent for steps of no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<ShortText>,
    /// The step that ran, redacted.
    pub action: Step,
    /// Its targets at the time of decision.
    #[serde(default)]
    pub candidates: BTreeMap<TargetRef, RecordedTarget>,
    /// The observation on which it was decided; absent if none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<ObservationId>,
    /// The URL when it began.
    pub url: String,
    /// Risk that the step was judged to have.
    pub risk: RiskClass,
    /// Cost of repeating the step.
    pub effect_class: EffectClass,
    /// Preconditions and their verdicts.
    #[serde(default)]
    pub pre_check: Vec<Judged>,
    /// The facts on which they were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_facts: Option<Facts>,
    /// When and how long.
    pub execution: Execution,
    /// Postconditions and their verdicts.
    #[serde(default)]
    pub post_check: Vec<Judged>,
    /// The facts on which they were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_facts: Option<Facts>,
    /// Effects that the step was seen to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectRecord>,
    /// Box of what received its input, in the tab's viewport, when it was ready for it; absent outside of the main frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_box: Option<Rect>,
    /// Selectors of the element that received its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectors: Option<Selectors>,
    /// Files stored for the step.
    #[serde(default)]
    pub artifacts: Vec<ArtifactRef>,
    /// Result of the step.
    pub result: StepResult,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Data that the step read, redacted and cut at 100,000 characters of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// `true` if input was sent, without gestures of which the page received no press, release or click.
    #[serde(default)]
    pub input_sent: bool,
    /// The action ran without a visible effect.
    #[serde(default)]
    pub no_observed_effect: bool,
}

/// One call of a model. Its steps come after it and name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanningRecord {
    /// Format version: [`RECORD_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// Id of the run, equal in all entries of its log.
    pub run_id: RunId,
    /// 0-based position among the calls of the run.
    pub planning_index: u32,
    /// When it ended: milliseconds since 1970.
    pub ts_ms: u64,
    /// The observation on which it was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<ObservationId>,
    /// The call, with secrets removed and long texts cut.
    pub call: PlanningCall,
}

/// A step of a person who had taken the browser over, as a recorder saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonStep {
    /// The step, by the names of `targets`. Its postconditions state what came of it.
    pub step: Step,
    /// Its targets, as they were before it.
    pub targets: BTreeMap<TargetRef, RecordedTarget>,
    /// The URL of the page that it was done on.
    pub url: String,
    /// When it was done: milliseconds since 1970.
    pub ts_ms: u64,
    /// Risk that it would be judged to have as a step of a plan.
    pub risk: RiskClass,
}

/// Something that came to pass between the steps of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventRecord {
    /// Format version: [`RECORD_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// Id of the run, equal in all entries of its log.
    pub run_id: RunId,
    /// When it was kept: milliseconds since 1970.
    pub ts_ms: u64,
    /// The event itself, by its kind.
    pub event: LoggedEvent,
}

/// The events that a log keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
#[non_exhaustive]
pub enum LoggedEvent {
    /// A person had the browser, and handed it back. Steps of theirs stand before it, with the origin `person`.
    HandedBack {
        /// When they took it over: milliseconds since 1970.
        since_ms: u64,
        /// How long they had it.
        duration_ms: u64,
        /// Number of their steps.
        steps: u32,
        /// Doings that are not among the steps, or that a replay cannot repeat alone, in words.
        #[serde(default)]
        notes: Vec<String>,
    },
    /// The schema of an `extract` asked for nothing, and the page was read as Markdown instead.
    ReadAsMarkdown {
        /// Step that read it.
        step_index: u32,
    },
    /// Of several drafts of a plan, one was taken.
    DraftTaken {
        /// 0-based position of the draft that was taken, among the valid ones as they were written.
        taken: u32,
        /// Why each other one was not, in their order.
        others: Vec<String>,
    },
    /// State, settings or rules of the pages are about to be changed from outside: no step does it, and no replay repeats it.
    ContextChanged {
        /// The change by its name, with its arguments; without values of cookies.
        change: Value,
    },
}

/// A page as it was observed, before a plan is made or a step is decided on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservationRecord {
    /// Format version: [`RECORD_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// Id of the run, equal in all entries of its log.
    pub run_id: RunId,
    /// When it was kept: milliseconds since 1970.
    pub ts_ms: u64,
    /// The observation that plans and steps name.
    pub observation: ObservationId,
    /// The URL of the page.
    pub url: String,
    /// Content of the observation, as a stored file.
    pub content: ArtifactRef,
    /// The digest of the content that this one states the difference to; absent if it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The first entry of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunHeader {
    /// Format version: [`RECORD_VERSION`] when written, any of its major version when read.
    #[serde(deserialize_with = "readable")]
    #[schemars(regex(pattern = r"^1\.[0-9]+$"))]
    pub schema_version: String,
    /// Id of the run, equal in all entries of its log.
    pub run_id: RunId,
    /// When the run began: milliseconds since 1970.
    pub ts_ms: u64,
    /// The version of this program.
    pub cuebook: String,
    /// The browser's product and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<String>,
    /// The program of a browser that was launched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_path: Option<String>,
    /// `run`, `exec` or `replay`.
    pub command: String,
    /// The task in words, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// URL that the run starts on; absent if none was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name of the file whose plan was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The name of the session whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The case of a suite that the run is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseRun>,
}

/// The part of a test case that a run is. A case is carried out in several runs: for each attempt its steps, and if these
/// went well and can be replayed, its expectations. Only a case whose last attempt has expectations that hold has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseRun {
    /// Its first run. The same in all runs in which the case was carried out once.
    pub id: RunId,
    /// Name of the suite.
    pub suite: String,
    /// Its name in the suite.
    pub name: String,
    /// 1-based number of the attempt.
    pub attempt: u32,
    /// Part of the case that was run.
    pub part: CasePart,
    /// Importance of the case in one word, such as `critical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Conditions that must hold in the end, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<String>,
}

/// A part of a test case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CasePart {
    /// Steps of the case.
    Steps,
    /// Conditions that must hold after the steps.
    Expectations,
}

/// The last entry of a log, if the run came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// Id of the run, equal in all entries of its log.
    pub run_id: RunId,
    /// When the run ended: milliseconds since 1970.
    pub ts_ms: u64,
    /// The result, as the report has it.
    pub result: RunResult,
    /// How the planner ended its task, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// Consequences of its steps that came after the last record.
    #[serde(default, skip_serializing_if = "Late::is_empty")]
    pub late: Late,
}

/// The step by which a planner ended its task: `finish` or `fail`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conclusion {
    /// The `finish` or `fail` step, redacted.
    pub step: Step,
    /// The page on which it was decided, if the log has that: if nothing ran between the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<ObservationId>,
    /// Conditions of the goal, with their verdicts at the end; empty if no plan stated any. Vacuous are those that held
    /// when the goal was stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<Judged>,
    /// The facts on which they were judged: the page now, and what the steps of the run caused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_facts: Option<Facts>,
    /// Why a later plan replaced an earlier goal, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_reason: Option<ShortText>,
    /// The part of the end that nothing shows, in words; absent if the end was proven, or needed no proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<String>,
}
