//! The data of a run: a durable step log, artifacts by content, a report; and a reader, a judge, metrics, a page of HTML,
//! and a memory of plans that worked, for them.
//!
//! Cost: an entry of the log is one write and one `fdatasync`, a fraction of a millisecond on a local disk. An artifact is
//! one hash and one write; equal content is written once. Reading and judging a run is linear in its size and needs no
//! browser.
//!
//! Deliberately absent: clocks and randomness (callers pass the time and the random bytes), and any knowledge of browsers,
//! planners or the loop of a run.

pub mod artifact;
mod artifact_name;
pub mod cdp_log;
pub mod embedding;
pub mod error;
pub mod film;
pub mod fragile;
pub mod html;
mod in_words;
pub mod judge;
mod known_plans;
mod lock;
pub mod log;
pub mod memory;
pub mod metrics;
mod picture;
pub mod redactor;
pub mod replay;
pub mod report;
pub mod retention;
pub mod run_dir;
pub mod traffic;

pub use artifact::ArtifactStore;
pub use cdp_log::CdpLog;
pub use error::{DataError, Unreplayable};
pub use judge::{Difference, Judgement, judge};
pub use known_plans::KnownPlans;
pub use lock::FileLock;
pub use log::{Entries, Entry, Following, JsonlLog, Observations, Run, StepClock, Torn};
pub use memory::{MemoryArtifacts, MemoryLog};
pub use redactor::ValueRedactor;
pub use report::write_report;
pub use run_dir::{RunDir, run_id};
