//! Prompts, from templates that a user can replace.
//!
//! Invariants:
//! - Text of a page is in lines that start with `| `, and cannot start a line itself. In the compact form, which
//!   [`cuebook_decoding::brief`] writes, it is escaped within its line.
//! - A prompt names candidates by id. It contains no selector, no node handle and no text of a password-like field.
//! - However long a run is, each section of a prompt stays within its bound: old steps are summarised.

mod grammar_words;
mod ground;
mod prompts;
mod sections;
mod template;

pub(crate) use ground::{Form, Ground};
pub use prompts::Prompts;
pub use template::TemplateError;

#[cfg(test)]
mod tests;
