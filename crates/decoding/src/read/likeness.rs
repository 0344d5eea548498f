//! Recognises a JSON document as tool calls by its members.

use serde_json::Value;

/// Returns `true` if the value looks like tool calls.
pub(super) fn is_tool_call(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_tool_call),
        Value::Object(object) => {
            object.contains_key("tool_calls")
                || object.contains_key("function")
                || (object.contains_key("name") && (object.contains_key("arguments") || object.contains_key("input")))
                || object.get("message").is_some_and(is_tool_call)
                || object.get("content").and_then(Value::as_array).is_some_and(|parts| parts.iter().any(is_tool_call))
                || object
                    .get("choices")
                    .and_then(Value::as_array)
                    .is_some_and(|choices| choices.iter().any(is_tool_call))
                || object.get("output").and_then(Value::as_array).is_some_and(|parts| parts.iter().any(is_tool_call))
        }
        _ => false,
    }
}
