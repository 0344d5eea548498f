//! The sessions of a user on this machine: where their sockets are, and which of them are alive.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::socket;
use crate::wire::VERSION;

/// The longest name of a session, in bytes: the path of a socket is bounded.
const NAME: usize = 40;

/// A name that a session may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session's name has 1 to 40 letters, digits, `-` and `_`")]
pub struct BadName;

/// A folder with the sockets of sessions, which nobody else can enter.
#[derive(Clone, Debug)]
pub struct Registry {
    folder: PathBuf,
}

/// Facts of a session that are known without asking it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Name of the session.
    pub name: String,
    /// Process that serves it.
    pub process: u32,
    /// Version of the program that serves it.
    pub version: String,
    /// Folder in which it was started.
    pub folder: PathBuf,
    /// When it was started, in milliseconds since 1970.
    pub since_ms: u64,
    /// Its browser is one that a person has, and stays when it ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_attached: bool,
    /// Folder of its log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Address of the page that shows it. Whoever knows it can see the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

impl Entry {
    /// A session of this process, with this version.
    #[must_use]
    pub fn of_this_process(name: String, folder: PathBuf, since_ms: u64) -> Self {
        let (process, version) = (std::process::id(), VERSION.to_owned());
        Self { name, process, version, folder, since_ms, is_attached: false, log: None, view: None }
    }
}

impl Registry {
    /// The registry in a folder, which is made for its owner alone if it is not there.
    ///
    /// # Errors
    /// If the folder cannot be made, or others can enter it.
    pub fn at(folder: PathBuf) -> io::Result<Self> {
        if !made_for_owner(&folder)? {
            let why = format!("{} must be a folder that its owner alone can enter", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Self { folder })
    }

    /// The socket of a session.
    ///
    /// # Errors
    /// [`BadName`]
    pub fn socket(&self, name: &str) -> Result<PathBuf, BadName> {
        self.file(name, "sock")
    }

    /// The file for what the server of a session says on standard error.
    ///
    /// # Errors
    /// [`BadName`]
    pub fn messages(&self, name: &str) -> Result<PathBuf, BadName> {
        self.file(name, "log")
    }

    fn file(&self, name: &str, extension: &str) -> Result<PathBuf, BadName> {
        let is_name = (1..=NAME).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if is_name { Ok(self.folder.join(format!("{name}.{extension}"))) } else { Err(BadName) }
    }

    /// Writes down a session that is served now.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn enter(&self, entry: &Entry) -> io::Result<()> {
        let path = self.file(&entry.name, "json").map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        file.write_all(&serde_json::to_vec(entry)?)
    }

    /// Removes a session of this process, whose socket its server has removed: another one may have its name by now.
    pub fn leave(&self, name: &str) {
        if self.read(name).is_some_and(|entry| entry.process == std::process::id()) {
            self.remove(name, &["json", "log"]);
        }
    }

    fn read(&self, name: &str) -> Option<Entry> {
        serde_json::from_slice(&std::fs::read(self.file(name, "json").ok()?).ok()?).ok()
    }

    /// Removes what a dead session left, unless another one has its name by now.
    fn sweep(&self, name: &str) {
        let _alone = alone(&self.folder);
        if !self.is_alive(name) {
            self.remove(name, &["sock", "json", "log"]);
        }
    }

    fn remove(&self, name: &str, extensions: &[&str]) {
        for extension in extensions {
            if let Ok(path) = self.file(name, extension) {
                // Another one may have removed it.
                std::fs::remove_file(path).ok();
            }
        }
    }

    /// The sessions that are alive, by name. Those that died are removed.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn sessions(&self) -> io::Result<Vec<Entry>> {
        let mut alive = Vec::new();
        for file in std::fs::read_dir(&self.folder)? {
            let path = file?.path();
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            match (extension, self.is_alive(&name)) {
                ("json", true) => alive.extend(self.read(&name)),
                ("json" | "sock", false) => self.sweep(&name),
                _ => {}
            }
        }
        alive.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(alive)
    }

    /// The entry of a session that is alive, and has started.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Entry> {
        self.read(name).filter(|_| self.is_alive(name))
    }

    fn is_alive(&self, name: &str) -> bool {
        self.socket(name).is_ok_and(|socket| socket::is_served(&socket))
    }
}

/// Keeps other processes from beginning or sweeping a session, until it is dropped.
#[cfg(unix)]
pub(crate) fn alone(folder: &Path) -> Option<std::fs::File> {
    let folder = std::fs::File::open(folder).ok()?;
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).ok()?;
    Some(folder)
}

/// Does nothing where folders have no locks.
#[cfg(not(unix))]
pub(crate) fn alone(_: &Path) -> Option<std::fs::File> {
    None
}

/// Makes a folder, and returns `true` if its owner alone can enter it.
#[cfg(unix)]
fn made_for_owner(folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = std::fs::symlink_metadata(folder)?;
    Ok(found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0)
}

/// Makes a folder. Who can enter it is what the folder around it says: temporary folders are their owner's on Windows.
#[cfg(not(unix))]
fn made_for_owner(folder: &Path) -> io::Result<bool> {
    std::fs::create_dir_all(folder)?;
    Ok(std::fs::symlink_metadata(folder)?.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        let folder = std::env::temp_dir().join(format!("cuebook-registry-{}", std::process::id()));
        let registry = Registry::at(folder.clone()).unwrap();
        for name in ["", "../a", "a/b", "a b", &"x".repeat(41)] {
            assert_eq!(registry.socket(name), Err(BadName), "{name}");
        }
        let entry = Entry::of_this_process("a".to_owned(), folder.clone(), 0);
        registry.enter(&entry).unwrap();
        assert_eq!(registry.sessions().unwrap(), [], "nobody listens");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "and it is swept");
        std::fs::remove_dir(folder).unwrap();
    }
}
