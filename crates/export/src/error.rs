//! Errors of an export.

use std::io;
use std::path::{Path, PathBuf};

use cuebook_datalayer::DataError;
use cuebook_grammar::wire::ReadError;

/// Why an export cannot be made, or cannot go on. What it wrote before is whole and is kept by the next one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file operation failed.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A run cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The folder holds something else.
    #[error(
        "{} holds {seen}: only an empty folder, or a {format} export with redaction {redaction}, can take the export \
         (choose another --out, or --rewrite to replace an export)",
        path.display()
    )]
    OtherExport {
        /// Folder that was to take the export.
        path: PathBuf,
        /// The format that was asked for.
        format: &'static str,
        /// The redaction that was asked for.
        redaction: &'static str,
        /// Description of the folder's content.
        seen: String,
    },
    /// The format cannot do without what would be removed.
    #[error("--to {format} cannot be redacted (--redact {redaction}): without its texts, nothing could be replayed")]
    Redaction {
        /// The format that was asked for.
        format: &'static str,
        /// The redaction that was asked for.
        redaction: &'static str,
    },
    /// A run was exported together with others while it was not complete.
    #[error(
        "run {run} has changed since it was exported, and not all runs that are in {part} with it are given (give them all, or --rewrite)"
    )]
    Changed {
        /// The folder of the run.
        run: PathBuf,
        /// The part that holds it.
        part: String,
    },
    /// The folder holds an export that is not to Parquet.
    #[error(
        "{} holds an export to {seen}: expected recorded runs, or an export to parquet (cuebook export RUNS --to parquet)",
        path.display()
    )]
    NoTables {
        /// Folder of the export.
        path: PathBuf,
        /// Format of the export.
        seen: &'static str,
    },
    /// A table is not as an export writes it.
    #[error("cannot read the table {}: {why} (export the runs again, with --rewrite)", path.display())]
    Table {
        /// The file of the table.
        path: PathBuf,
        /// Expected and seen content.
        why: String,
    },
    /// An address names no place that exports can go to.
    #[error("expected {expected}, saw {seen}")]
    Address {
        /// Description of a valid address.
        expected: &'static str,
        /// The address, without user and query.
        seen: String,
    },
    /// An object store or a collector refuses, or cannot be reached.
    #[error("cannot {what} {address}: {message}")]
    Remote {
        /// Operation that was tried: `list`, `write`, …
        what: &'static str,
        /// Address of the store or collector.
        address: String,
        /// Message of the store or the system, without credentials: its own text may hold them.
        message: String,
    },
    /// An entry cannot be redacted. Its run is exported up to there, and reported.
    #[error("an entry cannot be redacted")]
    Redact(#[source] ReadError),
    /// A value cannot be written as JSON.
    #[error("a record cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// The columns do not fit the schema of their table.
    #[error("the columns do not fit their table")]
    Arrow(#[from] arrow_schema::ArrowError),
    /// A Parquet file cannot be written.
    #[error("a Parquet file cannot be written")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// A ZIP file cannot be written.
    #[error("a ZIP file cannot be written")]
    Zip(#[from] zip::result::ZipError),
}

impl ExportError {
    #[cfg(feature = "remote")]
    pub(crate) fn address(url: &url::Url, expected: &'static str) -> Self {
        let host = url.host_str().unwrap_or_default();
        Self::Address { expected, seen: format!("{}://{host}{}", url.scheme(), url.path()) }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
