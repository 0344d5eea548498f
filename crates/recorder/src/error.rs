//! Failures of the machinery that records.

use cuebook_cdp::{CallError, GotoError};
use cuebook_probe::ProbeError;

/// A recording that could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The tab does not exist, or is gone.
    #[error("the tab is gone")]
    NoTab,
    /// The page did not open.
    #[error("the page cannot be opened")]
    Goto(#[from] GotoError),
    /// The script cannot be installed.
    #[error("the tab cannot be listened to")]
    Probe(#[from] ProbeError),
    /// A call to the browser failed.
    #[error("the tab cannot be listened to")]
    Wire(#[from] CallError),
}
