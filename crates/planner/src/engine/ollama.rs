//! Ollama: models on the local machine.
//!
//! Requests are types of `ollama-rs`. The manifest of this crate says why the stream is read here. Source: Ollama,
//! `docs/api.md`, "Generate a chat completion".

use base64::Engine as _;
use cuebook_decoding::emit::{Body, Target};
use cuebook_grammar::planning::MessageRole;
use ollama_rs::generation::chat::request::ChatMessageRequest;
use ollama_rs::generation::chat::{ChatMessage as OllamaMessage, MessageRole as OllamaRole};
use ollama_rs::generation::images::Image;
use ollama_rs::generation::parameters::FormatType;
use ollama_rs::models::ModelOptions;
use serde_json::Value;

use crate::converse::{ChatEngine, ChatEvent, ChatMessage, ChatRequest, ChatStream, Dialect, EngineError, Finish};
use crate::http::{Decode, Endpoint, Framing, HttpStream, Queue};

/// A model that a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OllamaModel {
    /// Its name, with its tag.
    pub name: String,
    /// Its architecture, such as `llama`; empty if the server does not say.
    pub family: String,
    /// The size of its file in bytes.
    pub size: u64,
    /// The number of its parameters, to two or three digits; `None` if the server does not say.
    pub parameters: Option<u64>,
}

/// The models of the server at `host`. The caller bounds the time. Source: Ollama, `docs/api.md`, "List Local Models".
///
/// # Errors
/// [`EngineError`]: no server, or one that is not Ollama.
pub async fn models(host: &str) -> Result<Vec<OllamaModel>, EngineError> {
    let endpoint = Endpoint::new(host, "api/tags")?;
    let listed = endpoint.get().await?;
    let bad = || EngineError::BadFormat { expected: "a list of models", seen: endpoint.clean(&listed.to_string()) };
    let entries = listed.get("models").and_then(Value::as_array).ok_or_else(bad)?;
    let model = |entry: &Value| {
        let family = entry.pointer("/details/family").and_then(Value::as_str).unwrap_or_default();
        let size = entry.get("size").and_then(Value::as_u64).unwrap_or(0);
        let parameters = entry.pointer("/details/parameter_size").and_then(Value::as_str).and_then(counted);
        Some(OllamaModel { name: entry.get("name")?.as_str()?.to_owned(), family: family.to_owned(), size, parameters })
    };
    Ok(entries.iter().filter_map(model).collect())
}

/// `134.52M` or `8.2B`, as a number.
fn counted(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'K' => 1e3,
        'M' => 1e6,
        'B' => 1e9,
        _ => return None,
    };
    let number: f64 = text.get(..text.len() - 1)?.parse().ok().filter(|number| (0.0..1e6).contains(number))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1e15")]
    Some((number * unit) as u64)
}

/// An engine for Ollama.
#[derive(Clone, Debug)]
pub struct Ollama {
    endpoint: Endpoint,
    model: String,
}

impl Ollama {
    /// An engine for `model` at `host`, such as `http://127.0.0.1:11434`. It decodes greedily.
    ///
    /// # Errors
    /// [`EngineError::BadFormat`] if the address is invalid, [`EngineError::Request`] if no client can be built.
    pub fn new(host: &str, model: impl Into<String>) -> Result<Self, EngineError> {
        let endpoint = Endpoint::new(host, "api/chat")?;
        Ok(Self { endpoint, model: model.into() })
    }

    fn body(&self, request: &ChatRequest<'_>) -> Result<Value, EngineError> {
        let unfit = |error: serde_json::Error| EngineError::Request(Box::new(error));
        let options = ModelOptions::default()
            .temperature(request.temperature.unwrap_or(0.0))
            .num_predict(i32::try_from(request.max_tokens).unwrap_or(i32::MAX))
            .num_ctx(u64::from(context_for(request)));
        let messages = request.messages.iter().map(message).collect();
        // The plan contains its reasoning; a model that also thinks takes minutes on most machines.
        let mut typed = ChatMessageRequest::new(self.model.clone(), messages).options(options).think(false);
        if let Some(Body::Json(schema)) = request.grammar.map(|grammar| &grammar.body) {
            typed = typed.format(serde_json::from_value::<FormatType>(schema.clone()).map_err(unfit)?);
        }
        let mut body = serde_json::to_value(typed).map_err(unfit)?;
        if let Value::Object(body) = &mut body {
            body.insert("stream".to_owned(), true.into());
        }
        Ok(body)
    }
}

