//! How values cross the wire: bounded strings and numbers, and tagged unions whose errors carry a path.
//!
//! Invariants:
//! - Every string and number that a model or a file may write has a bound, and the bound is in its schema.
//! - A struct is read from an object, never from a list of its fields, and no member is read twice.
//! - Reading a tagged union never buffers through serde's untagged machinery: an error names the
//!   JSON pointer of the value that is wrong, what was expected and what was seen.

mod bounded;
mod strict;

use std::fmt;

use schemars::Schema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::render::excerpt;

pub use bounded::{
    Bounded, ClickCount, Count, LongText, Millis, Nth, Pixels, Probability, SelectorText, ShortText, TooLong, UrlText,
};

/// A JSON object as read from the wire.
pub type Object = Map<String, Value>;

/// Why a value could not be read: where, and what was expected against what was seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// JSON pointer from the value that was being read; empty for the value itself.
    pub path: String,
    /// Description of the fault, in lower case.
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

    /// Returns this error with its path extended by the `segment` that holds the value.
    #[must_use]
    pub fn under(mut self, segment: impl fmt::Display) -> Self {
        let escaped = segment.to_string().replace('~', "~0").replace('/', "~1");
        self.path = format!("/{escaped}{}", self.path);
        self
    }

    /// Rebuilds the error from its text.
    fn from_text(text: String) -> Self {
        if let Some((path, message)) = text.strip_prefix("at /").and_then(|rest| rest.split_once(": ")) {
            return Self { path: format!("/{path}"), message: message.to_owned() };
        }
        Self::new(text)
    }
}

/// Reads a value; an error names the place in it.
///
/// ```
/// use cuebook_grammar::{step::Step, wire};
///
/// let step = serde_json::json!({ "type": "press", "keys": "Enter", "post": [{ "kind": "urlMatches" }] });
/// let error = wire::read::<Step>(step).unwrap_err();
/// assert_eq!(error.to_string(), "at /post/0: missing field `pattern`");
/// ```
///
/// # Errors
/// [`ReadError`] with the pointer of the innermost value that does not fit.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    T::deserialize(strict::Strict(value))
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

/// Checks that a reader of version `own` can read a document of version `seen`: the major versions must be equal. A
/// later minor version may add fields, which are ignored.
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
    let message = format!("version `{}` cannot be read, only {major}.x", excerpt(seen, 40));
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

/// The field `schemaVersion` of a document, for use in a `deserialize_with`.
pub(crate) fn readable_version<'de, D: Deserializer<'de>>(deserializer: D, own: &str) -> Result<String, D::Error> {
    let seen = String::deserialize(deserializer)?;
    check_version(&seen, own).map_err(|error| D::Error::custom(error.message))?;
    Ok(seen)
}

/// Removes an optional field from an object and reads it.
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

/// Declares a tagged union: each variant is a struct, identified by one string field.
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
                        "must be a string, not {}", crate::wire::shape(&other))).under($tag_field)),
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

        #[cfg(feature = "arbitrary")]
        impl crate::generate::Generate for $name {
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::{Strategy as _, Union};
                Union::new([$( crate::generate::any::<$body>().prop_map(Self::$variant).boxed() ),+]).boxed()
            }
        }
    };
}
pub(crate) use tagged;

/// Declares structs that are read from an object of these members, in camelCase, and of no others. A member that is
/// written `name?: Type` may be absent: its field is an `Option`.
macro_rules! bodies {
    ($(
        $(#[$meta:meta])*
        $name:ident { $( $(#[$field_meta:meta])* $field:ident $(?: $optional:ty)? $(: $required:ty)?, )* }
    )+) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[$field_meta])*
                $( #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$optional>, )?
                $( pub $field: $required, )?
            )*
        }

        #[cfg(feature = "arbitrary")]
        crate::generate::structs! { $name { $($field,)* } }
    )+ };
}
pub(crate) use bodies;

