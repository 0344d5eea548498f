//! Anthropic's Messages API: tools that are the same for every page, with ids as strings, unless they are made for each page.
//!
//! No crate for this API is both maintained and small, so its few types are written here. Source: Anthropic, "Messages",
//! "Streaming messages", "Tool use", version 2023-06-01.

use base64::Engine as _;
use cuebook_decoding::emit::{Body, Target};
use cuebook_grammar::planning::MessageRole;
use cuebook_grammar::secret::Secret;
use serde_json::{Map, Value, json};

use crate::converse::{ChatEngine, ChatEvent, ChatMessage, ChatRequest, ChatStream, Dialect, EngineError, Finish};
use crate::http::{Decode, Endpoint, Framing, HttpStream, Queue};
use crate::pointing::{self, COMPUTER, Space, TOOLS};

/// An engine for Anthropic or a compatible server.
#[derive(Clone, Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
    model: String,
    computer: Option<ComputerTool>,
    tools: Target,
}

/// A version of Anthropic's tool for computers.
#[derive(Clone, Copy, Debug)]
struct ComputerTool {
    /// Type of the tool.
    kind: &'static str,
    /// Value of the header `anthropic-beta`.
    beta: &'static str,
}

/// Parts of the names of models that take the later version of the tool.
const LATER_MODELS: [&str; 4] = ["opus-4-5", "opus-4-6", "opus-4-7", "sonnet-4-6"];
const LATER: ComputerTool = ComputerTool { kind: "computer_20251124", beta: "computer-use-2025-11-24" };
const EARLIER: ComputerTool = ComputerTool { kind: "computer_20250124", beta: "computer-use-2025-01-24" };

impl Anthropic {
    /// The version of the API.
    const VERSION: &'static str = "2023-06-01";

    /// An engine for `model` at `base_url`, such as `https://api.anthropic.com`, without a key.
    ///
    /// # Errors
    /// [`EngineError::BadFormat`] if the address is invalid, [`EngineError::Request`] if no client can be built.
    pub fn new(base_url: &str, model: impl Into<String>) -> Result<Self, EngineError> {
        let endpoint = Endpoint::new(base_url, "v1/messages")?.with_header("anthropic-version", Self::VERSION)?;
        Ok(Self { endpoint, model: model.into(), computer: None, tools: Target::Anthropic })
    }

    /// Makes the model point at a picture, by the tool for computers in place of one tool for each verb.
    ///
    /// # Errors
    /// [`EngineError::Request`] if the header of the tool's version cannot be set.
    pub fn pointing(mut self) -> Result<Self, EngineError> {
        let tool = if LATER_MODELS.iter().any(|name| self.model.contains(name)) { LATER } else { EARLIER };
        self.endpoint = self.endpoint.with_header("anthropic-beta", tool.beta)?;
        self.computer = Some(tool);
        Ok(self)
    }

    /// Makes tools of each page, whose ids and options alone the model can write. The tools of another page are others, so
    /// that no cache of the prompt holds.
    #[must_use]
    pub const fn for_each_page(mut self) -> Self {
        self.tools = Target::AnthropicPage;
        self
    }

    /// Sets the key, which is sent in the header `x-api-key`.
    ///
    /// # Errors
    /// [`EngineError::Request`] if a header cannot contain it.
    pub fn with_key(mut self, key: Secret) -> Result<Self, EngineError> {
        self.endpoint = self.endpoint.with_key("x-api-key", "", key)?;
        Ok(self)
    }

