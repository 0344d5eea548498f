//! A JSON Schema as a list of fields, for models whose grammar cannot hold an open object.
//!
//! Invariants:
//! - Every list denotes a schema: a name that is repeated counts as it was first written.
//! - [`fields_of`] undoes [`schema_of_fields`], and returns nothing for any other schema.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::wire::{self, Object, ReadError, ShortText, bodies, words};

/// The most fields of a list.
const MOST: usize = 100;

words! {
    /// The kind of value that a field has.
    pub enum FieldType {
        /// Text as the page has it.
        String = "string",
        /// A number, with or without decimals.
        Number = "number",
        /// A number without decimals.
        Integer = "integer",
        /// Either true or false.
        Boolean = "boolean",
        /// A date, written as `2025-01-31`.
        Date = "date",
        /// Address of a link or a picture, absolute.
        Url = "url",
    }
}

bodies! {
    /// One field of an extracted answer.
    ExtractField {
        /// Name by which the page calls it. `tags[]` is a list of values, `sizes[].price` a member of each object in the list
        /// `sizes`.
        name: ShortText,
        /// The kind of its value, or of each value in its list.
        r#type: FieldType,
    }
}

impl FieldType {
    fn schema(self) -> Value {
        match self {
            Self::Date => json!({ "type": "string", "format": "date" }),
            Self::Url => json!({ "type": "string", "format": "uri" }),
            other => json!({ "type": other.as_str() }),
        }
    }

    fn parse(schema: &Value) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.schema() == *schema)
    }
}

/// The JSON Schema of an object with these fields, none of which is required.
#[must_use]
pub fn schema_of_fields(fields: &[ExtractField]) -> Object {
    let mut properties = Object::new();
    for ExtractField { name, r#type } in fields {
        let is_whole = |(list, member): &(&str, &str)| !list.is_empty() && !member.is_empty();
        let Some((list, member)) = name.split_once("[].").filter(is_whole) else {
            add(&mut properties, name, *r#type);
            continue;
        };
        let rows = properties.entry(list).or_insert_with(|| rows(Object::new()));
        if let Some(Value::Object(members)) = rows.pointer_mut("/items/properties") {
            add(members, member, *r#type);
        }
    }
    object(properties)
}

fn add(properties: &mut Object, name: &str, kind: FieldType) {
    let list = name.strip_suffix("[]").filter(|name| !name.is_empty());
    let schema = if list.is_some() { json!({ "type": "array", "items": kind.schema() }) } else { kind.schema() };
    properties.entry(list.unwrap_or(name)).or_insert(schema);
}

fn object(properties: Object) -> Object {
    Map::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), properties.into())])
}

fn rows(properties: Object) -> Value {
    json!({ "type": "array", "items": object(properties) })
}

/// The fields that denote exactly this schema; `None` if none do.
///
/// ```
/// use cuebook_grammar::action::{fields_of, schema_of_fields};
/// use cuebook_grammar::wire;
///
/// let fields = serde_json::json!([{ "name": "sizes[].price", "type": "number" }]);
/// let schema = schema_of_fields(&wire::read::<Vec<_>>(fields.clone())?);
/// assert_eq!(schema["properties"]["sizes"]["items"]["properties"]["price"]["type"], "number");
/// assert_eq!(serde_json::json!(fields_of(&schema)), fields);
/// # Ok::<(), wire::ReadError>(())
/// ```
#[must_use]
pub fn fields_of(schema: &Object) -> Option<Vec<ExtractField>> {
    let mut fields = Vec::new();
    for (name, schema) in schema.get("properties")?.as_object()? {
        match schema.pointer("/items/properties").and_then(Value::as_object) {
            Some(members) => {
                for (member, schema) in members {
                    fields.push(field(&format!("{name}[].{member}"), schema)?);
                }
            }
            None => fields.push(field(name, schema)?),
        }
    }
    (!fields.is_empty() && schema_of_fields(&fields) == *schema).then_some(fields)
}

