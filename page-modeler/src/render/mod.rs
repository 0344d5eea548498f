//! Observations as text, for planners and people.
//!
//! Invariant: everything that a page controls is escaped: no line breaks, control or direction-changing
//! characters, and no quote that ends a quoted text.

pub mod text;
pub mod yaml;

use cuebook_grammar::candidate::{Candidate, ControlKind, Placement};

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

/// The states that are worth a word, in brackets.
pub(crate) fn states(candidate: &Candidate) -> String {
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
    flag(candidate.placement == Placement::OffView, "off view");
    flag(candidate.ambiguous, "ambiguous");
    if candidate.control == ControlKind::Password {
        words.push("password".into());
    }
    if let Some(occlusion) = &candidate.occlusion
        && occlusion.ratio >= 0.5
    {
        words.push(format!("covered by {}", quoted(&occlusion.by, 60)));
    }
    words.iter().map(|word| format!(" [{word}]")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_page_stays_on_its_line_and_within_its_quotes() {
        assert_eq!(quoted("a\"\n- button \u{202e}x", 50), "\"a\\\"\\n- button \u{fffd}x\"");
        assert_eq!(quoted("abcdef", 3), "\"abc…\"");
    }
}
