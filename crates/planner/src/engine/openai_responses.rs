//! OpenAI's Responses API, for models that use a computer: the tool `computer`, or `computer_use_preview` for the model of
//! that name.
//!
//! A request states all that the model is to know, so nothing is kept on the server between two of them. Source: OpenAI,
//! "Computer use", "Streaming API responses".

use base64::Engine as _;
use cuebook_grammar::planning::MessageRole;
use cuebook_grammar::secret::Secret;
use serde_json::{Value, json};

use crate::converse::{ChatEngine, ChatEvent, ChatMessage, ChatRequest, ChatStream, Dialect, EngineError, Finish};
use crate::http::{Decode, Endpoint, Framing, HttpStream, Queue, said};
use crate::pointing::{self, COMPUTER, Space, TOOLS};

/// The family of models that has a tool of its own.
const PREVIEW: &str = "computer-use-preview";

/// An engine for OpenAI's models that use a computer.
#[derive(Clone, Debug)]
pub struct OpenAiResponses {
    endpoint: Endpoint,
    model: String,
}

impl OpenAiResponses {
    /// An engine for `model` at `base_url`, such as `https://api.openai.com/v1`, without a key.
    ///
    /// # Errors
    /// [`EngineError::BadFormat`] if the address is invalid, [`EngineError::Request`] if no client can be built.
    pub fn new(base_url: &str, model: impl Into<String>) -> Result<Self, EngineError> {
        Ok(Self { endpoint: Endpoint::new(base_url, "responses")?, model: model.into() })
    }

    /// Sets the key, which is sent in the header `Authorization`.
    ///
    /// # Errors
    /// [`EngineError::Request`] if a header cannot contain it.
    pub fn with_key(mut self, key: Secret) -> Result<Self, EngineError> {
        self.endpoint = self.endpoint.with_key("authorization", "Bearer ", key)?;
        Ok(self)
    }

    fn body(&self, request: &ChatRequest<'_>) -> Value {
        let input: Vec<Value> = request.messages.iter().map(message).collect();
        let mut body = json!({
            "model": self.model, "input": input, "stream": true, "store": false,
            "max_output_tokens": request.max_tokens, "truncation": "auto",
        });
        if request.purpose.is_for_plan() {
            body["tools"] = self.tools(request);
        }
        body
    }

    fn tools(&self, request: &ChatRequest<'_>) -> Value {
        let size = request.messages.iter().flat_map(|message| &message.images).find_map(pointing::size_of);
        let computer = match size {
            Some(size) if self.model.starts_with(PREVIEW) => json!({
                "type": "computer_use_preview", "environment": "browser",
                "display_width": size.width, "display_height": size.height,
            }),
            _ => json!({ "type": COMPUTER }),
        };
        let beside = TOOLS.iter().map(|(name, purpose, argument)| {
            json!({
                "type": "function", "name": name, "description": purpose, "strict": true,
                "parameters": pointing::parameters(*argument),
            })
        });
        std::iter::once(computer).chain(beside).collect()
    }
}

fn message(message: &ChatMessage) -> Value {
    let (role, kind) = match message.role {
        MessageRole::System => ("system", "input_text"),
        MessageRole::Assistant => ("assistant", "output_text"),
        MessageRole::User | MessageRole::Tool => ("user", "input_text"),
    };
    let mut content = vec![json!({ "type": kind, "text": message.text })];
    content.extend(message.images.iter().map(|image| {
        let bytes = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
        // Another detail would be of another size, and points of another scale.
        let url = format!("data:{};base64,{bytes}", image.media_type);
        json!({ "type": "input_image", "image_url": url, "detail": "original" })
    }));
    json!({ "role": role, "content": content })
}

impl ChatEngine for OpenAiResponses {
    type Stream = OpenAiResponsesStream;

    fn name(&self) -> &'static str {
        "openai"
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn address(&self) -> Option<&str> {
        Some(self.endpoint.address())
    }

    fn dialect(&self) -> Dialect {
        Dialect::Pointing(Space::OpenAi)
    }

    async fn open(&self, request: &ChatRequest<'_>) -> Result<OpenAiResponsesStream, EngineError> {
        let response = self.endpoint.post(&self.body(request)).await?;
        let decoder = Decoder { endpoint: self.endpoint.clone(), finish: None, calls: 0 };
        let expected = "an event stream of a response";
        HttpStream::new(response, Framing::Events, &["text/event-stream"], expected, decoder).map(OpenAiResponsesStream)
    }
}

