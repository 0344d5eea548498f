//! The folder of a run: `<out>/<run id>/` with `log.jsonl`, `report.json` and `artifacts/`.
//!
//! Invariants:
//! - A folder belongs to one run: creating it fails if the name exists.
//! - A folder that cannot be written is an error before the run starts.
//! - Only its owner can read it, because it contains text of pages.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::path::{Path, PathBuf};

use cuebook_grammar::calendar::{LAST_SECOND, civil};
use cuebook_grammar::id::RunId;

use crate::error::{DataError, Doing, shown};

const LOG: &str = "log.jsonl";
const REPORT: &str = "report.json";
const ARTIFACTS: &str = "artifacts";

/// The folder of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Creates the folder of a new run below `out`, which is created if it is missing. Writes and removes one file, to find
    /// a disk that cannot be written. Blocks for a few file operations.
    ///
    /// # Errors
    /// [`DataError::BadRunId`]; [`DataError::Io`] if `out` cannot be written, or the run's folder exists.
    pub fn create(out: &Path, run_id: &RunId) -> Result<Self, DataError> {
        check_name(run_id)?;
        fs::create_dir_all(out).map_err(DataError::io(Doing::Create, out))?;
        let path = out.join(run_id.as_str());
        private_dir(&path)?;
        let artifacts = path.join(ARTIFACTS);
        private_dir(&artifacts)?;
        probe(&path)?;
        sync_dir(&path)?;
        sync_dir(out)?;
        Ok(Self { path })
    }

    /// The folder of an existing run.
    ///
    /// # Errors
    /// [`DataError::Io`] if it is not a folder.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        fs::read_dir(path).map_err(DataError::io(Doing::Read, path))?;
        Ok(Self { path: path.to_owned() })
    }

    /// The runs that `paths` name: each is the folder of a run, or a folder of such folders, whose runs come in the order of
    /// their names.
    ///
    /// # Errors
    /// [`DataError::Io`] if one is not a folder; [`DataError::NoRun`] if one holds no run.
    pub fn find(paths: &[PathBuf]) -> Result<Vec<Self>, DataError> {
        let mut found = Vec::new();
        for path in paths {
            let before = found.len();
            let entries = fs::read_dir(path).map_err(DataError::io(Doing::Read, path))?;
            let mut below: Vec<PathBuf> = if path.join(LOG).is_file() {
                vec![path.clone()]
            } else {
                let entries: Result<Vec<_>, _> = entries.map(|entry| Ok(entry?.path())).collect();
                entries.map_err(DataError::io(Doing::Read, path))?
            };
            below.retain(|below| below.join(LOG).is_file());
            below.sort();
            found.extend(below.into_iter().map(|path| Self { path }));
            if found.len() == before {
                return Err(DataError::NoRun { path: path.clone() });
            }
        }
        Ok(found)
    }

    /// Returns `true` if a process is writing the log. Where that cannot be known, as without locks, it counts as
    /// running unless there is no log.
    #[must_use]
    pub fn is_running(&self) -> bool {
        File::open(self.log_path()).is_ok_and(|log| !try_lock(&log))
    }

    /// Holds the run as part of something that goes on, until the result is dropped or the process ends. `None` where the
    /// platform has no locks of folders.
    #[must_use]
    pub fn hold(&self) -> Option<File> {
        File::open(&self.path).ok().filter(try_lock)
    }

    /// Returns `true` if a process holds the run; `false` where that cannot be known.
    #[must_use]
    pub fn is_held(&self) -> bool {
        File::open(&self.path).is_ok_and(|folder| is_locked(&folder))
    }

    /// Path of the folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the log, `log.jsonl`; it may not exist.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// Path of the report, `report.json`; it may not exist.
    #[must_use]
    pub fn report_path(&self) -> PathBuf {
        self.path.join(REPORT)
    }

    /// The folder of its artifacts.
    #[must_use]
    pub fn artifacts_path(&self) -> PathBuf {
        self.path.join(ARTIFACTS)
    }
}

/// An id for a run such as `2025-01-09T120000Z-abc123`: its start in UTC, then three random bytes. Ids sort by start. Times
/// after the year 9999 become its last second.
#[must_use]
pub fn run_id(ms_since_1970: u64, random: [u8; 3]) -> RunId {
    let [a, b, c] = random;
    let time: String = utc(ms_since_1970).chars().take(19).filter(|c| *c != ':').collect();
    RunId::new(format!("{time}Z-{a:02x}{b:02x}{c:02x}"))
}

