//! Processes of a run, as Linux lists them: its browser, the browser's renderers, and what is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The browsers whose profile lies below `folder`.
#[must_use]
pub fn browsers(folder: &Path) -> Vec<u32> {
    let wanted = format!("--user-data-dir={}", folder.display());
    all()
        .filter(|pid| command_line(*pid).is_some_and(|line| line.contains(&wanted) && !line.contains("--type=")))
        .collect()
}

/// The renderers of a browser.
pub(super) fn renderers(browser: u32) -> Vec<u32> {
    all()
        .filter(|pid| command_line(*pid).is_some_and(|line| line.contains("--type=renderer")))
        .filter(|pid| std::iter::successors(Some(*pid), |pid| parent(*pid)).take(8).any(|above| above == browser))
        .collect()
}

/// Returns the leftovers of a run below its folder for temporary files: profiles with their locks, records, and
/// processes.
#[must_use]
pub fn leftovers(folder: &Path) -> Vec<String> {
    let mut left: Vec<String> = files(folder).iter().map(|path| path.display().to_string()).collect();
    left.extend(browsers(folder).iter().map(|pid| format!("process {pid}")));
    left
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_ours = name.starts_with("profile-") || name.starts_with("attached-");
            if is_ours || !path.is_dir() { if is_ours { vec![path] } else { Vec::new() } } else { files(&path) }
        })
        .collect()
}

/// Sends a signal; a process that has ended takes none.
pub fn signal(name: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args([name, &pid.to_string()]).stderr(Stdio::null()).status();
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// `None` for a process that has ended and was not reaped.
fn command_line(pid: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(&bytes).replace('\0', " ")).filter(|line| !line.is_empty())
}

fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}