/// The smallest of three sizes that holds the conversation and the answer, at three bytes per token. Ollama's own default
/// is smaller than a page, and Ollama silently drops what does not fit. Few sizes, because it reloads the model for each.
fn context_for(request: &ChatRequest<'_>) -> u32 {
    let asked: usize = request.messages.iter().map(|message| message.text.len()).sum();
    let pictures: usize = request.messages.iter().map(|message| message.images.len()).sum();
    let asked = asked / 3 + pictures.saturating_mul(1_500);
    let needed = u32::try_from(asked).unwrap_or(u32::MAX).saturating_add(request.max_tokens);
    [8_192, 16_384].into_iter().find(|size| needed <= *size).unwrap_or(32_768)
}

fn message(message: &ChatMessage) -> OllamaMessage {
    let role = match message.role {
        MessageRole::System => OllamaRole::System,
        MessageRole::Assistant => OllamaRole::Assistant,
        MessageRole::User | MessageRole::Tool => OllamaRole::User,
    };
    let images = message.images.iter().map(|image| {
        let bytes = base64::engine::general_purpose::STANDARD.encode(&image.bytes);
        Image::from_base64(bytes)
    });
    let images: Vec<Image> = images.collect();
    let plain = OllamaMessage::new(role, message.text.clone());
    if images.is_empty() { plain } else { plain.with_images(images) }
}

impl ChatEngine for Ollama {
    type Stream = OllamaStream;

    fn name(&self) -> &'static str {
        "ollama"
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn address(&self) -> Option<&str> {
        Some(self.endpoint.address())
    }

    fn dialect(&self) -> Dialect {
        Dialect::Plan(Target::Ollama)
    }

    async fn open(&self, request: &ChatRequest<'_>) -> Result<OllamaStream, EngineError> {
        let response = self.endpoint.post(&self.body(request)?).await?;
        let decoder = Decoder { endpoint: self.endpoint.clone() };
        let media_types = ["application/x-ndjson", "application/json"];
        HttpStream::new(response, Framing::Lines, &media_types, "lines of JSON", decoder).map(OllamaStream)
    }
}

/// An answer of Ollama.
pub struct OllamaStream(HttpStream<Decoder>);

impl ChatStream for OllamaStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        self.0.next().await
    }
}

struct Decoder {
    endpoint: Endpoint,
}

impl Decode for Decoder {
    fn frame(&mut self, _: &str, data: &str, queue: &mut Queue) -> Result<(), EngineError> {
        let line: Value = serde_json::from_str(data)
            .map_err(|_| EngineError::BadFormat { expected: "a line of JSON", seen: self.endpoint.clean(data) })?;
        if let Some(error) = line.get("error").and_then(Value::as_str) {
            let message = self.endpoint.clean(error);
            return Err(EngineError::Server { status: 500, retry_after: None, message });
        }
        let said = |name: &str| {
            let text = line.get("message").and_then(|message| message.get(name)).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        queue.extend(said("thinking").map(ChatEvent::Reasoning));
        queue.extend(said("content").map(ChatEvent::Text));
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            let count = |name: &str| line.get(name).and_then(Value::as_u64).unwrap_or_default();
            queue.push_back(ChatEvent::Usage { input: count("prompt_eval_count"), output: count("eval_count") });
            queue.push_back(ChatEvent::Done(match line.get("done_reason").and_then(Value::as_str) {
                None | Some("stop") => Finish::Stop,
                Some("length") => Finish::Length,
                Some(other) => Finish::Other(self.endpoint.clean(other)),
            }));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cuebook_decoding::emit::emit;
    use cuebook_decoding::specialise;
    use cuebook_grammar::policy::Policy;

    use super::*;
    use cuebook_grammar::sample;

    #[test]
    fn the_schema_reaches_the_server_in_its_order() {
        let page = sample::page("textbox \"User\"\nbutton \"Sign in\"");
        let policy = Policy::default().starting_at(&page.url).unwrap();
        let spec = specialise(&page, &policy);
        let grammar = emit(Target::Ollama, spec.document());
        let messages =
            [ChatMessage::new(MessageRole::System, "s"), ChatMessage::new(MessageRole::User, "x".repeat(60_000))];
        let purpose = cuebook_grammar::planning::CallPurpose::Plan;
        let request = ChatRequest {
            messages: &messages,
            grammar: Some(&grammar),
            spec: &spec,
            max_tokens: 500,
            purpose,
            drafts: 1,
            temperature: None,
        };
        let engine = Ollama::new("http://localhost:11434/", "tiny").unwrap();
        assert_eq!(engine.address(), Some("http://localhost:11434/api/chat"));
        let body = engine.body(&request).unwrap();
        let Body::Json(schema) = &grammar.body else { panic!("no JSON") };
        // As text: the order of members matters.
        assert_eq!(body["format"].to_string(), schema.to_string());
        assert_eq!((&body["stream"], &body["think"], &body["model"]), (&true.into(), &false.into(), &"tiny".into()));
        assert_eq!((&body["options"]["num_predict"], &body["options"]["num_ctx"]), (&500.into(), &32_768.into()));
        assert_eq!(body["messages"][0]["role"], "system");
    }
}
