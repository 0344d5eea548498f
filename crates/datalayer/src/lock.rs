//! A lock of a file for one process, and its replacement as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A lock that is held until it is dropped, or the process ends. Where the platform has none, it is always had.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock of a file, which lies beside it as `NAME.lock`. `None` if another process has it.
    ///
    /// # Errors
    /// That of the system if the lock's file cannot be created.
    pub fn beside(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        #[cfg(unix)]
        {
            use rustix::fs::{FlockOperation, flock};
            // Another error is that of a file system without locks.
            if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
                return Ok(None);
            }
        }
        Ok(Some(Self { _file: file }))
    }

    /// Waits for the lock. Blocks for as long as another process has it.
    ///
    /// # Errors
    /// That of the system if the lock's file cannot be created.
    pub(crate) fn wait(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        #[cfg(unix)]
        // A file system without locks has none to wait for.
        let _ = rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive);
        Ok(Self { _file: file })
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    private().truncate(false).open(PathBuf::from(name))
}

/// Only the owner can read it.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file as a whole. Only its owner can read it. Whoever calls it has the lock of the file.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = private().truncate(true).open(&part)?;
    file.write_all(content)?;
    file.sync_data()?;
    fs::rename(&part, path)
}
