//! Results of the cases of a suite.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use cuebook_datalayer::html::{self, SuiteCase};
use cuebook_datalayer::replay::Divergence;
use cuebook_grammar::deadline::millis;
use cuebook_grammar::id::RunId;
use cuebook_grammar::report::RunError;
use serde::Serialize;

use super::file::{Case, Priority};
use super::recordings::Recordings;

/// The version of what `cuebook test --json` prints, raised by the same rule as that of the record.
const RESULTS_VERSION: &str = "1.1";

/// Document that `--json` prints: the results of a suite.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Results {
    schema_version: &'static str,
    pub(crate) suite: String,
    pub(crate) counts: Counts,
    pub(crate) cases: Vec<CaseResult>,
}

/// How many cases ended how. Each is counted once.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) drifted: usize,
    pub(crate) flaky: usize,
    pub(crate) failed: usize,
}

/// Result of one case.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaseResult {
    pub(crate) name: String,
    pub(crate) priority: Priority,
    pub(crate) status: Status,
    pub(crate) how: How,
    /// Attempts, the last one included.
    pub(crate) attempts: u32,
    pub(crate) duration_ms: u64,
    /// The failures of attempts; of a flaky case those before it passed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<RunError>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) drift: Vec<Divergence>,
    /// Requests and pictures of the last attempt that are not as they were recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) differences: Vec<Divergence>,
    /// The recording was written or changed.
    pub(crate) recording: Option<PathBuf>,
    /// The folders of its runs.
    pub(crate) runs: Vec<PathBuf>,
    /// The first of them.
    #[serde(skip)]
    pub(crate) first_run: Option<RunId>,
    /// Holds on its runs until it is over, so that nothing judges an attempt that is tried again.
    #[serde(skip)]
    pub(crate) held: Vec<File>,
    /// The folder of the run of the steps, at the last attempt.
    #[serde(skip)]
    pub(crate) steps: Option<PathBuf>,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Status {
    /// At the first attempt.
    Passed,
    /// So, but the page has drifted from the recording.
    Drifted,
    /// After it had failed.
    Flaky,
    /// Every attempt of the case failed.
    Failed,
}

impl Status {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Drifted => "drifted",
            Self::Flaky => "flaky",
            Self::Failed => "failed",
        }
    }
}

/// Where the steps came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum How {
    /// A planner decided the steps.
    Planned,
    /// From a plan in a file.
    Given,
    /// The steps were replayed from the recording.
    Replayed,
}

impl How {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Given => "given",
            Self::Replayed => "replayed",
        }
    }
}

impl Results {
    pub(crate) fn of(suite: String) -> Self {
        Self { schema_version: RESULTS_VERSION, suite, counts: Counts::default(), cases: Vec::new() }
    }

    pub(crate) fn add(&mut self, result: CaseResult) {
        let count = match result.status {
            Status::Passed => &mut self.counts.passed,
            Status::Drifted => &mut self.counts.drifted,
            Status::Flaky => &mut self.counts.flaky,
            Status::Failed => &mut self.counts.failed,
        };
        *count += 1;
        self.cases.push(result);
    }

    /// The page of the suite, for these cases: those that did not run are not in it.
    pub(crate) fn page(&self, cases: &[&Case], recordings: &Recordings) -> String {
        let shown = self.cases.iter().filter_map(|result| {
            let case = cases.iter().find(|case| case.name == result.name)?;
            let differences = result.drift.iter().chain(&result.differences);
            Some(SuiteCase {
                name: &result.name,
                priority: result.priority.as_str(),
                narrative: &case.narrative,
                expect: case.expected(),
                status: result.status.as_str(),
                how: result.how.as_str(),
                attempts: result.attempts,
                duration_ms: result.duration_ms,
                failures: &result.failures,
                differences: differences
                    .map(|one| (one, recordings.shown(case, result.steps.as_deref(), one)))
                    .collect(),
                runs: result.runs.iter().map(|run| run.display().to_string()).collect(),
            })
        });
        html::suite(&self.suite, &shown.collect::<Vec<_>>())
    }

    /// `10 cases: 8 passed, 1 drifted, 1 failed`.
    pub(crate) fn in_words(&self) -> String {
        let counts = [
            ("passed", self.counts.passed),
            ("drifted", self.counts.drifted),
            ("flaky", self.counts.flaky),
            ("failed", self.counts.failed),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(name, count)| *count > 0 || *name == "passed")
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        format!("{}: {}", crate::progress::counted(self.cases.len(), "case"), counts.join(", "))
    }
}

impl CaseResult {
    pub(crate) fn of(case: &Case) -> Self {
        Self {
            name: case.name.clone(),
            priority: case.priority,
            status: Status::Failed,
            how: How::Planned,
            attempts: 0,
            duration_ms: 0,
            failures: Vec::new(),
            drift: Vec::new(),
            differences: Vec::new(),
            recording: None,
            runs: Vec::new(),
            first_run: None,
            held: Vec::new(),
            steps: None,
        }
    }

    /// The last attempt passed.
    pub(crate) fn pass(&mut self) {
        let is_as_recorded = self.drift.is_empty() && self.differences.is_empty();
        self.status = match (self.failures.is_empty(), is_as_recorded) {
            (false, _) => Status::Flaky,
            (true, false) => Status::Drifted,
            (true, true) => Status::Passed,
        };
    }

    pub(crate) fn took(&mut self, time: Duration) {
        self.duration_ms = millis(time);
    }
}
