//! How messages travel: two anonymous pipes, or a websocket.
//!
//! Invariants: both move whole messages in order, bounded in size; the reading side never waits for a
//! subscriber; when it ends, the hub is told.

#[cfg(unix)]
pub(crate) mod pipe;
pub(crate) mod websocket;

use tokio::task::JoinHandle;

/// The tasks that move messages. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Tasks {
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

impl Tasks {
    /// Stops moving messages; the transport closes.
    pub(crate) fn stop(&self) {
        self.reader.abort();
        self.writer.abort();
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.stop();
    }
}
