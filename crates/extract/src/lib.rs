//! A page as data: HTML to Markdown, and values by JSON Schema from its tables, lists and labels.
//!
//! ```
//! use cuebook_extract::{Extent, Metadata, fill, markdown};
//! use serde_json::json;
//!
//! let page = "<body><h1>Mugs</h1><dl><dt>Unit price</dt><dd>$1,204.50</dd></dl></body>";
//! assert!(markdown(page, "https://shop.test/", Extent::Page).starts_with("# Mugs"));
//!
//! let schema = json!({ "type": "object", "properties": { "unitPrice": { "type": "number" } } });
//! let filled = fill(&schema, page, &Metadata::default(), "https://shop.test/");
//! assert_eq!(filled.data(), json!({ "unitPrice": 1204.5 }));
//! ```
//!
//! Invariants:
//! - Pure: no I/O, and no model is asked. The same page gives the same answer.
//! - Every answer is bounded, for every page and schema.
//! - What a sensitive field holds leaves this crate as a digest.

mod convert;
mod fill;
mod form;
mod markdown;
mod metadata;
mod pairs;
mod quotes;
mod records;
mod words;

#[cfg(test)]
mod tests;

pub use fill::{Filled, SchemaError, admit, fill, is_empty};
pub use form::Forms;
pub use markdown::{Extent, markdown};
pub use metadata::Metadata;
