//! The metrics of runs as a document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Metrics of any number of runs. A rate is a share from 0 to 1, and absent where nothing was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Summary {
    /// Runs by how they ended.
    pub runs: Runs,
    /// Calls of models, and the validity of their outputs.
    pub plans: Plans,
    /// Preconditions at the first attempt of a step.
    pub preconditions: Preconditions,
    /// Steps whose first attempt failed, and their results.
    pub repairs: Repairs,
    /// Postconditions, without those that held before the step.
    pub postconditions: Postconditions,
    /// Attempts of steps, whatever their verb.
    pub steps: Steps,
    /// Cost of the runs that ended well.
    pub success: Cost,
    /// Tokens that models read and wrote, in all runs, by model; the first 50 names.
    pub models: Vec<ModelUse>,
    /// Steps by verb, most frequent first.
    pub verbs: Vec<Verb>,
    /// Reads whose schema asked for nothing, so that the page was read as Markdown.
    pub read_as_markdown: u64,
    /// Failed attempts by cause.
    pub causes: BTreeMap<String, u64>,
    /// Targets whose first attempts sometimes succeed and sometimes fail, least reliable first; the first 20.
    pub flaky_targets: Vec<Mixed>,
    /// Postconditions that sometimes hold and sometimes do not, least reliable first; the first 20.
    pub flaky_conditions: Vec<Mixed>,
    /// Runs that did not end well, the first 20.
    pub failed: Vec<FailedRun>,
    /// Failed steps by cause, most frequent first; the first 20.
    pub failures: Vec<FailedStep>,
    /// The steps that take longest at their 90th percentile, all attempts; the first 20.
    pub slow_steps: Vec<Slow>,
    /// The addresses of requests that take longest at their 90th percentile; the first 20.
    pub slow_endpoints: Vec<Slow>,
}

/// Runs by how they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Runs {
    /// All runs, however they ended.
    pub total: u64,
    /// Runs that ended well.
    pub ok: u64,
    /// Runs in which a step or the task failed.
    pub failed: u64,
    /// Runs stopped by policy or for want of consent.
    pub blocked: u64,
    /// Runs with invalid input.
    pub invalid: u64,
    /// Runs in which the machinery broke.
    pub error: u64,
    /// Runs whose planner said that the task is done, which nothing showed.
    pub unproven: u64,
    /// Runs that were interrupted.
    pub interrupted: u64,
    /// Logs without an end.
    pub cut_off: u64,
    /// Those that ended well, of all.
    pub success_rate: Option<f64>,
}

/// Calls of models, and the validity of their outputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plans {
    /// Calls of models, reformulations and failed ones included.
    pub calls: u64,
    /// Outputs that were valid plans.
    pub valid: u64,
    /// Outputs that were none.
    pub invalid: u64,
    /// Of these, those of which no step had run.
    pub refused_whole: u64,
    /// Invalid outputs by the codes of their violations, such as `unknownTarget`; an output with several counts for each.
    pub violations: BTreeMap<String, u64>,
    /// Calls without a whole output.
    pub failed: u64,
    /// Valid plans, of the outputs.
    pub validity: Option<f64>,
}

/// Preconditions at the first attempt of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preconditions {
    /// Steps that state preconditions, counted once each.
    pub steps: u64,
    /// Steps all of whose preconditions held.
    pub satisfied: u64,
    /// Share of `satisfied` in `steps`.
    pub first_try_rate: Option<f64>,
}

/// Steps whose first attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Repairs {
    /// Steps whose first attempt ran, without those that a repair inserted.
    pub steps: u64,
    /// Steps whose first attempt failed.
    pub needed: u64,
    /// Of these, those that a later attempt carried out.
    pub recovered: u64,
    /// The share of steps that needed one.
    pub rate: Option<f64>,
    /// The share of these that were recovered.
    pub recovery_rate: Option<f64>,
    /// Further attempts and inserted steps until recovery.
    pub depth: Quantiles,
}

/// Postconditions, without those that held before the step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Postconditions {
    /// Postconditions that were judged, in all attempts.
    pub judged: u64,
    /// Postconditions that held, of `judged`.
    pub held: u64,
    /// Share of `held` in `judged`.
    pub rate: Option<f64>,
    /// Of `judged`, those that the plan states; the others were added by the check.
    pub stated: u64,
    /// Of `stated`, those that had not come true when the wait for them ended.
    pub timed_out: u64,
    /// Share of `timed_out` in `stated`.
    pub timeout_rate: Option<f64>,
    /// From the input to the verdict, in milliseconds.
    pub latency_ms: Quantiles,
}

/// Attempts of steps, whatever their verb.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Steps {
    /// How long an attempt took, in milliseconds.
    pub duration_ms: Quantiles,
}

/// Cost of the runs that ended well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// From the start to the end of the run, in milliseconds.
    pub duration_ms: Quantiles,
    /// Tokens that models read and wrote.
    pub tokens: Quantiles,
    /// Attempts of steps per run, repairs included.
    pub steps: Quantiles,
}