    fn body(&self, request: &ChatRequest<'_>) -> Value {
        let (system, rest): (Vec<&ChatMessage>, Vec<&ChatMessage>) =
            request.messages.iter().partition(|message| message.role == MessageRole::System);
        let system: Vec<&str> = system.iter().map(|message| message.text.as_str()).collect();
        let mut body = Map::from_iter([
            ("model".to_owned(), self.model.as_str().into()),
            ("max_tokens".to_owned(), request.max_tokens.into()),
            ("stream".to_owned(), true.into()),
            ("system".to_owned(), system.join("\n\n").into()),
            ("messages".to_owned(), rest.into_iter().map(message).collect()),
        ]);
        if let Some(tool) = self.computer.filter(|_| request.purpose.is_for_plan()) {
            body.insert("tools".to_owned(), computer_tools(tool, request));
            body.insert("tool_choice".to_owned(), json!({ "type": "any" }));
        }
        if let Some(Body::Json(Value::Object(tools))) = request.grammar.map(|grammar| &grammar.body) {
            body.extend(tools.clone());
            body.insert("tool_choice".to_owned(), json!({ "type": "any" }));
        }
        Value::Object(body)
    }
}

fn computer_tools(tool: ComputerTool, request: &ChatRequest<'_>) -> Value {
    let size = request.messages.iter().flat_map(|message| &message.images).find_map(pointing::size_of);
    let computer = size.map(|size| {
        json!({
            "type": tool.kind, "name": COMPUTER, "display_width_px": size.width, "display_height_px": size.height,
        })
    });
    let beside = TOOLS.iter().map(|(name, purpose, argument)| {
        json!({ "name": name, "description": purpose, "input_schema": pointing::parameters(*argument) })
    });
    computer.into_iter().chain(beside).collect()
}

fn message(message: &ChatMessage) -> Value {
    let role = if message.role == MessageRole::Assistant { "assistant" } else { "user" };
    let mut content: Vec<Value> = message
        .images
        .iter()
        .map(|image| {
            let data = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
            json!({ "type": "image", "source": { "type": "base64", "media_type": image.media_type, "data": data } })
        })
        .collect();
    content.push(json!({ "type": "text", "text": message.text.trim_end() }));
    json!({ "role": role, "content": content })
}

impl ChatEngine for Anthropic {
    type Stream = AnthropicStream;

    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn address(&self) -> Option<&str> {
        Some(self.endpoint.address())
    }

    fn dialect(&self) -> Dialect {
        match self.computer {
            Some(_) => Dialect::Pointing(Space::Anthropic),
            None => Dialect::Calls(self.tools),
        }
    }

    async fn open(&self, request: &ChatRequest<'_>) -> Result<AnthropicStream, EngineError> {
        let response = self.endpoint.post(&self.body(request)).await?;
        let decoder = Decoder { endpoint: self.endpoint.clone(), finish: None, input: 0, blocks: Vec::new(), calls: 0 };
        let expected = "an event stream of a message";
        HttpStream::new(response, Framing::Events, &["text/event-stream"], expected, decoder).map(AnthropicStream)
    }
}

/// An answer of the server.
pub struct AnthropicStream(HttpStream<Decoder>);

impl ChatStream for AnthropicStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        self.0.next().await
    }
}

struct Decoder {
    endpoint: Endpoint,
    finish: Option<Finish>,
    input: u64,
    /// The blocks that are calls: the index of the block, and that of the call.
    blocks: Vec<(u64, usize)>,
    calls: usize,
}

