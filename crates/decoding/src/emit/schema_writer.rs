//! One writer of JSON Schema for every dialect of it: a dialect is a [`Style`].

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::emission::Loss;
use crate::ir::{Document, KEYS, LABEL_MAX, MODIFIERS, Member, Node, PATTERN_CLASS, Presence, Text, UrlOrigin};

/// Features of a dialect of JSON Schema.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one documented feature of a dialect")]
pub(super) struct Style {
    /// Uses `$defs` and `$ref`; otherwise definitions are inlined.
    pub(super) references: bool,
    /// `const`; else an enum of one.
    pub(super) constants: bool,
    /// Members may be omitted; otherwise they are null.
    pub(super) optional_members: bool,
    /// `minLength` and `maxLength`; otherwise [`Loss::Lengths`].
    pub(super) lengths: bool,
    /// `minimum` and `maximum`; otherwise [`Loss::Ranges`].
    pub(super) ranges: bool,
    /// `minItems` and `maxItems`; otherwise [`Loss::ItemCounts`].
    pub(super) item_bounds: bool,
    /// `pattern`; otherwise [`Loss::Patterns`] or [`Loss::Origins`].
    pub(super) patterns: bool,
    /// `additionalProperties: false` in every object.
    pub(super) closed_objects: bool,
    /// `propertyOrdering`, where the order of members is not kept otherwise.
    pub(super) property_ordering: bool,
    /// Enums of candidate ids; else ids are strings.
    pub(super) id_enums: bool,
}

/// Everything: JSON Schema 2020-12.
pub(super) const REFERENCE: Style = Style {
    references: true,
    constants: true,
    optional_members: true,
    lengths: true,
    ranges: true,
    item_bounds: true,
    patterns: true,
    closed_objects: true,
    property_ordering: false,
    id_enums: true,
};

/// Writes nodes, and remembers what could not be said.
pub(super) struct Writer<'a> {
    pub(super) document: &'a Document,
    pub(super) style: Style,
    pub(super) lost: BTreeSet<Loss>,
}

impl<'a> Writer<'a> {
    pub(super) const fn new(document: &'a Document, style: Style) -> Self {
        Self { document, style, lost: BTreeSet::new() }
    }

