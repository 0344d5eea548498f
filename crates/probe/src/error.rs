//! Errors of questions to a page.

use cuebook_cdp::{CallError, GoneReason, WorldError};

/// Why a question to a page has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The frame, its document or the node went away: ask again, for what is there now.
    #[error("the frame, document or node is gone")]
    Gone,
    /// A command failed for another reason than [`Self::Gone`].
    #[error(transparent)]
    Wire(CallError),
    /// Our script answered something that does not read.
    #[error("the answer of the script does not have its shape")]
    Malformed {
        /// Line and column in the answer, and the mismatch found there.
        #[source]
        source: serde_json::Error,
    },
    /// A css or xpath selector that the browser refuses.
    #[error("expected a valid selector: {message}")]
    BadSelector {
        /// The browser's own words, at most 300 characters.
        message: String,
    },
    /// A frame of the locator's path was not found, or not uniquely.
    #[error("{matches} frames match part {part} of the frame path, not one")]
    FramePath {
        /// Which part of the path, from 0.
        part: usize,
        /// How many elements matched.
        matches: usize,
    },
    /// Our script threw. A defect of ours, or of a page that tampers with what cannot be isolated.
    #[error("script threw: {text}")]
    Script {
        /// The exception's text, at most 2,000 characters.
        text: String,
    },
}

impl From<CallError> for ProbeError {
    fn from(error: CallError) -> Self {
        match error.gone() {
            Some(GoneReason::Detached | GoneReason::Crashed) => Self::Gone,
            _ => Self::Wire(error),
        }
    }
}

impl From<WorldError> for ProbeError {
    fn from(error: WorldError) -> Self {
        match error {
            WorldError::Call(error) => error.into(),
            WorldError::Exception { text } => Self::Script { text },
            _ => Self::Gone,
        }
    }
}

impl From<serde_json::Error> for ProbeError {
    fn from(source: serde_json::Error) -> Self {
        Self::Malformed { source }
    }
}
