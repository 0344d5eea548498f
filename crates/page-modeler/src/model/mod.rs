//! From rows to an observation: pure, no wire, no clock.

pub mod candidates;
pub mod clean;
pub mod context_label;
pub mod identity;
pub mod locators;
pub mod page_fingerprint;
pub mod rows;
pub mod sketch;

pub use candidates::{FrameRows, Placed, candidates};
pub use identity::Identities;
pub use rows::{FrameWalk, Row};
