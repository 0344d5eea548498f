//! Reading a page without a model: where a text stands, what a selector matches, which candidate it names,
//! and the page as an ARIA snapshot.

mod aria;
mod find_elements;
mod in_frames;
mod query;
mod resolve_selector;
mod search_page;

pub use aria::{AriaError, AriaSnapshot};
pub(crate) use query::explore;
