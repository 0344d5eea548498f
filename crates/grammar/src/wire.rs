//! How values cross the wire: bounded strings and numbers, and tagged unions whose errors carry a path.
//!
//! Invariants:
//! - Every string and number that a model or a file may write has a bound, and the bound is in its schema.
//! - A struct is read from an object, never from a list of its fields, and no member is read twice.
//! - Reading a tagged union never buffers through serde's untagged machinery: an error names the
//!   JSON pointer of the value that is wrong, what was expected and what was seen.

mod strict;

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A JSON object as read from the wire.
pub type Object = Map<String, Value>;

/// Why a value could not be read: where, and what was expected against what was seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// JSON pointer from the value that was being read; empty for the value itself.
    pub path: String,
    /// Expected against seen, in lower case.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "at {}: {}", self.path, self.message) }
    }
}

impl ReadError {
    /// An error about the value itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    /// The same error seen from the object or array that holds the value under `segment`.
    #[must_use]
    pub fn under(mut self, segment: impl fmt::Display) -> Self {
        let escaped = segment.to_string().replace('~', "~0").replace('/', "~1");
        self.path = format!("/{escaped}{}", self.path);
        self
    }

    /// Rebuilds the error from serde's text, which is all that serde carries through a custom
    /// `Deserialize`: an inner error of ours prints as `at /pointer: message`.
    fn from_serde(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        if let Some((path, message)) = text.strip_prefix("at /").and_then(|rest| rest.split_once(": ")) {
            return Self { path: format!("/{path}"), message: message.to_owned() };
        }
        Self::new(text)
    }
}

/// Reads a value and says where in it the fault lies.
///
/// # Errors
/// [`ReadError`] with the pointer of the innermost value that does not fit.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(strict::Strict(value)).map_err(|error| {
        let mut read_error = ReadError::from_serde(error.inner());
        let segments: Vec<_> = error.path().iter().collect();
        for segment in segments.into_iter().rev() {
            use serde_path_to_error::Segment;
            read_error = match segment {
                Segment::Seq { index } => read_error.under(index),
                Segment::Map { key } => read_error.under(key),
                Segment::Enum { variant } => read_error.under(variant),
                Segment::Unknown => read_error,
            };
        }
        read_error
    })
}

/// Reads text as a JSON value in which no object names a member twice.
///
/// # Errors
/// [`ReadError`] with the line and column in its message.
pub fn parse(text: &str) -> Result<Value, ReadError> {
    let value: strict::Unambiguous =
        serde_json::from_str(text).map_err(|error| ReadError::new(format!("expected a JSON document: {error}")))?;
    Ok(value.0)
}

/// Checks that a document of version `seen` can be read by a reader of version `own`: the first parts are equal. A
/// greater second part means fields that this reader does not know; they are ignored.
///
/// # Errors
/// [`ReadError`] at `/schemaVersion` with the versions that can be read.
pub fn check_version(seen: &str, own: &str) -> Result<(), ReadError> {
    let major = own.split('.').next().unwrap_or(own);
    if let Some((first, second)) = seen.split_once('.')
        && first == major
        && !second.is_empty()
        && second.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Ok(());
    }
    let seen: String = seen.chars().take(40).collect();
    let message = format!("expected version {major}.x, saw `{}`", seen.escape_debug());
    Err(ReadError::new(message).under("schemaVersion"))
}

/// Reads a document that states its version as `schemaVersion`. The version is checked first: what else does not fit
/// in a document of another version says nothing.
///
/// # Errors
/// As [`parse`], [`check_version`] and [`read`].
pub(crate) fn read_versioned<T: DeserializeOwned>(text: &str, own: &str) -> Result<T, ReadError> {
    let value = parse(text)?;
    if let Some(seen) = value.get("schemaVersion").and_then(Value::as_str) {
        check_version(seen, own)?;
    }
    read(value)
}

/// The field `schemaVersion` of a document; to be called by a `deserialize_with`.
pub(crate) fn readable_version<'de, D: Deserializer<'de>>(deserializer: D, own: &str) -> Result<String, D::Error> {
    let seen = String::deserialize(deserializer)?;
    check_version(&seen, own).map_err(|error| D::Error::custom(error.message))?;
    Ok(seen)
}

/// Takes an optional field out of an object and reads it.
///
/// # Errors
/// As [`read`], with the field in the path.
pub fn take<T: DeserializeOwned>(object: &mut Object, field: &str) -> Result<Option<T>, ReadError> {
    match object.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).map_err(|e| e.under(field)),
    }
}

/// Deserialises an object through a reader that reports paths.
pub(crate) fn deserialize_object<'de, D, T>(
    deserializer: D,
    from: impl FnOnce(Object) -> Result<T, ReadError>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    from(Object::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Adds `fields` to an object schema; a field named in `required` becomes mandatory.
pub(crate) fn extend_object_schema(schema: &mut Schema, fields: Vec<(&str, Schema)>, required: &[&str]) {
    let object = schema.ensure_object();
    object.entry("type").or_insert_with(|| "object".into());
    object.entry("additionalProperties").or_insert(Value::Bool(false));
    if let Value::Object(properties) = object.entry("properties").or_insert_with(|| Value::Object(Map::new())) {
        for (name, field) in fields {
            properties.insert(name.to_owned(), field.to_value());
        }
    }
    if let Value::Array(list) = object.entry("required").or_insert_with(|| Value::Array(Vec::new())) {
        for (position, name) in required.iter().enumerate() {
            list.insert(position, Value::from(*name));
        }
    }
    if object.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        object.remove("required");
    }
}