/// Tokens that one model read and wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUse {
    /// The model, as its server names it; empty if nobody named it.
    pub model: String,
    /// Number of its calls.
    pub calls: u64,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
}

/// Steps of one verb.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Verb {
    /// Name of the verb, such as `click`.
    pub verb: String,
    /// Attempts of all steps with this verb.
    pub attempts: u64,
    /// Attempts whose result was not ok.
    pub failed: u64,
    /// How long an attempt took, in milliseconds.
    pub duration_ms: Quantiles,
}

/// Something with both kinds of outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Mixed {
    /// The target or the condition, in words.
    pub what: String,
    /// Number of times that it succeeded or held.
    pub ok: u64,
    /// Number of times that it did not.
    pub failed: u64,
    /// Runs in which it did not, the first five.
    pub runs: Vec<String>,
}

/// A step that fails for one cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedStep {
    /// Name of the cause, as in the log.
    pub cause: String,
    /// The verb and its target, in words.
    pub what: String,
    /// Attempts that failed so.
    pub count: u64,
    /// Their runs, the first five.
    pub runs: Vec<String>,
}

/// Something that takes time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Slow {
    /// A step in words, or the method and address of requests, without queries, with `*` for ids.
    pub what: String,
    /// Number of times that it failed, or was answered with an error.
    pub failed: u64,
    /// How long it took, in milliseconds, to two significant digits.
    pub duration_ms: Quantiles,
    /// The run in which it took longest.
    pub slowest_run: String,
}

/// One run, in a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunLine {
    /// Id of the run; empty if its log has no header.
    pub run_id: String,
    /// How it ended; `cutOff` for a log without an end.
    pub result: String,
    /// The task in words; absent for a plan.
    pub task: Option<String>,
    /// The subject of the run: its task, its test case, or its plan and where that ran.
    pub title: Option<String>,
    /// When it started: milliseconds since 1970.
    pub started_ms: u64,
    /// From its start to its end; absent without an end.
    pub duration_ms: Option<u64>,
    /// Attempts of steps, repairs included.
    pub attempts: u64,
    /// Tokens that models read and wrote.
    pub tokens: u64,
    /// Why its last failed step failed.
    pub cause: Option<String>,
}

/// A run that did not end well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedRun {
    /// Id of the run; empty if its log has no header.
    pub run_id: String,
    /// How it ended; `cutOff` for a log without an end.
    pub result: String,
    /// The last step that failed: its position in order of execution.
    pub step_index: Option<u32>,
    /// Cause of that step's failure; absent if no step failed.
    pub cause: Option<String>,
    /// Message of the failure, at most 300 characters.
    pub message: Option<String>,
}

/// A distribution, of at most three significant digits. All are 0 if nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quantiles {
    /// Number of values that were counted.
    pub count: u64,
    /// Half are at most this.
    pub p50: u64,
    /// Nine of ten are at most this.
    pub p90: u64,
    /// Ninety-nine of a hundred are at most this.
    pub p99: u64,
    /// The greatest value, rounded down like the others.
    pub max: u64,
}

/// A share from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// One number that says how reliable or how fast runs are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Its path in the summary, such as `runs.successRate`.
    pub name: &'static str,
    /// The unit, and which direction is worse.
    pub measure: Measure,
    /// A share from 0 to 1, or milliseconds; `None` if nothing was counted.
    pub value: Option<f64>,
    /// Of `count`, those that the share counts; for a latency, its milliseconds.
    pub amount: u64,
    /// Number of things that were counted.
    pub count: u64,
}

/// Unit of a rate, and which direction is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Measure {
    /// A share of successes: less is worse.
    Successes,
    /// A share of failures: more is worse.
    Failures,
    /// A 90th percentile in milliseconds: more is worse.
    Milliseconds,
}

impl Summary {
    /// The rates that say how reliable and how fast runs are, by the names that they have in this document.
    #[must_use]
    pub fn rates(&self) -> [Rate; 8] {
        use Measure::{Failures, Milliseconds, Successes};
        let Self { runs, plans, preconditions: pre, repairs, postconditions: post, steps, .. } = self;
        let rate = |name, measure, value, amount, count| Rate { name, measure, value, amount, count };
        let latency = |name, took: Quantiles| {
            let p90 = share(took.p90, 1).filter(|_| took.count > 0);
            rate(name, Milliseconds, p90, took.p90, took.count)
        };
        let outputs = plans.valid + plans.invalid;
        [
            rate("runs.successRate", Successes, runs.success_rate, runs.ok, runs.total),
            rate("plans.validity", Successes, plans.validity, plans.valid, outputs),
            rate("preconditions.firstTryRate", Successes, pre.first_try_rate, pre.satisfied, pre.steps),
            rate("repairs.recoveryRate", Successes, repairs.recovery_rate, repairs.recovered, repairs.needed),
            rate("postconditions.rate", Successes, post.rate, post.held, post.judged),
            rate("postconditions.timeoutRate", Failures, post.timeout_rate, post.timed_out, post.stated),
            latency("postconditions.latencyMs.p90", post.latency_ms),
            latency("steps.durationMs.p90", steps.duration_ms),
        ]
    }
}
