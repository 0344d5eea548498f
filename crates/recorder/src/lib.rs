//! A person's doings in a browser to steps, with conditions from what happened.
//!
//! A [`Recorder`] listens in every document of the tabs that it is given, lets a page modeler look at the page before and
//! after, and returns what the person did as steps of the language ([`Recorded`]).
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use cuebook_cdp::Browser;
//! use cuebook_grammar::id::PageId;
//! use cuebook_grammar::seam::{PageModeler, Redactor};
//! use cuebook_grammar::secret::DigestKey;
//! use cuebook_recorder::{RecordError, Recorder};
//!
//! /// Records what a person does in a tab for a minute.
//! async fn minute<M: PageModeler + 'static>(
//!     browser: Arc<Browser>,
//!     modeler: M,
//!     redactor: Arc<dyn Redactor>,
//!     key: DigestKey,
//!     tab: &PageId,
//! ) -> Result<usize, RecordError> {
//!     let recorder = Recorder::new(browser, modeler, redactor, key);
//!     let minute = tokio::time::sleep(std::time::Duration::from_secs(60));
//!     Ok(recorder.record(tab, "https://example.com/", minute).await?.steps.len())
//! }
//! ```
//!
//! Invariants:
//! - Only events that the browser made count, and only reports from our isolated world: a page can neither make a step nor
//!   see that it is recorded.
//! - The text of a password-like field is in no step. It is learnt by the redactor, and whatever would show it is left out.
//! - A condition states something that was not so before the step, and is about texts and names that look as if they stay.
//! - Which element a step means is what the page modeler saw before the step, or as the event fired.
//! - What a person did and the language cannot say is a [`Note`].
//!
//! Cost: one look at the page after each thing that is done or changes, and at most half of the time.

mod conditions;
mod credentials;
mod draft;
mod error;
mod history;
mod note;
mod recorder;
mod report;
mod script;
mod stable;
mod story;
mod tap;
mod target;

pub use draft::Recorded;
pub use error::RecordError;
pub use note::Note;
pub use recorder::Recorder;
