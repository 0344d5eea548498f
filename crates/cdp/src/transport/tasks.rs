//! The running half of a transport.

use tokio::task::JoinHandle;

/// The tasks that move messages. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(super) reader: JoinHandle<()>,
    pub(super) writer: JoinHandle<()>,
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
