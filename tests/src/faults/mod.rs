//! Faults beneath `cuebook`: its browser, its own process, its disk, its model and the page's server break at moments
//! that are drawn from a seed.
//!
//! Each run is one small job under one fault. However it ends, it ends in time, says in a closed list how, and leaves
//! nothing behind. `cargo xtask soak --faults N` runs many; a few run with the tests.

pub mod processes;
pub mod servers;
mod trial;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

pub use self::trial::Trial;

/// Fault that breaks a run. The numbers are those of the list of faults that the project is measured by; F-05 (replies
/// that are lost, doubled or garbled) is in the tests of the crate `cdp`, F-07 (power loss) needs a shim below the file
/// system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The browser is killed.
    BrowserKilled,
    /// The page's process is killed.
    RendererKilled,
    /// The tab is closed by the browser's user.
    TabClosed,
    /// The connection to a browser that was attached to is cut.
    LinkCut,
    /// The connection to a browser that was attached to goes silent.
    LinkSilent,
    /// `cuebook` is killed, and started once more.
    Killed,
    /// The disk of the logs is full.
    DiskFull,
    /// No more files can be opened.
    NoFiles,
    /// SIGTERM, as service managers send it.
    Terminated,
    /// SIGINT, as Ctrl-C sends it.
    Interrupted,
    /// SIGSTOP, and SIGCONT some seconds later.
    Suspended,
    /// The model's server answers a byte at a time.
    ModelSlow,
    /// The model's server stops in the middle of an answer.
    ModelStalls,
    /// The model writes no plan: half of one, words, nothing.
    ModelMalformed,
    /// The model's server has too many requests.
    ModelBusy,
    /// The model's server answers with 500.
    ModelBroken,
    /// The connection to the model's server is reset.
    ModelReset,
    /// The page takes a part of the time limit to load, or more than it.
    PageSlow,
    /// The page's server never answers, or never ends.
    PageStuck,
    /// The page's server answers with 500.
    PageBroken,
    /// The page's server hangs up, or is not there any more after the first page.
    PageOffline,
    /// The page never comes to rest: it is busy, asks, or replaces itself again and again.
    PageRestless,
}

impl Fault {
    /// All faults, in the order of their numbers.
    pub const ALL: [Self; 22] = [
        Self::BrowserKilled,
        Self::RendererKilled,
        Self::TabClosed,
        Self::LinkCut,
        Self::LinkSilent,
        Self::Killed,
        Self::DiskFull,
        Self::NoFiles,
        Self::Terminated,
        Self::Interrupted,
        Self::Suspended,
        Self::ModelSlow,
        Self::ModelStalls,
        Self::ModelMalformed,
        Self::ModelBusy,
        Self::ModelBroken,
        Self::ModelReset,
        Self::PageSlow,
        Self::PageStuck,
        Self::PageBroken,
        Self::PageOffline,
        Self::PageRestless,
    ];

    /// Its number and name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BrowserKilled => "F-01 browserKilled",
            Self::RendererKilled => "F-02 rendererKilled",
            Self::TabClosed => "F-03 tabClosed",
            Self::LinkCut => "F-04 linkCut",
            Self::LinkSilent => "F-04 linkSilent",
            Self::Killed => "F-06 killed",
            Self::DiskFull => "F-08 diskFull",
            Self::NoFiles => "F-09 noFiles",
            Self::Terminated => "F-10 terminated",
            Self::Interrupted => "F-10 interrupted",
            Self::Suspended => "F-10 suspended",
            Self::ModelSlow => "F-11 modelSlow",
            Self::ModelStalls => "F-11 modelStalls",
            Self::ModelMalformed => "F-12 modelMalformed",
            Self::ModelBusy => "F-13 modelBusy",
            Self::ModelBroken => "F-13 modelBroken",
            Self::ModelReset => "F-13 modelReset",
            Self::PageSlow => "F-14 pageSlow",
            Self::PageStuck => "F-14 pageStuck",
            Self::PageBroken => "F-14 pageBroken",
            Self::PageOffline => "F-14 pageOffline",
            Self::PageRestless => "F-14 pageRestless",
        }
    }
}

/// Plan of the trials of a soak.
#[derive(Clone, Debug)]
pub struct Trials {
    /// The program under test.
    pub cuebook: PathBuf,
    /// Faults, taken in turn.
    pub faults: Vec<Fault>,
    /// Number of runs in all.
    pub runs: usize,
    /// Seed from which moments are drawn.
    pub seed: u64,
    /// Number of runs at once.
    pub jobs: usize,
    /// Duration of an undisturbed run: faults come within that. See [`undisturbed`].
    pub usual: Duration,
}

/// How long the job takes when nothing breaks.
///
/// # Errors
/// If it does not succeed.
pub fn undisturbed(cuebook: &Path) -> Result<Duration> {
    trial::undisturbed(cuebook)
}

impl Trials {
    /// Runs them.
    ///
    /// # Errors
    /// If a run could not be tried at all.
    pub fn run(&self, done: impl Fn(&Trial) + Sync) -> Result<Vec<Trial>> {
        ensure!(!self.faults.is_empty(), "expected at least one fault");
        let next = AtomicUsize::new(0);
        let trials: Mutex<Vec<Result<Trial>>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(fault) = self.faults.get(number % self.faults.len()) else { return };
                        if number >= self.runs {
                            return;
                        }
                        let trial = trial::run(&self.cuebook, *fault, number, self.seed, self.usual);
                        if let Ok(trial) = &trial {
                            done(trial);
                        }
                        if let Ok(mut trials) = trials.lock() {
                            trials.push(trial);
                        }
                    }
                });
            }
        });
        let trials = trials.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut trials = trials.into_iter().collect::<Result<Vec<_>>>()?;
        trials.sort_by_key(|trial| trial.number);
        Ok(trials)
    }
}

/// The figures: outcomes by fault, and what went wrong.
#[must_use]
pub fn figures(seed: u64, trials: &[Trial]) -> Value {
    let mut faults: BTreeMap<&str, Value> = BTreeMap::new();
    for fault in Fault::ALL {
        let of: Vec<&Trial> = trials.iter().filter(|trial| trial.fault == fault).collect();
        if of.is_empty() {
            continue;
        }
        let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
        for trial in &of {
            *outcomes.entry(&trial.outcome).or_default() += 1;
        }
        let longest = of.iter().map(|trial| trial.took).max().unwrap_or(Duration::ZERO);
        let violations: Vec<&String> = of.iter().flat_map(|trial| &trial.violations).collect();
        faults.insert(
            fault.name(),
            json!({
                "runs": of.len(),
                "outcomes": outcomes,
                "longestMs": u64::try_from(longest.as_millis()).unwrap_or(u64::MAX),
                "violations": violations,
            }),
        );
    }
    let violations: usize = trials.iter().map(|trial| trial.violations.len()).sum();
    json!({ "totals": { "runs": trials.len(), "seed": seed, "violations": violations }, "faults": faults })
}