impl Decode for Decoder {
    fn frame(&mut self, _: &str, data: &str, queue: &mut Queue) -> Result<(), EngineError> {
        let event: Value = serde_json::from_str(data).map_err(|_| EngineError::BadFormat {
            expected: "an event of a message as JSON",
            seen: self.endpoint.clean(data),
        })?;
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.usage(event.get("message").and_then(|message| message.get("usage")), queue),
            "content_block_start" => {
                let block = event.get("content_block");
                let text = |name: &str| block.and_then(|block| block.get(name)).and_then(Value::as_str);
                if text("type") == Some("tool_use") {
                    self.blocks.push((index, self.calls));
                    let name = text("name").map(str::to_owned);
                    queue.push_back(ChatEvent::Call { index: self.calls, name, arguments: String::new() });
                    self.calls += 1;
                }
            }
            "content_block_delta" => self.delta(index, event.get("delta"), queue),
            "message_delta" => {
                let reason = event.get("delta").and_then(|delta| delta.get("stop_reason")).and_then(Value::as_str);
                self.stopped(reason);
                self.usage(event.get("usage"), queue);
            }
            "message_stop" => self.end(queue),
            "error" => return Err(self.error(event.get("error"))),
            // Pings, ends of blocks, and later additions to the API.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, document: &str, queue: &mut Queue) -> Result<(), EngineError> {
        let message: Value = serde_json::from_str(document).unwrap_or_default();
        if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
            return Err(self.error(Some(error)));
        }
        let Some(blocks) = message.get("content").and_then(Value::as_array) else {
            let expected = "an event stream of a message, or a message";
            return Err(EngineError::BadFormat { expected, seen: self.endpoint.clean(document) });
        };
        for block in blocks {
            let text = |name: &str| block.get(name).and_then(Value::as_str).map(str::to_owned);
            match text("type").as_deref() {
                Some("text") => queue.extend(text("text").map(ChatEvent::Text)),
                Some("thinking") => queue.extend(text("thinking").map(ChatEvent::Reasoning)),
                Some("tool_use") => {
                    let arguments = block.get("input").map(Value::to_string).unwrap_or_default();
                    queue.push_back(ChatEvent::Call { index: self.calls, name: text("name"), arguments });
                    self.calls += 1;
                }
                _ => {}
            }
        }
        self.stopped(message.get("stop_reason").and_then(Value::as_str));
        self.usage(message.get("usage"), queue);
        self.end(queue);
        Ok(())
    }

    fn end(&mut self, queue: &mut Queue) {
        queue.extend(self.finish.take().map(ChatEvent::Done));
    }
}

impl Decoder {
    fn delta(&self, block: u64, delta: Option<&Value>, queue: &mut Queue) {
        let text = |name: &str| delta.and_then(|delta| delta.get(name)).and_then(Value::as_str);
        match text("type") {
            Some("text_delta") => queue.extend(text("text").map(|text| ChatEvent::Text(text.to_owned()))),
            Some("thinking_delta") => {
                queue.extend(text("thinking").map(|text| ChatEvent::Reasoning(text.to_owned())));
            }
            Some("input_json_delta") => {
                let call = self.blocks.iter().find(|(known, _)| *known == block).map(|(_, call)| *call);
                if let (Some(index), Some(arguments)) = (call, text("partial_json")) {
                    queue.push_back(ChatEvent::Call { index, name: None, arguments: arguments.to_owned() });
                }
            }
            _ => {}
        }
    }

    fn stopped(&mut self, reason: Option<&str>) {
        let Some(reason) = reason else { return };
        self.finish = Some(match reason {
            "end_turn" | "tool_use" | "stop_sequence" => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "refusal" => Finish::Refused,
            other => Finish::Other(self.endpoint.clean(other)),
        });
    }

    fn usage(&mut self, usage: Option<&Value>, queue: &mut Queue) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        if let Some(fresh) = count("input_tokens") {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
            self.input = cached.iter().filter_map(|name| count(name)).fold(fresh, u64::saturating_add);
        }
        let output = count("output_tokens").unwrap_or_default();
        queue.push_back(ChatEvent::Usage { input: self.input, output });
    }

    fn error(&self, error: Option<&Value>) -> EngineError {
        let text = |name: &str| error.and_then(|error| error.get(name)).and_then(Value::as_str).unwrap_or_default();
        let message = self.endpoint.clean(text("message"));
        let server = |status, message| EngineError::Server { status, retry_after: None, message };
        match text("type") {
            "rate_limit_error" => EngineError::RateLimited { status: 429, retry_after: None, message },
            "overloaded_error" => server(529, message),
            "timeout_error" => server(504, message),
            "invalid_request_error" => EngineError::Rejected { status: 400, message },
            "authentication_error" => EngineError::Rejected { status: 401, message },
            "billing_error" => EngineError::Rejected { status: 402, message },
            "permission_error" => EngineError::Rejected { status: 403, message },
            "not_found_error" => EngineError::Rejected { status: 404, message },
            "request_too_large" => EngineError::Rejected { status: 413, message },
            _ => server(500, message),
        }
    }
}
