//! Wire formats of the servers, each with its path, content type and events.

use serde_json::{Value, json};

use super::answer::{ScriptedReply, call, plan_text};
use super::play::Play;
use super::{anthropic, ollama, openai, responses};

/// A wire format, as the servers of one kind speak it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Ollama's `/api/chat`: one JSON object a line.
    Ollama,
    /// OpenAI's chat completions, the plan as content.
    OpenAi,
    /// OpenAI's chat completions, the plan as calls of tools.
    OpenAiTools,
    /// A compatible server with JSON Schema, the plan as content. It answers like llama.cpp.
    OwnServer,
    /// llama.cpp's server, the plan as content.
    LlamaCpp,
    /// vLLM's server, the plan as content.
    Vllm,
    /// Anthropic's messages, the plan as uses of tools.
    Anthropic,
    /// OpenAI's responses, with calls of its tool for computers.
    Responses,
}

impl Dialect {
    /// Every wire format, for tests that hold for all.
    pub(crate) const ALL: [Self; 7] =
        [Self::Ollama, Self::OpenAi, Self::OpenAiTools, Self::OwnServer, Self::LlamaCpp, Self::Vllm, Self::Anthropic];

    /// Path below the server's origin that requests go to.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Ollama => "/api/chat",
            Self::OpenAi | Self::OpenAiTools | Self::OwnServer | Self::LlamaCpp | Self::Vllm => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// Returns `true` if a plan is made of calls of tools, and not of text.
    pub(crate) const fn calls_tools(self) -> bool {
        matches!(self, Self::OpenAiTools | Self::Anthropic | Self::Responses)
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            Self::OpenAi | Self::OpenAiTools | Self::OwnServer | Self::LlamaCpp | Self::Responses => {
                "text/event-stream"
            }
            Self::Vllm | Self::Anthropic => "text/event-stream; charset=utf-8",
        }
    }

    /// The answer that holds these steps.
    pub(crate) fn plan(self, steps: &[Value]) -> ScriptedReply {
        if self.calls_tools() {
            ScriptedReply::of(steps.iter().map(call))
        } else {
            ScriptedReply::text(&plan_text(steps))
        }
    }

    /// The answer's events, each with what delimits it.
    pub(crate) fn events(self, answer: &ScriptedReply) -> Vec<Vec<u8>> {
        match self {
            Self::Ollama => ollama::events(answer),
            Self::OpenAi | Self::OpenAiTools => openai::events(openai::Flavour::OpenAi, answer),
            Self::OwnServer | Self::LlamaCpp => openai::events(openai::Flavour::LlamaCpp, answer),
            Self::Vllm => openai::events(openai::Flavour::Vllm, answer),
            Self::Anthropic => anthropic::events(answer),
            Self::Responses => responses::events(answer),
        }
    }

    /// An answer with nothing in its body yet.
    pub(crate) fn opening(self) -> Play {
        Play::streaming(200, self.content_type())
    }

    /// The answer as a server sends it when all is well.
    pub(crate) fn saying(self, answer: &ScriptedReply) -> Play {
        self.opening().parts(self.events(answer)).end()
    }

    /// The answer as one document, from a server that does not stream.
    pub(crate) fn whole(self, answer: &ScriptedReply) -> Play {
        let document = match self {
            Self::Ollama => ollama::whole(answer),
            Self::Anthropic => anthropic::whole(answer),
            Self::Responses => responses::whole(answer),
            _ => openai::whole(answer),
        };
        Play::whole(200, "application/json", &document.to_string())
    }

    /// A refusal of the request itself, in the words and the form of its servers.
    pub(crate) fn error(self, status: u16, message: &str) -> Play {
        let kind = error_kind(self, status);
        let body = match self {
            Self::Ollama => json!({ "error": message }),
            Self::OpenAi | Self::OpenAiTools | Self::Responses => {
                json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
            }
            Self::OwnServer | Self::LlamaCpp => {
                json!({ "error": { "code": status, "message": message, "type": kind } })
            }
            Self::Vllm => json!({ "error": { "message": message, "type": kind, "param": null, "code": status } }),
            Self::Anthropic => json!({
                "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
            }),
        };
        Play::whole(status, "application/json", &body.to_string())
    }

    /// An error in the middle of a stream, whose status was 200.
    pub(crate) fn error_event(self, message: &str) -> Vec<u8> {
        let text = match self {
            Self::Ollama => format!("{}\n", json!({ "error": message })),
            Self::Anthropic => {
                let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": message } });
                format!("event: error\ndata: {error}\n\n")
            }
            Self::Responses => {
                let error = json!({ "type": "error", "code": "server_error", "message": message, "param": null });
                format!("event: error\ndata: {error}\n\n")
            }
            Self::OpenAi | Self::OpenAiTools => {
                let error =
                    json!({ "error": { "message": message, "type": "server_error", "param": null, "code": null } });
                format!("data: {error}\n\n")
            }
            Self::OwnServer | Self::LlamaCpp => {
                let error = json!({ "error": { "code": 500, "message": message, "type": "server_error" } });
                format!("data: {error}\n\n")
            }
            Self::Vllm => {
                let error = json!({ "error": { "message": message, "type": "InternalServerError", "param": null, "code": 500 } });
                format!("data: {error}\n\ndata: [DONE]\n\n")
            }
        };
        text.into_bytes()
    }

    /// An event that holds no JSON.
    pub(crate) fn broken_event(self) -> Vec<u8> {
        match self {
            Self::Ollama => b"{\"model\":\"tiny\",\"message\":{\"role\":\n".to_vec(),
            Self::Anthropic => b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\n\n".to_vec(),
            _ => b"data: {\"choices\":[{\"delta\":{\"content\":\n\n".to_vec(),
        }
    }
}

fn error_kind(dialect: Dialect, status: u16) -> &'static str {
    match (dialect, status) {
        (Dialect::OwnServer | Dialect::LlamaCpp, 503) => "unavailable_error",
        (Dialect::Vllm, 400) => "BadRequestError",
        (Dialect::Vllm, 404) => "NotFoundError",
        (Dialect::Vllm, _) => "InternalServerError",
        (Dialect::Anthropic, 500) => "api_error",
        (Dialect::Anthropic, 503 | 529) => "overloaded_error",
        (_, 401) => "authentication_error",
        (Dialect::Anthropic | Dialect::OwnServer | Dialect::LlamaCpp, 404) => "not_found_error",
        (_, 400 | 404) => "invalid_request_error",
        (Dialect::Anthropic, 429) => "rate_limit_error",
        (_, 429) => "requests",
        _ => "server_error",
    }
}
