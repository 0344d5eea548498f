//! Test ids for fragile targets: which elements recorded runs found only by a text or a place, where the source of the
//! application writes them, and a patch that gives them ids.
//!
//! Cost: reading a source folder is one pass over its files of markup, at most 64 MiB; the search compares each target
//! with each element.
//!
//! Invariants:
//! - Nothing is written unless [`Proposal::write`] is called, and then only files of markup below the folder.
//! - An id is proposed for a place that is unique; anything else is reported with its reason.
//!
//! Deliberately absent: clocks, randomness and models. The same logs and the same source give the same patch.

mod error;
mod markup;
mod matching;
mod naming;
mod proposal;
mod source;

pub use error::SuggestError;
pub use matching::Place;
pub use proposal::{Attributes, Outcome, Proposal, Suggestion, suggest};
pub use source::{MAX_FILE, MAX_FILES, MAX_TOTAL, Source};

#[cfg(test)]
mod tests;
