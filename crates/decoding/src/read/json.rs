//! A plan as JSON: alone, in a code fence or within prose, with its last step apart or among the others.

use cuebook_grammar::plan::{Author, PlanDraft, Violations};
use serde_json::Value;

use super::malformed::malformed;

pub(super) fn read(text: &str, author: Author) -> Result<PlanDraft, Violations> {
    PlanDraft::read_value(folded(value(text)?)?, author)
}

/// Puts the `last` step behind the others.
fn folded(value: Value) -> Result<Value, Violations> {
    let Value::Object(mut plan) = value else { return Ok(value) };
    // Strict dialects write null for what is left out, of the plan as of its steps.
    plan.retain(|_, value| !value.is_null());
    if let Some(last) = plan.remove("last") {
        match plan.entry("steps").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(steps) => steps.push(last),
            _ => return Err(vec![malformed("/steps", "expected an array of steps")].into()),
        }
    }
    if let Some(Value::Array(steps)) = plan.get_mut("steps") {
        for step in steps.iter_mut().filter_map(Value::as_object_mut) {
            step.retain(|_, value| !value.is_null());
        }
    }
    Ok(Value::Object(plan))
}

/// The JSON document in a text: all of it, or the first object or array that is whole.
///
/// # Errors
/// A [`Violation`] that says where the text stops being JSON.
pub(super) fn value(text: &str) -> Result<Value, Violations> {
    let whole = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let Some(from) = text.find(['{', '[']) else {
        let seen: String = text.trim().chars().take(60).flat_map(char::escape_debug).collect();
        return Err(vec![malformed("", format!("expected a JSON document, saw `{seen}`"))].into());
    };
    let rest = text.get(from..).unwrap_or_default();
    match serde_json::Deserializer::from_str(rest).into_iter::<Value>().next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(vec![malformed("", format!("expected a JSON document: {error}"))].into()),
        None => Err(vec![malformed("", format!("expected a JSON document: {whole}"))].into()),
    }
}

/// Member names in camelCase, as the reader of whole plans makes them.
pub(crate) fn camel(value: Value) -> Value {
    cuebook_grammar::plan::lenient(value)
}
