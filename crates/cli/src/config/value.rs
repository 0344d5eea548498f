//! Values of files as arguments have them.

use clap::builder::BoolishValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use toml_edit::{Item, Value};

use super::fields::{Field, Form};

/// The words of a value; an error says what the key takes and what it has.
pub(super) fn words(field: &Field, item: &Item) -> Result<Vec<String>, String> {
    let form = field.form();
    let wrong = |expected: &str| Err(format!("expected {expected}, saw {}", described(item)));
    match (form, item.as_value()) {
        (Form::Flag, Some(Value::Boolean(value))) => Ok(vec![value.value().to_string()]),
        (Form::Flag, _) => wrong("true or false"),
        (Form::Number, Some(Value::Integer(value))) => Ok(vec![value.value().to_string()]),
        (Form::Number, Some(Value::Float(value))) => Ok(vec![value.value().to_string()]),
        (Form::Number, _) => wrong("a number"),
        (Form::Text, Some(Value::String(value))) => Ok(vec![value.value().clone()]),
        (Form::Text, _) => wrong("a string"),
        (Form::Texts, Some(Value::Array(values))) => {
            let words = values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            words.map_or_else(|| wrong("an array of strings"), Ok)
        }
        (Form::Texts, _) => wrong("an array of strings"),
    }
}

/// Judges words by the parser of the flag.
pub(super) fn check(field: &Field, words: &[String]) -> Result<(), String> {
    let action = if field.form() == Form::Texts { ArgAction::Append } else { ArgAction::Set };
    let arg = Arg::new("value").long("value").action(action).allow_negative_numbers(true);
    let arg = match field.form() {
        Form::Flag => arg.value_parser(BoolishValueParser::new()),
        Form::Number if matches!(field.arg.get_action(), ArgAction::Count) => arg.value_parser(clap::value_parser!(u8)),
        _ => arg.value_parser(field.arg.get_value_parser().clone()),
    };
    let alone = Command::new("value").no_binary_name(true).arg(arg);
    let words = words.iter().map(|word| format!("--value={word}"));
    alone.try_get_matches_from(words).map(drop).map_err(|error| explained(&error))
}

fn explained(error: &clap::Error) -> String {
    let saw = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    match (error.get(ContextKind::ValidValue), std::error::Error::source(error)) {
        (Some(ContextValue::Strings(known)), _) if !known.is_empty() => {
            format!("expected one of {}, saw {saw:?}", known.join(", "))
        }
        (_, Some(why)) => format!("{saw:?} is no value for it: {why}"),
        _ if saw.is_empty() => "it may not be empty".to_owned(),
        _ => format!("{saw:?} is no value for it"),
    }
}

fn described(item: &Item) -> String {
    match item.as_value() {
        Some(Value::String(_)) => "a string".to_owned(),
        Some(Value::Integer(_) | Value::Float(_)) => "a number".to_owned(),
        Some(Value::Boolean(value)) => value.value().to_string(),
        Some(Value::Array(_)) => "an array".to_owned(),
        Some(Value::Datetime(_)) => "a date".to_owned(),
        Some(Value::InlineTable(_)) | None => "a table".to_owned(),
    }
}
