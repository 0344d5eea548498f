//! Ollama's `/api/chat`, streaming: one JSON object a line, the last with `done`.
//!
//! Source: Ollama's API documentation, "Generate a chat completion" and "Errors".

use serde_json::{Value, json};

use super::answer::{End, Part, ScriptedReply, tokens};

pub(super) fn events(answer: &ScriptedReply) -> Vec<Vec<u8>> {
    let line = |value: Value| format!("{value}\n").into_bytes();
    let said = |message: Value| {
        line(json!({
            "model": "tiny", "created_at": "2026-10-26T17:15:24.097767Z", "message": message, "done": false,
        }))
    };
    let mut events = Vec::new();
    for part in &answer.parts {
        match part {
            // It has no words of its own for a refusal: the text says it.
            Part::Text(text) | Part::Refusal(text) => {
                events.extend(
                    tokens(text).into_iter().map(|piece| said(json!({ "role": "assistant", "content": piece }))),
                );
            }
            Part::Reasoning(text) => events.extend(
                tokens(text)
                    .into_iter()
                    .map(|piece| said(json!({ "role": "assistant", "content": "", "thinking": piece }))),
            ),
            // Calls come whole, with their arguments as an object.
            Part::Call(name, arguments) => {
                let arguments: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
                let calls = json!([{ "function": { "name": name, "arguments": arguments } }]);
                events.push(said(json!({ "role": "assistant", "content": "", "tool_calls": calls })));
            }
        }
    }
    let reason = match answer.end {
        End::Unsaid => return events,
        End::Length => "length",
        End::Done | End::Refused => "stop",
    };
    events.push(line(json!({
        "model": "tiny", "created_at": "2026-10-26T17:15:25.166576Z",
        "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": reason,
        "total_duration": 4_883_583_458_u64, "load_duration": 1_334_875, "prompt_eval_count": answer.usage.0,
        "prompt_eval_duration": 342_546_000, "eval_count": answer.usage.1, "eval_duration": 4_535_599_000_u64,
    })));
    events
}

/// The answer as one document, as Ollama sends it with `stream: false`.
pub(super) fn whole(answer: &ScriptedReply) -> Value {
    let text = answer.parts.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { "" });
    json!({
        "model": "tiny", "message": { "role": "assistant", "content": text.collect::<String>() }, "done": true,
        "done_reason": "stop", "prompt_eval_count": answer.usage.0, "eval_count": answer.usage.1,
    })
}
