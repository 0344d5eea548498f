//! Which runs are kept, and the removal of others.
//!
//! Invariants:
//! - Only folders with the log of a run are removed, never links, and never a run whose log is being written.
//! - The log goes last, so that what an interruption leaves is found again.

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use crate::error::{DataError, Doing};
use crate::log::{Entries, Entry};
use crate::run_dir::RunDir;

/// How much is kept. Without limits that is everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// The number of runs.
    pub runs: Option<usize>,
    /// Time since the log was last written.
    pub age: Option<Duration>,
    /// Bytes of all runs together.
    pub bytes: Option<u64>,
}

/// A run that may be removed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredRun {
    /// Folder of the run, with its log and artifacts.
    pub dir: RunDir,
    /// When its log was last written.
    pub written: SystemTime,
    /// The bytes of its files.
    pub bytes: u64,
}

/// Why a folder is not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unremovable {
    /// It, or its log, is a link.
    Link,
    /// Its log is not that of a run.
    NoRun,
    /// The run goes on.
    Running,
}

impl std::fmt::Display for Unremovable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Link => "it is a link, or its log is one",
            Self::NoRun => "its log.jsonl does not begin as the log of a run",
            Self::Running => "the run goes on",
        })
    }
}

impl StoredRun {
    /// Measures a run. Blocks for a pass over its folder.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn of(dir: RunDir) -> Result<Result<Self, Unremovable>, DataError> {
        let (path, log) = (dir.path().to_owned(), dir.log_path());
        let kind = |path| fs::symlink_metadata(path).map_err(DataError::io(Doing::Read, path));
        let (folder, file) = (kind(&path)?, kind(&log)?);
        if !folder.is_dir() || !file.is_file() {
            return Ok(Err(Unremovable::Link));
        }
        if !matches!(Entries::open(&log)?.next(), Some(Ok(Entry::Header(_)))) {
            return Ok(Err(Unremovable::NoRun));
        }
        if dir.is_running() {
            return Ok(Err(Unremovable::Running));
        }
        let written = file.modified().map_err(DataError::io(Doing::Read, &log))?;
        let bytes = size(&path).map_err(DataError::io(Doing::Read, &path))?;
        Ok(Ok(Self { dir, written, bytes }))
    }

    /// Removes the folder and everything in it. Blocks.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn remove(self) -> Result<(), DataError> {
        let remove = || {
            for entry in fs::read_dir(self.dir.path())? {
                let entry = entry?;
                match entry.path() {
                    log if log == self.dir.log_path() => {}
                    folder if entry.file_type()?.is_dir() => fs::remove_dir_all(folder)?,
                    file => fs::remove_file(file)?,
                }
            }
            fs::remove_file(self.dir.log_path())?;
            fs::remove_dir(self.dir.path())
        };
        remove().map_err(DataError::io(Doing::Remove, self.dir.path()))
    }
}

/// The bytes of the files below a folder, not of what links lead to.
fn size(folder: &std::path::Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

impl Retention {
    /// Those of `runs` that are not kept, oldest first: the newest are kept, as many as fit.
    #[must_use]
    pub fn superfluous(&self, mut runs: Vec<StoredRun>, now: SystemTime) -> Vec<StoredRun> {
        runs.sort_by(|a, b| (b.written, b.dir.path()).cmp(&(a.written, a.dir.path())));
        let mut bytes = 0_u64;
        let fits = |(index, run): (usize, &StoredRun)| {
            bytes = bytes.saturating_add(run.bytes);
            let age = now.duration_since(run.written).unwrap_or_default();
            self.runs.is_none_or(|most| index < most)
                && self.age.is_none_or(|most| age <= most)
                && self.bytes.is_none_or(|most| bytes <= most)
        };
        let kept = runs.iter().enumerate().map(fits).take_while(|fits| *fits).count();
        let mut rest = runs.split_off(kept);
        rest.reverse();
        rest
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cuebook_grammar::id::RunId;
    use cuebook_grammar::record::{RECORD_VERSION, RunHeader};
    use cuebook_grammar::seam::StepLog as _;

    use super::*;
    use crate::log::JsonlLog;

    async fn run(out: &Path, name: &str) -> (RunDir, JsonlLog) {
        let dir = RunDir::create(out, &RunId::new(name)).unwrap();
        let mut log = JsonlLog::create(&dir, None).unwrap();
        let header = RunHeader {
            schema_version: RECORD_VERSION.into(),
            run_id: RunId::new(name),
            ts_ms: 0,
            cuebook: "0".into(),
            browser: None,
            browser_path: None,
            command: "exec".into(),
            task: None,
            url: None,
            plan: None,
            session: None,
            case: None,
        };
        log.open(&header).await.unwrap();
        (dir, log)
    }

    fn is_released(dir: &RunDir) -> bool {
        (0..5_000).any(|_| {
            std::thread::yield_now();
            !dir.is_running()
        })
    }

    #[tokio::test]
    async fn only_folders_of_runs_that_have_ended_are_removed() {
        let out = tempfile::tempdir().unwrap();
        let (dir, log) = run(out.path(), "r1").await;
        if cfg!(unix) {
            assert!(dir.is_running());
            assert_eq!(StoredRun::of(dir.clone()).unwrap().unwrap_err(), Unremovable::Running);
        }
        drop(log);
        assert!(is_released(&dir) || cfg!(not(unix)));
        let precious = out.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "12345").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&precious, dir.path().join("link")).unwrap();
            let linked = out.path().join("linked");
            std::os::unix::fs::symlink(dir.path(), &linked).unwrap();
            let linked = StoredRun::of(RunDir::open(&linked).unwrap()).unwrap();
            assert_eq!(linked.unwrap_err(), Unremovable::Link);
        }
        let other = out.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("log.jsonl"), "{\"level\":\"info\"}\n").unwrap();
        let other = StoredRun::of(RunDir::open(&other).unwrap()).unwrap();
        assert_eq!(other.unwrap_err(), Unremovable::NoRun);

        if cfg!(unix) {
            StoredRun::of(dir.clone()).unwrap().unwrap().remove().unwrap();
            assert!(!dir.path().exists());
            assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "12345", "links are not followed");
        }
    }

    #[test]
    fn the_newest_runs_are_kept_as_many_as_fit() {
        let out = tempfile::tempdir().unwrap();
        let second = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        let stored = |written| {
            let path = out.path().join(format!("r{written}"));
            fs::create_dir_all(&path).unwrap();
            StoredRun { dir: RunDir::open(&path).unwrap(), written: second(written), bytes: 10 }
        };
        let removed = |retention: Retention| -> Vec<u64> {
            let runs = [3, 1, 5, 2, 4].map(stored).to_vec();
            let age = |run: &StoredRun| run.written.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            retention.superfluous(runs, second(6)).iter().map(age).collect()
        };
        let all = Retention::default();
        assert_eq!(removed(all), [] as [u64; 0]);
        assert_eq!(removed(Retention { runs: Some(2), ..all }), [1, 2, 3]);
        assert_eq!(removed(Retention { age: Some(Duration::from_secs(4)), ..all }), [1]);
        assert_eq!(removed(Retention { bytes: Some(29), ..all }), [1, 2, 3]);
        assert_eq!(removed(Retention { bytes: Some(30), runs: Some(4), ..all }), [1, 2]);
        assert_eq!(removed(Retention { runs: Some(0), ..all }), [1, 2, 3, 4, 5]);
        assert_eq!(removed(Retention { age: Some(Duration::ZERO), ..all }).len(), 5);
    }
}
