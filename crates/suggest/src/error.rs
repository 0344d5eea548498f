//! Errors of the source of an application.

use std::io;
use std::path::PathBuf;

/// A source that cannot be read or patched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuggestError {
    /// The folder cannot be opened.
    #[error("cannot read the source folder {}", path.display())]
    Folder {
        /// The folder as it was named.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder has more files than the bound.
    #[error("{} has more than {limit} files of markup or more than {total} bytes of them (name the folder of one application)", path.display())]
    TooLarge {
        /// The folder as it was named.
        path: PathBuf,
        /// Upper bound of the files.
        limit: usize,
        /// Upper bound in bytes.
        total: u64,
    },
    /// A file is not what it was when the patch was made.
    #[error("{} has changed since it was read, so nothing was written (run the command again)", path.display())]
    Changed {
        /// Its path below the folder.
        path: PathBuf,
    },
    /// A file is a link, not a regular file, or leads out of the folder.
    #[error("{} is not a regular file inside of the source folder, so nothing was written", path.display())]
    Outside {
        /// Its path below the folder.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Its path below the folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}
