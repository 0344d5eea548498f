//! Observations as text, for planners and people: lines, YAML, JSON, and what changed, each within a budget
//! of tokens, the most useful first, saying what was left out.
//!
//! Invariant: everything that a page controls is escaped: no line breaks, control or direction-changing
//! characters, and no quote that ends a quoted text.

mod budget;
pub mod delta;
pub mod json;
mod line;
pub mod text;
pub mod yaml;

pub use budget::estimate_tokens;

use cuebook_grammar::candidate::Candidate;

use crate::model::clean;

/// A text of the page in double quotes, on one line, at most `limit` characters.
#[must_use]
pub fn quoted(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let shown = clean::cut(text, limit);
    for c in shown.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\t' => out.push(' '),
            c if clean::is_disruptive(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    if shown.len() < text.len() {
        out.push('…');
    }
    out.push('"');
    out
}

/// The states that are worth a word.
fn flags(candidate: &Candidate) -> Vec<String> {
    let states = &candidate.states;
    let mut words: Vec<String> = Vec::new();
    if let Some(checked) = states.checked {
        match checked.as_str() {
            "true" => words.push("checked".into()),
            "mixed" => words.push("checked=mixed".into()),
            _ => {}
        }
    }
    if let Some(pressed) = states.pressed
        && pressed.as_str() != "false"
    {
        words.push("pressed".into());
    }
    let mut flag = |on: bool, word: &str| {
        if on {
            words.push(word.to_owned());
        }
    };
    flag(states.disabled, "disabled");
    flag(states.readonly, "readonly");
    flag(states.required, "required");
    flag(states.invalid, "invalid");
    flag(states.focused, "focused");
    flag(states.selected == Some(true), "selected");
    flag(states.expanded == Some(true), "expanded");
    flag(states.expanded == Some(false), "collapsed");
    flag(candidate.ambiguous, "ambiguous");
    flag(line::is_password(candidate), "password");
    if let Some(occlusion) = &candidate.occlusion
        && occlusion.ratio >= 0.5
    {
        words.push(format!("covered by {}", quoted(&occlusion.by, 60)));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_page_stays_on_its_line_and_within_its_quotes() {
        assert_eq!(quoted("a\"\n- button \u{202e}x", 50), "\"a\\\"\\n- button \u{fffd}x\"");
        assert_eq!(quoted("a\u{2028}- button\u{2029}", 50), "\"a\u{fffd}- button\u{fffd}\"");
        assert_eq!(quoted("abcdef", 3), "\"abc…\"");
    }
}
