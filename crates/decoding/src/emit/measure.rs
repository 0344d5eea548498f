//! How large a schema is, in the units of the providers' limits.

use std::collections::HashMap;

use serde_json::Value;

/// The size of a schema.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measures {
    pub(super) properties: u64,
    pub(super) levels: u64,
    pub(super) name_characters: u64,
    pub(super) enum_values: u64,
    pub(super) long_enum_characters: u64,
    pub(super) summed_items: u64,
    pub(super) longest_repetition: u64,
    /// Members of any depth that may be omitted.
    pub(super) optional: u64,
    /// Values of any depth that are one of several.
    pub(super) unions: u64,
}

impl Measures {
    pub(super) fn of(schema: &Value) -> Self {
        let mut measures = Self::default();
        measures.visit(schema);
        measures.levels = levels(schema, schema, &mut HashMap::new());
        measures
    }

    fn visit(&mut self, schema: &Value) {
        match schema {
            Value::Object(object) => {
                self.unions += u64::from(object.contains_key("anyOf"));
                let count = |key| match object.get(key) {
                    Some(Value::Object(members)) => members.len() as u64,
                    Some(Value::Array(members)) => members.len() as u64,
                    _ => 0,
                };
                self.optional += count("properties").saturating_sub(count("required"));
                for (key, inner) in object {
                    match (key.as_str(), inner) {
                        ("properties" | "$defs", Value::Object(named)) => {
                            if key == "properties" {
                                self.properties += named.len() as u64;
                            }
                            self.name_characters += named.keys().map(|name| name.chars().count() as u64).sum::<u64>();
                            named.values().for_each(|inner| self.visit(inner));
                        }
                        ("enum", Value::Array(values)) => {
                            let characters: u64 = values
                                .iter()
                                .map(|value| value.as_str().map_or(1, |text| text.chars().count()) as u64)
                                .sum();
                            self.enum_values += values.len() as u64;
                            self.name_characters += characters;
                            if values.len() > 250 {
                                self.long_enum_characters = self.long_enum_characters.max(characters);
                            }
                        }
                        ("const", Value::String(text)) => self.name_characters += text.chars().count() as u64,
                        ("maxItems" | "maxLength", Value::Number(bound)) => {
                            let bound = bound.as_u64().unwrap_or(0);
                            self.longest_repetition = self.longest_repetition.max(bound);
                            if key == "maxItems" {
                                self.summed_items += bound;
                            }
                        }
                        (_, inner) => self.visit(inner),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|inner| self.visit(inner)),
            _ => {}
        }
    }
}

/// How deep objects and arrays nest, references followed. A definition has many users, and is measured once.
fn levels<'a>(root: &'a Value, schema: &'a Value, known: &mut HashMap<&'a str, u64>) -> u64 {
    let Value::Object(object) = schema else { return 0 };
    if let Some(name) = object.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/")) {
        if let Some(levels) = known.get(name) {
            return *levels;
        }
        // No emitter writes a circle; one would end here.
        known.insert(name, 0);
        let definition = root.get("$defs").and_then(|definitions| definitions.get(name));
        let found = definition.map_or(0, |definition| levels(root, definition, known));
        known.insert(name, found);
        return found;
    }
    let mut deepest = 0;
    if let Some(Value::Object(properties)) = object.get("properties") {
        deepest = 1 + properties.values().map(|inner| levels(root, inner, known)).max().unwrap_or(0);
    }
    if let Some(items) = object.get("items") {
        deepest = deepest.max(1 + levels(root, items, known));
    }
    if let Some(Value::Array(choices)) = object.get("anyOf") {
        deepest = deepest.max(choices.iter().map(|inner| levels(root, inner, known)).max().unwrap_or(0));
    }
    deepest
}
