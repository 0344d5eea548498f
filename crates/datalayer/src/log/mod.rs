//! The step log: a write-ahead log of one JSON object a line.
//!
//! Invariants:
//! - Each line is one [`Entry`], its tag first: `{"entry":"begin",…}`. The rest of the object is the value
//!   itself, so that the log can be searched with line tools.
//! - What was written is durable before the writer says so; what was cut off is reported, never guessed.

mod entry;
mod ledger;
mod reader;
mod writer;

pub use entry::{Entry, EntryKind, MAX_LINE};
pub use reader::{Run, Torn};
pub use writer::JsonlLog;

pub(crate) use ledger::Ledger;
