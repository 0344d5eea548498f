//! The flags of `cuebook eval`.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use cuebook::network::drift::Drifts;

use super::{BrowserArgs, EngineArgs, PlannerArg, duration, planner, shard};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) command: Option<EvalCommand>,
    #[command(flatten)]
    pub(crate) run: EvalRunArgs,
}

#[derive(Subcommand)]
pub(crate) enum EvalCommand {
    /// Say what changed between two evaluations of the same episodes, and whether it is noise
    Compare {
        /// Directory of the evaluation before, or its episodes.jsonl
        before: PathBuf,
        /// Directory of the evaluation now
        after: PathBuf,
    },
    /// Put the results of several evaluations, such as shards, into one
    Merge {
        /// Directories of evaluations to merge, one or more
        #[arg(required = true)]
        parts: Vec<PathBuf>,
        /// Directory for the whole
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// Flags that say what is measured. A flattened group sets the heading of the flags after it, so groups come last.
#[derive(Args)]
pub(crate) struct EvalRunArgs {
    /// Suite to run: `site`, or a file in TOML; can be repeated
    #[arg(long = "suite", value_name = "SUITE", default_value = "site")]
    pub(crate) suites: Vec<String>,
    /// Planner to measure: oracle (does what the suite says), lexical, ollama, openai, anthropic, auto, local:FILE.gguf, or
    /// exec:COMMAND
    #[arg(long, value_parser = eval_planner, default_value = "oracle", value_name = "PLANNER")]
    pub(crate) planner: EvalPlanner,
    /// Seeds of each task, from the first to before the last
    #[arg(long, value_name = "A..B", value_parser = seeds, default_value = "0..10")]
    pub(crate) seeds: Range<u64>,
    /// Run only tasks with this text in their names; can be repeated
    #[arg(long = "task", value_name = "TEXT")]
    pub(crate) tasks: Vec<String>,
    /// Run only the tasks of this split
    #[arg(long, value_name = "SPLIT")]
    pub(crate) split: Option<String>,
    /// Episodes at a time, each with a browser of its own
    #[arg(long, value_name = "N", default_value_t = default_jobs(), value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Time limit of an episode
    #[arg(long, value_name = "DURATION", default_value = "3m", value_parser = duration)]
    pub(crate) limit: Duration,
    /// Run one part of the episodes, such as 1/4; `eval merge` joins the parts
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<(u32, u32)>,
    /// Share the episodes with other machines through s3://, gs://, az:// or file:///: each is run once, and one that a
    /// dead machine had begun is run by another after twice the time limit of an episode
    #[arg(long, value_name = "URL", conflicts_with = "shard")]
    pub(crate) queue: Option<url::Url>,
    /// Directory for results and logs. An evaluation that was interrupted goes on where it stopped
    #[arg(long, value_name = "DIR", default_value = "cuebook-eval", env = "CUEBOOK_EVAL_OUT")]
    pub(crate) out: PathBuf,
    /// Start over: remove the results in --out first
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Change what pages get, by task and seed: mixed, all, or kinds of drift such as changed-texts,overlays
    #[arg(long, value_name = "KINDS")]
    pub(crate) drift: Option<Drifts>,
    /// Do not repair failed steps
    #[arg(long)]
    pub(crate) no_repair: bool,
    /// Let the planner err like a model: wrong-id, invented-element, invalid-json, stale-plan, early-finish,
    /// obeys-page or any, with the share of its answers that have the error [default: 0.2]
    #[arg(long, value_name = "ERROR[:SHARE]")]
    pub(crate) errors: Option<Errors>,
    /// Let the oracle state goals, which the end of a run is judged by: stated, or wrong with the share of plans whose
    /// goal is wrong, such as wrong:0.3
    #[arg(long, value_name = "GOALS")]
    pub(crate) goals: Option<Goals>,
    /// Compare with the results in this directory, and exit with 1 if these are worse
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<PathBuf>,
    /// Replace the results in --baseline, which may be missing, unless these are worse
    #[arg(long, requires = "baseline")]
    pub(crate) ratchet: bool,
    #[command(flatten)]
    pub(crate) browser: BrowserArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

fn default_jobs() -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u16::try_from(cores).unwrap_or(256).min(256)
}

/// A planner of `--planner`, which may be that of the suite.
#[derive(Clone)]
pub(crate) enum EvalPlanner {
    Oracle,
    Of(PlannerArg),
}

fn eval_planner(text: &str) -> Result<EvalPlanner, String> {
    match text {
        "oracle" => Ok(EvalPlanner::Oracle),
        "scripted" | "recorded" => {
            Err(format!("`{text}` is for one task; use oracle, lexical, a model or exec:COMMAND"))
        }
        _ => planner(text).map(EvalPlanner::Of).map_err(|error| error.to_string()),
    }
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let range = || {
        let (first, last) = text.split_once("..")?;
        Some(first.trim().parse().ok()?..last.trim().parse().ok()?)
    };
    range().filter(|range| !range.is_empty()).ok_or_else(|| format!("{text:?} is not a range of seeds such as 0..10"))
}

/// An error of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelError {
    WrongId,
    InventedElement,
    InvalidJson,
    StalePlan,
    EarlyFinish,
    ObeysPage,
}

impl ModelError {
    const ALL: [(&'static str, Self); 6] = [
        ("wrong-id", Self::WrongId),
        ("invented-element", Self::InventedElement),
        ("invalid-json", Self::InvalidJson),
        ("stale-plan", Self::StalePlan),
        ("early-finish", Self::EarlyFinish),
        ("obeys-page", Self::ObeysPage),
    ];

    pub(crate) fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// How a planner errs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Errors {
    pub(crate) kinds: Vec<ModelError>,
    /// The share of answers that have one of them.
    pub(crate) share: f64,
}

/// Goals of the planner `oracle`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Goals {
    /// The share of plans whose goal is wrong.
    pub(crate) wrong: f64,
}

impl fmt::Display for Goals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wrong > 0.0 { write!(f, "wrong:{}", self.wrong) } else { f.write_str("stated") }
    }
}

