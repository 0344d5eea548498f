//! The page of a run while it goes on: served on loopback, and consents answered in it.
//!
//! Costs one look at the log's length five times a second, and for each step that ends the rendering of that step. Pages get
//! what they lack by server-sent events.
//!
//! Invariants:
//! - It listens on 127.0.0.1. Nothing is answered without the token of the URL, to another `Host` or to another origin.
//! - What it serves is what the log of one run has; the pictures it serves are named by that log.
//! - A question is answered once, by whoever answers first, and is denied after its time.

mod consent;
mod error;
mod feed;
mod guard;
mod serve;
mod state;

pub use consent::{Asking, Questions};
pub use error::ViewError;
pub use serve::View;