/// Declares an enum of words, with the spelling of each on the wire.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $word:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $name { $( $(#[$variant_meta])* #[serde(rename = $word)] $variant, )+ }

        impl $name {
            /// Every value, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }

        #[cfg(feature = "arbitrary")]
        impl crate::generate::Generate for $name {
            fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
                proptest::strategy::Strategy::boxed(proptest::sample::select(Self::ALL))
            }
        }
    };
}
pub(crate) use words;

/// Implements `JsonSchema` by a schema that is written out wherever the type is used.
macro_rules! inline_schema {
    ($name:ident, $($schema:tt)+) => {
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool { true }
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($($schema)+)
            }
        }
    };
}
pub(crate) use inline_schema;

/// Returns `true` if a field has its default and need not be written, for serde's `skip_serializing_if`.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The type of a JSON value, for messages; never its content.
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
    let shown = excerpt(seen, 60);
    ReadError::new(match nearest(seen, known) {
        Some(nearest) => format!("unknown value `{shown}`; did you mean `{nearest}`?"),
        None => format!("unknown value `{shown}`, expected one of: {}", known.join(", ")),
    })
}

/// Names that other programs use, each with the one that is used here.
const SYNONYMS: [(&str, &str); 26] = [
    ("fill", "setValue"),
    ("input", "setValue"),
    ("enter", "type"),
    ("entertext", "type"),
    ("inputtext", "type"),
    ("typetext", "type"),
    ("tap", "click"),
    ("clickelement", "click"),
    ("open", "navigate"),
    ("goto", "navigate"),
    ("visit", "navigate"),
    ("back", "goBack"),
    ("forward", "goForward"),
    ("refresh", "reload"),
    ("selectoption", "select"),
    ("choose", "select"),
    ("keypress", "press"),
    ("presskey", "press"),
    ("sendkeys", "press"),
    ("wait", "waitFor"),
    ("sleep", "waitForIdle"),
    ("drag", "dragTo"),
    ("uploadfile", "upload"),
    ("done", "finish"),
    ("eval", "evaluate"),
    ("contains", "elementTextContains"),
];

/// The value that was most likely meant: what another program calls so, else the only one that is nearest in letters.
fn nearest<'a>(seen: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).take(40).flat_map(char::to_lowercase).collect()
    };
    let seen = plain(seen);
    let word: String = seen.iter().collect();
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, own)| *own);
    if let Some(own) = synonym.and_then(|own| known.iter().find(|known| **known == own)) {
        return Some(own);
    }
    // One letter in four may be another one.
    let limit = seen.len().div_ceil(4);
    let near = known.iter().map(|known| (letters_between(&seen, &plain(known)), *known));
    let mut near: Vec<_> = near.filter(|(distance, _)| *distance <= limit).collect();
    near.sort_by_key(|(distance, _)| *distance);
    match near[..] {
        [(_, only)] => Some(only),
        [(first, nearest), (second, _), ..] if first < second => Some(nearest),
        _ => None,
    }
}

/// Letters to insert, remove, replace or swap with their neighbour, to make one of the other.
fn letters_between(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let at = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&row, j) + usize::from(a != b);
            let mut least = replaced.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let is_swap = i > 0 && j > 0 && one.get(i - 1) == Some(b) && other.get(j - 1) == Some(a);
            if is_swap {
                least = least.min(at(&before, j - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod nearest_tests {
    use super::*;

    #[test]
    fn a_misspelt_value_and_that_of_another_program_name_ours() {
        let verbs = ["click", "check", "type", "setValue", "navigate", "press", "dragTo", "waitFor"];
        let near = |seen: &str| nearest(seen, &verbs);
        assert_eq!(near("clik"), Some("click"));
        assert_eq!(near("cilck"), Some("click"));
        assert_eq!(near("Set_Value"), Some("setValue"));
        assert_eq!(near("fill"), Some("setValue"));
        assert_eq!(near("goto"), Some("navigate"));
        assert_eq!(near("upload"), None, "what is not there is not named");
        assert_eq!(near("dance"), None);
        assert_eq!(near(""), None);
        assert_eq!(nearest("fill", &["visible"]), None);
        assert!(unknown_tag("clik", &verbs).to_string().contains("`click`?"));
        assert!(unknown_tag("dance", &verbs).to_string().contains("navigate, press"));
    }
}
