//! Facts of the run, shared by its pages.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cuebook_datalayer::html::{self, Beside, Shown, Update};
use cuebook_datalayer::{ArtifactStore, DataError, Following, RunDir};
use cuebook_grammar::report::RunReport;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::consent::Questions;

/// How often the log is looked at.
const BEAT: Duration = Duration::from_millis(200);
/// The largest report that is read.
const MOST_REPORT: u64 = 32 << 20;

/// A run that is shown.
pub(crate) struct Shared {
    dir: RunDir,
    artifacts: ArtifactStore,
    log: Mutex<Log>,
    /// Raised when there is something to show.
    news: watch::Sender<u64>,
    /// Set when the view ends.
    pub(crate) over: watch::Sender<bool>,
    pub(crate) questions: Questions,
}

struct Log {
    following: Following,
    report: Option<RunReport>,
    is_running: bool,
}

impl Shared {
    /// Reads the log as it is now. Blocks.
    pub(crate) fn open(dir: &RunDir, questions: Questions) -> Result<Self, DataError> {
        let mut following = Following::open(&dir.log_path())?;
        following.read_on()?;
        let shared = Self {
            dir: dir.clone(),
            artifacts: ArtifactStore::new(dir, None),
            log: Mutex::new(Log { following, report: None, is_running: false }),
            news: watch::Sender::new(0),
            over: watch::Sender::new(false),
            questions,
        };
        shared.read_on()?;
        Ok(shared)
    }

    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Takes in what was written since. Blocks.
    fn read_on(&self) -> Result<(), DataError> {
        let mut log = self.lock();
        let mut is_news = log.following.read_on()?;
        let has_ended = log.following.run().end.is_some();
        let is_running = !has_ended && self.dir.is_running();
        is_news |= std::mem::replace(&mut log.is_running, is_running) != is_running;
        // It is written after the end.
        if has_ended && log.report.is_none() {
            log.report = self.report();
            is_news |= log.report.is_some();
        }
        drop(log);
        if is_news {
            self.news.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    fn report(&self) -> Option<RunReport> {
        let path = self.dir.report_path();
        let fits = fs::metadata(&path).is_ok_and(|file| file.len() <= MOST_REPORT);
        RunReport::read(&fits.then(|| fs::read_to_string(&path).ok()).flatten()?).ok()
    }

    /// The whole page. Blocks.
    pub(crate) fn page(&self) -> String {
        let log = self.lock();
        html::live_page(log.following.run(), self.beside(&log), &self.artifacts, log.is_running)
    }

    /// Returns what a page lacks that shows this much. Blocks.
    pub(crate) fn update(&self, shown: Shown) -> Update {
        let log = self.lock();
        html::update(log.following.run(), self.beside(&log), &self.artifacts, shown, log.is_running)
    }

    /// A picture that the log names, if it is one. Blocks.
    pub(crate) fn picture(&self, digest: &str) -> Option<Vec<u8>> {
        let log = self.lock();
        let all = log.following.run().steps.iter().rev().flat_map(|step| &step.artifacts);
        let mut pictures = all.filter(|file| file.kind.starts_with("screenshot"));
        let picture = pictures.find(|picture| picture.sha256 == digest)?.clone();
        drop(log);
        self.artifacts.read(&picture).ok().filter(|bytes| bytes.starts_with(b"\x89PNG\r\n\x1a\n"))
    }

    fn beside<'a>(&'a self, log: &'a Log) -> Beside<'a> {
        Beside { report: log.report.as_ref(), ..Beside::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs what blocks; `None` if it panicked.
pub(crate) async fn off<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> T + Send + 'static,
) -> Option<T> {
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || work(&shared)).await.ok()
}

/// Waits until the view ends.
pub(crate) async fn ends(over: &mut watch::Receiver<bool>) {
    // An error means that it is gone.
    over.wait_for(|is_over| *is_over).await.map(drop).ok();
}

/// Follows the log until the view ends, or the log cannot be read any more.
pub(crate) async fn follow(shared: Arc<Shared>) {
    let mut over = shared.over.subscribe();
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = ends(&mut over) => break,
            _ = beat.tick() => {}
        }
        if let Some(Err(error)) = off(&shared, Shared::read_on).await {
            tracing::warn!(%error, "the log is not followed any more");
            break;
        }
    }
}

/// Takes in the last entries, so that pages show them before they are left alone.
pub(crate) async fn catch_up(shared: &Arc<Shared>) {
    off(shared, |shared| shared.read_on().ok()).await;
}
