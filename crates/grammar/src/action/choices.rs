//! The options of a list that a step chooses, and their wire form.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::text_match::collapse_white_space;
use crate::wire::{self, Count, ShortText};

/// One option to choose.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionChoice {
    /// By value, then by label.
    Text(ShortText),
    /// By position, from 0.
    Index(Count),
    /// By value only, compared exactly.
    Value(ShortText),
    /// By label only, with white space collapsed on both sides.
    Label(ShortText),
    /// By every stated trait.
    Every(OptionTraits),
}

/// At least two of the three traits, all of which the option must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionTraits {
    /// Its value, compared exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ShortText>,
    /// Its label, with white space collapsed on both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<ShortText>,
    /// Its position, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Count>,
}

impl OptionChoice {
    /// The value or label that it states, if any.
    #[must_use]
    pub fn name(&self) -> Option<&ShortText> {
        match self {
            Self::Text(text) | Self::Value(text) | Self::Label(text) => Some(text),
            Self::Index(_) => None,
            Self::Every(traits) => traits.value.as_ref().or(traits.label.as_ref()),
        }
    }

    /// Returns `true` if the option at `position` with this value and label matches. [`Self::Text`] matches by label
    /// only if no option has that value; the caller checks that.
    #[must_use]
    pub fn means(&self, position: usize, value: Option<&str>, label: &str) -> bool {
        let has_value = |text: &ShortText| value == Some(text.as_str());
        let has_label = |text: &ShortText| collapse_white_space(label) == collapse_white_space(text);
        let is_at = |index: &Count| usize::try_from(index.get()).is_ok_and(|index| index == position);
        match self {
            Self::Text(text) => has_value(text) || has_label(text),
            Self::Value(text) => has_value(text),
            Self::Label(text) => has_label(text),
            Self::Index(index) => is_at(index),
            Self::Every(traits) => {
                traits.value.as_ref().is_none_or(has_value)
                    && traits.label.as_ref().is_none_or(has_label)
                    && traits.index.as_ref().is_none_or(is_at)
            }
        }
    }
}

/// The options to choose: on the wire one choice, or an array of choices.
///
/// A choice is a string (value, then label), a number (position), or an object with `value`, `label` and `index`,
/// all of which must match.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionChoices {
    /// The choices; one unless the wire has an array.
    pub choices: Vec<OptionChoice>,
    /// `true` if the wire has an array.
    pub is_list: bool,
}

impl OptionChoices {
    /// One choice by value or label, of at most 1,000 characters.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { choices: vec![OptionChoice::Text(ShortText::or_reason(text))], is_list: false }
    }
}

/// The most options that one step chooses.
const MAX_CHOICES: usize = 100;

impl Serialize for OptionChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keyed = |serializer: S, key: &str, text: &ShortText| {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(key, text)?;
            map.end()
        };
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Index(index) => index.serialize(serializer),
            Self::Value(text) => keyed(serializer, "value", text),
            Self::Label(text) => keyed(serializer, "label", text),
            Self::Every(traits) => traits.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for OptionChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = |value: Value| wire::read::<ShortText>(value).map_err(D::Error::custom);
        match Value::deserialize(deserializer)? {
            value @ Value::String(_) => text(value).map(Self::Text),
            value @ Value::Number(_) => wire::read::<Count>(value).map(Self::Index).map_err(D::Error::custom),
            Value::Object(object) if object.len() == 1 => match object.into_iter().next() {
                Some((key, value)) if key == "value" => text(value).map(Self::Value),
                Some((key, value)) if key == "label" => text(value).map(Self::Label),
                Some((key, value)) if key == "index" => {
                    wire::read::<Count>(value).map(Self::Index).map_err(D::Error::custom)
                }
                _ => Err(D::Error::custom("expected `value`, `label` or `index`")),
            },
            value @ Value::Object(_) => {
                let traits: OptionTraits = wire::read(value).map_err(D::Error::custom)?;
                let stated = [traits.value.is_some(), traits.label.is_some(), traits.index.is_some()];
                match stated.into_iter().filter(|stated| *stated).count() {
                    0 | 1 => Err(D::Error::custom("`value`, `label` or `index` is missing or null")),
                    _ => Ok(Self::Every(traits)),
                }
            }
            other => Err(D::Error::custom(format!(
                "must be a string, a number, or an object with `value`, `label` or `index`, not {}",
                wire::shape(&other)
            ))),
        }
    }
}

impl JsonSchema for OptionChoice {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OptionChoice".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<ShortText>().to_value();
        let index = generator.subschema_for::<Count>().to_value();
        json_schema!({ "oneOf": [text, index, {
            "type": "object", "properties": { "value": text, "label": text, "index": index },
            "minProperties": 1, "additionalProperties": false
        }] })
    }
}

impl Serialize for OptionChoices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.choices[..] {
            [only] if !self.is_list => only.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for OptionChoices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(items) if items.len() <= MAX_CHOICES => {
                let choices = wire::read(Value::Array(items)).map_err(D::Error::custom)?;
                Ok(Self { choices, is_list: true })
            }
            Value::Array(items) => {
                Err(D::Error::custom(format!("{} options are more than the limit of {MAX_CHOICES}", items.len())))
            }
            one => {
                let choice = wire::read(one).map_err(D::Error::custom)?;
                Ok(Self { choices: vec![choice], is_list: false })
            }
        }
    }
}

impl JsonSchema for OptionChoices {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OptionChoices".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<OptionChoice>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "maxItems": MAX_CHOICES }] })
    }
}
