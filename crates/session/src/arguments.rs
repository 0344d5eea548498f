//! Arguments of a tool: their schema, and how they are read.

use cuebook_decoding::read::{self, read_as};
use cuebook_grammar::plan::Author;
use cuebook_grammar::render::{cut, json_line, quoted};
use serde_json::{Map, Value, json};

use crate::answer::why_not;

/// Form of an argument.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A text of any length.
    Text,
    /// The path of a file.
    File,
    /// Either `true` or `false`.
    Flag,
    /// A number, whole or not.
    Number,
    /// A list of texts.
    Texts,
    /// One of these words.
    One(&'static [&'static str]),
    /// A list of objects with these members.
    Objects(&'static [Argument]),
    /// An object of any form. It may also come as a text that holds it.
    Json,
    /// A plan: an object, a list of steps, or a text of either or with one step a line.
    Plan,
}

/// An argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Name of the argument, in camel case.
    pub name: &'static str,
    /// Form of its value.
    pub form: Form,
    /// `false` if it may be left out.
    pub is_needed: bool,
    /// Its purpose, for people and models.
    pub about: &'static str,
}

/// An argument that has to be there.
pub(crate) const fn needed(name: &'static str, form: Form, about: &'static str) -> Argument {
    Argument { name, form, is_needed: true, about }
}

/// An argument that may be left out.
pub(crate) const fn may(name: &'static str, form: Form, about: &'static str) -> Argument {
    Argument { name, form, is_needed: false, about }
}

/// Names under which models still send an argument.
const FORMER: [(&str, &str); 4] =
    [("ref", "target"), ("startRef", "startTarget"), ("endRef", "endTarget"), ("dry_run", "dryRun")];