/// A time in UTC as ISO 8601 writes it: `2025-01-09T12:00:00.250Z`. Times after the year 9999 become its last second.
#[must_use]
pub fn utc(ms_since_1970: u64) -> String {
    let seconds = (ms_since_1970 / 1000).min(LAST_SECOND);
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let milli = ms_since_1970 % 1000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Locks a log for the process that writes it, until that ends, however it does. False where somebody else has it, or the
/// file system has no locks.
#[cfg(unix)]
pub(crate) fn try_lock(log: &File) -> bool {
    rustix::fs::flock(log, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(unix)]
fn is_locked(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

#[cfg(not(unix))]
fn is_locked(_: &File) -> bool {
    false
}

/// As if somebody else had it.
#[cfg(not(unix))]
pub(crate) fn try_lock(_: &File) -> bool {
    false
}

/// Waits until the entries of a folder are on the disk, if the platform can.
pub(crate) fn sync_dir(path: &Path) -> Result<(), DataError> {
    if cfg!(unix) {
        File::open(path).and_then(|dir| dir.sync_all()).map_err(DataError::io(Doing::Sync, path))?;
    }
    Ok(())
}

fn check_name(run_id: &RunId) -> Result<(), DataError> {
    let name = run_id.as_str();
    let fits = (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    if fits { Ok(()) } else { Err(DataError::BadRunId { seen: shown(name) }) }
}

fn private_dir(path: &Path) -> Result<(), DataError> {
    let builder = &mut DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder.create(path).map_err(DataError::io(Doing::Create, path))
}

fn probe(dir: &Path) -> Result<(), DataError> {
    let path = dir.join(".probe");
    let write = || -> std::io::Result<()> {
        use std::io::Write as _;
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(b"probe")?;
        file.sync_data()?;
        drop(file);
        fs::remove_file(&path)
    };
    write().map_err(DataError::io(Doing::Write, &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_utc_and_sort_by_start() {
        let name = |ms| run_id(ms, [0xab, 0xc1, 0x23]).as_str().to_owned();
        assert_eq!(name(1_736_424_000_999), "2025-01-09T120000Z-abc123");
        assert_eq!(name(0), "1970-01-01T000000Z-abc123");
        assert_eq!(name(951_782_399_000), "2000-02-28T235959Z-abc123");
        assert_eq!(name(951_782_400_000), "2000-02-29T000000Z-abc123");
        assert_eq!(name(1_735_689_599_000), "2024-12-31T235959Z-abc123");
        assert_eq!(name(u64::MAX), "9999-12-31T235959Z-abc123");
        let mut last = String::new();
        for day in 0..40_000 {
            let next = name(day * 86_400_000);
            assert!(next > last, "{next} comes after {last}");
            last = next;
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_run_is_held_until_what_holds_it_is_dropped() {
        let out = tempfile::tempdir().unwrap();
        let dir = RunDir::create(out.path(), &run_id(0, [0; 3])).unwrap();
        assert!(!dir.is_held());
        let held = dir.hold();
        assert!(held.is_some() && dir.is_held() && dir.is_held());
        drop(held);
        assert!(!dir.is_held());
    }

    #[test]
    fn a_new_run_gets_its_folders_and_leaves_no_probe() {
        let out = tempfile::tempdir().unwrap();
        let nested = out.path().join("a/b");
        let dir = RunDir::create(&nested, &run_id(0, [0; 3])).unwrap();
        assert!(dir.artifacts_path().is_dir());
        let entries: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(entries, [ARTIFACTS]);
        assert_eq!(RunDir::open(dir.path()).unwrap(), dir);
    }

    #[test]
    fn runs_are_found_by_their_folder_or_the_one_above() {
        let out = tempfile::tempdir().unwrap();
        for name in ["r2", "r1"] {
            let dir = RunDir::create(out.path(), &RunId::new(name)).unwrap();
            fs::write(dir.log_path(), "").unwrap();
        }
        fs::create_dir(out.path().join("other")).unwrap();
        let found = |paths: &[PathBuf]| {
            RunDir::find(paths).map(|runs| runs.iter().map(|run| run.path.clone()).collect::<Vec<_>>())
        };
        let (first, second) = (out.path().join("r1"), out.path().join("r2"));
        assert_eq!(found(&[out.path().into()]).unwrap(), [first.clone(), second.clone()]);
        assert_eq!(found(&[second.clone(), first.clone()]).unwrap(), [second, first]);
        let error = found(&[out.path().join("other")]).unwrap_err();
        assert!(matches!(error, DataError::NoRun { .. }), "{error}");
        assert!(matches!(found(&[out.path().join("none")]).unwrap_err(), DataError::Io { .. }));
    }

    #[test]
    fn a_folder_belongs_to_one_run() {
        let out = tempfile::tempdir().unwrap();
        RunDir::create(out.path(), &RunId::new("r1")).unwrap();
        let error = RunDir::create(out.path(), &RunId::new("r1")).unwrap_err();
        assert!(matches!(error, DataError::Io { doing: Doing::Create, .. }), "{error}");
    }

    #[test]
    fn an_unwritable_out_is_an_error() {
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("file");
        fs::write(&file, "").unwrap();
        for bad in [file.clone(), file.join("below")] {
            let error = RunDir::create(&bad, &RunId::new("r1")).unwrap_err();
            assert!(matches!(error, DataError::Io { doing: Doing::Create, .. }), "{error}");
        }
        assert!(RunDir::open(&file).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_system_without_folders_is_an_error() {
        assert!(RunDir::create(Path::new("/proc/self"), &RunId::new("r1")).is_err());
    }

    #[test]
    fn a_run_id_cannot_leave_its_folder() {
        let out = tempfile::tempdir().unwrap();
        for bad in ["", "..", ".hidden", "a/b", "../up", "a\\b", "a\0b", "-rf", "é", &"x".repeat(101)] {
            let error = RunDir::create(out.path(), &RunId::new(bad)).unwrap_err();
            assert!(matches!(error, DataError::BadRunId { .. }), "{bad:?}: {error}");
        }
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
    }
}