impl FromStr for Goals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = match text.split_once(':') {
            None if text == "stated" => Some(0.0),
            Some(("wrong", share)) => share.parse().ok().filter(|share| (0.0..=1.0).contains(share)),
            _ => None,
        };
        wrong.map(|wrong| Self { wrong }).ok_or_else(|| format!("{text:?} is neither stated nor wrong:SHARE"))
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        write!(f, "{}:{}", names.join(","), self.share)
    }
}

impl FromStr for Errors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, share) = text.split_once(':').unwrap_or((text, "0.2"));
        let share = share.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let share = share.ok_or_else(|| format!("the share in {text:?} is not a number from 0 to 1"))?;
        let kinds: Vec<ModelError> =
            ModelError::ALL.iter().filter(|(own, _)| *own == name || name == "any").map(|(_, kind)| *kind).collect();
        if kinds.is_empty() {
            let known: Vec<&str> = ModelError::ALL.iter().map(|(name, _)| *name).collect();
            return Err(format!("{name:?} is not an error of models: use any or one of {}", known.join(", ")));
        }
        Ok(Self { kinds, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_of_at_least_one() {
        assert_eq!(seeds("3..5"), Ok(3..5));
        for wrong in ["", "3", "5..5", "5..3", "a..b", "-1..2"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn errors_have_a_kind_and_a_share() {
        let errors: Errors = "wrong-id:0.5".parse().unwrap();
        assert_eq!((errors.kinds.as_slice(), errors.share), ([ModelError::WrongId].as_slice(), 0.5));
        assert_eq!("any".parse::<Errors>().unwrap().kinds.len(), ModelError::ALL.len());
        for wrong in ["", "wrong", "wrong-id:2", "wrong-id:x"] {
            assert!(wrong.parse::<Errors>().is_err(), "{wrong}");
        }
    }
}