fn field(name: &str, schema: &Value) -> Option<ExtractField> {
    let (name, r#type) = match schema.get("items") {
        Some(items) => (format!("{name}[]"), FieldType::parse(items)?),
        None => (name.to_owned(), FieldType::parse(schema)?),
    };
    Some(ExtractField { name: ShortText::new(name).ok()?, r#type })
}

/// A schema as it is written: as JSON Schema, or as a list of fields. An empty list is none, which a strict dialect
/// writes for a member that it cannot leave out.
pub(super) fn written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Object>, D::Error> {
    let value = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::Object(schema) => return Ok(Some(schema)),
        value @ Value::Array(_) => value,
        other => {
            let message = format!("{} is no schema: write a JSON Schema or a list of fields", wire::shape(&other));
            return Err(D::Error::custom(message));
        }
    };
    let fields: Vec<ExtractField> = wire::read(value).map_err(D::Error::custom)?;
    if fields.len() > MOST {
        let message = format!("{} fields are more than {MOST}", fields.len());
        return Err(D::Error::custom(ReadError::new(message)));
    }
    Ok((!fields.is_empty()).then(|| schema_of_fields(&fields)))
}

/// The published schema of what [`written`] reads.
pub(super) fn published(generator: &mut SchemaGenerator) -> Schema {
    let field = generator.subschema_for::<ExtractField>();
    json_schema!({ "anyOf": [
        { "type": "object", "additionalProperties": true },
        { "type": "array", "maxItems": MOST, "items": field },
        { "type": "null" },
    ] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::ExtractQuery;

    fn query(schema: Value) -> Result<ExtractQuery, String> {
        wire::read(json!({ "kind": "schema", "schema": schema })).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_of_fields_is_read_as_the_schema_that_it_denotes() {
        let fields = json!([
            { "name": "name", "type": "string" },
            { "name": "sizes[].size", "type": "string" },
            { "name": "due", "type": "date" },
            { "name": "sizes[].price", "type": "number" },
            { "name": "sizes[].links[]", "type": "url" },
            { "name": "tags[]", "type": "string" },
        ]);
        let read = query(fields).unwrap().schema.unwrap();
        let link = json!({ "type": "string", "format": "uri" });
        let expected = json!({ "type": "object", "properties": {
            "name": { "type": "string" },
            "sizes": { "type": "array", "items": { "type": "object", "properties": {
                "size": { "type": "string" },
                "price": { "type": "number" },
                "links": { "type": "array", "items": link } } } },
            "due": { "type": "string", "format": "date" },
            "tags": { "type": "array", "items": { "type": "string" } } } });
        assert_eq!(json!(read), expected);
        assert_eq!(schema_of_fields(&fields_of(&read).unwrap()), read);
    }

    #[test]
    fn every_list_denotes_a_schema_and_is_found_again() {
        for names in [vec!["a", "a"], vec!["a[]", "a[].b", "a"], vec!["[]", "[].b", "a[]."], vec!["a[].b[].c", "a[][]"]]
        {
            let fields: Vec<Value> = names.iter().map(|name| json!({ "name": name, "type": "integer" })).collect();
            let read = query(fields.into()).unwrap().schema.unwrap();
            assert_eq!(schema_of_fields(&fields_of(&read).unwrap()), read, "{names:?}");
        }
        let twice = json!([{ "name": "a", "type": "date" }, { "name": "a", "type": "number" }]);
        let read = query(twice).unwrap().schema.unwrap();
        assert_eq!(read["properties"]["a"]["format"], "date", "as it was first");
    }

    #[test]
    fn a_schema_with_more_to_say_has_no_fields() {
        let of = |extra: Value| {
            let mut schema =
                schema_of_fields(&[ExtractField { name: ShortText::new("a").unwrap(), r#type: FieldType::Number }]);
            schema.extend(extra.as_object().unwrap().clone());
            fields_of(&schema)
        };
        assert!(of(json!({})).is_some());
        assert_eq!(of(json!({ "required": ["a"] })), None);
        assert_eq!(of(json!({ "properties": { "a": { "type": "number", "minimum": 0 } } })), None);
        assert_eq!(of(json!({ "properties": {} })), None);
    }

    #[test]
    fn what_is_neither_a_schema_nor_a_list_of_fields_is_refused_with_its_place() {
        assert_eq!(query(json!([])).unwrap().schema, None);
        assert_eq!(query(Value::Null).unwrap().schema, None);
        for (schema, expected) in [
            (json!("price"), "at /schema: a string is no schema: write a JSON Schema or a list of fields"),
            (json!([{ "name": "a", "type": "money" }]), "at /schema/0/type: unknown variant `money`"),
            (json!([{ "name": "a" }]), "at /schema/0: missing field `type`"),
            (json!(vec![json!({ "name": "a", "type": "date" }); 101]), "at /schema: 101 fields are more than 100"),
        ] {
            let error = query(schema).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
