//! What a run leaves behind: a durable step log, artifacts by their content, a report; and how it is read
//! and judged again.
//!
//! What it costs: an entry of the log is one write and one `fdatasync`, a fraction of a millisecond on a
//! local disk; an artifact is one hash and one write, paid once for equal content; reading and judging a
//! run is linear in its size and needs no browser.
//!
//! Absent on purpose: clocks and randomness (callers bring the time and the random bytes), and any
//! knowledge of browsers, planners or how a run is driven.

pub mod artifact;
mod artifact_name;
pub mod error;
pub mod judge;
pub mod log;
pub mod memory;
pub mod redactor;
pub mod report;
pub mod run_dir;
mod scrub;

pub use artifact::ArtifactStore;
pub use error::DataError;
pub use judge::{Difference, Judgement, judge};
pub use log::{Entry, JsonlLog, Run, Torn};
pub use memory::{MemoryArtifacts, MemoryLog};
pub use redactor::ValueRedactor;
pub use report::write_report;
pub use run_dir::{RunDir, run_id};