/// The schema of all arguments of a tool: one flat object.
pub(crate) fn schema(arguments: &[Argument]) -> Map<String, Value> {
    match object(arguments) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn object(arguments: &[Argument]) -> Value {
    let properties: Map<String, Value> = arguments
        .iter()
        .map(|argument| {
            let mut property = match argument.form {
                Form::Text | Form::File => json!({ "type": "string" }),
                Form::Flag => json!({ "type": "boolean" }),
                Form::Number => json!({ "type": "number" }),
                Form::Texts => json!({ "type": "array", "items": { "type": "string" } }),
                Form::One(words) => json!({ "type": "string", "enum": words }),
                Form::Objects(members) => json!({ "type": "array", "items": object(members) }),
                Form::Json | Form::Plan => json!({ "type": "object" }),
            };
            if let Some(property) = property.as_object_mut() {
                property.insert("description".to_owned(), json!(argument.about));
            }
            (argument.name.to_owned(), property)
        })
        .collect();
    let needed: Vec<&str> = arguments.iter().filter(|it| it.is_needed).map(|it| it.name).collect();
    json!({ "type": "object", "properties": properties, "required": needed, "additionalProperties": false })
}

/// The arguments of one call, which fit their schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Reads what a client sent.
    ///
    /// # Errors
    /// The argument that does not fit, and those that the tool takes.
    pub(crate) fn read(tool: &str, arguments: &[Argument], sent: Map<String, Value>) -> Result<Self, String> {
        let mut given = Map::new();
        for (name, value) in sent {
            let name = FORMER
                .iter()
                .find(|(former, now)| *former == name && arguments.iter().any(|it| it.name == *now))
                .map_or(name.as_str(), |(_, now)| *now);
            // Clients send what is left out as null.
            if value.is_null() {
                continue;
            }
            let Some(argument) = arguments.iter().find(|it| it.name == name) else {
                let known: Vec<&str> = arguments.iter().map(|it| it.name).collect();
                return Err(format!("{tool} has no argument {}; it takes {}", quoted(name, 60), known.join(", ")));
            };
            let value = fitting(argument, value).map_err(|why| format!("{tool}: {name} {why}"))?;
            given.insert(name.to_owned(), value);
        }
        match arguments.iter().find(|it| it.is_needed && !given.contains_key(it.name)) {
            Some(missing) => Err(format!("{tool} needs {}: {}", missing.name, missing.about)),
            None => Ok(Self(given)),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool) == Some(true)
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(crate) fn members(&self) -> Map<String, Value> {
        self.0.clone()
    }

    pub(crate) fn objects(&self, name: &str) -> impl Iterator<Item = Self> {
        let objects = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        objects.filter_map(Value::as_object).map(|object| Self(object.clone()))
    }
}

fn fitting(argument: &Argument, value: Value) -> Result<Value, String> {
    let unfit = |value: &Value, form: &str| format!("must be {form}, not {}", cut(&json_line(value), 80));
    let value = match (argument.form, value) {
        // Some clients write all values as texts.
        (Form::Flag, Value::String(text)) if text == "true" || text == "false" => json!(text == "true"),
        (Form::Number, Value::String(text)) if text.parse::<f64>().is_ok() => json!(text.parse::<f64>().ok()),
        (Form::Json, Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        (Form::Plan, Value::String(text)) => plan(&text)?,
        (Form::Texts, Value::String(text)) => json!([text]),
        (Form::Text | Form::File, Value::Number(number)) => json!(number.to_string()),
        (Form::Text, Value::Bool(flag)) => json!(flag.to_string()),
        (_, value) => value,
    };
    match (argument.form, &value) {
        (Form::Text | Form::File, Value::String(_))
        | (Form::Flag, Value::Bool(_))
        | (Form::Number, Value::Number(_)) => Ok(value),
        (Form::Json | Form::Plan, Value::Object(_) | Value::Array(_)) => Ok(value),
        (Form::Texts, Value::Array(texts)) if texts.iter().all(Value::is_string) => Ok(value),
        (Form::One(words), Value::String(word)) if words.contains(&word.as_str()) => Ok(value),
        (Form::Objects(members), Value::Array(objects)) => {
            let read = objects.iter().map(|object| match object {
                Value::Object(object) => {
                    Arguments::read("an entry", members, object.clone()).map(|it| Value::Object(it.0))
                }
                other => Err(unfit(other, "objects")),
            });
            read.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        (Form::Text | Form::File, other) => Err(unfit(other, "a text")),
        (Form::Flag, other) => Err(unfit(other, "true or false")),
        (Form::Number, other) => Err(unfit(other, "a number")),
        (Form::Texts, other) => Err(unfit(other, "a list of texts")),
        (Form::One(words), other) => Err(unfit(other, &format!("one of {}", words.join(", ")))),
        (Form::Objects(_), other) => Err(unfit(other, "a list of objects")),
        (Form::Json, other) => Err(unfit(other, "an object")),
        (Form::Plan, other) => Err(unfit(other, "a plan")),
    }
}

/// A plan in JSON, or in lines.
fn plan(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"));
    }
    let draft = read_as(read::Form::Lines, text, Author::Model).map_err(|violations| why_not(&violations.into()))?;
    serde_json::to_value(draft).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLICK: [Argument; 3] = [
        needed("target", Form::Text, "the element"),
        may("button", Form::One(&["left", "right"]), "the button"),
        may("doubleClick", Form::Flag, "twice"),
    ];

    fn read(sent: Value) -> Result<Arguments, String> {
        Arguments::read("click", &CLICK, sent.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn arguments_are_read_as_clients_write_them() {
        let given = read(json!({ "ref": "c3", "doubleClick": "true", "button": null })).unwrap();
        assert_eq!(
            (given.text("target"), given.is_set("doubleClick"), given.value("button")),
            (Some("c3"), true, None)
        );
    }

    #[test]
    fn an_argument_that_does_not_fit_is_named_with_what_would() {
        for (sent, said) in [
            (json!({}), "click needs target: the element"),
            (json!({ "target": "c3", "x": 1 }), "click has no argument \"x\"; it takes target, button, doubleClick"),
            (json!({ "target": ["c3"] }), "click: target must be a text, not [\"c3\"]"),
            (json!({ "target": "c3", "button": "up" }), "click: button must be one of left, right, not \"up\""),
        ] {
            assert_eq!(read(sent).unwrap_err(), said);
        }
    }
}
