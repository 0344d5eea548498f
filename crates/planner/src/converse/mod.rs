//! The loop that all model engines share: prompt, stream, early validation, one reformulation, structured error.
//!
//! Needs a Tokio runtime with its timer.
//!
//! Invariants:
//! - Every wait ends by the deadline of the caller. Dropping the future closes the connection.
//! - The sink gets no step that fails the check, alone or after the steps before it.
//! - An error of the server is retried, within [`Limits`]. Invalid output is sent back to the model once, with its
//!   violations.
//! - Every call is reported to the sink, however it ends, and counts in the budgets.

mod audit;
mod beam;
mod chat;
mod fill;
mod limits;
mod look;
mod memory;
mod planner;
mod reading;
mod turn;

#[cfg(feature = "http")]
pub(crate) use chat::server_words;
pub use chat::{
    Beam, ChatEngine, ChatEvent, ChatMessage, ChatRequest, ChatStream, Dialect, EngineError, Finish, Source,
};
pub use limits::{Budget, Limits};
pub use planner::{ModelError, ModelPlanner};

#[cfg(test)]
mod tests;
