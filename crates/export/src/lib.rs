//! Recorded runs in the formats of other people's software: Parquet, training data, Playwright, HAR,
//! OpenTelemetry.
//!
//! Cost: one pass over each log, entry by entry, so memory does not grow with the number or the length of runs. Parquet
//! buffers a row group a table, at most 16 MiB each. A run that was exported before costs the reading of its first and
//! its last line.
//!
//! Invariants:
//! - What a redaction profile removes is removed as an entry is read, before any format sees it.
//! - Nothing that a log says is used as a path: a file is named by its run's folder, if that is a plain name, or by a
//!   digest.
//! - A file gets its name when it is complete. A second export of the same runs writes nothing and changes nothing.
//! - A log that cannot be read to its end is exported up to there, and reported.
//!
//! Deliberately absent: clocks and randomness. The same runs give the same bytes. Only with the feature `remote`, and
//! there only `Bucket` and `Collector`, use the network.

mod candidates;
#[cfg(feature = "remote")]
mod collector;
mod error;
mod export;
mod folder;
mod format;
mod har;
mod job;
mod judged;
mod locating;
mod mind2web;
mod otlp;
mod parquet;
mod playwright;
mod recording;
mod redaction;
#[cfg(feature = "remote")]
mod remote;
mod source;
mod steplog;
mod training;

#[cfg(feature = "remote")]
pub use collector::Collector;
pub use error::ExportError;
pub use export::export;
pub use format::{Format, Redaction};
pub use job::{Exported, Options};
pub use parquet::{EpisodeRow, ExportedTables, SCHEMA_VERSION, columns, episodes};
#[cfg(feature = "remote")]
pub use remote::Bucket;
pub use training::missing;
