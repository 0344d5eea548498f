//! OpenAI's chat completions, and compatible servers: llama.cpp and vLLM, with their own fields.
//!
//! Requests are types of `async-openai`, with the fields of the servers added. Sources: OpenAI, "Structured
//! outputs", "Function calling", "Streaming"; llama.cpp, `tools/server/README.md`; vLLM, "Structured outputs".

use async_openai::types::chat::{
    ChatCompletionRequestAssistantMessage, ChatCompletionRequestMessage, ChatCompletionRequestMessageContentPartImage,
    ChatCompletionRequestMessageContentPartText, ChatCompletionRequestSystemMessage, ChatCompletionRequestUserMessage,
    ChatCompletionRequestUserMessageContent, ChatCompletionRequestUserMessageContentPart, ChatCompletionStreamOptions,
    CreateChatCompletionRequest, ImageUrl,
};
use base64::Engine as _;
use cuebook_decoding::TokenProbability;
use cuebook_decoding::emit::{Body, Target};
use cuebook_grammar::planning::MessageRole;
use cuebook_grammar::secret::Secret;
use serde_json::{Map, Value, json};

use super::openai_mode::OpenAiMode;
use crate::converse::{Beam, ChatEngine, ChatEvent, ChatMessage, ChatRequest, Dialect, EngineError, Finish};
use crate::http::{Decode, Endpoint, Framing, HttpStream, Queue, said};
use crate::pointing::Space;

/// An engine for OpenAI or a compatible server.
#[derive(Clone, Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    model: String,
    mode: OpenAiMode,
}

impl OpenAi {
    /// An engine for `model` at `base_url`, such as `https://api.openai.com/v1`, without a key and in strict mode.
    ///
    /// # Errors
    /// [`EngineError::BadFormat`] if the address is invalid, [`EngineError::Request`] if no client can be built.
    pub fn new(base_url: &str, model: impl Into<String>) -> Result<Self, EngineError> {
        let endpoint = Endpoint::new(base_url, "chat/completions")?;
        Ok(Self { endpoint, model: model.into(), mode: OpenAiMode::default() })
    }

    /// Sets the key, which is sent in the header `Authorization`.
    ///
    /// # Errors
    /// [`EngineError::Request`] if a header cannot contain it.
    pub fn with_key(mut self, key: Secret) -> Result<Self, EngineError> {
        self.endpoint = self.endpoint.with_key("authorization", "Bearer ", key)?;
        Ok(self)
    }

    /// Sets how the server gets the grammar.
    #[must_use]
    pub const fn with_mode(mut self, mode: OpenAiMode) -> Self {
        self.mode = mode;
        self
    }

    fn body(&self, request: &ChatRequest<'_>) -> Result<Value, EngineError> {
        let options =
            ChatCompletionStreamOptions { include_usage: Some(true), ..ChatCompletionStreamOptions::default() };
        let typed = CreateChatCompletionRequest {
            model: self.model.clone(),
            messages: request.messages.iter().map(message).collect(),
            stream: Some(true),
            stream_options: Some(options),
            ..CreateChatCompletionRequest::default()
        };
        let mut body = serde_json::to_value(typed).map_err(|error| EngineError::Request(Box::new(error)))?;
        if let Value::Object(body) = &mut body {
            // Reasoning models accept only the one name, older servers only the other.
            let name = if self.endpoint.host() == "api.openai.com" { "max_completion_tokens" } else { "max_tokens" };
            body.insert(name.to_owned(), request.max_tokens.into());
            if request.drafts > 1 {
                body.insert("n".to_owned(), request.drafts.into());
            }
            self.constrain(request, body);
        }
        Ok(body)
    }

    fn constrain(&self, request: &ChatRequest<'_>, body: &mut Map<String, Value>) {
        let Some(grammar) = request.grammar else { return };
        match (self.mode, &grammar.body) {
            (OpenAiMode::Strict, Body::Json(format)) => drop(body.insert("response_format".to_owned(), format.clone())),
            (OpenAiMode::Schema, Body::Json(schema)) => {
                let format = json!({ "name": "plan", "strict": true, "schema": schema });
                body.insert("response_format".to_owned(), json!({ "type": "json_schema", "json_schema": format }));
            }
            (OpenAiMode::Tools, Body::Json(tools)) => {
                body.insert("tools".to_owned(), tools.clone());
                body.insert("tool_choice".to_owned(), "required".into());
            }
            (OpenAiMode::LlamaCpp | OpenAiMode::LlamaCppLines, Body::Text(grammar)) => {
                body.insert("grammar".to_owned(), grammar.as_str().into());
                measured(body);
                // All requests of a run start with the same text.
                body.insert("cache_prompt".to_owned(), true.into());
            }
            (OpenAiMode::Vllm, Body::Text(grammar)) => {
                body.insert("structured_outputs".to_owned(), json!({ "grammar": grammar }));
                measured(body);
            }
            _ => {}
        }
    }
}

