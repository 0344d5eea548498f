//! EBNF in the notation that XGrammar, and so vLLM and SGLang, read.

use super::cfg::{Cfg, Class};
use super::gbnf::quoted;
use super::print::{Notation, print};

/// A grammar in EBNF.
pub(crate) fn write(cfg: &Cfg) -> String {
    print(cfg, &Ebnf)
}

struct Ebnf;

impl Notation for Ebnf {
    const DEFINES: &'static str = " ::= ";
    const EPILOGUE: &'static str = concat!(r#"char ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]"#, "\n");

    fn name(&self, name: &str) -> String {
        name.replace('-', "_")
    }

    fn literal(&self, text: &str) -> String {
        quoted(text)
    }

    fn class(&self, class: Class) -> String {
        match class {
            Class::Digits(from, to) => format!("[{from}-{to}]"),
            Class::UrlCharacter => r"[!#-\[\]-~]".to_owned(),
            Class::Label => "[a-z0-9]".to_owned(),
            Class::InLine => r"[^\x00-\x1F\x7F]".to_owned(),
        }
    }

    fn json_string(&self, min: u32, max: u32) -> (String, bool) {
        (format!(r#""\"" char{{{min},{max}}} "\"""#), true)
    }
}
