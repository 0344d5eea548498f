//! Results of many episodes in numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use cuebook_grammar::report::ErrorCode;
use serde::Serialize;

use crate::calibration::Calibration;
use crate::episode::{EpisodeKey, EpisodeResult, Outcome, millis};
use crate::error::EvalError;
use crate::ledger::{read_results, write_results};
use crate::statistics::{Interval, float, quantile, wilson};

/// The results of an evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvalResults {
    /// One for each episode, in the order of suite, task and seed.
    pub episodes: Vec<EpisodeResult>,
    /// Episodes that were run now, and how long they took together.
    ran: (u64, Duration),
}

impl EvalResults {
    pub(crate) fn new(mut episodes: Vec<EpisodeResult>) -> Self {
        episodes.sort_by_key(EpisodeResult::key);
        Self { episodes, ran: (0, Duration::ZERO) }
    }

    pub(crate) fn having_run(self, episodes: u64, took: Duration) -> Self {
        Self { ran: (episodes, took), ..self }
    }

    /// The results in several directories or files, such as those of shards.
    ///
    /// # Errors
    /// [`EvalError::File`] and [`EvalError::Result`] if one cannot be read; [`EvalError::Twice`] if an episode has two.
    pub fn read<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<Self, EvalError> {
        let mut known: BTreeSet<EpisodeKey> = BTreeSet::new();
        let mut episodes = Vec::new();
        for path in paths {
            for result in read_results(path)? {
                if !known.insert(result.key()) {
                    return Err(EvalError::Twice { key: result.key().to_string(), path: path.to_owned() });
                }
                episodes.push(result);
            }
        }
        Ok(Self::new(episodes))
    }

    /// These results without the directories of their logs, for a place where those are not.
    #[must_use]
    pub fn without_runs(mut self) -> Self {
        self.episodes.iter_mut().for_each(|result| result.run_dir = None);
        self
    }

    /// These results, and those of `others` for episodes that these do not have.
    #[must_use]
    pub fn or(self, others: &Self) -> Self {
        let own: BTreeSet<EpisodeKey> = self.episodes.iter().map(EpisodeResult::key).collect();
        let missing = others.episodes.iter().filter(|result| !own.contains(&result.key())).cloned();
        Self { episodes: Self::new(self.episodes.into_iter().chain(missing).collect()).episodes, ..self }
    }

    /// Writes `episodes.jsonl` in a directory, which is created.
    ///
    /// # Errors
    /// [`EvalError::File`]
    pub fn write(&self, dir: &Path) -> Result<(), EvalError> {
        write_results(dir, &self.episodes)
    }

    /// Counts and rates by task, by suite and over all episodes.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut tasks: BTreeMap<(&str, &str), Vec<&EpisodeResult>> = BTreeMap::new();
        for result in &self.episodes {
            tasks.entry((&result.suite, &result.task)).or_default().push(result);
        }
        let mut suites: BTreeMap<&str, Vec<&EpisodeResult>> = BTreeMap::new();
        for result in &self.episodes {
            suites.entry(&result.suite).or_default().push(result);
        }
        let (episodes, took) = self.ran;
        let minutes = took.as_secs_f64() / 60.0;
        Summary {
            tasks: tasks
                .into_iter()
                .map(|((suite, task), results)| TaskSummary {
                    suite: suite.to_owned(),
                    task: task.to_owned(),
                    split: results.first().map(|result| result.split.clone()).unwrap_or_default(),
                    totals: Totals::of(&results),
                })
                .collect(),
            suites: suites.into_iter().map(|(suite, results)| (suite.to_owned(), Totals::of(&results))).collect(),
            totals: Totals::of(&self.episodes.iter().collect::<Vec<_>>()),
            calibration: Calibration::of(&self.episodes),
            episodes_per_minute: (episodes > 0 && minutes > 0.0).then(|| float(episodes) / minutes),
            wall_ms: millis(took),
        }
    }
}

