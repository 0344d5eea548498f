//! One episode: a task with a seed, once, and what came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cuebook_grammar::record::{StepOrigin, StepResult};
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use serde::{Deserialize, Serialize};

use crate::stage::Judgement;
use crate::suite::{Suite, Task};

/// The longest message of a result, in characters.
const MESSAGE: usize = 400;
/// Steps with a confidence that are kept of an episode.
const STEPS: usize = 200;

/// One measurement: a task of a suite with one seed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Episode {
    /// The suite of the task.
    pub suite: Arc<Suite>,
    /// The task to carry out.
    pub task: Arc<Task>,
    /// The seed of the task.
    pub seed: u64,
}

impl Episode {
    /// Returns the key that identifies it among results.
    #[must_use]
    pub fn key(&self) -> EpisodeKey {
        EpisodeKey { suite: self.suite.name.clone(), task: self.task.name.clone(), seed: self.seed }
    }
}

/// Key that identifies an episode among the results of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpisodeKey {
    /// The name of the suite.
    pub suite: String,
    /// The name of the task.
    pub task: String,
    /// Seed of the task in this episode.
    pub seed: u64,
}

impl fmt::Display for EpisodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} seed {}", self.suite, self.task, self.seed)
    }
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The task is done, and nothing else.
    Solved,
    /// It is not, and the agent says so.
    Failed,
    /// It is not, and the agent says that it is.
    SilentlyWrong,
    /// Nothing can be said of the agent: the application or its judge failed, or the agent could not be made.
    Broken,
}

impl Outcome {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Failed => "failed",
            Self::SilentlyWrong => "silentlyWrong",
            Self::Broken => "broken",
        }
    }
}

/// A step of which the planner stated a confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedStep {
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// The step did what it says.
    pub worked: bool,
}

impl StatedStep {
    /// Those of a report, the first 200.
    pub(crate) fn all(report: &RunReport) -> Vec<Self> {
        let planned = report.steps.iter().filter(|step| step.origin == StepOrigin::Plan);
        let stated = planned.filter_map(|step| {
            let confidence = step.action.confidence?.get();
            Some(Self { confidence, worked: step.result == StepResult::Ok })
        });
        stated.take(STEPS).collect()
    }
}

/// The result of an episode: a line of `episodes.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EpisodeResult {
    /// The name of the suite.
    pub suite: String,
    /// The name of the task.
    pub task: String,
    /// Seed of the task in this episode.
    pub seed: u64,
    /// The part of the suite.
    pub split: String,
    /// Verdict of the judges, compared with the agent's own report.
    pub outcome: Outcome,
    /// The task is done, but the agent reports a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
    /// Changes in the application that should not have happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwanted: Vec<String>,
    /// Steps of the agent's report, those that repairs inserted included.
    pub steps: u64,
    /// Repairs of these steps.
    pub repairs: u64,
    /// Calls of the planner.
    pub planner_calls: u64,
    /// Tokens read by a model.
    pub input_tokens: u64,
    /// Tokens written by a model.
    pub output_tokens: u64,
    /// How long the agent took, without the opening of its page and its judges.
    pub duration_ms: u64,
    /// Why the agent says that it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// Description of the problem in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The directory of the run's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<String>,
    /// Failures of steps by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<String, u64>,
    /// Planned steps with a confidence, the first 200.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<StatedStep>,
}

impl EpisodeResult {
    /// An episode of which nothing can be said, and why.
    pub(crate) fn broken(episode: &Episode, why: &str, took: Duration) -> Self {
        Self {
            suite: episode.suite.name.clone(),
            task: episode.task.name.clone(),
            seed: episode.seed,
            split: episode.task.split.clone(),
            outcome: Outcome::Broken,
            denied: false,
            unwanted: Vec::new(),
            steps: 0,
            repairs: 0,
            planner_calls: 0,
            input_tokens: 0,
            output_tokens: 0,
            duration_ms: millis(took),
            code: None,
            why: Some(clipped(why)),
            run_dir: None,
            causes: BTreeMap::new(),
            stated: Vec::new(),
        }
    }

    /// An episode that was judged.
    pub(crate) fn of(episode: &Episode, report: &RunReport, judgement: Judgement, took: Duration) -> Self {
        let claims = report.result == RunResult::Ok;
        let outcome = match (judgement.is_solved, claims) {
            (true, _) => Outcome::Solved,
            (false, true) => Outcome::SilentlyWrong,
            (false, false) => Outcome::Failed,
        };
        let own = report.error.as_ref().map(|error| error.message.clone());
        let wrong = judgement.missing.iter().chain(&judgement.unwanted).cloned();
        let why: Vec<String> = if outcome == Outcome::Solved { Vec::new() } else { wrong.chain(own).collect() };
        let mut causes = BTreeMap::new();
        for failure in report.steps.iter().filter_map(|step| step.failure.as_ref()) {
            *causes.entry(failure.cause.as_str().to_owned()).or_default() += 1;
        }
        let inserted = report.steps.iter().filter(|step| step.origin == StepOrigin::Repair).count() as u64;
        let retried: u64 = report.steps.iter().map(|step| u64::from(step.repairs)).sum();
        Self {
            outcome,
            denied: judgement.is_solved && !claims,
            unwanted: judgement.unwanted,
            steps: report.steps.len() as u64,
            repairs: retried.max(inserted),
            planner_calls: report.usage.planner_calls,
            input_tokens: report.usage.input_tokens,
            output_tokens: report.usage.output_tokens,
            code: report.error.as_ref().map(|error| error.code),
            why: (!why.is_empty()).then(|| clipped(&why.join("; "))),
            run_dir: report.run_dir.clone(),
            causes,
            stated: StatedStep::all(report),
            ..Self::broken(episode, "", took)
        }
    }

    /// Which episode it is of.
    #[must_use]
    pub fn key(&self) -> EpisodeKey {
        EpisodeKey { suite: self.suite.clone(), task: self.task.clone(), seed: self.seed }
    }

    /// The id of its run, which names the directory of its log.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        Path::new(self.run_dir.as_deref()?).file_name()?.to_str()
    }

    /// Returns `true` if the episode was solved.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        self.outcome == Outcome::Solved
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(MESSAGE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
