//! Secrets, and text that may have been one.
//!
//! Invariants:
//! - [`Secret`] cannot be printed, compared in the clear or serialised, and its memory is zeroed when it is dropped.
//! - What stands in a record instead of sensitive text is a digest, keyed per run: it shows whether two
//!   texts of one run are equal and nothing else.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::entry::is_same_entry;
use crate::verdict::Verdict;
use crate::wire::{LongText, inline_schema};

/// Text that replaces a secret in a text.
pub const MASK: &str = "[redacted]";

/// The fewest characters, without surrounding white space, of a text that is searched for in others.
pub const SEARCHED_FROM: usize = 4;

/// Words that are no secret anywhere but in the field that they were entered into: one a line, in lower case.
const COMMON_WORDS: &str = include_str!("secret/common_words.txt");

/// Returns `true` if a secret is searched for by its value: it has [`SEARCHED_FROM`] characters or more and is no
/// everyday word such as `test`. Any other secret would be found everywhere, so only the field that received it is kept
/// secret.
#[must_use]
pub fn is_searched_for(secret: &str) -> bool {
    let secret = secret.trim();
    secret.chars().nth(SEARCHED_FROM - 1).is_some()
        && !COMMON_WORDS.lines().any(|word| word.eq_ignore_ascii_case(secret))
}

/// A resolved secret. Exposing it is a visible act. Its memory is zeroed when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps the clear text.
    pub fn new(clear: impl Into<String>) -> Self {
        Self(Zeroizing::new(clear.into()))
    }

    /// The clear text, for the input event only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The key of a run's digests: 32 random bytes that never leave the process.
#[derive(Clone)]
pub struct DigestKey([u8; 32]);

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey(…)")
    }
}

impl DigestKey {
    /// Wraps key material that the composition root drew at random.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of `text` under this key: 128 bits of SHA-256 over the key and the text.
    #[must_use]
    pub fn digest(&self, text: &str) -> Digest {
        let mut hash = hmac_sha256::Hash::new();
        hash.update(self.0);
        hash.update(text.as_bytes());
        Digest(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Digest that replaces a text that must not be kept: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// Reads 32 lower-case hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
            .then(|| Self(text.to_owned()))
    }

    /// Returns the hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("expected 32 hexadecimal digits"))
    }
}

inline_schema!(Digest, { "type": "string", "pattern": "^[0-9a-f]{32}$" });

/// Text as a plan or a record states it: in the clear, or as `{"redacted": digest}`.
#[derive(Clone, PartialEq, Eq)]
pub enum WireText {
    /// The text as it was written.
    Clear(LongText),
    /// Was sensitive when it was recorded.
    Redacted(Digest),
}

impl WireText {
    /// Clear text, cut at its bound.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        Self::Clear(LongText::cut(text))
    }

    /// The text, unless it was redacted.
    #[must_use]
    pub fn clear(&self) -> Option<&str> {
        match self {
            Self::Clear(text) => Some(text),
            Self::Redacted(_) => None,
        }
    }

    /// Returns this text with its content replaced by a digest.
    #[must_use]
    pub fn redact(&self, key: &DigestKey) -> Self {
        match self {
            Self::Clear(text) => Self::Redacted(key.digest(text)),
            Self::Redacted(digest) => Self::Redacted(digest.clone()),
        }
    }
}

impl fmt::Debug for WireText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Typed text may be an undeclared secret: its length is all that a log needs.
            Self::Clear(text) => write!(f, "WireText({} characters)", text.chars().count()),
            Self::Redacted(digest) => write!(f, "WireText(redacted {})", digest.as_str()),
        }
    }
}

impl Serialize for WireText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Clear(text) => text.serialize(serializer),
            Self::Redacted(digest) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("redacted", digest)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for WireText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => LongText::new(text).map(Self::Clear).map_err(D::Error::custom),
            Value::Object(mut object) => {
                let digest = object.remove("redacted").and_then(|v| v.as_str().and_then(Digest::parse));
                match digest {
                    Some(digest) if object.is_empty() => Ok(Self::Redacted(digest)),
                    _ => Err(D::Error::custom("expected {\"redacted\": 32 hexadecimal digits}")),
                }
            }
            other => Err(D::Error::custom(format!("must be a string, not {}", crate::wire::shape(&other)))),
        }
    }
}

impl JsonSchema for WireText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WireText".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let clear = generator.subschema_for::<LongText>();
        let digest = generator.subschema_for::<Digest>();
        json_schema!({ "oneOf": [clear, {
            "type": "object",
            "properties": { "redacted": digest },
            "required": ["redacted"],
            "additionalProperties": false
        }] })
    }
}

/// Text as it was seen on a page: in the clear, or reduced to what verdicts need.
///
/// On the wire: a string, or `{"redacted": digest, "contains": [digest], "spells": [digest]}`.
#[derive(Clone, PartialEq, Eq)]
pub enum FactText {
    /// The text as it was seen.
    Clear(String),
    /// From a password-like field.
    Redacted {
        /// Of the whole text.
        digest: Digest,
        /// Of those texts of the step that it contains, so that `contains` can be judged again later.
        contains: Vec<Digest>,
        /// Of those texts of the step that it is a spelling of ([`is_same_entry`]), such as a card number in groups. Since
        /// records 1.14.
        spells: Vec<Digest>,
    },
}

