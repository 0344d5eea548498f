//! The accessible structure of a page, or of one part of it, as YAML: `- button "Save" [disabled]`.
//!
//! The form is the one that Playwright's users know as an ARIA snapshot: a sequence of roles with quoted
//! names, marks in brackets, `/url` and `/placeholder` as properties, text as scalars.
//!
//! Invariants: what assistive technology skips is omitted; values of password-like fields are `•••`;
//! every scalar is quoted where YAML would read anything but a text.

use std::fmt::Write as _;

use cuebook_grammar::render::is_disruptive;
use serde::{Deserialize, Serialize};

use crate::script::Extension;

/// Adds `cb.aria`: `snapshot(id, limits)`, and for what a step changes `keep(id, limits)` and `around(id, limits)`.
pub const ARIA: Extension = Extension { name: "aria", source: include_str!(concat!(env!("OUT_DIR"), "/aria.js")) };

/// YAML allows keys of 1,024 characters; longer names are left out.
const NAME_LIMIT: usize = 900;

/// How much of a page is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AriaLimits {
    /// Upper bound on the number of elements.
    pub elements: u32,
    /// Upper bound on the nesting depth.
    pub depth: u32,
    /// The most characters, about.
    pub characters: u32,
}

/// A part of a page.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct AriaTree {
    rows: Vec<Row>,
    /// Elements and texts that the bounds omitted.
    pub skipped: u64,
}

/// One row of the script: a text, or a role with all that belongs to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Row {
    Node(usize, String, String, Vec<String>, Vec<(String, String)>),
    Text(usize, String),
}

impl Row {
    const fn depth(&self) -> usize {
        match self {
            Self::Node(depth, ..) | Self::Text(depth, _) => *depth,
        }
    }
}

impl AriaTree {
    /// Returns the tree with `change` applied to every text of the page.
    #[must_use]
    pub fn mapped(mut self, change: impl Fn(&str) -> String) -> Self {
        for row in &mut self.rows {
            match row {
                Row::Text(_, text) => *text = change(text),
                Row::Node(_, _, name, _, properties) => {
                    *name = change(name);
                    properties.iter_mut().for_each(|(_, text)| *text = change(text));
                }
            }
        }
        self
    }

    /// The YAML, without a line break at its end; empty where there is nothing to show.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        written(&self.rows)
    }
}

fn written(rows: &[Row]) -> String {
    let mut out = String::new();
    let mut index = 0;
    while let Some(row) = rows.get(index) {
        index += 1;
        indent(&mut out, row.depth());
        let (role, name, marks, properties) = match row {
            Row::Text(_, text) => {
                let _ = writeln!(out, "- text: {}", value(text));
                continue;
            }
            Row::Node(_, role, name, marks, properties) => (role, name, marks, properties),
        };
        let mut head = role.clone();
        if !name.is_empty() && name.chars().count() <= NAME_LIMIT {
            let _ = write!(head, " {}", quoted(name));
        }
        for mark in marks {
            let _ = write!(head, " [{mark}]");
        }
        let _ = write!(out, "- {}", key(&head));
        let inside = rows.get(index..).unwrap_or_default();
        let children = inside.iter().take_while(|child| child.depth() > row.depth()).count();
        match inside {
            [Row::Text(_, text), ..] if children == 1 && properties.is_empty() => {
                let _ = writeln!(out, ": {}", value(text));
                index += 1;
            }
            _ if children == 0 && properties.is_empty() => out.push('\n'),
            _ => {
                out.push_str(":\n");
                for (name, text) in properties {
                    indent(&mut out, row.depth() + 1);
                    let _ = writeln!(out, "- /{name}: {}", value(text));
                }
            }
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// A name in double quotes, as JSON has it; what would change how a terminal reads it is escaped.
fn quoted(text: &str) -> String {
    let plain = serde_json::to_string(text).unwrap_or_default();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        if is_disruptive(c) { escape(&mut out, c) } else { out.push(c) }
    }
    out
}

fn escape(out: &mut String, c: char) {
    let code = u32::from(c);
    let _ = if code > 0xffff { write!(out, "\\U{code:08x}") } else { write!(out, "\\u{code:04x}") };
}

/// A key in single quotes where YAML would read it as anything but this text.
fn key(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

/// A value in double quotes where YAML would read it as anything but this text.
fn value(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if is_disruptive(c) => escape(&mut out, c),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

const WORDS: [&str; 10] = ["y", "n", "yes", "no", "true", "false", "on", "off", "null", "~"];

/// Returns `true` if YAML 1.2 and the readers of 1.1 read the unquoted text as that same text.
fn is_plain(text: &str) -> bool {
    let (Some(first), Some(last)) = (text.chars().next(), text.chars().next_back()) else { return false };
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let next = text.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
        if is_disruptive(c)
            || matches!(c, '{' | '}' | '`')
            || (c == ':' && next.is_none_or(char::is_whitespace))
            || (c == '#' && before.is_whitespace())
        {
            return false;
        }
        before = c;
    }
    !(first.is_whitespace()
        || last.is_whitespace()
        || matches!(first, '-' | '&' | '*' | ']' | ',' | '?' | '!' | '>' | '|' | '@' | '"' | '\'' | '#' | '%' | '[')
        || is_number(text)
        || WORDS.contains(&text.to_ascii_lowercase().as_str()))
}

/// Returns `true` if JavaScript reads the text as a number: decimal, hexadecimal, octal, binary, infinite.
fn is_number(text: &str) -> bool {
    let digits = |prefix: &str, radix: u32| {
        text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
            && text.get(2..).is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
    };
    let decimal = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E'));
    (decimal && text.parse::<f64>().is_ok())
        || matches!(text.trim_start_matches(['+', '-']), "Infinity")
        || digits("0x", 16)
        || digits("0o", 8)
        || digits("0b", 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(depth: usize, role: &str, name: &str) -> Row {
        Row::Node(depth, role.into(), name.into(), Vec::new(), Vec::new())
    }

    #[test]
    fn texts_that_yaml_would_misread_are_quoted() {
        for plain in ["one", "a:b", "a#b", "(", "x, y", "12 apples", "1.2.3", "/auth?r=/"] {
            assert_eq!(value(plain), plain);
        }
        for misread in
            ["", " a", "- a", "a: b", "a:", "a #b", "{", "[x", "12", "0x1f", "-1.5e3", "Yes", "null", "@x", "\"x", "a`"]
        {
            assert!(value(misread).starts_with('"'), "{misread}");
        }
        assert_eq!(value("a\u{7}\"\\"), "\"a\\x07\\\"\\\\\"");
        assert_eq!(value("a\u{202e}b"), "\"a\\u202eb\"");
        assert_eq!(quoted("a\u{9b}1m"), "\"a\\u009b1m\"");
        assert_eq!(key("link \"it's: so\""), "'link \"it''s: so\"'");
    }

    #[test]
    fn a_lone_text_stands_on_the_line_of_its_role() {
        let rows = [
            node(0, "list", ""),
            node(1, "listitem", ""),
            Row::Text(2, "One".into()),
            Row::Node(1, "link".into(), "Two".into(), Vec::new(), vec![("url".into(), "#".into())]),
            Row::Node(0, "checkbox".into(), "x".repeat(901), vec!["checked".into()], Vec::new()),
        ];
        assert_eq!(
            written(&rows),
            "- list:\n  - listitem: One\n  - link \"Two\":\n    - /url: \"#\"\n- checkbox [checked]"
        );
    }
}
