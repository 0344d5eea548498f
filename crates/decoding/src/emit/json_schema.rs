//! JSON Schema 2020-12: the reference that every sentence is judged by.

use serde_json::{Map, Value};

use super::schema_writer::{REFERENCE, Writer};
use crate::ir::Document;

/// The schema of a document. Nothing of the grammar is lost in it, but the order of members.
#[must_use]
pub fn write(document: &Document) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.extend(Writer::new(document, REFERENCE).root());
    Value::Object(schema)
}
