//! Fresh profile directories, and the janitor for those that a killed process left behind.
//!
//! Each profile `profile-x` has a lock file `profile-x.lock` beside it, made before it and removed after
//! it, that names the owner and the browser, each by process id and start time (ids are reused).
//!
//! Invariants: a profile whose owner lives is never touched; a process is killed only if it is the one
//! that was started for this profile; what cannot be distinguished is left alone.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::process::{self, Process};

const PREFIX: &str = "profile-";
const SUFFIX: &str = ".lock";
/// Chrome's link to the socket by which a second start finds the first.
const SOCKET: &str = "SingletonSocket";
/// After this, a lock that nobody holds and that names nobody belongs to a process that was killed while it wrote it.
const STARTING: Duration = Duration::from_secs(60);

/// Results of a sweep by the janitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepReport {
    /// Browsers that were still running without an owner and were killed.
    pub killed: usize,
    /// Profiles that were removed.
    pub removed: usize,
    /// Profiles of live owners, left alone.
    pub in_use: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Lock {
    owner: Process,
    browser: Option<Process>,
}

/// A profile of ours. Dropping it removes the directory, then the lock.
#[derive(Debug)]
pub(crate) struct ProfileDir {
    path: PathBuf,
    lock_path: PathBuf,
    lock: File,
}

