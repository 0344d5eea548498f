//! Live page to observation: candidates, context labels, identity, sketch, rendering.
//!
//! [`LivePageModeler`] implements the seam `PageModeler`. `capture` talks to the wire and tells rows;
//! [`model`] is pure and turns rows into an observation; [`render`] turns observations into text.
//!
//! Invariants:
//! - An observation is taken in one walk per frame, all frames at once: its rows are of one moment as far
//!   as a page of several processes has one.
//! - What is left out is counted. A frame that does not answer is named with the reason.
//! - No text of a password-like field leaves this crate.
//! - Ids count up over the run and all tabs and are never reused.
//! - A walk that answers `same` stands for the one before: generations count mutations and events; boxes,
//!   visibility, cursors, values, focus, style sheets, and what lies over the middle of a candidate in view
//!   are read again and compared. What neither tells (an edit in place of a rule that changes only generated
//!   content) is not noticed until something else changes.
//!
//! Cost: two round trips per frame (walk, occlusion by what lies above the frame) and one short question
//! per new or changed candidate in view, sent back to back.

mod capture;
mod error;
mod explore;
pub mod model;
mod modeler;
pub mod render;

pub use error::ModelError;
pub use explore::{AriaError, AriaSnapshot};
pub use modeler::{LivePageModeler, Memory, ModelerOptions};
