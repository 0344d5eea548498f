//! What a model engine promises: a request in, a stream of events out.
//!
//! Invariants:
//! - An engine neither retries nor judges what the model writes: the loop does both.
//! - Dropping a stream, or the future that opens it, ends the connection.
//! - No key, and no text of a page, is in an error.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use cuebook_decoding::GrammarSpec;
use cuebook_decoding::emit::{Emission, Target};
use cuebook_grammar::planning::MessageRole;
use cuebook_grammar::seam::Image;

/// Speaks to one model.
pub trait ChatEngine: Send + Sync {
    /// What the model writes, as it writes it.
    type Stream: ChatStream;

    /// The engine's name in records: `ollama`, `openai`, …
    fn name(&self) -> &'static str;

    /// The model's name, as its server knows it.
    fn model(&self) -> Option<&str>;

    /// Where it is asked, for messages; never with a key or user information.
    fn address(&self) -> Option<&str> {
        None
    }

    /// How it takes the grammar, and in which form the model then answers.
    fn dialect(&self) -> Dialect;

    /// Sends the request; done once the answer begins. The caller bounds the time.
    ///
    /// # Errors
    /// [`EngineError`].
    fn open(&self, request: &ChatRequest<'_>) -> impl Future<Output = Result<Self::Stream, EngineError>> + Send;
}

/// What a model writes, piece by piece.
pub trait ChatStream: Send {
    /// The next event; none after [`ChatEvent::Done`] and where the connection ended without it.
    ///
    /// # Errors
    /// [`EngineError`].
    fn next(&mut self) -> impl Future<Output = Result<Option<ChatEvent>, EngineError>> + Send;
}

/// How an engine takes a grammar, and how what it then writes is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The answer is a plan, constrained in this notation.
    Plan(Target),
    /// The answer is calls of tools, defined in this notation.
    Calls(Target),
    /// Nothing constrains the answer: the form is described in the prompt, and any form is read.
    Prompted,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    /// The conversation, oldest first. The first is the system's.
    pub messages: &'a [ChatMessage],
    /// The grammar in the engine's dialect; none where nothing constrains the answer.
    pub grammar: Option<&'a Emission>,
    /// What the grammar was written from, for engines that need no dialect.
    pub spec: &'a GrammarSpec,
    /// The most tokens that the model may write.
    pub max_tokens: u32,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// Who says it.
    pub role: MessageRole,
    /// What.
    pub text: String,
    /// Pictures that belong to it.
    pub images: Vec<Image>,
}

impl ChatMessage {
    /// A message without pictures.
    pub fn new(role: MessageRole, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), images: Vec::new() }
    }
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// Bytes came that tell nothing yet: the engine is alive.
    Alive,
    /// Text of the answer.
    Text(String),
    /// What the model thinks before it answers.
    Reasoning(String),
    /// A piece of a call of a tool.
    Call {
        /// Which call of the answer, from 0. Once a later one begins, it is whole.
        index: usize,
        /// The tool, in the first piece.
        name: Option<String>,
        /// More of its arguments, as JSON text.
        arguments: String,
    },
    /// Why the model does not answer.
    Refusal(String),
    /// Tokens so far; a later one replaces an earlier one.
    Usage {
        /// Read.
        input: u64,
        /// Written.
        output: u64,
    },
    /// How likely each step was among all that could have been written, in order.
    Confidences(Vec<f64>),
    /// The answer is over.
    Done(Finish),
}

/// Why an answer is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model ended it.
    Stop,
    /// It reached the most tokens.
    Length,
    /// The provider or the model does not answer this.
    Refused,
    /// Another reason, in the server's word.
    Other(String),
}

/// A boxed source of an error.
pub type Source = Box<dyn Error + Send + Sync>;

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Nobody listens there.
    #[error("expected an engine at {address}, saw none")]
    Unreachable {
        /// Where it was looked for.
        address: String,
        /// What the connection said.
        #[source]
        source: Source,
    },
    /// The server wants fewer requests.
    #[error("the server asks to wait (status {status}): {message}")]
    RateLimited {
        /// The HTTP status.
        status: u16,
        /// How long, if it says.
        retry_after: Option<Duration>,
        /// Its words, cut and escaped.
        message: String,
    },
    /// The server broke.
    #[error("the server failed (status {status}): {message}")]
    Server {
        /// The HTTP status; 500 where it told of the fault within its stream.
        status: u16,
        /// How long to wait, if it says.
        retry_after: Option<Duration>,
        /// Its words, cut and escaped.
        message: String,
    },
    /// The server does not take the request: key, model, grammar.
    #[error("the server refuses the request (status {status}): {message}")]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// Its words, cut and escaped.
        message: String,
    },
    /// The connection broke.
    #[error("the connection broke")]
    Lost(#[source] Source),
    /// The answer ended without its end mark.
    #[error("expected the end of the answer, saw the end of the connection")]
    Cut,
    /// Nothing came for this long.
    #[error("expected the engine to go on, saw nothing for {} s", .after.as_secs_f32())]
    Stalled {
        /// How long.
        after: Duration,
    },
    /// The answer is not in the format of this API.
    #[error("expected {expected}, saw {seen}")]
    BadFormat {
        /// What its format has.
        expected: &'static str,
        /// What came, cut and escaped.
        seen: String,
    },
    /// The answer is longer than any.
    #[error("expected an answer of at most {bound} bytes")]
    TooLong {
        /// The bound.
        bound: usize,
    },
    /// The request cannot be made: an address or a value that the client does not take.
    #[error("the request cannot be made")]
    Request(#[source] Source),
    /// What runs in this process failed.
    #[error("the engine failed")]
    Inside(#[source] Source),
}

impl EngineError {
    /// A stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::RateLimited { .. } => "rateLimited",
            Self::Server { .. } => "serverError",
            Self::Rejected { .. } => "rejected",
            Self::Lost(_) => "connectionLost",
            Self::Cut => "cut",
            Self::Stalled { .. } => "stalled",
            Self::BadFormat { .. } => "badFormat",
            Self::TooLong { .. } => "tooLong",
            Self::Request(_) => "badRequest",
            Self::Inside(_) => "engineFailed",
        }
    }

    /// How long the server asks to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// The words of a server, fit for a message: 300 characters in one line.
#[cfg(feature = "http")]
pub(crate) fn server_words(text: &str) -> String {
    cuebook_grammar::render::one_line(text, 300)
}
