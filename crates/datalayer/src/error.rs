//! What can break while a run is kept or read.
//!
//! Invariant: no message quotes the content of a log line; a line may hold what a page said.

use std::io;
use std::path::PathBuf;

use cuebook_grammar::id::RunId;
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_grammar::wire::ReadError;

/// A failure of the data layer. All of them mean that the machinery or a file is broken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file system refused.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried, as a verb.
        doing: Doing,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A run's name that cannot be the name of a folder.
    #[error(
        "expected a run id of 1 to 100 letters, digits, `.`, `_` or `-` that starts with a letter or digit, saw `{seen}`"
    )]
    BadRunId {
        /// The start of what was seen, escaped.
        seen: String,
    },
    /// A value that has no JSON form.
    #[error("expected a value with a JSON form")]
    Encode(#[source] serde_json::Error),
    /// An entry that no reader would accept.
    #[error("expected an entry of at most {limit} bytes, saw {seen}")]
    TooLong {
        /// The bound.
        limit: u64,
        /// Its length.
        seen: u64,
    },
    /// Taking a secret out would have left a document that cannot be read again.
    #[error("expected a document that stays readable without its secrets, saw one at {pointer} that does not")]
    Unredactable {
        /// Where.
        pointer: String,
    },
    /// The log failed before, or was closed.
    #[error("expected a log that took every entry so far, saw one that failed or was closed")]
    LogRefuses,
    /// Entries come in this order: header, calls and then begin and commit of each of their steps, end.
    #[error("expected {expected}, saw {seen}")]
    OutOfOrder {
        /// What may come.
        expected: &'static str,
        /// What came.
        seen: &'static str,
    },
    /// A step that was not begun cannot be committed, nor begun twice.
    #[error("expected {expected} for step {step_index}, attempt {attempt}")]
    Ticket {
        /// What may come.
        expected: &'static str,
        /// The step.
        step_index: u32,
        /// Its attempt.
        attempt: u32,
    },
    /// An entry of another run.
    #[error("expected an entry of run {expected}, saw one of {seen}")]
    OtherRun {
        /// The run of the log.
        expected: RunId,
        /// The run of the entry.
        seen: RunId,
    },
    /// A log of another major version, which this reader would misread.
    #[error("expected record version {}.x, saw `{seen}`", RECORD_VERSION.split('.').next().unwrap_or_default())]
    Version {
        /// The start of what was seen, escaped.
        seen: String,
    },
    /// A whole line that is no JSON object.
    #[error("expected a JSON object at column {column}, saw something else")]
    NotJson {
        /// From 1.
        column: usize,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A whole line that is JSON but no entry.
    #[error("expected an entry of the log, saw something else at `{}`", .0.path)]
    NotAnEntry(#[source] ReadError),
    /// Which line of a log an error is about.
    #[error("line {line}")]
    Line {
        /// From 1.
        line: u64,
        /// What is wrong with it.
        source: Box<DataError>,
    },
    /// An artifact whose reference or content is not what it claims.
    #[error("expected an artifact with SHA-256 {expected}, saw {seen}")]
    Artifact {
        /// The start of what the reference says, escaped.
        expected: String,
        /// What was there.
        seen: String,
    },
    /// The thread pool is gone: the program is ending.
    #[error("expected a running worker, saw one that had stopped")]
    WorkerGone,
}

/// What was tried on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Doing {
    /// Making a file or folder.
    Create,
    /// Opening or reading.
    Read,
    /// Writing.
    Write,
    /// Waiting until the disk has it.
    Sync,
    /// Giving it its final name.
    Rename,
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Rename => "rename",
        })
    }
}

impl DataError {
    pub(crate) fn io(doing: Doing, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// The line of the log that the error is about, from 1.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        match self {
            Self::Line { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// The start of a text for a message, with control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(100).flat_map(char::escape_debug).collect()
}
