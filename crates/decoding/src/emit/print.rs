//! Prints a grammar of characters in the notation of a dialect.

use super::cfg::{Cfg, Class, Expression};

/// How a dialect spells things.
pub(crate) trait Notation {
    /// Between a rule's name and its body.
    const DEFINES: &'static str;
    /// After the last rule.
    const EPILOGUE: &'static str;
    /// Spells a rule's name, which is of lower-case letters, digits and hyphens.
    fn name(&self, name: &str) -> String;
    /// Spells exactly these characters, quoted and escaped.
    fn literal(&self, text: &str) -> String;
    /// One character of a class.
    fn class(&self, class: Class) -> String;
    /// A bounded run of a class's characters, if the dialect has a form that needs no parentheses.
    fn characters(&self, class: Class, min: u32, max: u32) -> Option<String>;
    /// A JSON string of `min` to `max` characters; `true` with it if it wants parentheses under a repetition.
    fn json_string(&self, min: u32, max: u32) -> (String, bool);
    /// An integer of a range, if the dialect has a form for it.
    fn integer(&self, _min: i64, _max: i64) -> Option<String> {
        None
    }
    /// A quoted pattern, if the dialect has a form for it.
    fn pattern(&self, _max: u32) -> Option<String> {
        None
    }
}

pub(crate) fn print(cfg: &Cfg, notation: &impl Notation) -> String {
    let mut out = String::new();
    for rule in &cfg.rules {
        out.push_str(&notation.name(&rule.name));
        out.push_str(notation.defines());
        out.push_str(&expression(&rule.expression, notation, Within::Rule));
        out.push('\n');
    }
    out.push_str(notation.epilogue());
    out
}

trait Constants {
    fn defines(&self) -> &'static str;
    fn epilogue(&self) -> &'static str;
}

impl<N: Notation> Constants for N {
    fn defines(&self) -> &'static str {
        N::DEFINES
    }
    fn epilogue(&self) -> &'static str {
        N::EPILOGUE
    }
}

/// The context of an expression, which decides whether it needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Rule,
    Sequence,
    Repeat,
}

fn expression(value: &Expression, notation: &impl Notation, within: Within) -> String {
    match value {
        Expression::Literal(text) => notation.literal(text),
        Expression::Class(class) => notation.class(*class),
        Expression::Rule(name) => notation.name(name),
        Expression::JsonString(min, max) => {
            let (text, is_sequence) = notation.json_string(*min, *max);
            if is_sequence && within == Within::Repeat { format!("({text})") } else { text }
        }
        Expression::Integer(min, max) => {
            let digits = || expression(&Expression::digits(*min, *max), notation, within);
            notation.integer(*min, *max).unwrap_or_else(digits)
        }
        Expression::Pattern(max) => {
            let spelled = || expression(&Expression::spelled_pattern(*max), notation, within);
            notation.pattern(*max).unwrap_or_else(spelled)
        }
        Expression::Sequence(parts) => {
            let mut written: Vec<String> = Vec::new();
            let mut literal = String::new();
            for part in parts.iter().flat_map(Expression::flat) {
                // Neighbouring literals are one.
                if let Expression::Literal(text) = part {
                    literal.push_str(text);
                    continue;
                }
                if !literal.is_empty() {
                    written.push(notation.literal(&std::mem::take(&mut literal)));
                }
                written.push(expression(part, notation, Within::Sequence));
            }
            if !literal.is_empty() {
                written.push(notation.literal(&literal));
            }
            match &written[..] {
                [] => notation.literal(""),
                [only] if within != Within::Repeat => only.clone(),
                _ if within == Within::Repeat => format!("({})", written.join(" ")),
                _ => written.join(" "),
            }
        }
        Expression::Choice(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| expression(part, notation, Within::Rule)).collect();
            let text = parts.join(" | ");
            if within == Within::Rule { text } else { format!("({text})") }
        }
        Expression::Repeat(inner, min, max) => {
            if let Expression::Class(class) = **inner
                && let Some(text) = notation.characters(class, *min, *max)
            {
                return text;
            }
            let inner = expression(inner, notation, Within::Repeat);
            match (min, max) {
                (0, 1) => format!("{inner}?"),
                _ => format!("{inner}{{{min},{max}}}"),
            }
        }
    }
}
