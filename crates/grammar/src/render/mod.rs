//! Observations as text, for planners and people: lines, YAML, JSON, and what changed, each within a budget
//! of tokens, the most useful first, saying what was left out.
//!
//! There is one text form of a page, [`text`]: prompts, `cuebook observe`, the action `snapshot`, benchmarks and the
//! tests of token counts use it alike.
//!
//! Invariant: everything that a page controls is escaped: no line breaks, control or direction-changing
//! characters, and no quote that ends a quoted text.

mod escape;

mod budget;
mod delta;
mod json;
mod line;
mod options;
mod question;
mod reading;
mod sources;
mod text;
mod yaml;

pub use budget::estimate_tokens;
pub use delta::{changes, delta};
pub(crate) use escape::shortened;
pub use escape::{counted, cut, excerpt, is_disruptive, json_line, one_line, quoted};
pub use json::{fit, json};
pub use options::{Boxes, Overflow, Standing, TextOptions};
pub use question::{question, question_of_request};
pub use sources::with_sources;
pub use text::text;
pub use yaml::yaml;

#[cfg(test)]
mod tests;
