//! The seam of model engines: a request in, a stream of events out.
//!
//! Invariants:
//! - An engine neither retries nor checks the output of the model. [`ModelPlanner`](super::ModelPlanner) does both.
//! - Dropping a stream, or the future that opens it, closes the connection.
//! - An error contains no key and no text of a page.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use cuebook_decoding::emit::{Emission, Target};
use cuebook_decoding::{GrammarSpec, TokenProbability};
use cuebook_grammar::planning::{CallPurpose, MessageRole};
use cuebook_grammar::seam::Image;

use crate::pointing::Space;

/// One model that answers requests: on a server, in another program, or in this process.
pub trait ChatEngine: Send + Sync {
    /// The output of the model.
    type Stream: ChatStream;

    /// The name of the engine in records: `ollama`, `openai`, …
    fn name(&self) -> &'static str;

    /// The name of the model on its server.
    fn model(&self) -> Option<&str>;

    /// The address of the server, for messages, without keys and user information.
    fn address(&self) -> Option<&str> {
        None
    }

    /// The notation of the grammar, and the form of the answer.
    fn dialect(&self) -> Dialect;

    /// Sends the request. Returns when the answer starts. The caller bounds the time.
    ///
    /// # Errors
    /// [`EngineError`].
    fn open(&self, request: &ChatRequest<'_>) -> impl Future<Output = Result<Self::Stream, EngineError>> + Send;

    /// How several drafts are asked for.
    fn beam(&self) -> Beam {
        Beam::EachAsked
    }

    /// A plan ended without a whole answer: by its deadline, by an error, or because nobody waits for it. An engine
    /// that keeps something alive between calls ends it here.
    fn abandon(&self) {}
}

/// The output of a model, in pieces.
pub trait ChatStream: Send {
    /// The next event. `None` after [`ChatEvent::Done`], and if the connection ended without it.
    ///
    /// # Errors
    /// [`EngineError`].
    fn next(&mut self) -> impl Future<Output = Result<Option<ChatEvent>, EngineError>> + Send;
}

/// The notation of the grammar, and the form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// The answer is a plan, constrained in this notation.
    Plan(Target),
    /// The answer is calls of tools, defined in this notation.
    Calls(Target),
    /// The answer is not constrained: the prompt describes the form, and any form is read.
    Prompted,
    /// The answer is actions of this space, on the picture of the request.
    Pointing(Space),
    /// The engine is a program: its one message is the document of the request,
    /// [`PlannerInput`](cuebook_grammar::planner_input::PlannerInput), and any form of answer is read.
    Document,
}

/// How an engine is asked for several drafts of one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Beam {
    /// One request for each.
    EachAsked,
    /// One request for all of them, [`ChatRequest::drafts`].
    AtOnce,
    /// It has one answer only, or writes several by itself.
    One,
}

/// One request for an answer, borrowed from the planner's turn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ChatRequest<'a> {
    /// The conversation, oldest first, starting with the system message.
    pub messages: &'a [ChatMessage],
    /// The grammar in the dialect of the engine. `None` if the answer is not constrained.
    pub grammar: Option<&'a Emission>,
    /// The source of the grammar, for engines without a dialect.
    pub spec: &'a GrammarSpec,
    /// Upper bound of the tokens of the answer.
    pub max_tokens: u32,
    /// Why the model is called.
    pub purpose: CallPurpose,
    /// Number of drafts that the answer should hold: 1 but for [`Beam::AtOnce`].
    pub drafts: usize,
    /// Temperature of a further draft, for engines that else write the first one again.
    pub temperature: Option<f32>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatMessage {
    /// Author of the message.
    pub role: MessageRole,
    /// Text of the message, without its pictures.
    pub text: String,
    /// The pictures of the message.
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
    /// Bytes arrived that are not an event yet: the engine is alive.
    Alive,
    /// Text of the answer.
    Text(String),
    /// Reasoning before the answer.
    Reasoning(String),
    /// A piece of a call of a tool.
    Call {
        /// 0-based index of the call in the answer. A call is complete when the next one starts.
        index: usize,
        /// The tool, in the first piece.
        name: Option<String>,
        /// More of its arguments, as JSON text.
        arguments: String,
    },
    /// The reason why the model refuses.
    Refusal(String),
    /// Tokens so far. A later event replaces an earlier one.
    Usage {
        /// Tokens that the model read.
        input: u64,
        /// Tokens that the model wrote.
        output: u64,
    },
    /// Tokens of the answer's text, from the one after the last that was told of, and best before their text. Their
    /// [confidences] replace those that the model states, if all tokens are told.
    ///
    /// [confidences]: cuebook_decoding::confidences
    Tokens(Vec<TokenProbability>),
    /// The answer has ended.
    Done(Finish),
    /// An event of another draft of the same answer.
    Other {
        /// 0-based number of the draft, from 1.
        draft: usize,
        /// Event of that draft: a piece of it, or its end.
        event: Box<ChatEvent>,
    },
}