/// Asks for the probability of each token that is written, and of no other: llama.cpp sorts as many as it tells.
fn measured(body: &mut Map<String, Value>) {
    body.insert("logprobs".to_owned(), true.into());
    body.insert("top_logprobs".to_owned(), 1.into());
}

/// The tokens of a chunk, over all that the model might have written: the grammar does not count.
fn tokens(choice: &Value) -> Vec<TokenProbability> {
    let token = |entry: &Value| {
        let bytes = match entry.get("bytes").and_then(Value::as_array) {
            Some(bytes) => bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok()).collect(),
            None => entry.get("token")?.as_str()?.as_bytes().to_vec(),
        };
        Some(TokenProbability { bytes, probability: entry.get("logprob")?.as_f64()?.exp().min(1.0) })
    };
    let content = choice.pointer("/logprobs/content").and_then(Value::as_array);
    content.into_iter().flatten().filter_map(token).collect()
}

fn message(message: &ChatMessage) -> ChatCompletionRequestMessage {
    match message.role {
        MessageRole::System => ChatCompletionRequestSystemMessage::from(message.text.as_str()).into(),
        MessageRole::Assistant => ChatCompletionRequestAssistantMessage::from(message.text.as_str()).into(),
        MessageRole::User | MessageRole::Tool if message.images.is_empty() => {
            ChatCompletionRequestUserMessage::from(message.text.as_str()).into()
        }
        MessageRole::User | MessageRole::Tool => {
            let text = ChatCompletionRequestMessageContentPartText::from(message.text.as_str());
            let mut parts = vec![ChatCompletionRequestUserMessageContentPart::Text(text)];
            parts.extend(message.images.iter().map(|image| {
                let bytes = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
                let image_url = ImageUrl::from(format!("data:{};base64,{bytes}", image.media_type));
                ChatCompletionRequestUserMessageContentPart::ImageUrl(
                    ChatCompletionRequestMessageContentPartImage::from(image_url),
                )
            }));
            ChatCompletionRequestUserMessage {
                content: ChatCompletionRequestUserMessageContent::Array(parts),
                ..ChatCompletionRequestUserMessage::default()
            }
            .into()
        }
    }
}

impl ChatEngine for OpenAi {
    type Stream = OpenAiStream;

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
        match self.mode {
            OpenAiMode::Strict => Dialect::Plan(Target::OpenAi),
            OpenAiMode::Schema => Dialect::Plan(Target::Compatible),
            OpenAiMode::Tools => Dialect::Calls(Target::Tools),
            OpenAiMode::LlamaCpp => Dialect::Plan(Target::Gbnf),
            OpenAiMode::LlamaCppLines => Dialect::Plan(Target::Line),
            OpenAiMode::Vllm => Dialect::Plan(Target::Ebnf),
            OpenAiMode::Plain => Dialect::Prompted,
            OpenAiMode::Computer => Dialect::Pointing(Space::OpenAi),
            OpenAiMode::UiTars => Dialect::Pointing(Space::UiTars),
        }
    }

    fn beam(&self) -> Beam {
        Beam::AtOnce
    }

    async fn open(&self, request: &ChatRequest<'_>) -> Result<OpenAiStream, EngineError> {
        let response = self.endpoint.post(&self.body(request)?).await?;
        let endpoint = self.endpoint.clone();
        let decoder = Decoder { endpoint, drafts: request.drafts, finish: None, named: Vec::new() };
        let expected = "an event stream of chat completions";
        HttpStream::new(response, Framing::Events, &["text/event-stream"], expected, decoder).map(OpenAiStream)
    }
}

/// The number of parameters of a model, as llama.cpp's server states it. `None` if the server at `base_url` is another,
/// or has no model of this name. The caller bounds the time. Source: llama.cpp, `tools/server/README.md`, "GET /v1/models".
///
/// # Errors
/// [`EngineError`]: no server, or an answer that is no JSON.
pub async fn parameters(base_url: &str, model: Option<&str>) -> Result<Option<u64>, EngineError> {
    let listed = Endpoint::new(base_url, "models")?.get().await?;
    let entries = listed.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let named = entries.iter().find(|entry| model.is_some() && entry.get("id").and_then(Value::as_str) == model);
    // A server of one model ignores the name.
    let entry = named.or(match entries {
        [only] => Some(only),
        _ => None,
    });
    Ok(entry.and_then(|entry| entry.pointer("/meta/n_params")).and_then(Value::as_u64))
}

/// An answer of the server.
pub struct OpenAiStream(HttpStream<Decoder>);

