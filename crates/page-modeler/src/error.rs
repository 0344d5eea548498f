//! Errors of the modeler. What a page does is data; only the machinery fails.

use cuebook_cdp::CallError;
use cuebook_probe::ProbeError;

/// Why there is no observation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The browser has no such tab.
    #[error("the browser has no such tab")]
    NoSuchPage,
    /// The tab's main document did not answer, or kept changing, before the deadline.
    #[error("the main document did not answer before the deadline")]
    NoAnswer,
    /// The page's renderer crashed.
    #[error("the renderer of the page crashed")]
    Crashed,
    /// The probe got no usable answer from a document.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A command to the browser failed.
    #[error(transparent)]
    Wire(#[from] CallError),
}
