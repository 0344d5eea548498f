//! The JSON Schema of a configuration.

use serde_json::{Map, Value, json};

use super::fields::{Field, Form, Table, command_of};
use super::files::TRUST;

/// The schema of a file.
pub(crate) fn schema(table: &Table) -> Value {
    let mut properties = Map::new();
    let about = "Folders whose own cuebook.toml may set every key, as absolute paths without links; only the file of the \
                 user has it";
    properties
        .insert(TRUST.to_owned(), json!({ "type": "array", "items": { "type": "string" }, "description": about }));
    for field in table.fields.values().filter(|field| field.has_key() && !field.key.contains('.')) {
        properties.insert(field.key.clone(), property(field));
    }
    for section in &table.sections {
        let fields = table.fields.values().filter(|field| field.has_key() && field.commands.contains(section));
        let inner = fields.map(|field| {
            let name = field.key.rsplit_once('.').map_or(field.key.as_str(), |(_, name)| name);
            (name.to_owned(), property(field))
        });
        let about = format!("Settings of `cuebook {}` alone", command_of(section));
        let inner: Map<String, Value> = inner.collect();
        let section_schema =
            json!({ "type": "object", "description": about, "properties": inner, "additionalProperties": false });
        properties.insert(section.clone(), section_schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Cuebook",
        "description": "A configuration file in TOML: config.toml of the user, or cuebook.toml of a project.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn property(field: &Field) -> Value {
    let mut property = Map::new();
    let name = match field.form() {
        Form::Flag => "boolean",
        Form::Number => "number",
        Form::Text => "string",
        Form::Texts => "array",
    };
    property.insert("type".to_owned(), json!(name));
    if field.form() == Form::Texts {
        property.insert("items".to_owned(), json!({ "type": "string" }));
    }
    let values: Vec<String> = field.arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if field.form() == Form::Text && !values.is_empty() {
        property.insert("enum".to_owned(), json!(values));
    }
    property.insert("description".to_owned(), json!(help(field)));
    Value::Object(property)
}

fn help(field: &Field) -> String {
    field.arg.get_help().map(ToString::to_string).unwrap_or_default()
}
