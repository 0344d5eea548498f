//! How a stated text is compared with a text of the page.
//!
//! Invariant: patterns are Rust `regex`, unanchored, at most 1 KB, and compiled with a bounded size;
//! what that engine cannot do is an error when the plan is checked, never a hang while it runs.

use regex::{Regex, RegexBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::wire::{ShortText, inline_schema};

/// A regular expression as a plan writes it: at most 1,024 bytes, unanchored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Pattern(String);

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Longer than the bound.
    #[error("a pattern of {0} bytes is longer than the limit of 1024")]
    TooLong(usize),
    /// It does not compile.
    #[error("expected a regular expression of the Rust `regex` crate: {0}")]
    Syntax(String),
}

impl Pattern {
    /// The bound, in bytes.
    pub const MAX_BYTES: usize = 1_024;

    /// Wraps a pattern without compiling it; only its length is checked.
    ///
    /// # Errors
    /// [`PatternError::TooLong`].
    pub fn new(source: impl Into<String>) -> Result<Self, PatternError> {
        let source = source.into();
        if source.len() > Self::MAX_BYTES { Err(PatternError::TooLong(source.len())) } else { Ok(Self(source)) }
    }

    /// The expression as written, without flags.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compiles it. Costs microseconds to a few milliseconds; at most 1 MiB of program.
    ///
    /// # Errors
    /// [`PatternError::Syntax`] with the engine's own first line.
    pub fn compile(&self) -> Result<Regex, PatternError> {
        self.compile_with(Flags::default())
    }

    fn compile_with(&self, flags: Flags) -> Result<Regex, PatternError> {
        RegexBuilder::new(&self.0)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .size_limit(1 << 20)
            .build()
            .map_err(|error| {
                let text = error.to_string();
                PatternError::Syntax(text.lines().last().unwrap_or_default().chars().take(200).collect())
            })
    }

    /// Returns `true` if the pattern is found anywhere in `text`; `None` if it does not compile.
    #[must_use]
    pub fn is_match(&self, text: &str) -> Option<bool> {
        self.compile().ok().map(|regex| regex.is_match(text))
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

// JSON Schema counts characters; a pattern of this many characters can still be too long in bytes.
inline_schema!(Pattern, { "type": "string", "maxLength": Pattern::MAX_BYTES });

/// The flags of a regular expression, written as in JavaScript: any of `i`, `m`, `s`, `u`, `g`, `v`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
}

impl Flags {
    fn parse(text: &str) -> Option<Self> {
        let mut flags = Self::default();
        for letter in text.chars() {
            match letter {
                'i' => flags.ignore_case = true,
                'm' => flags.multi_line = true,
                's' => flags.dot_all = true,
                'u' | 'g' | 'v' => {}
                _ => return None,
            }
        }
        Some(flags)
    }

    fn letters(self) -> String {
        [(self.ignore_case, 'i'), (self.multi_line, 'm'), (self.dot_all, 's')]
            .into_iter()
            .filter_map(|(on, letter)| on.then_some(letter))
            .collect()
    }
}

/// A text that something must have: literal, or a regular expression.
///
/// On the wire: a string, or `{"regex": "…", "flags": "i"}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TextPattern {
    /// Compared after white space is collapsed and trimmed on both sides.
    Literal(ShortText),
    /// Searched in the text as it stands.
    Regex(Pattern, RegexFlags),
}

/// The flags of a [`TextPattern::Regex`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegexFlags(Flags);

/// How well a text fits, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fit {
    /// Equal, letter case included; or a regular expression that is found.
    Exact,
    /// Equal but for letter case.
    IgnoringCase,
    /// Contained, ignoring letter case.
    Substring,
}

