//! Writes steps in the line form: for prompts, histories and golden files.

use cuebook_grammar::action::{ActionKind, fields_of};
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::step::Step;
use serde_json::{Map, Value};

use crate::line_form::{
    GOAL, GOAL_REASON, is_bare, is_bare_member, is_bare_member_of_condition, positional, positional_of_condition,
};

/// A plan in the line form, its reasoning first. What the form has no place for (context, declared
/// candidates, timeouts) is named among the arguments or omitted.
#[must_use]
pub fn write_lines(draft: &PlanDraft) -> String {
    let mut out = String::new();
    for line in draft.reasoning_summary.iter().flat_map(|text| text.lines()) {
        out.push_str("# ");
        out.push_str(line);
        out.push('\n');
    }
    for condition in draft.goal.iter().filter_map(|condition| serde_json::to_value(condition).ok()) {
        out.push_str(&format!("{GOAL} {}\n", self::condition(&condition)));
    }
    if let Some(reason) = &draft.goal_reason {
        out.push_str(&format!("{GOAL_REASON} {}\n", Value::from(reason.as_str())));
    }
    for step in &draft.steps {
        out.push_str(&write_line(step));
        out.push('\n');
    }
    out
}

/// One step in the line form.
#[must_use]
pub fn write_line(step: &Step) -> String {
    let Ok(Value::Object(mut object)) = serde_json::to_value(step) else { return String::new() };
    let pre = object.shift_remove("pre");
    let post = object.shift_remove("post");
    if let Some(schema) = object.get_mut("query").and_then(|query| query.get_mut("schema"))
        && let Some(fields) = schema.as_object().and_then(fields_of)
    {
        // As a model can write it.
        *schema = serde_json::json!(fields);
    }
    let verb = object.shift_remove("type");
    let verb = verb.as_ref().and_then(Value::as_str).unwrap_or_default();
    let order = ActionKind::ALL.iter().find(|kind| kind.meta().name == verb).map_or(&[][..], |kind| positional(*kind));
    let mut out = call(verb, order, &object, is_bare_member);
    for (front, conditions) in [(" if ", pre), (" => ", post)] {
        for stated in conditions.as_ref().and_then(Value::as_array).into_iter().flatten() {
            out.push_str(&format!("{front}{}", condition(stated)));
        }
    }
    out
}

fn call(name: &str, order: &[&str], object: &Map<String, Value>, is_bare: fn(&str) -> bool) -> String {
    let argument = |member: &str, value: &Value| match member {
        "condition" => condition(value),
        _ => self::value(value, is_bare(member)),
    };
    let unnamed = order.iter().take_while(|wanted| object.contains_key(**wanted));
    let unnamed: Vec<&str> = unnamed.copied().collect();
    let first = unnamed.iter().filter_map(|wanted| object.get(*wanted).map(|value| argument(wanted, value)));
    let named = object
        .iter()
        .filter(|(member, _)| !unnamed.contains(&member.as_str()))
        .map(|(member, value)| format!("{member}={}", argument(member, value)));
    format!("{name}({})", first.chain(named).collect::<Vec<_>>().join(","))
}

fn condition(value: &Value) -> String {
    let Value::Object(object) = value else { return String::new() };
    let mut object = object.clone();
    let kind = object.shift_remove("kind");
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
    if let Some(inner) = object.get("condition") {
        return format!("{kind}({})", condition(inner));
    }
    if let Some(Value::Array(inner)) = object.get("conditions") {
        let limit = object.get("timeoutMs").map(|limit| format!("timeoutMs={limit}"));
        return format!("{kind}({})", inner.iter().map(condition).chain(limit).collect::<Vec<_>>().join(","));
    }
    call(kind, positional_of_condition(kind), &object, is_bare_member_of_condition)
}

fn value(value: &Value, may_be_bare: bool) -> String {
    match value {
        Value::String(text) if may_be_bare && is_bare(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(|item| self::value(item, may_be_bare)).collect::<Vec<_>>().join(","))
        }
        other => whole(other).to_string(),
    }
}

/// Returns the value with whole floats written as integers: `3` for `3.0`.
fn whole(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            // Every number of the language lies far below 2^53.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => (float as i64).into(),
            _ => value.clone(),
        },
        Value::Object(object) => {
            Value::Object(object.iter().map(|(name, inner)| (name.clone(), whole(inner))).collect())
        }
        Value::Array(items) => items.iter().map(whole).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}
