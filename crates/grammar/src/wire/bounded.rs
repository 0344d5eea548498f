//! Strings and numbers with a bound that Rust, serde and the schema agree on.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::inline_schema;

/// A string of at most `MAX` characters (Unicode scalar values, as JSON Schema counts them).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bounded<const MAX: usize>(String);

/// A label, a name, a reason: at most 1,000 characters.
pub type ShortText = Bounded<1_000>;
/// Text that is typed or compared: at most 20,000 characters.
pub type LongText = Bounded<20_000>;
/// A selector: at most 2,000 characters.
pub type SelectorText = Bounded<2_000>;
/// A URL in a plan: at most 4,000 characters. Whether it parses is up to the check.
pub type UrlText = Bounded<4_000>;

/// A string that exceeds the bound of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{seen} characters are more than the limit of {max}")]
pub struct TooLong {
    /// The bound, in characters.
    pub max: usize,
    /// The length seen, in characters.
    pub seen: usize,
}

impl<const MAX: usize> Bounded<MAX> {
    /// Wraps a text.
    ///
    /// # Errors
    /// [`TooLong`] if `text` has more than `MAX` characters.
    pub fn new(text: impl Into<String>) -> Result<Self, TooLong> {
        let text = text.into();
        let seen = text.chars().count();
        if seen > MAX { Err(TooLong { max: MAX, seen }) } else { Ok(Self(text)) }
    }

    /// Keeps the first `MAX` characters of `text`.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        Self(text.chars().take(MAX).collect())
    }

    /// The whole text. Of one that is too long, the reason: half of a URL, a key or an answer might be another one.
    #[must_use]
    pub fn or_reason(text: &str) -> Self {
        Self::new(text).unwrap_or_else(|too_long| Self::cut(&too_long.to_string()))
    }

    /// The text, which has at most `MAX` characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> std::ops::Deref for Bounded<MAX> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Display for Bounded<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> TryFrom<&str> for Bounded<MAX> {
    type Error = TooLong;
    fn try_from(text: &str) -> Result<Self, TooLong> {
        Self::new(text)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Bounded<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<const MAX: usize> JsonSchema for Bounded<MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Text{MAX}").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": MAX })
    }
}

/// Declares an integer newtype whose bounds hold in Rust, in serde and in the schema.
macro_rules! bounded_integer {
    ($(#[$meta:meta])* pub struct $name:ident($int:ty) in $min:literal ..= $max:literal;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name($int);

        impl $name {
            /// Inclusive lower bound of the type.
            pub const MIN: Self = Self($min);
            /// Inclusive upper bound of the type.
            pub const MAX: Self = Self($max);

            /// The nearest value within the bounds.
            #[must_use]
            pub fn clamped(value: $int) -> Self { Self(value.clamp($min, $max)) }

            /// The number, from `MIN` to `MAX`.
            #[must_use]
            pub const fn get(self) -> $int { self.0 }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <i64 as serde::Deserialize>::deserialize(deserializer)?;
                if (i64::from($min as $int)..=i64::from($max as $int)).contains(&value) {
                    return Ok(Self(value as $int));
                }
                Err(serde::de::Error::custom(format!(
                    concat!("{} is not an integer from ", stringify!($min), " to ", stringify!($max)), value)))
            }
        }

        inline_schema!($name, { "type": "integer", "minimum": $min, "maximum": $max });

        #[cfg(feature = "arbitrary")]
        impl crate::generate::Generate for $name {
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy as _;
                ($min as $int..=$max).prop_map(Self::clamped).boxed()
            }
        }
    };
}

bounded_integer! {
    /// Milliseconds, at most one hour.
    pub struct Millis(u32) in 0 ..= 3_600_000;
}

impl Millis {
    /// Converts it to a [`std::time::Duration`].
    #[must_use]
    pub const fn duration(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.get() as u64)
    }
}

bounded_integer! {
    /// A distance in CSS pixels, signed.
    pub struct Pixels(i32) in -1_000_000 ..= 1_000_000;
}

bounded_integer! {
    /// Number of clicks in one gesture.
    pub struct ClickCount(u8) in 1 ..= 3;
}

bounded_integer! {
    /// A 0-based position in a list; counted from the end if negative (-1 is the last).
    pub struct Nth(i32) in -10_000 ..= 10_000;
}

bounded_integer! {
    /// A number of things, at most a million.
    pub struct Count(u32) in 0 ..= 1_000_000;
}

/// A probability, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Probability(f64);

/// It is never NaN.
impl Eq for Probability {}

impl Probability {
    /// The nearest probability; 0 for NaN.
    #[must_use]
    pub fn clamped(value: f64) -> Self {
        Self(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// The number, from 0 to 1; never NaN.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(D::Error::custom(format!("{value} is not a number from 0 to 1")))
        }
    }
}

inline_schema!(Probability, { "type": "number", "minimum": 0, "maximum": 1 });
