//! `condition.jsonl`: page and a condition on a target that holds, or not.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Declared, must_go_well};
use crate::conformance::case::{Case, Entry, Target};
use crate::conformance::stage::Stage;
use crate::conformance::target;
use crate::conformance::verdict::{Bucket, Ending, Failure};

/// How long a condition may take to come true.
const WAIT_MS: u64 = 1_500;

/// Runs one case whose page is open.
///
/// # Errors
/// If the machinery breaks.
pub(crate) async fn run(stage: &mut Stage, case: &Case) -> Result<Ending> {
    let is_to_hold = case.expect.as_ref().and_then(|expect| expect.holds).unwrap_or(true);
    for entry in case.entries() {
        let mut declared = Declared::default();
        let condition = match condition_of(entry, &mut declared) {
            Ok(condition) => condition,
            Err(failure) => return Ok(failure.into()),
        };
        let condition = if entry.negate == is_to_hold { not(condition) } else { condition };
        let step = json!({ "type": "waitFor", "condition": condition, "timeoutMs": WAIT_MS });
        if let Err(failure) = must_go_well(stage, declared, step).await? {
            let failure = match failure.bucket {
                Bucket::StepFailed(_) => Failure { bucket: Bucket::DoesNotHold, ..failure },
                _ => failure,
            };
            return Ok(failure.into());
        }
    }
    Ok(Ending::Passed)
}

fn not(condition: Value) -> Value {
    json!({ "kind": "not", "condition": condition })
}

fn condition_of(entry: &Entry, declared: &mut Declared) -> Result<Value, Failure> {
    let words = entry.condition.clone().unwrap_or_default();
    let unsayable = || Failure::new(Bucket::NoSuchVerb(words.clone()), words.clone(), json!(entry.args).to_string());
    let target = entry.target.as_ref().ok_or_else(unsayable)?;
    let args = Args::of(&entry.args);
    let simple = |kind: &str, declared: &mut Declared| Ok(json!({ "kind": kind, "target": declared.add(target)? }));
    match words.as_str() {
        "visible" => Ok(args.flag("visible", simple("visible", declared)?)),
        "hidden" => simple("hidden", declared),
        "enabled" => Ok(args.flag("enabled", simple("enabled", declared)?)),
        "disabled" => Ok(not(simple("enabled", declared)?)),
        "editable" => Ok(args.flag("editable", simple("editable", declared)?)),
        "attached" => Ok(args.flag("attached", simple("exists", declared)?)),
        "focused" => simple("focused", declared),
        "in_viewport" => simple("inViewport", declared),
        "checked" => {
            let name = declared.add(target)?;
            if args.option("indeterminate") == Some(&Value::Bool(true)) {
                return Ok(json!({ "kind": "ariaState", "target": name, "name": "checked", "value": "mixed" }));
            }
            let is_on = args.option("checked").and_then(Value::as_bool).unwrap_or(true);
            Ok(json!({ "kind": "checked", "target": name, "checked": is_on }))
        }
        "count" => {
            let name = declared.add(target)?;
            Ok(json!({ "kind": "count", "target": name, "equals": args.first.ok_or_else(unsayable)? }))
        }
        "attribute" => {
            let name = declared.add(target)?;
            let attribute = args.first.and_then(Value::as_str).ok_or_else(unsayable)?;
            let value = args.second.ok_or_else(unsayable)?;
            Ok(args.compare(&name, Aspect::Attribute(attribute), value))
        }
        "id" => {
            let name = declared.add(target)?;
            Ok(args.compare(&name, Aspect::Attribute("id"), args.first.ok_or_else(unsayable)?))
        }
        "class" => {
            let name = declared.add(target)?;
            Ok(args.compare(&name, Aspect::Attribute("class"), args.first.ok_or_else(unsayable)?))
        }
        "css" => Err(unsayable()),
        "property" | "js_property" => {
            let name = declared.add(target)?;
            let property = args.first.and_then(Value::as_str).ok_or_else(unsayable)?;
            let value = args.second.ok_or_else(unsayable)?;
            Ok(json!({ "kind": "propertyEquals", "target": name, "name": property, "value": value }))
        }
        "selected_values" | "values" => {
            let name = declared.add(target)?;
            let values = args.first.and_then(Value::as_array).ok_or_else(unsayable)?;
            Ok(json!({ "kind": "selectedValues", "target": name, "values": values }))
        }
        "value_equals" => {
            let name = declared.add(target)?;
            Ok(args.compare(&name, Aspect::Value, args.first.ok_or_else(unsayable)?))
        }
        "text_equals" => texts(&args, target, Aspect::Text, declared).ok_or_else(unsayable)?,
        "text_contains" => match args.first {
            Some(Value::Array(all)) => parts_in_order(&args, target, all, declared),
            _ => texts(&args, target, Aspect::PartOfText, declared).ok_or_else(unsayable)?,
        },
        "empty" => {
            let name = declared.add(target)?;
            // No text in it and, in a field, none typed.
            let typed = json!({ "kind": "matches", "target": name, "of": "value", "pattern": { "regex": "(?s)." } });
            let text = json!({ "kind": "elementTextEquals", "target": name, "text": "" });
            Ok(json!({ "kind": "allOf", "conditions": [text, not(typed)] }))
        }
        "role" => {
            let name = declared.add(target)?;
            Ok(json!({ "kind": "roleEquals", "target": name, "role": args.first.ok_or_else(unsayable)? }))
        }
        "accessible_name" => {
            let name = declared.add(target)?;
            Ok(args.compare(&name, Aspect::Name, args.first.ok_or_else(unsayable)?))
        }
        "accessible_description" => {
            let name = declared.add(target)?;
            Ok(args.compare(&name, Aspect::Description, args.first.ok_or_else(unsayable)?))
        }
        "accessible_error_message" => {
            let name = declared.add(target)?;
            Ok(args.compare(&name, Aspect::ErrorMessage, args.first.ok_or_else(unsayable)?))
        }
        _ => Err(unsayable()),
    }
}