/// An answer of the server.
pub struct OpenAiResponsesStream(HttpStream<Decoder>);

impl ChatStream for OpenAiResponsesStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        self.0.next().await
    }
}

struct Decoder {
    endpoint: Endpoint,
    finish: Option<Finish>,
    calls: usize,
}

impl Decode for Decoder {
    fn frame(&mut self, _: &str, data: &str, queue: &mut Queue) -> Result<(), EngineError> {
        let event: Value = serde_json::from_str(data).map_err(|_| EngineError::BadFormat {
            expected: "an event of a response as JSON",
            seen: self.endpoint.clean(data),
        })?;
        let delta = || event.get("delta").and_then(Value::as_str).unwrap_or_default().to_owned();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "response.output_text.delta" => queue.push_back(ChatEvent::Text(delta())),
            "response.reasoning_summary_text.delta" => queue.push_back(ChatEvent::Reasoning(delta())),
            "response.refusal.delta" => queue.push_back(ChatEvent::Refusal(delta())),
            "response.output_item.done" => self.item(event.get("item"), queue),
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.ended(event.get("response").unwrap_or(&Value::Null), queue)?;
                queue.extend(self.finish.take().map(ChatEvent::Done));
            }
            "error" => return Err(self.error(data, event.get("code"))),
            // Beginnings and ends of parts, and later additions to the API.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, document: &str, queue: &mut Queue) -> Result<(), EngineError> {
        let response: Value = serde_json::from_str(document).unwrap_or_default();
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return Err(self.error(document, error.get("code")));
        }
        let Some(items) = response.get("output").and_then(Value::as_array) else {
            let expected = "an event stream of a response, or a response";
            return Err(EngineError::BadFormat { expected, seen: self.endpoint.clean(document) });
        };
        for item in items {
            let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
            let text = |part: &Value| Some(part.get("text")?.as_str()?.to_owned());
            queue.extend(parts.filter_map(text).map(ChatEvent::Text));
            self.item(Some(item), queue);
        }
        self.ended(&response, queue)?;
        queue.extend(self.finish.take().map(ChatEvent::Done));
        Ok(())
    }
}

impl Decoder {
    /// A complete item: only calls are of interest, the text came before.
    fn item(&mut self, item: Option<&Value>, queue: &mut Queue) {
        let Some(Value::Object(item)) = item else { return };
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let call = match text("type").as_str() {
            "computer_call" => {
                let told = ["action", "actions", "pending_safety_checks"];
                let told = told.iter().filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone())));
                (COMPUTER.to_owned(), Value::Object(told.collect()).to_string())
            }
            "function_call" => (text("name"), text("arguments")),
            _ => return,
        };
        queue.push_back(ChatEvent::Call { index: self.calls, name: Some(call.0), arguments: call.1 });
        self.calls += 1;
    }

    fn ended(&mut self, response: &Value, queue: &mut Queue) -> Result<(), EngineError> {
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
            queue.push_back(ChatEvent::Usage { input: count("input_tokens"), output: count("output_tokens") });
        }
        let why = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.finish = Some(match (response.get("status").and_then(Value::as_str), why) {
            (Some("failed"), _) => return Err(self.error(&response.to_string(), response.pointer("/error/code"))),
            (_, Some("max_output_tokens")) => Finish::Length,
            (_, Some("content_filter")) => Finish::Refused,
            (Some("completed") | None, None) => Finish::Stop,
            (status, why) => Finish::Other(self.endpoint.clean(why.or(status).unwrap_or_default())),
        });
        Ok(())
    }

    fn error(&self, document: &str, code: Option<&Value>) -> EngineError {
        let message = self.endpoint.clean(&said(document).0);
        match code.and_then(Value::as_str).unwrap_or_default() {
            "rate_limit_exceeded" => EngineError::RateLimited { status: 429, retry_after: None, message },
            "invalid_prompt" | "invalid_request_error" | "invalid_image" => {
                EngineError::Rejected { status: 400, message }
            }
            _ => EngineError::Server { status: 500, retry_after: None, message },
        }
    }
}
