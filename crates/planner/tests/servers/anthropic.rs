//! Anthropic's messages, streaming: named events, one content block after the other.
//!
//! Source: Anthropic's documentation, "Streaming messages".

use serde_json::{Value, json};

use super::answer::{End, Part, ScriptedReply, tokens};

pub(super) fn events(answer: &ScriptedReply) -> Vec<Vec<u8>> {
    let mut events = vec![
        event(
            "message_start",
            json!({ "message": {
                "id": "msg_014p7gG3wDgGV9EUtLvnow3U", "type": "message", "role": "assistant", "model": "tiny",
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {
                    "input_tokens": answer.usage.0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                    "output_tokens": 1, "service_tier": "standard",
                },
            } }),
        ),
        event("ping", json!({})),
    ];
    let mut calls = false;
    for (index, part) in answer.parts.iter().enumerate() {
        let (block, deltas) = match part {
            // It has no block for a refusal: what was said stands as text.
            Part::Text(text) | Part::Refusal(text) => {
                let deltas = tokens(text).into_iter().map(|piece| json!({ "type": "text_delta", "text": piece }));
                (json!({ "type": "text", "text": "" }), deltas.collect::<Vec<_>>())
            }
            Part::Reasoning(text) => {
                let deltas =
                    tokens(text).into_iter().map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
                let signature = json!({ "type": "signature_delta", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" });
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                (block, deltas.chain([signature]).collect())
            }
            Part::Call(name, arguments) => {
                calls = true;
                let pieces = std::iter::once(String::new()).chain(tokens(arguments));
                let deltas = pieces.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
                let id = format!("toolu_01T1x1fJ34qAmk2tNTrN7Up{index}");
                (json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), deltas.collect())
            }
        };
        events.push(event("content_block_start", json!({ "index": index, "content_block": block })));
        let said =
            deltas.into_iter().map(|delta| event("content_block_delta", json!({ "index": index, "delta": delta })));
        events.extend(said);
        events.push(event("content_block_stop", json!({ "index": index })));
    }
    let reason = match answer.end {
        End::Unsaid => return events,
        End::Length => "max_tokens",
        End::Done if calls => "tool_use",
        End::Done => "end_turn",
        End::Refused => "refusal",
    };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(event("message_delta", json!({ "delta": delta, "usage": { "output_tokens": answer.usage.1 } })));
    events.push(event("message_stop", json!({})));
    events
}

/// An event whose data begin with its own name.
fn event(name: &str, data: Value) -> Vec<u8> {
    let mut whole = serde_json::Map::from_iter([("type".to_owned(), Value::from(name))]);
    if let Value::Object(members) = data {
        whole.extend(members);
    }
    format!("event: {name}\ndata: {}\n\n", Value::Object(whole)).into_bytes()
}

/// The message object, without `stream`.
pub(super) fn whole(answer: &ScriptedReply) -> Value {
    let blocks: Vec<Value> = answer
        .parts
        .iter()
        .enumerate()
        .map(|(index, part)| match part {
            Part::Call(name, arguments) => {
                let input: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
                json!({ "type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": input })
            }
            Part::Text(text) | Part::Refusal(text) => json!({ "type": "text", "text": text }),
            Part::Reasoning(text) => json!({ "type": "thinking", "thinking": text, "signature": "s" }),
        })
        .collect();
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "tiny", "content": blocks,
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": answer.usage.0, "output_tokens": answer.usage.1 },
    })
}
