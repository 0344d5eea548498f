//! Argument schemas of registered actions, read into the intermediate form.
//!
//! Only a closed subset can bound a decode: objects with named members, strings, integers with bounds,
//! booleans, enums of scalars, and arrays of those. Anything else is refused, and its action is left out.

use serde_json::{Map, Value};

use crate::ir::{Member, Node, Presence, Text};
use crate::spec::Caps;

/// How deep argument schemas may nest.
const DEPTH: usize = 4;
/// The most items of an array that states no bound.
const ITEMS: u32 = 8;

/// The node for an argument schema; `None` if it is beyond the subset.
pub(super) fn node(schema: &Value, caps: &Caps) -> Option<Node> {
    read(schema, caps, 0)
}

fn read(schema: &Value, caps: &Caps, depth: usize) -> Option<Node> {
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
        return is_scalar(constant).then(|| Node::Enum(vec![constant.clone()]));
    }
    if let Some(values) = schema.get("enum") {
        let values = values.as_array().filter(|values| !values.is_empty() && values.iter().all(is_scalar))?;
        return Some(Node::Enum(values.clone()));
    }
    match schema.get("type")?.as_str()? {
        "object" => object(schema, caps, depth),
        "string" => {
            let bound = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
            let max = bound("maxLength").unwrap_or(caps.text).min(caps.answer);
            let min = bound("minLength").unwrap_or(0);
            (min <= max).then_some(Node::Text(Text::Free { min, max }))
        }
        "integer" => {
            let bound = |key: &str| schema.get(key).map_or(Some(None), |n| n.as_i64().map(Some));
            let (min, max) = (bound("minimum")?.unwrap_or(-1_000_000), bound("maximum")?.unwrap_or(1_000_000));
            (min <= max).then_some(Node::Integer { min, max })
        }
        "boolean" => Some(Node::Boolean),
        "array" => {
            let item = read(schema.get("items")?, caps, depth + 1)?;
            let max = schema.get("maxItems").map_or(Some(ITEMS), |n| n.as_u64().and_then(|n| u32::try_from(n).ok()))?;
            Some(Node::Array { item: Box::new(item), min: 0, max: max.min(100) })
        }
        _ => None,
    }
}

fn object(schema: &Map<String, Value>, caps: &Caps, depth: usize) -> Option<Node> {
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
    let members = properties.iter().map(|(name, schema)| {
        let presence = if required.contains(&name.as_str()) { Presence::Required } else { Presence::Optional };
        Some(Member { name: name.clone(), node: read(schema, caps, depth + 1)?, presence })
    });
    members.collect::<Option<Vec<_>>>().map(Node::Object)
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_boolean() || value.as_i64().is_some()
}
