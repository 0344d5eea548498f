//! Reading JSON as its author meant it.
//!
//! Invariants:
//! - An object is read from an object. serde's derive accepts a list of the fields for a struct, so
//!   `"roots": [["/tmp"], []]` would open a directory.
//! - No member of an object counts silently for another of the same name.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Value};

use super::{ReadError, shape};
use crate::render::excerpt;

/// A value that reads structs, struct variants and maps from objects only, at every depth. Its errors name the place.
pub(super) struct Strict(pub(super) Value);

impl Strict {
    fn object<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let mut members = Members::of(self.0)?;
        let read = visitor.visit_map(&mut members)?;
        members.end()?;
        Ok(read)
    }
}

/// The members of an object, one after another.
struct Members {
    rest: serde_json::map::IntoIter,
    /// The member whose name was read last.
    open: Option<(String, Value)>,
}

impl Members {
    fn of(value: Value) -> Result<Self, ReadError> {
        match value {
            Value::Object(fields) => Ok(Self { rest: fields.into_iter(), open: None }),
            other => Err(ReadError::new(format!("must be an object, not {}", shape(&other)))),
        }
    }

    fn end(self) -> Result<(), ReadError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(ReadError::new(format!("{left} members too many"))),
        }
    }
}

impl<'de> MapAccess<'de> for Members {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(Strict(Value::String(name.clone())));
        let (name, _) = self.open.insert((name, value));
        read.map(Some).map_err(|error| error.under(name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (name, value) = self.open.take().unwrap_or_default();
        seed.deserialize(Strict(value)).map_err(|error| error.under(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The items of an array, one after another.
struct Items {
    rest: std::vec::IntoIter<Value>,
    read: usize,
}

impl Items {
    fn end(self) -> Result<(), ReadError> {
        let Self { rest, read } = self;
        match rest.len() {
            0 => Ok(()),
            left => Err(ReadError::new(format!("invalid length {}, expected {read} items", read + left))),
        }
    }
}

impl<'de> SeqAccess<'de> for Items {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let index = self.read;
        self.read += 1;
        seed.deserialize(Strict(value)).map(Some).map_err(|error| error.under(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

impl Error for ReadError {
    /// All that serde carries through a `Deserialize` of ours is text: an error within prints as `at /pointer: message`.
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::from_text(message.to_string())
    }

    fn invalid_type(seen: Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        match seen {
            Unexpected::Unit => Self::new(format!("invalid type: null, expected {expected}")),
            seen => Self::new(format!("invalid type: {seen}, expected {expected}")),
        }
    }
}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        Self::from_text(error.to_string())
    }
}

impl<'de> Deserializer<'de> for Strict {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Value::Object(_) => self.object(visitor),
            Value::Array(items) => {
                let mut items = Items { rest: items.into_iter(), read: 0 };
                let read = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(read)
            }
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(text) => visitor.visit_string(text),
            Value::Number(number) => Ok(number.deserialize_any(visitor)?),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.object(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.object(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.0 {
            Value::Object(fields) if fields.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Members::of(self.0)?))
            }
            _ => Ok(self.0.deserialize_enum(name, variants, visitor)?),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct identifier ignored_any
    }
}

/// Any JSON value in which no object names a member twice.
pub(super) struct Unambiguous(pub(super) Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some((name, Unambiguous(value))) = members.next_entry::<String, _>()? {
            if read.contains_key(&name) {
                let name = excerpt(&name, 60);
                return Err(A::Error::custom(format!("`{name}` appears twice")));
            }
            read.insert(name, value);
        }
        Ok(Value::Object(read))
    }
}
