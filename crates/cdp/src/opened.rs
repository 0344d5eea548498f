//! The tabs that we opened in a browser of somebody else, and the janitor for those that a killed process left behind.
//!
//! Each connection writes one file, at the first tab that it opens: who it is, which browser, which tabs. It holds the
//! file's lock, so that the system frees it when the process ends, however.
//!
//! Invariants: the file knows of a tab before anything acts in it; tabs of a live process are never closed.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ids::TargetId;
use crate::process::{self, Process};

const PREFIX: &str = "attached-";
const SUFFIX: &str = ".json";

#[derive(Serialize, Deserialize)]
struct Record {
    owner: Process,
    /// Browser that the tabs are in, as [`browser_id`] names it.
    browser: String,
    tabs: Vec<String>,
}

/// Identifies a browser: equal for all connections to one browser, and different for any two. The path of its websocket
/// holds a random id, whereas ports are used again.
pub(crate) fn browser_id(address: &str) -> &str {
    address.find("/devtools/browser/").and_then(|at| address.get(at..)).unwrap_or(address)
}

/// The tabs that one connection opened.
pub(crate) struct OpenedTabs {
    folder: PathBuf,
    browser: String,
    tabs: HashSet<TargetId>,
    file: Option<(File, PathBuf)>,
}

impl OpenedTabs {
    pub(crate) fn new(folder: &Path, address: &str) -> Self {
        let browser = browser_id(address).to_owned();
        Self { folder: folder.to_owned(), browser, tabs: HashSet::new(), file: None }
    }

    pub(crate) fn contains(&self, tab: &TargetId) -> bool {
        self.tabs.contains(tab)
    }

    pub(crate) fn add(&mut self, tab: TargetId) {
        self.tabs.insert(tab);
        if let Err(error) = self.write() {
            tracing::warn!(%error, "an opened tab is not recorded: it stays open if this process is killed");
        }
    }

    fn write(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            fs::create_dir_all(&self.folder)?;
            let made = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(&self.folder)?;
            let (file, path) = made.keep().map_err(|error| error.error)?;
            process::hold(&file)?;
            self.file = Some((file, path));
        }
        let record = Record {
            owner: Process::of(std::process::id()),
            browser: self.browser.clone(),
            tabs: self.tabs.iter().map(|tab| tab.as_str().to_owned()).collect(),
        };
        let text = serde_json::to_vec(&record)?;
        if let Some((file, _)) = &mut self.file {
            file.rewind()?;
            file.set_len(0)?;
            file.write_all(&text)?;
        }
        Ok(())
    }

    /// All of them are closed.
    pub(crate) fn forget(&mut self) {
        self.tabs.clear();
        if let Some((_, path)) = self.file.take() {
            // A file that stays names tabs that do not exist any more.
            let _ = fs::remove_file(path);
        }
    }
}

/// Tabs that a dead process left open in a browser.
pub(crate) struct Leftover {
    pub(crate) tabs: Vec<String>,
    path: PathBuf,
    /// Locked, so that nobody else closes the same tabs.
    _file: File,
}

impl Leftover {
    /// Its tabs are closed.
    pub(crate) fn forget(self) {
        let _ = fs::remove_file(self.path);
    }
}

/// Returns the tabs that dead processes left open in this browser.
pub(crate) fn leftovers(folder: &Path, address: &str) -> Vec<Leftover> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
    });
    names.filter_map(|entry| leftover(entry.path(), browser_id(address))).collect()
}

fn leftover(path: PathBuf, browser: &str) -> Option<Leftover> {
    let file = File::options().read(true).write(true).open(&path).ok()?;
    if !process::is_free(&file) {
        return None;
    }
    // An empty record belongs to a process that is just writing it.
    let record: Record = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
    let is_left = record.browser == browser && !record.owner.is_alive();
    is_left.then_some(Leftover { tabs: record.tabs, path, _file: file })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;

    use super::{OpenedTabs, Record, leftovers};
    use crate::process::Process;

    const BROWSER: &str = "ws://127.0.0.1:9222/devtools/browser/aaaa";

    #[test]
    fn tabs_of_a_live_process_are_no_leftovers_and_are_forgotten_when_closed() {
        let folder = tempfile::tempdir().unwrap();
        let mut tabs = OpenedTabs::new(folder.path(), BROWSER);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was opened");
        tabs.add("one".into());
        tabs.add("two".into());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(leftovers(folder.path(), BROWSER).is_empty());
        tabs.forget();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn tabs_of_a_dead_process_are_found_for_their_browser_only() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Process { pid: std::process::id(), start: Some("long ago".to_owned()) };
        let record = Record { owner, browser: super::browser_id(BROWSER).to_owned(), tabs: vec!["t".to_owned()] };
        let path = folder.path().join("attached-x.json");
        fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
        fs::write(folder.path().join("attached-y.json"), "").unwrap();
        assert!(leftovers(folder.path(), "ws://127.0.0.1:9222/devtools/browser/bbbb").is_empty());
        let mut found = leftovers(folder.path(), "ws://localhost:9222/devtools/browser/aaaa");
        let leftover = found.pop().unwrap();
        assert_eq!((found.len(), &leftover.tabs[..]), (0, &["t".to_owned()][..]));
        leftover.forget();
        assert!(!path.exists());
        assert!(leftovers(&folder.path().join("absent"), BROWSER).is_empty());
    }
}
