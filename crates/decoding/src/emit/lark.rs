//! Lark, in the variant that llguidance reads.

use super::cfg::{Cfg, Class};
use super::print::{Notation, print};
use crate::integers;

/// A grammar in Lark.
pub(crate) fn write(cfg: &Cfg) -> String {
    print(cfg, &Lark)
}

struct Lark;

fn characters(class: Class) -> String {
    match class {
        Class::Digits(from, to) => format!("[{from}-{to}]"),
        Class::UrlCharacter => r"[!#-\[\]-~]".to_owned(),
        Class::Label => "[a-z0-9]".to_owned(),
        Class::Letter => "[A-Za-z]".to_owned(),
        Class::Pattern => r"[!#%&',\-.\/0-9:;<=>@A-Z_a-z~ ]".to_owned(),
        Class::InLine => r"[^\x00-\x1F\x7F]".to_owned(),
    }
}

impl Notation for Lark {
    const DEFINES: &'static str = ": ";
    const EPILOGUE: &'static str = "";

    fn name(&self, name: &str) -> String {
        if name == "root" { "start".to_owned() } else { format!("r_{}", name.replace('-', "_")) }
    }

    fn literal(&self, text: &str) -> String {
        // llguidance reads no DEL as it stands.
        serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
    }

    fn class(&self, class: Class) -> String {
        format!("/{}/", characters(class))
    }

    /// One terminal: hundreds of terminals of a character each would be that many rows of the parser.
    fn characters(&self, class: Class, min: u32, max: u32) -> Option<String> {
        let class = characters(class);
        // No terminal may be empty.
        Some(if min == 0 { format!("(/{class}{{1,{max}}}/)?") } else { format!("/{class}{{{min},{max}}}/") })
    }

    /// One terminal: of `"10" [0-9]` and `[1-9] [0-9]` the lexer takes the longer terminal first and never goes back.
    fn integer(&self, min: i64, max: i64) -> Option<String> {
        let shapes = integers::shapes(min, max).into_iter().map(|shape| {
            let places = shape.places.iter().map(|place| format!("[{}-{}]", place.from, place.to));
            format!("{}{}", if shape.negative { "-" } else { "" }, places.collect::<String>())
        });
        Some(format!("/{}/", shapes.collect::<Vec<_>>().join("|")))
    }

    /// One terminal with its quotes, as a JSON string is: of two terminals that begin with a quote, the shorter would
    /// keep the lexer from the other.
    fn pattern(&self, max: u32) -> Option<String> {
        Some(format!("/\"{}{{1,{max}}}\"/", characters(Class::Pattern)))
    }

    fn json_string(&self, min: u32, max: u32) -> (String, bool) {
        (format!(r#"/"([^"\\\x00-\x1F\x7F]|\\["\\\/bfnrt]){{{min},{max}}}"/"#), false)
    }
}
