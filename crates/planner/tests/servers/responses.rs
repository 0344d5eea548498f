//! OpenAI's responses, streaming: named events, one output item after the other.
//!
//! Source: OpenAI's API reference, "Streaming events" of responses, and "Computer use".

use serde_json::{Value, json};

use super::answer::{End, Part, ScriptedReply, tokens};

pub(super) fn events(answer: &ScriptedReply) -> Vec<Vec<u8>> {
    let mut events =
        vec![event("response.created", json!({ "response": { "id": "resp_67ccd2", "status": "in_progress" } }))];
    for (index, part) in answer.parts.iter().enumerate() {
        let kind = match part {
            Part::Text(_) => "response.output_text.delta",
            Part::Reasoning(_) => "response.reasoning_summary_text.delta",
            Part::Refusal(_) => "response.refusal.delta",
            Part::Call(..) => "response.output_item.added",
        };
        match part {
            Part::Text(text) | Part::Reasoning(text) | Part::Refusal(text) => {
                let deltas = tokens(text).into_iter();
                events.extend(deltas.map(|piece| event(kind, json!({ "output_index": index, "delta": piece }))));
            }
            Part::Call(..) => {
                events.push(event(kind, json!({ "output_index": index, "item": { "status": "in_progress" } })));
            }
        }
        events.push(event("response.output_item.done", json!({ "output_index": index, "item": item(index, part) })));
    }
    let name = match answer.end {
        End::Unsaid => return events,
        End::Done => "response.completed",
        End::Length | End::Refused => "response.incomplete",
    };
    events.push(event(name, json!({ "response": whole(answer) })));
    events
}

fn event(name: &str, data: Value) -> Vec<u8> {
    let mut whole = serde_json::Map::from_iter([("type".to_owned(), Value::from(name))]);
    if let Value::Object(members) = data {
        whole.extend(members);
    }
    format!("event: {name}\ndata: {}\n\n", Value::Object(whole)).into_bytes()
}

fn item(index: usize, part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({
            "id": format!("msg_{index}"), "type": "message", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Part::Refusal(text) => json!({
            "id": format!("msg_{index}"), "type": "message", "role": "assistant", "status": "completed",
            "content": [{ "type": "refusal", "refusal": text }],
        }),
        Part::Reasoning(text) => json!({
            "id": format!("rs_{index}"), "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }],
        }),
        Part::Call(name, arguments) if name == "computer" => {
            let mut item = json!({
                "id": format!("cu_{index}"), "type": "computer_call", "call_id": format!("call_{index}"),
                "pending_safety_checks": [], "status": "completed",
            });
            if let (Ok(Value::Object(told)), Some(item)) = (serde_json::from_str(arguments), item.as_object_mut()) {
                item.extend(told);
            }
            item
        }
        Part::Call(name, arguments) => json!({
            "id": format!("fc_{index}"), "type": "function_call", "call_id": format!("call_{index}"),
            "name": name, "arguments": arguments, "status": "completed",
        }),
    }
}

/// The response object, without `stream`.
pub(super) fn whole(answer: &ScriptedReply) -> Value {
    let items: Vec<Value> = answer.parts.iter().enumerate().map(|(index, part)| item(index, part)).collect();
    let (status, why) = match answer.end {
        End::Length => ("incomplete", json!({ "reason": "max_output_tokens" })),
        End::Refused => ("incomplete", json!({ "reason": "content_filter" })),
        End::Done | End::Unsaid => ("completed", Value::Null),
    };
    let (read, written) = answer.usage;
    json!({
        "id": "resp_67ccd2", "object": "response", "status": status, "incomplete_details": why, "error": null,
        "model": "tiny", "output": items,
        "usage": { "input_tokens": read, "output_tokens": written, "total_tokens": read + written },
    })
}
