//! Text that others wrote, made fit to stand in a line.
//!
//! Invariant: what comes out has no line break of any kind, no control character, and none that reorders or
//! hides text.

/// At most `max` characters of `text` in one line. Runs of white space become one space; characters that control,
/// hide or reorder text become `\u{…}`. What was cut ends in `…`.
#[must_use]
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    let mut space = false;
    for c in text.trim().chars() {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if count >= max {
            out.push('…');
            return out;
        }
        if std::mem::take(&mut space) {
            out.push(' ');
            count += 1;
        }
        if is_unseen(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        count += 1;
    }
    out
}

/// A JSON document in one line: what controls, hides or reorders text is escaped as JSON has it.
#[must_use]
pub(crate) fn json_line(document: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in document.to_string().chars() {
        if is_unseen(c) || matches!(c, '\u{2028}' | '\u{2029}') {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, and those of Unicode that are not seen themselves: marks of direction, zero widths, tags.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{json_line, one_line};

    #[test]
    fn a_document_in_one_line_is_the_same_document() {
        let document = serde_json::json!({ "a": "x\n\u{2028}\u{85}\u{202e}\u{e0041}é" });
        let line = json_line(&document);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), document);
        assert!(line.chars().all(|c| c == 'é' || (' '..='~').contains(&c)), "{line}");
    }

    #[test]
    fn what_breaks_lines_hides_or_reorders_does_not_come_through() {
        let text = "a\r\n\u{2028}b\u{85}c\u{0b}d \u{202e}evil\u{200b}\u{1b}[2J";
        assert_eq!(one_line(text, 100), r"a b c d \u{202e}evil\u{200b}\u{1b}[2J");
    }

    #[test]
    fn long_text_is_cut_at_characters() {
        assert_eq!(one_line("ééééé", 3), "ééé…");
        assert_eq!(one_line("ééé", 3), "ééé");
    }
}
