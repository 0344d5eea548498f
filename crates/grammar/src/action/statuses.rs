//! The response statuses that `navigate` accepts.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::wire::{inline_schema, shape};

/// Statuses of a response: on the wire `"any"`, or a list of 1 to 20.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// Every status, those of errors included.
    Any,
    /// These statuses only: 1 to 20 of them, each from 100 to 599.
    Of(Vec<u16>),
}

impl Statuses {
    /// Returns `true` if `status` is one of them.
    #[must_use]
    pub fn accept(&self, status: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Of(list) => list.contains(&status),
        }
    }
}

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => serializer.serialize_str("any"),
            Self::Of(list) => list.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "expected `any` or a list of 1 to 20 statuses from 100 to 599";
        let value = Value::deserialize(deserializer)?;
        if value.as_str() == Some("any") {
            return Ok(Self::Any);
        }
        let status =
            |value: &Value| value.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| (100..600).contains(n));
        let list: Option<Vec<u16>> = value.as_array().and_then(|list| list.iter().map(status).collect());
        list.filter(|list| (1..=20).contains(&list.len()))
            .map(Self::Of)
            .ok_or_else(|| D::Error::custom(format!("{EXPECTED}, saw {}", shape(&value))))
    }
}

inline_schema!(Statuses, { "oneOf": [
        { "const": "any" },
        { "type": "array", "minItems": 1, "maxItems": 20,
          "items": { "type": "integer", "minimum": 100, "maximum": 599 } },
    ] });
