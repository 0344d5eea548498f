//! The question to a model where a page does not label what a JSON Schema wants, and its answer: quotes of the
//! page's text.
//!
//! Invariant: an answer is a claim. Whoever asked believes a value only if its quote stands in the text.

use serde_json::Value;

use crate::report::Usage;

/// The most characters of a quote.
pub const MAX_QUOTE: u32 = 600;

/// The most quotes of a list, and items of a list of objects.
pub const MAX_QUOTES: u32 = 50;

/// A page's text, and the values that are wanted of it.
#[derive(Clone, Copy, Debug)]
pub struct FillRequest<'a> {
    /// The visible text of the page, or of a part of it.
    pub text: &'a str,
    /// The values, at least one.
    pub wanted: &'a [Wanted],
}

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its member in the answer: at most 64 letters, digits and `_`, unique in the request.
    pub key: String,
    /// Path, kind and description of the value, in one line, as the schema states them.
    pub about: String,
    /// Form of the answer.
    pub form: WantedForm,
}

/// Form of the answer for one [`Wanted`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedForm {
    /// A quote; the empty string for a value that the text does not state.
    Quote,
    /// At most [`MAX_QUOTES`] quotes.
    Quotes,
    /// At most [`MAX_QUOTES`] objects, with one quote for each of these members.
    Items(Vec<Column>),
}

/// A member of the objects of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its member in the answer, as [`Wanted::key`].
    pub key: String,
    /// Name, kind and description of the member, in one line, as the schema states them.
    pub about: String,
}

/// The answer to a [`FillRequest`], or to a request to look at a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FillReply {
    /// An object whose members the request states; null if there is no answer.
    pub answer: Value,
    /// Why there is no answer.
    pub note: Option<String>,
    /// Calls and tokens that it cost.
    pub usage: Usage,
}

impl FillReply {
    /// No answer, and why.
    #[must_use]
    pub fn none(note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..Self::default() }
    }
}