impl ProfileDir {
    pub(crate) fn create(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        // Chrome needs an absolute path; it runs elsewhere than we do.
        let root = root.canonicalize()?;
        let (lock, lock_path) = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .tempfile_in(&root)?
            .keep()
            .map_err(|error| error.error)?;
        process::hold(&lock)?;
        let profile = Self { path: lock_path.with_extension(""), lock_path, lock };
        profile.write(None)?;
        create_private(&profile.path)?;
        Ok(profile)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies what a person's profile has: cookies, logins, storage and settings, not its caches. The original is only
    /// read. Links are left out, and what vanishes meanwhile.
    pub(crate) fn fill_from(&self, original: &Path) -> io::Result<()> {
        if !original.join("Local State").is_file() {
            let expected = "no user data directory of Chrome: it has no file `Local State`";
            return Err(io::Error::new(io::ErrorKind::NotFound, expected));
        }
        copy(original, &self.path)
    }

    /// Records the browser that uses it.
    pub(crate) fn used_by(&self, browser: u32) -> io::Result<()> {
        self.write(Some(Process::of(browser)))
    }

    fn write(&self, browser: Option<Process>) -> io::Result<()> {
        let lock = Lock { owner: Process::of(std::process::id()), browser };
        let text = serde_json::to_vec(&lock)?;
        let mut file = &self.lock;
        io::Seek::rewind(&mut file)?;
        file.set_len(0)?;
        file.write_all(&text)
    }
}

impl Drop for ProfileDir {
    fn drop(&mut self) {
        if let Err(error) = remove_profile(&self.path) {
            // The lock stays, so that the next sweep tries again.
            tracing::debug!(%error, "profile not removed");
            return;
        }
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// Parts of a profile that Chrome makes again, or that belong to the process that has it open.
const LEFT_OUT: [&str; 18] = [
    "BrowserMetrics",
    "Cache",
    "Code Cache",
    "Crash Reports",
    "Crashpad",
    "DawnGraphiteCache",
    "DawnWebGPUCache",
    "DevToolsActivePort",
    "GPUCache",
    "GrShaderCache",
    "GraphiteDawnCache",
    "OptimizationGuidePredictionModels",
    "Safe Browsing",
    "ShaderCache",
    "Sessions",
    "component_crx_cache",
    "lockfile",
    "optimization_guide_model_store",
];

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_left_out = name.to_str().is_some_and(|name| LEFT_OUT.contains(&name) || name.starts_with("Singleton"));
        let (kind, copied) = (entry.file_type()?, to.join(&name));
        let done = match kind {
            _ if is_left_out => Ok(()),
            kind if kind.is_dir() => create_private(&copied).and_then(|()| copy(&entry.path(), &copied)),
            kind if kind.is_file() => fs::copy(entry.path(), &copied).map(drop),
            _ => Ok(()),
        };
        match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Removes a profile that dying processes may still write to, and the folder outside of it that Chrome has its socket in,
/// which stays if it is killed.
fn remove_profile(path: &Path) -> io::Result<()> {
    let socket = fs::read_link(path.join(SOCKET)).ok().filter(|socket| socket.ends_with(SOCKET));
    remove_dir(path)?;
    if let Some(folder) = socket.as_deref().and_then(Path::parent) {
        for file in [SOCKET, "SingletonCookie"] {
            // A browser that ended in good order has removed them.
            let _ = fs::remove_file(folder.join(file));
        }
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

fn remove_dir(path: &Path) -> io::Result<()> {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if Instant::now() < until => pause(),
            result => return result,
        }
    }
}

fn pause() {
    #[expect(clippy::disallowed_methods, reason = "a poll interval inside a deadline, where nothing can be awaited")]
    std::thread::sleep(Duration::from_millis(10));
}

/// Kills a launched browser's whole process group. The leader must not have been reaped yet.
pub(crate) fn kill_group(leader: u32) {
    process::kill_group(leader);
}

/// Waits until no process of a killed group runs, at most two seconds.
pub(crate) fn await_group_end(leader: u32) {
    let until = Instant::now() + Duration::from_secs(2);
    while process::group_is_alive(leader) && Instant::now() < until {
        process::kill_group(leader);
        pause();
    }
}

/// Kills browsers whose owner was killed, and removes their profiles. Never touches a live owner's.
/// Call it before the first launch; it blocks for as long as killing and removing take.
///
/// # Errors
/// The root cannot be read. A missing root is fine.
pub fn sweep(profile_root: &Path) -> io::Result<SweepReport> {
    let mut report = SweepReport::default();
    let root = match profile_root.canonicalize() {
        Ok(root) => root,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(report),
        Err(error) => return Err(error),
    };
    for entry in fs::read_dir(&root)? {
        let Ok(entry) = entry else { continue };
        let (name, path) = (entry.file_name(), entry.path());
        let (Some(name), Ok(kind)) = (name.to_str().filter(|name| name.starts_with(PREFIX)), entry.file_type()) else {
            continue;
        };
        if kind.is_file() && name.ends_with(SUFFIX) {
            sweep_one(&path, &mut report);
        } else if kind.is_dir() && path.is_dir() && !root.join(format!("{name}{SUFFIX}")).exists() {
            // A profile never is without its lock: a dying process of a browser made the directory again.
            report.killed += kill_all(&process::using_profile(&path));
            report.removed += usize::from(remove_profile(&path).is_ok());
        }
    }
    Ok(report)
}

/// How many groups these were.
fn kill_all(leaders: &[u32]) -> usize {
    for leader in leaders {
        process::kill_group(*leader);
    }
    for leader in leaders {
        await_group_end(*leader);
    }
    leaders.len()
}

fn sweep_one(lock_path: &Path, report: &mut SweepReport) {
    let Ok(file) = File::options().read(true).write(true).open(lock_path) else { return };
    if !process::is_free(&file) {
        report.in_use += 1;
        return;
    }
    let Ok(text) = fs::read(lock_path) else { return };
    let lock = serde_json::from_slice::<Lock>(&text).ok();
    let age = || file.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
    // An empty lock belongs to a browser that is just starting.
    if lock.is_none() && (!text.is_empty() || age().is_none_or(|age| age < STARTING)) {
        return;
    }
    if lock.as_ref().is_some_and(|lock| lock.owner.is_alive()) {
        report.in_use += 1;
        return;
    }
    let profile = lock_path.with_extension("");
    let mut leaders = process::using_profile(&profile);
    if let Some(browser) = lock.and_then(|lock| lock.browser).filter(Process::is_alive)
        && browser.start.is_some()
        && !leaders.contains(&browser.pid)
    {
        leaders.push(browser.pid);
    }
    report.killed += kill_all(&leaders);
    if remove_profile(&profile).is_ok() {
        report.removed += 1;
        let _ = fs::remove_file(lock_path);
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Lock, ProfileDir, SweepReport, sweep};
    use crate::process::Process;

    #[test]
    fn a_live_owners_profile_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let profile = ProfileDir::create(root.path()).unwrap();
        assert_eq!(sweep(root.path()).unwrap(), SweepReport { in_use: 1, ..SweepReport::default() });
        assert!(profile.path().is_dir());
        drop(profile);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_copy_has_what_a_person_has_but_neither_caches_nor_links() {
        let (root, person) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let profile = ProfileDir::create(root.path()).unwrap();
        let refused = profile.fill_from(person.path()).unwrap_err().to_string();
        assert!(refused.contains("Local State"), "{refused}");
        for file in ["Local State", "SingletonLock", "Default/Cookies", "Default/Cache/data_0", "Crashpad/x"] {
            let path = person.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/hostname", person.path().join("Default/link")).unwrap();
        profile.fill_from(person.path()).unwrap();
        let has = |file: &str| profile.path().join(file).symlink_metadata().is_ok();
        assert!(has("Local State") && has("Default/Cookies"));
        assert!(!["SingletonLock", "Default/Cache", "Crashpad", "Default/link"].into_iter().any(has));
        assert!(person.path().join("SingletonLock").exists(), "the original is only read");
    }

    #[test]
    fn a_dead_owners_profile_is_removed_even_if_its_process_id_is_reused() {
        let root = tempfile::tempdir().unwrap();
        let profile = root.path().join("profile-x");
        fs::create_dir_all(profile.join("Default")).unwrap();
        let again = Process { pid: std::process::id(), start: Some("long ago".to_owned()) };
        let lock = Lock { owner: again.clone(), browser: Some(again) };
        fs::write(root.path().join("profile-x.lock"), serde_json::to_vec(&lock).unwrap()).unwrap();
        assert_eq!(sweep(root.path()).unwrap(), SweepReport { removed: 1, ..SweepReport::default() });
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_of_the_socket_of_a_killed_browser_goes_with_its_profile_and_nothing_else_there() {
        use std::os::unix::fs::symlink;

        let (root, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = ["org.chromium.x", "kept"].map(|name| beside.path().join(name));
        for (folder, link) in folders.iter().zip(["SingletonSocket", "other"]) {
            fs::create_dir(folder).unwrap();
            for file in ["SingletonSocket", "SingletonCookie", "other"] {
                fs::write(folder.join(file), "").unwrap();
            }
            if link == "SingletonSocket" {
                fs::remove_file(folder.join("other")).unwrap();
            }
            let profile = ProfileDir::create(root.path()).unwrap();
            symlink(folder.join(link), profile.path().join("SingletonSocket")).unwrap();
        }
        assert!(!folders[0].exists());
        assert_eq!(fs::read_dir(&folders[1]).unwrap().count(), 3, "a link to something else is not followed");
    }

    #[test]
    fn a_profile_without_a_lock_and_an_old_lock_without_an_owner_are_removed() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("profile-x")).unwrap();
        fs::create_dir(root.path().join("profile-y")).unwrap();
        let lock = fs::File::create(root.path().join("profile-y.lock")).unwrap();
        lock.set_modified(std::time::SystemTime::now() - 2 * super::STARTING).unwrap();
        drop(lock);
        assert_eq!(sweep(root.path()).unwrap(), SweepReport { removed: 2, ..SweepReport::default() });
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    /// A browser that has ended, with a process that it started still there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_group_whose_leader_has_ended_is_killed() {
        use std::io::Read as _;
        use std::os::unix::process::CommandExt as _;
        use std::process::{Command, Stdio};
        let root = tempfile::tempdir().unwrap();
        let profile = root.path().canonicalize().unwrap().join("profile-x");
        fs::create_dir(&profile).unwrap();
        let argument = format!("--user-data-dir={}", profile.display());
        // The shell that reads the argument is the leader's child, and outlives it. Until it has started, it has none.
        let script = r#"sh -c 'echo; while :; do sleep 1; done' child "$1" & "#;
        let mut command = Command::new("sh");
        command.args(["-c", script, "leader", &argument]).process_group(0).stdout(Stdio::piped());
        let mut leader = command.spawn().unwrap();
        leader.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        leader.wait().unwrap();
        assert_eq!(sweep(root.path()).unwrap(), SweepReport { killed: 1, removed: 1, ..SweepReport::default() });
        assert!(!crate::process::group_is_alive(leader.id()));
    }

    #[test]
    fn what_is_not_ours_or_just_starting_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("profile-y.lock"), "").unwrap();
        fs::create_dir(root.path().join("profile-y")).unwrap();
        fs::write(root.path().join("notes.lock"), "{}").unwrap();
        fs::create_dir(root.path().join("notes")).unwrap();
        assert_eq!(sweep(root.path()).unwrap(), SweepReport::default());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 4);
        assert_eq!(sweep(&root.path().join("absent")).unwrap(), SweepReport::default());
    }
}
