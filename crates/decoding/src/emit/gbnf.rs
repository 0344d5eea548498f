//! GBNF, the grammars of llama.cpp, and with `_` in names the EBNF that XGrammar, and so vLLM and SGLang, read.
//!
//! XGrammar takes seconds to compile bounded strings and to mask them, and milliseconds to mask classes of characters
//! (`interop/masks.py`): in EBNF texts have no bound, and patterns and URLs end with any characters.
//!
//! Strings are written with short escapes only: `\u` forms say nothing more, and lone surrogates would be no
//! text.

use std::fmt::Write as _;

use super::cfg::{Cfg, Class};
use super::print::{Notation, print};

/// The most rules that a repetition may expand to. Source: llama.cpp, `MAX_REPETITION_THRESHOLD`.
pub(crate) const MAX_REPETITIONS: u64 = 2_000;

/// A grammar in GBNF.
pub(crate) fn write(cfg: &Cfg) -> String {
    print(cfg, &Gbnf { between_words: "-", bounds_text: true })
}

/// A grammar in EBNF.
pub(crate) fn write_ebnf(cfg: &Cfg) -> String {
    print(cfg, &Gbnf { between_words: "_", bounds_text: false })
}

struct Gbnf {
    /// The separator within a rule's name.
    between_words: &'static str,
    /// `true` if strings have a greatest length.
    bounds_text: bool,
}

/// Runs of more characters than this are text.
const TEXT: u32 = 60;

impl Notation for Gbnf {
    const DEFINES: &'static str = " ::= ";
    const EPILOGUE: &'static str = concat!(r#"char ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]"#, "\n");

    fn name(&self, name: &str) -> String {
        name.replace('-', self.between_words)
    }

    fn literal(&self, text: &str) -> String {
        quoted(text)
    }

    fn class(&self, class: Class) -> String {
        match class {
            Class::Digits(from, to) => format!("[{from}-{to}]"),
            Class::UrlCharacter => r"[!#-\[\]-~]".to_owned(),
            Class::Label => "[a-z0-9]".to_owned(),
            Class::Letter => "[A-Za-z]".to_owned(),
            Class::Pattern => "[!#%&',./0-9:;<=>@A-Z_a-z~ -]".to_owned(),
            Class::InLine => r"[^\x00-\x1F\x7F]".to_owned(),
        }
    }

    fn characters(&self, _: Class, min: u32, max: u32) -> Option<String> {
        let is_endless = !self.bounds_text && max > TEXT;
        // A class of its own for a half of all tokens is slow there too: what characters they may be is left to the check.
        is_endless.then(|| format!("char{}", endless(min)))
    }

    fn json_string(&self, min: u32, max: u32) -> (String, bool) {
        let times = if self.bounds_text { format!("{{{min},{max}}}") } else { endless(min).to_owned() };
        (format!(r#""\"" char{times} "\"""#), true)
    }
}

const fn endless(min: u32) -> &'static str {
    if min == 0 { "*" } else { "+" }
}

pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
