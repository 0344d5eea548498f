//! Live page to observation: candidates, context labels, identity, sketch.
//!
//! [`LivePageModeler`] implements the seam `PageModeler`. `capture` talks to the wire and returns rows;
//! [`model`] is pure and turns rows into an observation; `picture` marks its candidates on what the viewport shows.
//! Its text form is [`cuebook_grammar::render`].
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use cuebook_cdp::Browser;
//! use cuebook_grammar::deadline::Deadline;
//! use cuebook_grammar::id::PageId;
//! use cuebook_grammar::observation::Scope;
//! use cuebook_grammar::render::{TextOptions, text};
//! use cuebook_grammar::seam::PageModeler as _;
//! use cuebook_grammar::secret::DigestKey;
//! use cuebook_page_modeler::{LivePageModeler, ModelError, ModelerOptions};
//!
//! /// What a tab offers, as text of at most 2,000 tokens.
//! async fn look(browser: Arc<Browser>, tab: &PageId, key: DigestKey, by: Deadline) -> Result<String, ModelError> {
//!     let mut modeler = LivePageModeler::new(browser, key, ModelerOptions::default());
//!     let observation = modeler.observe(tab, Scope::View, by).await?;
//!     let options = TextOptions { budget: 2_000, ..TextOptions::default() };
//!     Ok(text(&observation, &options))
//! }
//! ```
//!
//! A modeler that is reused reads only what changed since its last observation of a tab, and reports the
//! difference ([`delta`](cuebook_grammar::observation::Observation::delta)). `examples/observe.rs` shows it from the
//! launch of a browser on; `docs/observing.md` defines what is a candidate and what the text means.
//!
//! Invariants:
//! - An observation is one walk per frame, all frames at once: its rows are of one moment as far as a page of several
//!   processes has one.
//! - What is omitted is counted. A frame that does not answer is listed with the reason.
//! - No text of a password-like field leaves this crate; in pictures they are painted over.
//! - Ids count up over the run and all tabs and are never reused.
//! - A walk that returns `same` repeats the one before: generations count mutations and events; boxes, visibility,
//!   cursors, values, focus, style sheets, and what lies over the middle of a candidate in view are read again and
//!   compared. What neither shows (an edit in place of a rule that changes only generated content) is not noticed until
//!   something else changes.
//! - `is_unchanged` asks less: what lies over a candidate, and boxes and looks beyond the view, may have changed without a
//!   trace. Whoever acts on a page that was seen checks its target again.
//!
//! Cost: two round trips per frame (walk, occlusion by what lies above the frame), four commands for the
//! listeners of a document that is new or has other elements, and one short question per new or changed candidate
//! in view, sent back to back: at most 500 of a frame, and none after 0.7 s.

mod capture;
mod error;
mod explore;
pub mod model;
mod modeler;
mod options;
mod picture;
mod read;
mod seam;
mod unchanged;

pub use error::ModelError;
pub use explore::{AriaError, AriaSnapshot};
pub use modeler::LivePageModeler;
pub use options::{Memory, ModelerOptions, Settling};
