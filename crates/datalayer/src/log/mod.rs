//! The step log: a write-ahead log with one JSON object per line.
//!
//! Invariants:
//! - Each line is one [`Entry`] that starts with its tag: `{"entry":"begin",…}`. The rest of the object is the value, so
//!   line tools can search the log.
//! - An entry is durable before the call of the writer returns. An incomplete last line is reported, never guessed.

mod clock;
mod entry;
mod ledger;
mod observed;
mod reader;
mod writer;

pub use clock::StepClock;
pub use entry::{Entry, EntryKind, MAX_LINE};
pub use observed::Observations;
pub use reader::{Entries, Following, Run, Torn};
pub use writer::JsonlLog;

pub(crate) use ledger::Ledger;