impl TextPattern {
    /// A literal of at most 1,000 characters.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self::Literal(ShortText::or_reason(text))
    }

    /// How well `text` fits; `None` if it does not, or if the pattern does not compile.
    #[must_use]
    pub fn fit(&self, text: &str) -> Option<Fit> {
        match self {
            Self::Regex(pattern, flags) => pattern.compile_with(flags.0).ok()?.is_match(text).then_some(Fit::Exact),
            Self::Literal(stated) => {
                let (seen, stated) = (collapse_white_space(text), collapse_white_space(stated));
                if seen == stated {
                    return Some(Fit::Exact);
                }
                let (seen, stated) = (seen.to_lowercase(), stated.to_lowercase());
                if seen == stated {
                    Some(Fit::IgnoringCase)
                } else if seen.contains(&stated) {
                    Some(Fit::Substring)
                } else {
                    None
                }
            }
        }
    }

    /// Checks that the pattern compiles.
    ///
    /// # Errors
    /// [`PatternError::Syntax`].
    pub fn validate(&self) -> Result<(), PatternError> {
        match self {
            Self::Literal(_) => Ok(()),
            Self::Regex(pattern, flags) => pattern.compile_with(flags.0).map(drop),
        }
    }
}

/// Returns `true` if a character takes no place where text is drawn: soft hyphens, zero-width characters, marks of
/// direction, fillers. `De&shy;lete` reads `Delete`.
#[must_use]
pub const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Collapses runs of white space to one space and trims; what [is invisible](is_invisible) goes.
#[must_use]
pub fn collapse_white_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let visible = text.chars().filter(|c| !is_invisible(*c));
    let mut pending_space = false;
    for c in visible {
        if c.is_whitespace() {
            pending_space = !out.is_empty();
        } else {
            if pending_space {
                out.push(' ');
                pending_space = false;
            }
            out.push(c);
        }
    }
    out
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RegexForm {
    regex: Pattern,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(regex(pattern = "^[imsugv]*$"), length(max = 8))]
    flags: String,
}

impl Serialize for TextPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Literal(text) => text.serialize(serializer),
            Self::Regex(pattern, flags) => {
                RegexForm { regex: pattern.clone(), flags: flags.0.letters() }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for TextPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => ShortText::new(text).map(Self::Literal).map_err(D::Error::custom),
            other => {
                let form: RegexForm = crate::wire::read(other).map_err(D::Error::custom)?;
                if form.flags.chars().count() > 8 {
                    return Err(D::Error::custom("expected at most 8 flags"));
                }
                let flags =
                    Flags::parse(&form.flags).ok_or_else(|| D::Error::custom("expected flags from `imsugv`"))?;
                Ok(Self::Regex(form.regex, RegexFlags(flags)))
            }
        }
    }
}

impl JsonSchema for TextPattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TextPattern".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let literal = generator.subschema_for::<ShortText>();
        let regex = generator.subschema_for::<RegexForm>();
        json_schema!({ "oneOf": [literal, regex] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_fits_exactly_before_it_fits_as_a_substring() {
        let name = TextPattern::literal("Log in");
        assert_eq!(name.fit(" Log  in "), Some(Fit::Exact));
        assert_eq!(name.fit("LOG IN"), Some(Fit::IgnoringCase));
        assert_eq!(name.fit("Log in and set a password"), Some(Fit::Substring));
        assert_eq!(name.fit("Log out"), None);
    }

    #[test]
    fn a_regex_is_unanchored_and_keeps_its_flags_on_the_wire() {
        let pattern: TextPattern = serde_json::from_str(r#"{"regex":"^del","flags":"i"}"#).unwrap();
        assert_eq!(pattern.fit("Delete row"), Some(Fit::Exact));
        assert_eq!(serde_json::to_string(&pattern).unwrap(), r#"{"regex":"^del","flags":"i"}"#);
    }

    #[test]
    fn look_around_is_refused_with_the_engines_reason() {
        let error = Pattern::new("(?=x)").unwrap().compile().unwrap_err();
        assert!(error.to_string().contains("look-around"), "{error}");
    }
}