/// Declares a tagged union: each variant is a struct, told apart by one string field.
///
/// The enum gets `TAGS`, `tag()`, `from_object()`, and serde and schemars implementations that agree. A module after
/// `with` is the first to read an object, and extends the schemas.
macro_rules! tagged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident by $tag_field:literal $(with $sugar:ident)? {
            $( $(#[$variant_meta:meta])* $variant:ident($body:ty) = $tag:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = $tag_field)]
        pub enum $name {
            $( $(#[$variant_meta])* #[serde(rename = $tag)] $variant($body), )+
        }

        impl $name {
            /// The field that tells the variants apart.
            pub const TAG_FIELD: &'static str = $tag_field;
            /// Every tag, in order of declaration.
            pub const TAGS: &'static [&'static str] = &[$($tag),+];

            /// The tag of this value as it stands on the wire.
            #[must_use]
            pub const fn tag(&self) -> &'static str {
                match self { $( Self::$variant(_) => $tag, )+ }
            }

            /// Reads an object that carries the tag and the fields of one variant, and nothing else.
            ///
            /// # Errors
            /// [`ReadError`](crate::wire::ReadError) naming the field that is missing, unknown or of the wrong shape.
            pub fn from_object(mut object: crate::wire::Object) -> Result<Self, crate::wire::ReadError> {
                use crate::wire::ReadError;
                $( if let Some(read) = $sugar::read(&mut object) { return read; } )?
                let tag = match object.remove($tag_field) {
                    Some(serde_json::Value::String(tag)) => tag,
                    Some(other) => return Err(ReadError::new(format!(
                        "expected a string, saw {}", crate::wire::shape(&other))).under($tag_field)),
                    None => return Err(ReadError::new(concat!("missing field `", $tag_field, "`"))),
                };
                match tag.as_str() {
                    $( $tag => crate::wire::read::<$body>(serde_json::Value::Object(object)).map(Self::$variant), )+
                    other => Err(crate::wire::unknown_tag(other, Self::TAGS).under($tag_field)),
                }
            }

            /// The schema of each variant with its tag, in order of declaration.
            pub(crate) fn variant_schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
                let schemas = vec![$({
                    let mut schema = <$body as schemars::JsonSchema>::json_schema(generator);
                    let tag = schemars::json_schema!({ "const": $tag });
                    crate::wire::extend_object_schema(&mut schema, vec![($tag_field, tag)], &[$tag_field]);
                    schema
                }),+];
                $( let schemas = $sugar::extended(schemas, generator); )?
                schemas
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::wire::deserialize_object(deserializer, Self::from_object)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let variants = Self::variant_schemas(generator);
                schemars::json_schema!({ "oneOf": variants })
            }
        }
    };
}
pub(crate) use tagged;

/// What a JSON value is, for messages; never its content.
#[must_use]
pub const fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

pub(crate) fn unknown_tag(seen: &str, known: &[&str]) -> ReadError {
    let seen: String = seen.chars().take(60).collect();
    ReadError::new(format!("unknown value `{}`, expected one of: {}", seen.escape_debug(), known.join(", ")))
}

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
/// A URL as written by a plan: at most 4,000 characters. Whether it parses is for `check` to say.
pub type UrlText = Bounded<4_000>;

/// A string that is longer than its type permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected at most {max} characters, saw {seen}")]
pub struct TooLong {
    /// The bound, in characters.
    pub max: usize,
    /// The length seen, in characters.
    pub seen: usize,
}

impl<const MAX: usize> Bounded<MAX> {
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

    /// The text.
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
            /// The least value.
            pub const MIN: Self = Self($min);
            /// The greatest value.
            pub const MAX: Self = Self($max);

            /// The nearest value within the bounds.
            #[must_use]
            pub fn clamped(value: $int) -> Self { Self(value.clamp($min, $max)) }

            /// The number.
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
                    concat!("expected an integer from ", stringify!($min), " to ", stringify!($max), ", saw {}"), value)))
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool { true }
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "integer", "minimum": $min, "maximum": $max })
            }
        }
    };
}

bounded_integer! {
    /// Milliseconds, at most one hour.
    pub struct Millis(u32) in 0 ..= 3_600_000;
}

impl Millis {
    /// As a duration.
    #[must_use]
    pub const fn duration(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.get() as u64)
    }

    /// The nearest number of milliseconds, cut at one hour.
    #[must_use]
    pub fn of(duration: std::time::Duration) -> Self {
        Self::clamped(u32::try_from(duration.as_millis()).unwrap_or(u32::MAX))
    }
}

bounded_integer! {
    /// A distance in CSS pixels, signed.
    pub struct Pixels(i32) in -1_000_000 ..= 1_000_000;
}

bounded_integer! {
    /// How many times a button is pressed in one gesture.
    pub struct ClickCount(u8) in 1 ..= 3;
}

bounded_integer! {
    /// A position in a list, from 0; from the end if negative (-1 is the last).
    pub struct Nth(i32) in -10_000 ..= 10_000;
}

bounded_integer! {
    /// How many of something, up to a million.
    pub struct Count(u32) in 0 ..= 1_000_000;
}

/// A probability, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Probability(f64);

impl Probability {
    /// Certain.
    pub const ONE: Self = Self(1.0);

    /// The nearest probability; 0 for what is no number.
    #[must_use]
    pub fn clamped(value: f64) -> Self {
        Self(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// The number.
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
            Err(D::Error::custom(format!("expected a number from 0 to 1, saw {value}")))
        }
    }
}

impl JsonSchema for Probability {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}
