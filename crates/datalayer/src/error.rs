//! Errors of writing and reading runs.
//!
//! Invariant: no message quotes a log line, which may contain text of a page.

use std::io;
use std::path::PathBuf;

use cuebook_grammar::id::{ObservationId, RunId};
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_grammar::redaction::RedactError;
use cuebook_grammar::wire::ReadError;

/// An error of the data layer. All of them mean that the machinery or a file is broken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file operation failed.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// Operation that failed, for the message.
        doing: Doing,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The log of a run that goes on cannot be written: no further step may act.
    #[error(
        "cannot {doing} {}; {committed} steps are safe in it, and the run ends before anything else is done",
        path.display()
    )]
    LogFails {
        /// Operation that failed: a write, or a wait for the disk.
        doing: Doing,
        /// Path of the run's `log.jsonl`.
        path: PathBuf,
        /// Steps whose commit is on the disk.
        committed: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// A run id that cannot be the name of a folder.
    #[error("`{seen}` is not a run id: 1 to 100 letters, digits, `.`, `_` or `-`, the first a letter or digit")]
    BadRunId {
        /// The start of it, escaped.
        seen: String,
    },
    /// A folder without runs.
    #[error("no log.jsonl is in {} or directly below it: name the folder of a run, or of runs", path.display())]
    NoRun {
        /// Folder that was searched, with the folders directly in it.
        path: PathBuf,
    },
    /// A document cannot be redacted, or not be written as JSON.
    #[error(transparent)]
    Redact(#[from] RedactError),
    /// An entry is too long for readers.
    #[error("an entry of {seen} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Upper bound in bytes.
        limit: u64,
        /// Length of the entry in bytes.
        seen: u64,
    },
    /// The log failed before, or is closed.
    #[error("the log has failed or is closed")]
    LogRefuses,
    /// An entry is out of order. The order is: header; calls, and begin and commit of their steps; end.
    #[error("expected {expected}, saw {seen}")]
    OutOfOrder {
        /// The entry that is allowed here.
        expected: &'static str,
        /// The entry that was written or read.
        seen: &'static str,
    },
    /// A step is committed without being begun, or begun twice.
    #[error("expected {expected} for step {step_index}, attempt {attempt}")]
    Ticket {
        /// Description of the entry that is allowed.
        expected: &'static str,
        /// Position of the step in order of execution.
        step_index: u32,
        /// Number of the step's attempt.
        attempt: u32,
    },
    /// An entry of another run.
    #[error("the log is of run {expected}, and has an entry of run {seen}")]
    OtherRun {
        /// The run of the log.
        expected: RunId,
        /// The run of the entry.
        seen: RunId,
    },
    /// A log of another major version.
    #[error("record version `{seen}` cannot be read, only {}.x", RECORD_VERSION.split('.').next().unwrap_or_default())]
    Version {
        /// The start of it, escaped.
        seen: String,
    },
    /// A complete line is not a JSON object.
    #[error("the line is not a JSON object, at column {column}")]
    NotJson {
        /// 1-based column of the line.
        column: usize,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// A complete line is JSON, but not an entry.
    #[error("the line is not an entry of the log, at `{}`", .0.path)]
    NotAnEntry(#[source] ReadError),
    /// The line of a log that has an error.
    #[error("line {line}")]
    Line {
        /// 1-based line of the file.
        line: u64,
        /// The error of that line.
        source: Box<DataError>,
    },
    /// The reference or the content of an artifact is wrong.
    #[error("the artifact has SHA-256 {seen}, and the log says {expected}")]
    Artifact {
        /// The start of the digest in the reference, escaped.
        expected: String,
        /// The actual digest or path.
        seen: String,
    },
    /// The content of an observation is not what its entry says.
    #[error("the content of observation {} is not what the log states", .id.0)]
    Observation {
        /// Observation whose stored content differs.
        id: ObservationId,
    },
    /// A run that cannot be replayed.
    #[error("the run cannot be replayed: {}{why}", place(*step, what))]
    Unreplayable {
        /// 1-based step of the plan; `None` for the whole run.
        step: Option<u32>,
        /// The step in words, its names escaped.
        what: String,
        /// Obstacle to the replay.
        why: Unreplayable,
    },
    /// The worker thread has stopped: the program is ending.
    #[error("the worker thread has stopped")]
    WorkerGone,
}

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Doing {
    /// Create a file or folder.
    Create,
    /// Open or read a file, or list a folder.
    Read,
    /// Write a file's content.
    Write,
    /// Wait until it is on the disk.
    Sync,
    /// Rename to the final name.
    Rename,
    /// Remove a file or folder.
    Remove,
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
        })
    }
}

impl DataError {
    pub(crate) fn io(doing: Doing, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// 1-based line of the log.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        match self {
            Self::Line { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// Why a run cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreplayable {
    /// None of its steps succeeded.
    Empty,
    /// A step entered text that is not in the log.
    Text,
    /// Another part of a step is not in the log.
    Redacted,
    /// The target has no locator.
    Target,
    /// It has more steps than a plan.
    TooLong,
    /// A credential is stated for a step that needs none.
    NeedsNone,
}

impl std::fmt::Display for Unreplayable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "no step of it succeeded",
            Self::Text => "enters text that was kept secret and is not in the log; name a secret for it",
            Self::Redacted => "contains text that was kept secret and is not in the log",
            Self::Target => "has a target that no locator finds again",
            Self::TooLong => "is one too many: a plan has at most 200",
            Self::NeedsNone => "was given a secret, but does not exist or enters no text that was kept secret",
        })
    }
}

fn place(step: Option<u32>, what: &str) -> String {
    match (step, what) {
        (Some(step), "") => format!("step {step} "),
        (Some(step), what) => format!("step {step} ({}) ", what.chars().take(200).collect::<String>()),
        (None, _) => String::new(),
    }
}

/// The start of a text for a message, escaped.
pub(crate) fn shown(text: &str) -> String {
    cuebook_grammar::render::excerpt(text, 100)
}
