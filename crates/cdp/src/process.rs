//! Processes: who owns a file, and whether that one still runs.

use serde::{Deserialize, Serialize};

#[cfg(not(unix))]
pub(crate) use elsewhere::{exists, group_is_alive, hold, is_free, kill_group, start_time, using_profile};
#[cfg(unix)]
pub(crate) use unix::{exists, group_is_alive, hold, is_free, kill_group, start_time, using_profile};

/// Who a process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// As the system reports it; unknown where it does not.
    pub(crate) start: Option<String>,
}

impl Process {
    pub(crate) fn of(pid: u32) -> Self {
        Self { pid, start: start_time(pid) }
    }

    pub(crate) fn is_alive(&self) -> bool {
        match &self.start {
            Some(start) => start_time(self.pid).as_ref() == Some(start),
            None => exists(self.pid),
        }
    }
}

#[cfg(unix)]
mod unix {
    //! Queries about processes on Unix, mostly through `/proc`.

    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    use rustix::fs::{FlockOperation, flock};
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process, test_kill_process_group};

    fn id(pid: u32) -> Option<Pid> {
        Pid::from_raw(i32::try_from(pid).ok()?)
    }

    /// Holds the lock for as long as the file is open; the system releases it when the process ends.
    pub(crate) fn hold(file: &File) -> io::Result<()> {
        Ok(flock(file, FlockOperation::LockExclusive)?)
    }

    pub(crate) fn is_free(file: &File) -> bool {
        flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    pub(crate) fn exists(pid: u32) -> bool {
        id(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
    }

    pub(crate) fn kill_group(leader: u32) {
        if let Some(pid) = id(leader).filter(|_| leader > 1) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }

    #[cfg(target_os = "linux")]
    struct Stat {
        state: String,
        group: u32,
        start: String,
    }

    /// The fields of `/proc/PID/stat` after the command, which is in brackets and may hold anything.
    #[cfg(target_os = "linux")]
    fn stat(pid: u32) -> Option<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        Some(Stat {
            state: (*fields.first()?).to_owned(),
            group: fields.get(2)?.parse().ok()?,
            start: (*fields.get(19)?).to_owned(),
        })
    }

    #[cfg(target_os = "linux")]
    fn all() -> impl Iterator<Item = u32> {
        fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
    }

    /// A process that has ended but was not reaped counts as ended.
    #[cfg(target_os = "linux")]
    pub(crate) fn start_time(pid: u32) -> Option<String> {
        stat(pid).filter(|stat| stat.state != "Z" && stat.state != "X").map(|stat| stat.start)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn start_time(pid: u32) -> Option<String> {
        let output = std::process::Command::new("ps").args(["-o", "lstart=", "-p", &pid.to_string()]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// Orphans that are not reaped stay in their group as zombies: those do not count.
    #[cfg(target_os = "linux")]
    pub(crate) fn group_is_alive(leader: u32) -> bool {
        if id(leader).is_none_or(|pid| test_kill_process_group(pid).is_err()) {
            return false;
        }
        all().filter_map(stat).any(|stat| stat.group == leader && stat.state != "Z" && stat.state != "X")
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn group_is_alive(leader: u32) -> bool {
        id(leader).is_some_and(|pid| test_kill_process_group(pid).is_ok())
    }

    /// The groups of processes that were started on this very profile. A browser may have ended before those that it
    /// started: then they are a group without a leader.
    #[cfg(target_os = "linux")]
    pub(crate) fn using_profile(profile: &Path) -> Vec<u32> {
        use std::os::unix::ffi::OsStrExt;
        let wanted = [b"--user-data-dir=", profile.as_os_str().as_bytes()].concat();
        let mut groups = Vec::new();
        for pid in all() {
            let Ok(command) = fs::read(format!("/proc/{pid}/cmdline")) else { continue };
            if command.split(|byte| *byte == 0).any(|argument| argument == wanted)
                && let Some(Stat { group, .. }) = stat(pid)
                && (group == pid || start_time(group).is_none())
                && !groups.contains(&group)
            {
                groups.push(group);
            }
        }
        groups
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn using_profile(_profile: &Path) -> Vec<u32> {
        Vec::new()
    }
}

#[cfg(not(unix))]
mod elsewhere {
    //! Elsewhere nothing is known about processes; the janitor then removes only what is not held open.

    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(crate) fn hold(_file: &File) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn is_free(_file: &File) -> bool {
        true
    }

    /// Unknown counts as alive: nothing is touched.
    pub(crate) fn exists(_pid: u32) -> bool {
        true
    }

    pub(crate) fn start_time(_pid: u32) -> Option<String> {
        None
    }

    pub(crate) fn kill_group(_leader: u32) {}

    pub(crate) fn group_is_alive(_leader: u32) -> bool {
        false
    }

    pub(crate) fn using_profile(_profile: &Path) -> Vec<u32> {
        Vec::new()
    }
}