/// One text, or one for each match in order.
fn texts(
    args: &Args<'_>,
    target: &Target,
    aspect: Aspect<'_>,
    declared: &mut Declared,
) -> Option<Result<Value, Failure>> {
    let Some(Value::Array(all)) = args.first else {
        let value = args.first?;
        return Some(declared.add(target).map(|name| args.compare(&name, aspect, value)));
    };
    let mut parts = Vec::new();
    let name = match declared.add(target) {
        Ok(name) => name,
        Err(failure) => return Some(Err(failure)),
    };
    parts.push(json!({ "kind": "count", "target": name, "equals": all.len() }));
    for (index, text) in all.iter().enumerate() {
        match declared.add(&target::at(target, index)) {
            Ok(name) => parts.push(args.compare(&name, aspect, text)),
            Err(failure) => return Some(Err(failure)),
        }
    }
    Some(Ok(json!({ "kind": "allOf", "conditions": parts })))
}

/// How many matches are looked at for a list of parts of texts.
const MATCHES: usize = 6;

/// Some of the matches contain these parts, in order: one of the ways to choose them holds.
fn parts_in_order(
    args: &Args<'_>,
    target: &Target,
    parts: &[Value],
    declared: &mut Declared,
) -> Result<Value, Failure> {
    let name = declared.add(target)?;
    let places: Vec<String> = (0..MATCHES).map(|at| declared.add(&target::at(target, at))).collect::<Result<_, _>>()?;
    if parts.len() > MATCHES {
        let bucket = Bucket::NoSuchVerb("a list of more parts than matches that are looked at".to_owned());
        return Err(Failure::new(bucket, json!(parts).to_string(), ""));
    }
    let ways = choices(MATCHES, parts.len()).into_iter().map(|way| {
        let least = way.last().map_or(0, |last| last + 1);
        let mut all = vec![json!({ "kind": "count", "target": name, "atLeast": least })];
        let pairs = way.iter().zip(parts).filter_map(|(at, part)| Some((places.get(*at)?, part)));
        all.extend(pairs.map(|(place, part)| args.compare(place, Aspect::PartOfText, part)));
        json!({ "kind": "allOf", "conditions": all })
    });
    Ok(json!({ "kind": "anyOf", "conditions": ways.collect::<Vec<_>>() }))
}

/// The ways to choose `count` of the numbers below `below`, each in rising order.
fn choices(below: usize, count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let with_last = |last: usize| {
        choices(last, count - 1).into_iter().map(move |mut way| {
            way.push(last);
            way
        })
    };
    (count - 1..below).flat_map(with_last).collect()
}

/// Property of a target that is compared.
#[derive(Clone, Copy)]
enum Aspect<'a> {
    Text,
    PartOfText,
    Value,
    Name,
    Description,
    ErrorMessage,
    Attribute(&'a str),
}

/// The arguments of an assertion: values, then an object of options.
struct Args<'a> {
    first: Option<&'a Value>,
    second: Option<&'a Value>,
    options: Option<&'a Value>,
}

impl<'a> Args<'a> {
    fn of(args: &'a [Value]) -> Self {
        let is_options = |value: &&Value| value.is_object() && value.get("regex").is_none();
        let mut values = args.iter().filter(|value| !is_options(value));
        Self { first: values.next(), second: values.next(), options: args.iter().find(is_options) }
    }

