//! Arguments of registered actions: the closed subset of JSON Schema that describes them, and what fits it.
//!
//! Invariants:
//! - Only what a grammar can bound is read: objects with named members, strings, integers, booleans, enums of
//!   scalars, and arrays of those, at most [`DEPTH`] deep.
//! - A value is judged by the same [`Shape`] that a grammar is written from.

use serde_json::{Map, Value};

use crate::render::{excerpt, shortened};
use crate::wire::ReadError;

/// How deep arguments may nest.
pub const DEPTH: usize = 4;

/// Shape of one argument, or of all arguments together.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// An object of these members and no others.
    Object(Vec<Property>),
    /// Items of one shape.
    Array {
        /// Shape of every item.
        item: Box<Shape>,
        /// The most items, if stated.
        max: Option<u64>,
    },
    /// A string, bounded in characters.
    Text {
        /// The fewest characters; 0 if not stated.
        min: u64,
        /// The most characters, if stated.
        max: Option<u64>,
    },
    /// An integer of at most 64 bits, with its sign.
    Integer {
        /// The least, if stated.
        min: Option<i64>,
        /// The greatest, if stated.
        max: Option<i64>,
    },
    /// Either `true` or `false`.
    Boolean,
    /// One of these strings, integers and booleans.
    OneOf(Vec<Value>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Name of the member.
    pub name: String,
    /// Shape of the member's value.
    pub shape: Shape,
    /// `true` if the object must have the member.
    pub is_required: bool,
}

impl Shape {
    /// Reads a JSON Schema; `None` if it is beyond the subset.
    ///
    /// ```
    /// use cuebook_grammar::arguments::Shape;
    /// use serde_json::json;
    ///
    /// let shape = Shape::read(&json!({ "type": "integer", "maximum": 5 })).unwrap();
    /// assert!(shape.fit(&json!(3)).is_ok());
    /// assert_eq!(shape.fit(&json!(7)).unwrap_err().to_string(), "expected at most 5, saw 7");
    /// ```
    #[must_use]
    pub fn read(schema: &Value) -> Option<Self> {
        read(schema, 0)
    }

    /// Checks that a value fits. The path of an error is a JSON pointer into the value.
    ///
    /// # Errors
    /// [`ReadError`] for the first place that does not fit; its message quotes at most 80 characters of the value.
    pub fn fit(&self, value: &Value) -> Result<(), ReadError> {
        let no = |expected: &str| {
            Err(ReadError::new(format!("expected {expected}, saw {}", shortened(&value.to_string(), 80))))
        };
        match self {
            Self::OneOf(values) if !values.contains(value) => match values.as_slice() {
                [only] => no(&only.to_string()),
                _ => no(&format!("one of {}", shortened(&Value::Array(values.clone()).to_string(), 200))),
            },
            Self::Boolean if !value.is_boolean() => no("true or false"),
            Self::OneOf(_) | Self::Boolean => Ok(()),
            Self::Integer { min, max } => match (value.as_i64(), min, max) {
                (None, ..) => no("an integer"),
                (Some(number), Some(least), _) if number < *least => no(&format!("at least {least}")),
                (Some(number), _, Some(most)) if number > *most => no(&format!("at most {most}")),
                _ => Ok(()),
            },
            Self::Text { min, max } => {
                let Some(text) = value.as_str() else { return no("a string") };
                let length = text.chars().count() as u64;
                match max {
                    _ if length < *min => no(&format!("at least {min} characters")),
                    Some(most) if length > *most => no(&format!("at most {most} characters")),
                    _ => Ok(()),
                }
            }
            Self::Array { item, max } => {
                let Some(items) = value.as_array() else { return no("an array") };
                if let Some(most) = max.filter(|most| items.len() as u64 > *most) {
                    return no(&format!("at most {most} items"));
                }
                items.iter().enumerate().try_for_each(|(index, one)| item.fit(one).map_err(|error| error.under(index)))
            }
            Self::Object(properties) => {
                let Some(object) = value.as_object() else { return no("an object") };
                let missing = properties.iter().find(|one| one.is_required && !object.contains_key(&one.name));
                if let Some(missing) = missing {
                    return no(&format!("`{}`", missing.name));
                }
                object.iter().try_for_each(|(name, member)| {
                    match properties.iter().find(|property| property.name == *name) {
                        Some(property) => property.shape.fit(member).map_err(|error| error.under(name)),
                        None => no(&format!("no `{}`", excerpt(name, 60))),
                    }
                })
            }
        }
    }
}

fn read(schema: &Value, depth: usize) -> Option<Shape> {
    const KNOWN: [&str; 17] = [
        "$schema",
        "title",
        "description",
        "default",
        "examples",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "enum",
        "const",
        "maxLength",
        "minLength",
        "minimum",
        "maximum",
        "items",
        "maxItems",
    ];
    let schema = schema.as_object().filter(|_| depth <= DEPTH)?;
    if schema.keys().any(|key| !KNOWN.contains(&key.as_str())) {
        return None;
    }
    if let Some(constant) = schema.get("const") {
        return is_scalar(constant).then(|| Shape::OneOf(vec![constant.clone()]));
    }
    if let Some(values) = schema.get("enum") {
        let values = values.as_array().filter(|values| !values.is_empty() && values.iter().all(is_scalar))?;
        return Some(Shape::OneOf(values.clone()));
    }
    let count = |key: &str| schema.get(key).map_or(Some(None), |bound| bound.as_u64().map(Some));
    let bound = |key: &str| schema.get(key).map_or(Some(None), |bound| bound.as_i64().map(Some));
    match schema.get("type")?.as_str()? {
        "object" => object(schema, depth),
        "string" => {
            let (min, max) = (count("minLength")?.unwrap_or(0), count("maxLength")?);
            max.is_none_or(|max| min <= max).then_some(Shape::Text { min, max })
        }
        "integer" => {
            let (min, max) = (bound("minimum")?, bound("maximum")?);
            min.zip(max).is_none_or(|(min, max)| min <= max).then_some(Shape::Integer { min, max })
        }
        "boolean" => Some(Shape::Boolean),
        "array" => {
            Some(Shape::Array { item: Box::new(read(schema.get("items")?, depth + 1)?), max: count("maxItems")? })
        }
        _ => None,
    }
}

fn object(schema: &Map<String, Value>, depth: usize) -> Option<Shape> {
    let none = Map::new();
    let properties = match schema.get("properties") {
        Some(properties) => properties.as_object()?,
        None => &none,
    };
    let required: Vec<&str> = match schema.get("required") {
        Some(required) => required.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    if required.iter().any(|name| !properties.contains_key(*name)) {
        return None;
    }
    let property = |(name, schema): (&String, &Value)| {
        let shape = read(schema, depth + 1)?;
        Some(Property { name: name.clone(), shape, is_required: required.contains(&name.as_str()) })
    };
    properties.iter().map(property).collect::<Option<_>>().map(Shape::Object)
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_boolean() || value.as_i64().is_some()
}
