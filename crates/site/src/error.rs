//! Why the built-in site could not start.

use std::io;

/// Why the built-in site could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// The port could not be listened on: taken, or not permitted.
    #[error("cannot listen on loopback port {port}")]
    Listen {
        /// The port that was asked for; 0 means that any would have done.
        port: u16,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The listener has no address that a browser could be sent to.
    #[error("cannot read the address of the listener")]
    Address {
        /// Error of the operating system.
        source: io::Error,
    },
}