/// An evaluation in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Numbers by task, sorted by suite and name.
    pub tasks: Vec<TaskSummary>,
    /// Numbers by name of the suite.
    pub suites: BTreeMap<String, Totals>,
    /// Numbers over all episodes.
    pub totals: Totals,
    /// Stated confidences beside what came of the steps; `None` where none was stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Of those that were run now; `None` if all results are older.
    pub episodes_per_minute: Option<f64>,
    /// Time of those, in milliseconds.
    pub wall_ms: u64,
}

/// A task in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskSummary {
    /// Name of the task's suite.
    pub suite: String,
    /// Name of the task in its suite.
    pub task: String,
    /// The part of the suite.
    pub split: String,
    /// Numbers over the task's episodes.
    #[serde(flatten)]
    pub totals: Totals,
}

/// Some episodes in numbers. Durations are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Episodes that could be judged.
    pub episodes: u64,
    /// Episodes of which nothing can be said. They count nowhere else.
    pub broken: u64,
    /// Episodes that were solved, of those judged.
    pub succeeded: u64,
    /// Solved ones with a repair.
    pub repaired: u64,
    /// Solved ones that the agent reports as failed.
    pub denied: u64,
    /// Those whose end was not proven; of the denied and of the unsolved ones.
    pub unproven: u64,
    /// Unsolved ones that the agent reports as done.
    pub silent_wrong: u64,
    /// Those in which something changed that should not have.
    pub unwanted: u64,
    /// The share of solved ones; 0 of none.
    pub rate: f64,
    /// Its confidence interval at 95 %.
    pub interval: Interval,
    /// Steps in all judged episodes.
    pub steps: u64,
    /// Repairs in all judged episodes.
    pub repairs: u64,
    /// Calls of the planner.
    pub planner_calls: u64,
    /// Tokens of the solved ones and of all others, by solved ones; `None` if there are none.
    pub tokens_per_success: Option<f64>,
    /// Median duration, in milliseconds.
    pub median_ms: f64,
    /// The 95th percentile of the durations.
    pub p95_ms: f64,
}

impl Totals {
    fn of(results: &[&EpisodeResult]) -> Self {
        let judged: Vec<&&EpisodeResult> = results.iter().filter(|result| result.outcome != Outcome::Broken).collect();
        let count = |of: &dyn Fn(&EpisodeResult) -> bool| judged.iter().filter(|result| of(result)).count() as u64;
        let sum = |of: &dyn Fn(&EpisodeResult) -> u64| judged.iter().map(|result| of(result)).sum::<u64>();
        let mut durations: Vec<f64> = judged.iter().map(|result| float(result.duration_ms)).collect();
        durations.sort_by(f64::total_cmp);
        let (episodes, succeeded) = (judged.len() as u64, count(&EpisodeResult::is_solved));
        let tokens = sum(&|result| result.input_tokens + result.output_tokens);
        Self {
            episodes,
            broken: results.len() as u64 - episodes,
            succeeded,
            repaired: count(&|result| result.is_solved() && result.repairs > 0),
            denied: count(&|result| result.denied),
            unproven: count(&|result| result.code == Some(ErrorCode::Unproven)),
            silent_wrong: count(&|result| result.outcome == Outcome::SilentlyWrong),
            unwanted: count(&|result| !result.unwanted.is_empty()),
            rate: if episodes == 0 { 0.0 } else { float(succeeded) / float(episodes) },
            interval: wilson(succeeded, episodes),
            steps: sum(&|result| result.steps),
            repairs: sum(&|result| result.repairs),
            planner_calls: sum(&|result| result.planner_calls),
            tokens_per_success: (succeeded > 0).then(|| float(tokens) / float(succeeded)),
            median_ms: quantile(&durations, 0.5),
            p95_ms: quantile(&durations, 0.95),
        }
    }
}
