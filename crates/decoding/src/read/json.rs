//! A plan as JSON: alone, in a code fence or within prose, with its last step apart or among the others.

use cuebook_grammar::plan::{Author, PlanDraft, Violations};
use cuebook_grammar::wire::{self, ReadError};
use serde::de::IgnoredAny;
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

/// The JSON document in a text: all of it, or what stands in its first code fence that holds one, or the first object
/// that is whole. No member may be named twice.
///
/// # Errors
/// A [`Violation`] that says where the text stops being JSON.
pub(super) fn value(text: &str) -> Result<Value, Violations> {
    /// Prose has few braces; beyond these it is no prose.
    const STARTS: usize = 50;
    let text = text.trim_start_matches('\u{feff}').trim();
    let refused = |error: ReadError| Violations::from(vec![malformed(error.path, error.message)]);
    let whole = match wire::parse(text) {
        Ok(value) => return Ok(value),
        Err(error) if text.starts_with(['{', '[']) && is_json(text) => return Err(refused(error)),
        Err(error) => error,
    };
    // Every second part of a text that is split at fences stands in one, after the name of its language.
    let fenced = text.split("```").skip(1).step_by(2).filter_map(|part| part.get(part.find(['{', '['])?..));
    let starts = text.match_indices('{').map(|(at, _)| at);
    let starts = starts.chain(text.match_indices('[').map(|(at, _)| at)).take(STARTS);
    let loose = starts.filter_map(|at| text.get(at..));
    let mut first = None;
    for part in fenced.chain(loose) {
        let mut values = serde_json::Deserializer::from_str(part).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => return wire::parse(part.get(..values.byte_offset()).unwrap_or(part)).map_err(refused),
            Some(Err(error)) => drop(first.get_or_insert_with(|| format!("expected a JSON document: {error}"))),
            None => {}
        }
    }
    let seen: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    let message = match first {
        Some(message) => message,
        None if text.is_empty() => whole.message,
        None => format!("expected a JSON document, saw `{seen}`"),
    };
    Err(vec![malformed("", message)].into())
}

/// Whether a text is JSON in form, whatever its objects hold.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Member names in camelCase, as the reader of whole plans makes them.
pub(crate) fn camel(value: Value) -> Value {
    cuebook_grammar::plan::lenient(value)
}