/// Why an answer has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model ended it.
    Stop,
    /// It reached the upper bound of tokens.
    Length,
    /// The provider or the model refused to answer.
    Refused,
    /// Another reason, as the server names it.
    Other(String),
}

/// The source of an error.
pub type Source = Box<dyn Error + Send + Sync>;

/// Why an answer is missing or incomplete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The server cannot be reached.
    #[error("no server at {address}")]
    Unreachable {
        /// Address that was tried, without keys.
        address: String,
        /// The error of the connection.
        #[source]
        source: Source,
    },
    /// The server limits the rate of requests.
    #[error("the server limits the rate of requests (status {status}): {message}")]
    RateLimited {
        /// HTTP status, which is always 429.
        status: u16,
        /// How long to wait, if stated.
        retry_after: Option<Duration>,
        /// The start of its message, escaped.
        message: String,
    },
    /// The server failed, or asks for another try: status 408, 409, 425, or 500 and above.
    #[error("the server failed (status {status}): {message}")]
    Server {
        /// The HTTP status; 500 if it reported the error within its stream.
        status: u16,
        /// How long to wait, if stated.
        retry_after: Option<Duration>,
        /// The start of its message, escaped.
        message: String,
    },
    /// The server rejected the request, for its key, model or grammar.
    #[error("the server rejected the request (status {status}): {message}")]
    Rejected {
        /// HTTP status; a redirect is rejected, too.
        status: u16,
        /// The start of its message, escaped.
        message: String,
    },
    /// The connection was lost.
    #[error("the connection was lost")]
    Lost(#[source] Source),
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer was complete")]
    Cut,
    /// The engine sent nothing for too long.
    #[error("the engine sent nothing for {} s", .after.as_secs_f32())]
    Stalled {
        /// Time without a byte: [`Limits::first_byte`](super::Limits::first_byte) or
        /// [`Limits::stall`](super::Limits::stall).
        after: Duration,
    },
    /// The answer is not in the format of the API.
    #[error("expected {expected}, saw {seen}")]
    BadFormat {
        /// Description of the expected format.
        expected: &'static str,
        /// The start of what arrived, escaped.
        seen: String,
    },
    /// The answer is too long.
    #[error("the answer is longer than {bound} bytes")]
    TooLong {
        /// Upper bound in bytes.
        bound: usize,
    },
    /// The request cannot be built: the client rejects an address or a value.
    #[error("the request cannot be built")]
    Request(#[source] Source),
    /// An engine in this process failed.
    #[error("the engine failed")]
    Inside(#[source] Source),
    /// The program cannot be started.
    #[error("the program cannot be started")]
    NotStarted(#[source] Source),
    /// The program ended before its answer was complete.
    #[error("the program ended ({how}) before its answer was complete{}", wrote(.said))]
    Exited {
        /// Its exit code, or the signal.
        how: String,
        /// The last lines that it wrote on standard error, escaped; empty if there are none.
        said: String,
        /// `true` if it is started once more.
        restarts: bool,
    },
}

fn wrote(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; its standard error ends: {said}") }
}

impl EngineError {
    /// Returns `true` if an answer that had begun broke off, and another one may be whole.
    #[must_use]
    pub const fn breaks_off(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Cut)
    }

    /// Stable code of the error, in camel case, for records and reports.
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
            Self::NotStarted(_) => "notStarted",
            Self::Exited { .. } => "exited",
        }
    }

    /// The wait that the server asks for.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// A message of the server: at most 300 characters, escaped, in one line.
#[cfg(feature = "http")]
pub(crate) fn server_words(text: &str) -> String {
    cuebook_grammar::render::one_line(text, 300)
}