    /// The whole document with its definitions.
    pub(super) fn root(&mut self) -> Map<String, Value> {
        let document = self.document;
        let mut schema = Map::new();
        if let Value::Object(root) = self.node(&document.root) {
            schema.extend(root);
        }
        if self.style.references {
            let known = document.definitions.iter();
            let definitions: Map<String, Value> =
                known.map(|definition| (definition.name.clone(), self.node(&definition.node))).collect();
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        schema
    }

    /// The definitions that a schema refers to, and those that they refer to.
    pub(super) fn definitions(&mut self, schema: &Value) -> Map<String, Value> {
        fn referred(schema: &Value, names: &mut Vec<String>) {
            match schema {
                Value::Object(object) => {
                    let name =
                        object.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
                    names.extend(name.map(str::to_owned));
                    object.values().for_each(|inner| referred(inner, names));
                }
                Value::Array(items) => items.iter().for_each(|inner| referred(inner, names)),
                _ => {}
            }
        }
        let mut names = Vec::new();
        referred(schema, &mut names);
        let mut definitions = Map::new();
        while let Some(name) = names.pop() {
            let document = self.document;
            let known = document.definitions.iter().find(|definition| definition.name == name);
            if let Some(definition) = known.filter(|_| !definitions.contains_key(&name)) {
                let written = self.node(&definition.node);
                referred(&written, &mut names);
                definitions.insert(name, written);
            }
        }
        definitions
    }

    pub(super) fn node(&mut self, node: &Node) -> Value {
        match node {
            Node::Reference(index) if self.style.references => {
                json!({ "$ref": format!("#/$defs/{}", self.document.definition(*index).name) })
            }
            Node::Reference(index) => {
                let document = self.document;
                self.node(&document.definition(*index).node)
            }
            Node::Object(members) => self.object(None, members),
            Node::Union(union) => {
                let included = union.includes.iter().map(|index| self.node(&Node::Reference(*index)));
                let mut variants: Vec<Value> = included.collect();
                for (names, members) in union.forms() {
                    variants.push(self.object(Some((union.tag, &names)), members));
                }
                json!({ "anyOf": variants })
            }
            Node::Enum(values) if !self.style.id_enums && is_ids(values) => {
                self.lost.insert(Loss::CandidateIds);
                json!({ "type": "string" })
            }
            Node::Enum(values) => match &values[..] {
                [only] if self.style.constants => json!({ "const": only }),
                several => match type_of(several) {
                    Some(name) => json!({ "type": name, "enum": several }),
                    None => json!({ "enum": several }),
                },
            },
            Node::Text(text) => self.text(text),
            Node::Integer { min, max } => {
                let mut schema = Map::from_iter([("type".to_owned(), Value::from("integer"))]);
                if self.style.ranges {
                    schema.insert("minimum".to_owned(), (*min).into());
                    schema.insert("maximum".to_owned(), (*max).into());
                } else {
                    self.lost.insert(Loss::Ranges);
                }
                Value::Object(schema)
            }
            Node::Boolean => json!({ "type": "boolean" }),
            Node::Array { item, min, max } => {
                let mut schema = Map::from_iter([("type".to_owned(), Value::from("array"))]);
                schema.insert("items".to_owned(), self.node(item));
                if self.style.item_bounds {
                    schema.insert("minItems".to_owned(), (*min).into());
                    schema.insert("maxItems".to_owned(), (*max).into());
                } else {
                    self.lost.insert(Loss::ItemCounts);
                }
                Value::Object(schema)
            }
        }
    }

    fn text(&mut self, text: &Text) -> Value {
        let mut schema = Map::from_iter([("type".to_owned(), Value::from("string"))]);
        match text {
            Text::Free { min, max } if self.style.lengths => {
                if *min > 0 {
                    schema.insert("minLength".to_owned(), (*min).into());
                }
                schema.insert("maxLength".to_owned(), (*max).into());
            }
            Text::Free { .. } => drop(self.lost.insert(Loss::Lengths)),
            Text::Url { origins, max } if self.style.patterns => {
                let characters = self.repeated(0, *max);
                schema.insert("pattern".to_owned(), url_pattern(origins, &characters).into());
            }
            Text::Pattern { max } if self.style.patterns => {
                schema.insert("pattern".to_owned(), format!("^{PATTERN_CLASS}{}$", self.repeated(1, *max)).into());
            }
            Text::Chord if self.style.patterns => {
                let held: String = MODIFIERS.iter().map(|name| format!("({name}\\+)?")).collect();
                schema.insert("pattern".to_owned(), format!("^{held}({}|[A-Za-z])$", KEYS.join("|")).into());
            }
            Text::Pattern { .. } | Text::Chord => drop(self.lost.insert(Loss::Patterns)),
            Text::Url { .. } => drop(self.lost.insert(Loss::Origins)),
        }
        Value::Object(schema)
    }

    /// How often a class of a pattern is repeated, as far as the dialect bounds texts.
    fn repeated(&mut self, min: u32, max: u32) -> String {
        if self.style.lengths {
            return format!("{{{min},{max}}}");
        }
        self.lost.insert(Loss::Lengths);
        if min == 0 { "*".to_owned() } else { "+".to_owned() }
    }

    pub(super) fn object(&mut self, tag: Option<(&str, &[&str])>, members: &[Member]) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<Value> = Vec::new();
        if let Some((tag, names)) = tag {
            let schema = match names {
                [name] if self.style.constants => json!({ "const": name }),
                names => json!({ "type": "string", "enum": names }),
            };
            properties.insert(tag.to_owned(), schema);
            required.push(tag.into());
        }
        for member in members {
            let schema = self.node(&member.node);
            let is_required = member.presence == Presence::Required;
            if is_required || !self.style.optional_members {
                required.push(member.name.as_str().into());
            }
            let schema = if is_required || self.style.optional_members { schema } else { nullable(schema) };
            properties.insert(member.name.clone(), schema);
        }
        let order: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
        let mut schema = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        schema.insert("properties".to_owned(), Value::Object(properties));
        schema.insert("required".to_owned(), required.into());
        if self.style.property_ordering {
            schema.insert("propertyOrdering".to_owned(), order.into());
        }
        if self.style.closed_objects {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        Value::Object(schema)
    }
}

fn nullable(mut schema: Value) -> Value {
    // A single type takes null beside it; anything else becomes a choice.
    if let Value::Object(object) = &mut schema
        && let Some(Value::String(name)) = object.get("type").cloned()
        && !object.contains_key("enum")
    {
        object.insert("type".to_owned(), json!([name, "null"]));
        return schema;
    }
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// Returns `true` if all values of an enum are ids of candidates.
pub(super) fn is_ids(values: &[Value]) -> bool {
    values
        .iter()
        .all(|value| value.as_str().is_some_and(|text| cuebook_grammar::id::CandidateId::parse(text).is_some()))
}

fn type_of(values: &[Value]) -> Option<&'static str> {
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    if all(Value::is_string) {
        Some("string")
    } else if all(|value| value.as_i64().is_some()) {
        Some("integer")
    } else if all(Value::is_number) {
        Some("number")
    } else if all(Value::is_boolean) {
        Some("boolean")
    } else {
        None
    }
}

/// A regular expression in the subset that all dialects share.
fn url_pattern(origins: &[UrlOrigin], times: &str) -> String {
    let origins: Vec<String> = origins
        .iter()
        .map(|origin| {
            let label = if origin.subdomain { format!("[a-z0-9]{{1,{LABEL_MAX}}}") } else { String::new() };
            format!("{}{label}{}", regex::escape(&origin.front), regex::escape(&origin.host))
        })
        .collect();
    format!("^({})/[!#-\\[\\]-~]{times}$", origins.join("|"))
}
