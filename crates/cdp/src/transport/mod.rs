//! How messages travel: two anonymous pipes, or a websocket.
//!
//! Invariants: both move whole messages in order, bounded in size; the reading side never waits for a
//! subscriber; when it ends, it notifies the hub.

#[cfg(unix)]
pub(crate) mod pipe;
mod tasks;
pub(crate) mod websocket;

pub(crate) use tasks::Tasks;