impl FactText {
    /// The text, unless it was redacted.
    #[must_use]
    pub fn clear(&self) -> Option<&str> {
        match self {
            Self::Clear(text) => Some(text),
            Self::Redacted { .. } => None,
        }
    }

    /// Reduces the text to digests. Those of `asked` that it contains, or is a spelling of, stay judgeable.
    #[must_use]
    pub fn redact(&self, key: &DigestKey, asked: &[&str]) -> Self {
        let digests = |is_meant: &dyn Fn(&str) -> bool| {
            asked.iter().filter(|part| is_meant(part)).map(|part| key.digest(part)).collect()
        };
        match self {
            Self::Clear(text) => Self::Redacted {
                digest: key.digest(text),
                contains: digests(&|part| text.contains(part)),
                spells: digests(&|part| part != text && is_same_entry(part, text)),
            },
            redacted @ Self::Redacted { .. } => redacted.clone(),
        }
    }

    /// Judges whether the whole text equals `stated`; Unknown if one is redacted and the other is not.
    #[must_use]
    pub fn equals(&self, stated: &WireText) -> Verdict {
        match (self, stated) {
            (Self::Clear(seen), WireText::Clear(text)) => Verdict::from_bool(seen == text.as_str()),
            (Self::Redacted { digest, .. }, WireText::Redacted(stated)) => Verdict::from_bool(digest == stated),
            _ => Verdict::Unknown,
        }
    }

    /// Judges whether the whole text is `stated` in the page's spelling; Unknown if one is redacted and the other is not.
    #[must_use]
    pub fn spells(&self, stated: &WireText) -> Verdict {
        match (self, stated) {
            (Self::Clear(seen), WireText::Clear(text)) => Verdict::from_bool(is_same_entry(text, seen)),
            (Self::Redacted { spells, .. }, WireText::Redacted(stated)) if spells.contains(stated) => Verdict::Holds,
            _ => self.equals(stated),
        }
    }

    /// Judges whether the text contains `stated`; Unknown if one is redacted and the other is not.
    #[must_use]
    pub fn contains(&self, stated: &WireText) -> Verdict {
        match (self, stated) {
            (Self::Clear(seen), WireText::Clear(text)) => Verdict::from_bool(seen.contains(text.as_str())),
            (Self::Redacted { digest, contains, .. }, WireText::Redacted(stated)) => {
                Verdict::from_bool(digest == stated || contains.contains(stated))
            }
            _ => Verdict::Unknown,
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct RedactedFact {
    redacted: Digest,
    contains: Vec<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spells: Vec<Digest>,
}

impl Serialize for FactText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Clear(text) => text.serialize(serializer),
            Self::Redacted { digest, contains, spells } => {
                let (redacted, contains, spells) = (digest.clone(), contains.clone(), spells.clone());
                RedactedFact { redacted, contains, spells }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for FactText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Clear(text)),
            other => crate::wire::read::<RedactedFact>(other)
                .map(|fact| Self::Redacted { digest: fact.redacted, contains: fact.contains, spells: fact.spells })
                .map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for FactText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FactText".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let redacted = generator.subschema_for::<RedactedFact>();
        json_schema!({ "oneOf": [{ "type": "string" }, redacted] })
    }
}

impl fmt::Debug for FactText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clear(text) => write!(f, "{text:?}"),
            Self::Redacted { digest, .. } => write!(f, "redacted {}", digest.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_text_in_the_spelling_of_its_page_is_the_same_entry() {
        let key = DigestKey::new([7; 32]);
        let stated = |text: &str| WireText::Redacted(key.digest(text));
        let seen =
            FactText::Clear("4242 4242 4242 4242".to_owned()).redact(&key, &["4242424242424242", "4242", "4243"]);
        let verdicts = |text: &str| [seen.spells(&stated(text)), seen.equals(&stated(text))];
        assert_eq!(verdicts("4242424242424242"), [Verdict::Holds, Verdict::Fails]);
        assert_eq!(verdicts("4242 4242 4242 4242"), [Verdict::Holds; 2]);
        assert_eq!(verdicts("4242"), [Verdict::Fails; 2]);
        assert_eq!(seen.spells(&WireText::cut("4242424242424242")), Verdict::Unknown);
        let read: FactText = serde_json::from_value(serde_json::to_value(&seen).unwrap()).unwrap();
        assert_eq!(read, seen);
    }

    #[test]
    fn short_texts_and_everyday_words_are_not_searched_for() {
        for secret in ["", "abc", "äöü", "  abc  ", "test", "Password", "CHECKBOX\n"] {
            assert!(!is_searched_for(secret), "{secret:?}");
        }
        for secret in ["abcd", "test1", "passwords", "hunter2", "äöüß"] {
            assert!(is_searched_for(secret), "{secret:?}");
        }
        assert!(COMMON_WORDS.lines().is_sorted() && COMMON_WORDS.lines().all(|word| word.len() >= SEARCHED_FROM));
    }
}
