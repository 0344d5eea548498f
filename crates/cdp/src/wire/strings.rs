//! Strings that borrow from the reply, and JSON with lone surrogates.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::surrogates::mend;

/// A string that borrows where it holds no escapes, also inside `Option` and `Vec`, where serde's own
/// `Cow` always copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Str<'a>(pub Cow<'a, str>);

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Str<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Str<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Str<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Str<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Str(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Decodes a JSON string, borrowing where it holds no escapes; `None` if it is something else. A lone
/// surrogate becomes U+FFFD.
#[must_use]
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    if let Ok(text) = serde_json::from_str::<Str<'_>>(raw.get()) {
        return Some(text.0);
    }
    let mended = mend(raw.get().as_bytes())?;
    serde_json::from_slice::<String>(&mended).ok().map(Cow::Owned)
}

/// Decodes JSON that a script of ours made with `JSON.stringify`. A lone surrogate of the page's, which
/// that writes as an escape and no Rust string can hold, becomes U+FFFD.
///
/// # Errors
/// As `serde_json::from_str`.
pub fn decode<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match mend(json.as_bytes()) {
        Some(mended) => serde_json::from_slice(&mended),
        None => Err(error),
    })
}
