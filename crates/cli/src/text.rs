//! Untrusted text, escaped for a terminal.

use std::error::Error;
use std::fmt::Write as _;

use cuebook_grammar::render;

/// Escapes every character that could move the cursor, change colours or reorder text.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == ' ' || (!c.is_control() && !is_format(c) && !(c.is_whitespace())) {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
    }
    out
}

/// As [`plain`], but keeps line breaks.
pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// As [`plain`] for a JSON document, with the escapes of JSON.
pub(crate) fn json_plain(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        if (c.is_control() && c != '\n') || is_format(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// An error and its sources, in one line, escaped.
pub(crate) fn with_sources(error: &(dyn Error + 'static)) -> String {
    plain(&render::with_sources(error))
}

/// Bidirectional controls, zero-width characters, variation selectors beyond emoji, tags.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_keeps_its_meaning_and_breaks_no_line_of_a_terminal() {
        let document = serde_json::json!({ "value": "a\n\u{2028}b\u{85}\u{202e}\u{e0041}é" });
        let text = json_plain(&serde_json::to_string_pretty(&document).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
        assert!(text.chars().all(|c| matches!(c, ' '..='~' | 'é' | '\n')), "{text}");
    }

    #[test]
    fn escape_sequences_and_bidi_controls_are_spelled_out() {
        assert_eq!(plain("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(plain("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(plain("naïve 東京 ✓"), "naïve 東京 ✓");
        assert_eq!(plain_lines("a\nb\rc"), "a\nb\\rc");
    }
}
