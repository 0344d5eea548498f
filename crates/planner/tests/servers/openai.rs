//! Chat completions, streaming, as OpenAI, llama.cpp and vLLM send them: `data:` events and a last `[DONE]`.
//!
//! Sources: OpenAI's API reference, "The chat completion chunk object" and `stream_options`; chunks of
//! llama-server (build 9554) and of vLLM (0.15) in reports of their users.

use serde_json::{Map, Value, json};

use super::answer::{End, Part, ScriptedReply, tokens};

/// Whose server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    OpenAi,
    LlamaCpp,
    Vllm,
}

pub(super) fn events(flavour: Flavour, answer: &ScriptedReply) -> Vec<Vec<u8>> {
    let chunk = |choices: Value, usage: Option<Value>| event(&chunk(flavour, choices, usage));
    let delta = |delta: Value, reason: Option<&str>| chunk(json!([choice(flavour, delta, reason)]), None);
    let mut events = vec![match flavour {
        Flavour::OpenAi => delta(json!({ "role": "assistant", "content": "", "refusal": null }), None),
        Flavour::LlamaCpp => delta(json!({ "role": "assistant", "content": null }), None),
        Flavour::Vllm => delta(json!({ "role": "assistant", "content": "" }), None),
    }];
    let mut calls = 0_u32;
    for part in &answer.parts {
        match part {
            Part::Text(text) => {
                events.extend(tokens(text).into_iter().map(|piece| delta(json!({ "content": piece }), None)));
            }
            Part::Reasoning(text) => {
                let member = if flavour == Flavour::Vllm { "reasoning" } else { "reasoning_content" };
                events.extend(tokens(text).into_iter().map(|piece| delta(json!({ member: piece }), None)));
            }
            Part::Refusal(text) => {
                events.extend(tokens(text).into_iter().map(|piece| delta(json!({ "refusal": piece }), None)));
            }
            Part::Call(name, arguments) => {
                let id = format!("call_abc{calls}");
                let function = json!({ "name": name, "arguments": "" });
                let opened = json!({ "index": calls, "id": id, "type": "function", "function": function });
                events.push(delta(json!({ "tool_calls": [opened] }), None));
                events.extend(tokens(arguments).into_iter().map(|piece| {
                    let more = json!({ "index": calls, "function": { "arguments": piece } });
                    delta(json!({ "tool_calls": [more] }), None)
                }));
                calls += 1;
            }
        }
    }
    let reason = match answer.end {
        End::Unsaid => return events,
        End::Length => "length",
        End::Done if calls > 0 => "tool_calls",
        End::Done => "stop",
        // With words of refusal OpenAI stops as usual; its filter has a reason of its own.
        End::Refused if answer.parts.iter().any(|part| matches!(part, Part::Refusal(_))) => "stop",
        End::Refused => "content_filter",
    };
    events.push(delta(json!({}), Some(reason)));
    let (read, written) = answer.usage;
    let usage = json!({ "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written });
    events.push(chunk(json!([]), Some(usage)));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

fn event(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

fn chunk(flavour: Flavour, choices: Value, usage: Option<Value>) -> Value {
    let mut chunk = Map::new();
    let mut put = |name: &str, value: Value| chunk.insert(name.to_owned(), value);
    if flavour == Flavour::LlamaCpp {
        put("choices", choices.clone());
    }
    put("id", "chatcmpl-123".into());
    put("object", "chat.completion.chunk".into());
    put("created", 1_781_492_230_u64.into());
    put("model", "tiny".into());
    match flavour {
        Flavour::OpenAi => {
            put("service_tier", "default".into());
            put("system_fingerprint", "fp_44709d6fcb".into());
            put("choices", choices);
            // Present and null on every chunk but the last, once usage was asked for.
            put("usage", usage.unwrap_or(Value::Null));
            put("obfuscation", "Zx3kQ".into());
        }
        Flavour::LlamaCpp => {
            put("system_fingerprint", "b9554-d403f00ec".into());
            if let Some(usage) = usage {
                put("usage", usage);
                put("timings", json!({ "cache_n": 0, "prompt_n": 472, "prompt_ms": 251.51, "predicted_n": 89 }));
            }
        }
        Flavour::Vllm => {
            put("choices", choices);
            if let Some(usage) = usage {
                put("usage", usage);
            }
        }
    }
    Value::Object(chunk)
}

fn choice(flavour: Flavour, delta: Value, reason: Option<&str>) -> Value {
    match flavour {
        Flavour::LlamaCpp => json!({ "finish_reason": reason, "index": 0, "delta": delta }),
        Flavour::Vllm if reason.is_some() => json!({
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason, "stop_reason": null, "token_ids": null,
        }),
        Flavour::OpenAi | Flavour::Vllm => {
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason })
        }
    }
}

/// The chat completion object, without `stream`.
pub(super) fn whole(answer: &ScriptedReply) -> Value {
    let mut content = String::new();
    let mut calls = Vec::new();
    for part in &answer.parts {
        match part {
            Part::Text(text) => content.push_str(text),
            Part::Call(name, arguments) => calls.push(json!({
                "id": format!("call_{}", calls.len()), "type": "function",
                "function": { "name": name, "arguments": arguments },
            })),
            Part::Reasoning(_) | Part::Refusal(_) => {}
        }
    }
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": "chatcmpl-123", "object": "chat.completion", "created": 1_781_492_230_u64, "model": "tiny",
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": reason }],
        "usage": { "prompt_tokens": answer.usage.0, "completion_tokens": answer.usage.1 },
    })
}