impl crate::converse::ChatStream for OpenAiStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        self.0.next().await
    }
}

struct Decoder {
    endpoint: Endpoint,
    /// The number that was asked for.
    drafts: usize,
    finish: Option<Finish>,
    /// The calls whose tool was already named, with the draft of each.
    named: Vec<(u64, u64)>,
}

impl Decode for Decoder {
    fn frame(&mut self, _: &str, data: &str, queue: &mut Queue) -> Result<(), EngineError> {
        if data.trim() == "[DONE]" {
            self.end(queue);
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(data).map_err(|_| EngineError::BadFormat {
            expected: "a chunk of a chat completion as JSON",
            seen: self.endpoint.clean(data),
        })?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
            let message = self.endpoint.clean(&said(data).0);
            return Err(match status {
                Some(status @ 400..=428) => EngineError::Rejected { status, message },
                Some(429) => EngineError::RateLimited { status: 429, retry_after: None, message },
                other => EngineError::Server { status: other.unwrap_or(500), retry_after: None, message },
            });
        }
        let choices = chunk.get("choices").and_then(Value::as_array).into_iter().flatten();
        // Of one draft, whatever number a server gives it.
        let several = self.drafts > 1;
        for choice in choices.take(if several { usize::MAX } else { 1 }) {
            let draft = choice.get("index").and_then(Value::as_u64).filter(|_| several).unwrap_or_default();
            let mut events = Queue::new();
            let tokens = tokens(choice);
            if !tokens.is_empty() {
                events.push_back(ChatEvent::Tokens(tokens));
            }
            if let Some(delta) = choice.get("delta") {
                self.delta(draft, delta, &mut events);
            }
            let finish = choice.get("finish_reason").and_then(Value::as_str).map(|reason| match reason {
                "stop" | "tool_calls" | "function_call" => Finish::Stop,
                "length" => Finish::Length,
                "content_filter" => Finish::Refused,
                other => Finish::Other(self.endpoint.clean(other)),
            });
            if draft == 0 {
                self.finish = finish.or(self.finish.take());
                queue.extend(events);
            } else {
                let draft = usize::try_from(draft).unwrap_or(usize::MAX);
                let all = events.into_iter().chain(finish.map(ChatEvent::Done));
                queue.extend(all.map(|event| ChatEvent::Other { draft, event: Box::new(event) }));
            }
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
            queue.push_back(ChatEvent::Usage { input: count("prompt_tokens"), output: count("completion_tokens") });
        }
        Ok(())
    }

    /// A chat completion is one chunk whose message is its delta.
    fn whole(&mut self, document: &str, queue: &mut Queue) -> Result<(), EngineError> {
        let mut completion: Value = serde_json::from_str(document).unwrap_or_default();
        let mut has_message = false;
        for choice in completion.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(choice) = choice.as_object_mut() else { continue };
            let Some(mut message) = choice.remove("message") else { continue };
            has_message = true;
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            for (index, call) in calls.into_iter().flatten().enumerate() {
                if let Value::Object(call) = call {
                    call.insert("index".to_owned(), index.into());
                }
            }
            choice.insert("delta".to_owned(), message);
        }
        if !has_message && completion.get("error").is_none_or(Value::is_null) {
            let expected = "a stream of chat completions, or one";
            return Err(EngineError::BadFormat { expected, seen: self.endpoint.clean(document) });
        }
        self.frame("", &completion.to_string(), queue)?;
        self.end(queue);
        Ok(())
    }

    fn end(&mut self, queue: &mut Queue) {
        // Without a reason, the answer is incomplete, even if it has an end mark.
        queue.extend(self.finish.take().map(ChatEvent::Done));
    }
}

impl Decoder {
    fn delta(&mut self, draft: u64, delta: &Value, queue: &mut Queue) {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
            queue.push_back(ChatEvent::Reasoning(thought.to_owned()));
        }
        if let Some(content) = text("content") {
            queue.push_back(ChatEvent::Text(content.to_owned()));
        }
        if let Some(refusal) = text("refusal") {
            queue.push_back(ChatEvent::Refusal(refusal.to_owned()));
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let index = call.get("index").and_then(Value::as_u64).unwrap_or_default();
            let function = call.get("function");
            let part = |name: &str| function.and_then(|function| function.get(name)).and_then(Value::as_str);
            // Some servers name the tool in every piece.
            let name = part("name")
                .filter(|name| !name.is_empty() && !self.named.contains(&(draft, index)))
                .map(str::to_owned);
            if name.is_some() {
                self.named.push((draft, index));
            }
            queue.push_back(ChatEvent::Call {
                index: usize::try_from(index).unwrap_or(usize::MAX),
                name,
                arguments: part("arguments").unwrap_or_default().to_owned(),
            });
        }
    }
}
