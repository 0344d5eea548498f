//! An error as a text.

use std::error::Error;
use std::iter::successors;

/// An error and its sources, in one line. A source that the text before quotes is left out.
///
/// ```
/// use cuebook_grammar::render::with_sources;
///
/// let error = serde_json::from_str::<bool>("{").unwrap_err();
/// assert_eq!(with_sources(&error), error.to_string());
/// ```
#[must_use]
pub fn with_sources(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for source in successors(error.source(), |&error| error.source()).map(ToString::to_string) {
        if !text.contains(&source) {
            text.push_str(": ");
            text.push_str(&source);
        }
    }
    text
}