    fn option(&self, name: &str) -> Option<&'a Value> {
        self.options.and_then(|options| options.get(name))
    }

    /// The condition, or its contrary where the options say `false`.
    fn flag(&self, name: &str, condition: Value) -> Value {
        if self.option(name) == Some(&Value::Bool(false)) { not(condition) } else { condition }
    }

    fn compare(&self, target: &str, aspect: Aspect<'_>, value: &Value) -> Value {
        // What is shown, as against what is there, is a property.
        if matches!(aspect, Aspect::Text)
            && value.is_string()
            && self.option("useInnerText") == Some(&Value::Bool(true))
        {
            return json!({ "kind": "propertyEquals", "target": target, "name": "innerText", "value": value });
        }
        let ignores_case = self.option("ignoreCase").and_then(Value::as_bool);
        if value.is_object() || ignores_case == Some(true) {
            return matches(target, aspect, value, ignores_case);
        }
        match aspect {
            Aspect::Text => json!({ "kind": "elementTextEquals", "target": target, "text": value }),
            Aspect::PartOfText => json!({ "kind": "elementTextContains", "target": target, "text": value }),
            Aspect::Value => json!({ "kind": "valueEquals", "target": target, "value": value }),
            Aspect::Name => json!({ "kind": "nameEquals", "target": target, "text": value }),
            Aspect::Description => json!({ "kind": "descriptionEquals", "target": target, "text": value }),
            Aspect::ErrorMessage => json!({ "kind": "errorMessageEquals", "target": target, "text": value }),
            Aspect::Attribute(name) => json!({ "kind": "attrEquals", "target": target, "name": name, "value": value }),
        }
    }
}

/// A comparison by regular expression, or without regard to case.
fn matches(target: &str, aspect: Aspect<'_>, value: &Value, ignores_case: Option<bool>) -> Value {
    let mut flags = value.get("flags").and_then(Value::as_str).unwrap_or_default().to_owned();
    match ignores_case {
        Some(true) if !flags.contains('i') => flags.push('i'),
        Some(false) => flags.retain(|flag| flag != 'i'),
        _ => {}
    }
    let pattern = match (value.get("regex").and_then(Value::as_str), value.as_str()) {
        (Some(regex), _) => regex.to_owned(),
        (None, text) => {
            let text: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
            let escaped = regex::escape(&text.join(" "));
            if matches!(aspect, Aspect::PartOfText) { escaped } else { format!("^{escaped}$") }
        }
    };
    let (of, name) = match aspect {
        Aspect::Text | Aspect::PartOfText => ("text", None),
        Aspect::Value => ("value", None),
        Aspect::Name => ("name", None),
        Aspect::Description => ("description", None),
        Aspect::ErrorMessage => ("errorMessage", None),
        Aspect::Attribute(name) => ("attribute", Some(name)),
    };
    let mut condition = json!({
        "kind": "matches", "target": target, "of": of, "pattern": { "regex": pattern, "flags": flags },
    });
    if let (Some(name), Some(object)) = (name, condition.as_object_mut()) {
        object.insert("name".to_owned(), name.into());
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: Value) -> Entry {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_list_of_texts_is_a_count_and_one_text_for_each_match() {
        let entry = entry(json!({
            "type": "assert", "target": {"strategy": "css", "selector": "li"}, "condition": "text_equals",
            "args": [["a", "b"]],
        }));
        let condition = condition_of(&entry, &mut Declared::default()).unwrap();
        assert_eq!(condition["conditions"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn a_list_of_parts_is_found_in_some_of_the_matches_in_order() {
        let entry = entry(json!({
            "type": "assert", "target": {"strategy": "css", "selector": "li"}, "condition": "text_contains",
            "args": [["a", "b"]],
        }));
        let condition = condition_of(&entry, &mut Declared::default()).unwrap();
        assert_eq!(condition["conditions"].as_array().map(Vec::len), Some(15));
        let first = json!([
            { "kind": "count", "target": "t0", "atLeast": 2 },
            { "kind": "elementTextContains", "target": "t1", "text": "a" },
            { "kind": "elementTextContains", "target": "t2", "text": "b" },
        ]);
        assert_eq!(condition["conditions"][0]["conditions"], first);
        assert_eq!(choices(3, 2), [[0, 1], [0, 2], [1, 2]]);
    }

    #[test]
    fn properties_and_chosen_options_are_conditions() {
        for (condition, args, kind) in [
            ("property", json!(["checked", true]), "propertyEquals"),
            ("selected_values", json!([["red", "green"]]), "selectedValues"),
        ] {
            let entry = entry(json!({
                "type": "assert", "target": {"strategy": "css", "selector": "#a"}, "condition": condition, "args": args,
            }));
            assert_eq!(condition_of(&entry, &mut Declared::default()).unwrap()["kind"], kind);
        }
    }

    #[test]
    fn an_unknown_condition_cannot_be_said() {
        let entry = entry(json!({ "type": "assert", "target": {"strategy": "css"}, "condition": "smells_of" }));
        assert!(condition_of(&entry, &mut Declared::default()).is_err());
    }
}
