//! Leftovers of runs: browsers and profile directories below a folder that only this soak uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a browser that was killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// Waits until nothing is left below `folder`; what still is when patience ends.
pub(super) fn remaining(folder: &Path) -> Vec<String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let mut left: Vec<String> = profiles(folder).iter().map(|path| path.display().to_string()).collect();
        left.extend(browsers(folder).iter().map(|pid| format!("process {pid}")));
        if left.is_empty() || Instant::now() >= until {
            return left;
        }
        pause();
    }
}

/// Sleeps for one poll interval.
pub(super) fn pause() {
    #[expect(clippy::disallowed_methods, reason = "a poll interval inside a deadline, where nothing can be awaited")]
    std::thread::sleep(POLL);
}

/// Directories and locks of profiles, wherever below `folder` they are.
fn profiles(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("profile-")) {
            found.push(path);
        } else if path.is_dir() {
            found.extend(profiles(&path));
        }
    }
    found
}

/// Processes with a profile below `folder`, where the system lists processes as Linux does. A process that
/// has ended and only waits to be reaped has no command line.
fn browsers(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let wanted = format!("--user-data-dir={}", folder.display());
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(wanted.as_str()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{browsers, profiles};

    #[test]
    fn profiles_are_found_at_any_depth() {
        let folder = std::env::temp_dir().join(format!("cuebook-xtask-leftovers-{}", std::process::id()));
        fs::create_dir_all(folder.join("cuebook-x/profile-1")).unwrap();
        fs::write(folder.join("cuebook-x/profile-1.lock"), "{}").unwrap();
        fs::create_dir_all(folder.join("cuebook-x/other")).unwrap();
        let found = profiles(&folder).len();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, 2);
        assert!(profiles(&folder).is_empty());
        assert!(browsers(&folder).is_empty());
    }
}
