//! Why there is no view.

use std::io;

use cuebook_datalayer::DataError;

/// The page of a run cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The log cannot be read.
    #[error("the log cannot be shown")]
    Log(#[source] DataError),
    /// The port is taken, or may not be used.
    #[error("expected to listen on port {port} of 127.0.0.1, 0 for any")]
    Listen {
        /// The port that was asked for.
        port: u16,
        /// Reason that the system gives.
        source: io::Error,
    },
    /// The system has no randomness for the token.
    #[error("the system has no randomness")]
    NoRandomness(#[source] getrandom::Error),
}
