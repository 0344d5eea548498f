//! Text of a page or a model, made fit to stand in a line.
//!
//! Invariant: what comes out has no line break of any kind, no control character, and none that reorders or
//! hides text.

/// Cuts at a number of characters, never within one.
#[must_use]
pub fn cut(text: &str, characters: usize) -> String {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default().to_owned()
}

/// A number of things in words: `1 step`, `2 steps`.
#[must_use]
pub fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// The first `characters` of a text, with control characters, quotes and backslashes escaped, for a message.
///
/// ```
/// use cuebook_grammar::render::excerpt;
///
/// assert_eq!(excerpt("two\nlines", 6), "two\\nli");
/// ```
#[must_use]
pub fn excerpt(text: &str, characters: usize) -> String {
    text.chars().take(characters).flat_map(char::escape_debug).collect()
}

/// A text of at most `characters`, which ends in `…` if it was cut.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    let mut short = cut(text, characters);
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Returns `true` if a character may change how the text around it is read or shown: control characters, line and
/// paragraph separators, and the invisible ones of Unicode (direction marks, zero widths, tags).
#[must_use]
pub fn is_disruptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` in double quotes, on one line, at most `limit` characters of it. Line breaks become `\n`, tabs a space,
/// quotes and backslashes are escaped, and what [is disruptive](is_disruptive) becomes U+FFFD. A cut ends in `…`.
#[must_use]
pub fn quoted(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit * 4) + 2);
    out.push('"');
    let shown = cut(text, limit);
    for c in shown.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\t' => out.push(' '),
            c if is_disruptive(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    if shown.len() < text.len() {
        out.push('…');
    }
    out.push('"');
    out
}

/// At most `max` characters of `text` in one line. Runs of white space become one space; characters that control,
/// hide or reorder text become `\u{…}`. What was cut ends in `…`.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
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
        if is_disruptive(c) {
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
pub fn json_line(document: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in document.to_string().chars() {
        if is_disruptive(c) {
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

#[cfg(test)]
mod tests {
    use super::{cut, json_line, one_line, quoted};

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

    #[test]
    fn a_quoted_text_stays_on_its_line_and_within_its_quotes() {
        assert_eq!(quoted("a\"\n- button \u{202e}x\u{2028}", 50), "\"a\\\"\\n- button \u{fffd}x\u{fffd}\"");
        assert_eq!(quoted("abcdef", 3), "\"abc…\"");
    }

    #[test]
    fn a_cut_falls_between_characters() {
        assert_eq!(cut("añb", 2), "añ");
        assert_eq!(cut("a", 2), "a");
    }
}
