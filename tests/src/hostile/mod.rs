//! Hostile pages, with the page as the oracle: what it did, and what was said of it.
//!
//! A trial is one step on one page, through the whole loop: observe, plan, check, act, repair. The page keeps its own
//! account. `cargo xtask soak --hostile N` runs many; a few run with the tests. Two kinds are trials of commands.

mod commands;
mod desk;
mod downloads;
mod ids;
mod link;
mod pages;
mod server;
mod stage;
mod tally;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cuebook_cdp::ChromeBinary;

use self::pages::{Case, cases};
pub use self::pages::{Kind, pages_folder};
use self::stage::Stage;
pub use self::tally::Tally;

/// No trial takes longer.
const TRIAL_LIMIT: Duration = Duration::from_secs(90);

/// Plan of the trials on hostile pages.
#[derive(Clone, Debug)]
pub struct Trials {
    /// The browser to run.
    pub chrome: ChromeBinary,
    /// The folder of the pages and their script.
    pub folder: PathBuf,
    /// Kinds of pages to try.
    pub kinds: Vec<Kind>,
    /// Only cases whose name is one of these; all if there is none.
    pub names: Vec<String>,
    /// Number of trials of each kind.
    pub trials: usize,
    /// Seed from which moments are drawn.
    pub seed: u64,
    /// Delay of the link to the browser, each way.
    pub delay: Duration,
    /// Number of browsers at once.
    pub jobs: usize,
    /// Threads that do nothing but keep the machine busy.
    pub hogs: usize,
}

impl Trials {
    /// A few trials of a kind, as a test has time for.
    #[must_use]
    pub fn few(chrome: ChromeBinary, kind: Kind, trials: usize) -> Self {
        let folder = pages_folder();
        let kinds = vec![kind];
        Self { chrome, folder, kinds, names: Vec::new(), trials, seed: 1, delay: Duration::ZERO, jobs: 2, hogs: 0 }
    }

    /// Runs them, and counts what went wrong by kind.
    ///
    /// # Errors
    /// If a page cannot be read, or no browser started.
    pub async fn run(&self) -> Result<BTreeMap<&'static str, Tally>> {
        let mut work = Vec::new();
        for &kind in self.kinds.iter().filter(|kind| !kind.is_of_commands()) {
            let mut all = cases(&self.folder, kind)?;
            all.retain(|(case, _)| self.names.is_empty() || self.names.contains(&case.name));
            ensure!(!all.is_empty(), "expected cases of {}", kind.name());
            // A prime: all of them have their turn, in another order for each seed.
            let first = mixed(self.seed) as usize % all.len();
            work.extend((0..self.trials).map(|trial| all[(first + trial * 7919) % all.len()].clone()));
        }
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..self.hogs {
            let over = Arc::clone(&over);
            std::thread::spawn(move || while !over.load(Ordering::Relaxed) {});
        }
        let done = self.shared(Arc::new(work)).await;
        over.store(true, Ordering::Relaxed);
        done
    }

    async fn shared(&self, work: Arc<Vec<(Case, String)>>) -> Result<BTreeMap<&'static str, Tally>> {
        let mut all = if work.is_empty() { BTreeMap::new() } else { self.share(work).await? };
        for &kind in self.kinds.iter().filter(|kind| kind.is_of_commands()) {
            all.insert(kind.name(), commands::run(self, kind).await?);
        }
        Ok(all)
    }

    async fn share(&self, work: Arc<Vec<(Case, String)>>) -> Result<BTreeMap<&'static str, Tally>> {
        let next = Arc::new(AtomicUsize::new(0));
        let workers: Vec<_> = (0..self.jobs.clamp(1, work.len()))
            .map(|_| tokio::spawn(self.clone().worker(Arc::clone(&work), Arc::clone(&next))))
            .collect();
        let mut all: BTreeMap<&'static str, Tally> = BTreeMap::new();
        for worker in workers {
            for (kind, part) in worker.await.context("a worker ended early")?? {
                all.entry(kind).or_default().add(part);
            }
        }
        Ok(all)
    }

    async fn worker(
        self,
        work: Arc<Vec<(Case, String)>>,
        next: Arc<AtomicUsize>,
    ) -> Result<BTreeMap<&'static str, Tally>> {
        let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
        let open = || Stage::open(&self.chrome, &self.folder, self.delay);
        let mut stage = open().await?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((case, moment)) = work.get(number) else { break };
            let seed = mixed(self.seed.wrapping_add(number as u64));
            let trial = tokio::time::timeout(TRIAL_LIMIT, stage.trial(case, moment, number, seed)).await;
            let broken = match trial {
                Ok(Ok(trial)) => {
                    tallies.entry(case.kind.name()).or_default().count(case, moment, &trial);
                    continue;
                }
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => format!("no end within {} s", TRIAL_LIMIT.as_secs()),
            };
            let name = format!("{}/{} {moment}", case.kind.name(), case.name);
            tallies.entry(case.kind.name()).or_default().broken(&name, &broken);
            std::mem::replace(&mut stage, open().await?).close().await;
        }
        stage.close().await;
        Ok(tallies)
    }
}

/// The `SplitMix64` of a number.
pub(crate) fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The browser, as `cuebook` finds it.
///
/// # Errors
/// If there is none.
#[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
pub fn chrome(explicit: Option<&Path>) -> Result<ChromeBinary> {
    let places = cuebook_cdp::SearchPlaces {
        explicit: explicit.map(Path::to_owned),
        chrome_variable: std::env::var_os("CHROME"),
        path: std::env::var_os("PATH"),
        home: std::env::var_os("HOME").map(PathBuf::from),
    };
    Ok(cuebook_cdp::find_chrome(&places)?)
}
