//! JSON Schema 2020-12: the reference that every sentence is judged by.

use serde_json::{Map, Value, json};

use crate::decode::ir::{Document, LABEL_MAX, Member, Node, Presence, Text, UrlOrigin, Variant};

/// The schema of a document.
#[must_use]
pub fn write(document: &Document) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    let writer = Writer { document };
    if let Value::Object(root) = writer.node(&document.root) {
        schema.extend(root);
    }
    let definitions: Map<String, Value> =
        document.definitions.iter().map(|known| (known.name.clone(), writer.node(&known.node))).collect();
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(schema)
}

struct Writer<'a> {
    document: &'a Document,
}

impl Writer<'_> {
    fn node(&self, node: &Node) -> Value {
        match node {
            Node::Reference(index) => json!({ "$ref": format!("#/$defs/{}", self.document.definition(*index).name) }),
            Node::Object(members) => self.object(None, members),
            Node::Union(union) => {
                let variants: Vec<Value> =
                    union.variants.iter().map(|variant| self.object(Some((union.tag, variant)), &variant.members)).collect();
                json!({ "anyOf": variants })
            }
            Node::Enum(values) => match &values[..] {
                [only] => json!({ "const": only }),
                several => json!({ "enum": several }),
            },
            Node::Text(text) => self::text(text),
            Node::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Node::Boolean => json!({ "type": "boolean" }),
            Node::Array { item, min, max } => {
                json!({ "type": "array", "items": self.node(item), "minItems": min, "maxItems": max })
            }
        }
    }

    fn object(&self, tag: Option<(&str, &Variant)>, members: &[Member]) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<Value> = Vec::new();
        if let Some((tag, variant)) = tag {
            properties.insert(tag.to_owned(), json!({ "const": variant.name }));
            required.push(tag.into());
        }
        for member in members {
            properties.insert(member.name.clone(), self.node(&member.node));
            if member.presence == Presence::Required {
                required.push(member.name.as_str().into());
            }
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }
}

fn text(text: &Text) -> Value {
    match text {
        Text::Free { min: 0, max } => json!({ "type": "string", "maxLength": max }),
        Text::Free { min, max } => json!({ "type": "string", "minLength": min, "maxLength": max }),
        Text::Url { origins, max } => json!({ "type": "string", "pattern": url_pattern(origins, *max) }),
    }
}

/// A regular expression that all dialects of them read alike.
pub(crate) fn url_pattern(origins: &[UrlOrigin], max: u32) -> String {
    let origins: Vec<String> = origins
        .iter()
        .map(|origin| {
            let label = if origin.subdomain { format!("[a-z0-9]{{1,{LABEL_MAX}}}") } else { String::new() };
            format!("{}{label}{}", regex::escape(&origin.front), regex::escape(&origin.host))
        })
        .collect();
    format!("^({})/[!#-\\[\\]-~]{{0,{max}}}$", origins.join("|"))
}
