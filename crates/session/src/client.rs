//! A client of a session's server.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::answer::Answer;
use crate::events::Event;
use crate::person::HandedBack;
use crate::wire::{ClientMessage, ServerMessage, VERSION, read, write};

/// A connection to a session.
#[derive(Debug)]
pub struct Client {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
}

/// A message about a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// It goes on once this is [answered](Client::answer).
    Question {
        /// Text of the question, escaped.
        text: String,
        /// The grant that would have made it unnecessary.
        grant: Option<String>,
    },
    /// The call is over.
    Answer(Box<Answer>),
    /// The session has ended; where its log is.
    Ended(Option<String>),
    /// The server does not take the call.
    Refused(String),
}

impl Client {
    /// Connects to the session at a socket.
    ///
    /// # Errors
    /// If nobody listens.
    pub async fn connect(socket: &Path) -> io::Result<Self> {
        let (from, to) = UnixStream::connect(socket).await?.into_split();
        Ok(Self { from: BufReader::new(from), to })
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// If the session ends meanwhile.
    pub async fn call(&mut self, tool: &str, arguments: Map<String, Value>) -> io::Result<Reply> {
        let message = ClientMessage::Call { version: VERSION.to_owned(), tool: tool.to_owned(), arguments };
        write(&mut self.to, &message).await?;
        self.next().await
    }

    /// Answers the question of a call.
    ///
    /// # Errors
    /// If the session ends meanwhile.
    pub async fn answer(&mut self, allowed: bool) -> io::Result<Reply> {
        write(&mut self.to, &ClientMessage::Confirm { allowed }).await?;
        self.next().await
    }

    /// Asks for the events of the session from now on; [`event`](Self::event) has them.
    ///
    /// # Errors
    /// If the session ends meanwhile.
    pub async fn watch(&mut self) -> io::Result<()> {
        write(&mut self.to, &ClientMessage::Events { version: VERSION.to_owned() }).await
    }

    /// The next event, once [`watch`](Self::watch) was called; `None` after the last one.
    ///
    /// # Errors
    /// Why the session sends none.
    pub async fn event(&mut self) -> io::Result<Option<Event>> {
        match read(&mut self.from).await? {
            None => Ok(None),
            Some(ServerMessage::Event { event }) => Ok(Some(event)),
            Some(ServerMessage::Refused { why }) => Err(io::Error::other(why)),
            Some(_) => Err(io::Error::other("a message that is no event")),
        }
    }

    /// A person takes the browser over. Returns since when, in milliseconds since 1970.
    ///
    /// # Errors
    /// Why the session refuses.
    pub async fn pause(&mut self) -> io::Result<u64> {
        match self.ask(&ClientMessage::Pause { version: VERSION.to_owned() }).await? {
            ServerMessage::Paused { since_ms } => Ok(since_ms),
            other => Err(unexpected(other)),
        }
    }

    /// The person hands the browser back; `None` if they had not taken it over.
    ///
    /// # Errors
    /// Why the session refuses.
    pub async fn resume(&mut self) -> io::Result<Option<HandedBack>> {
        match self.ask(&ClientMessage::Resume { version: VERSION.to_owned() }).await? {
            ServerMessage::Resumed { back } => Ok(back),
            other => Err(unexpected(other)),
        }
    }

    async fn ask(&mut self, message: &ClientMessage) -> io::Result<ServerMessage> {
        write(&mut self.to, message).await?;
        self.message().await
    }

    async fn message(&mut self) -> io::Result<ServerMessage> {
        let message = read(&mut self.from).await?;
        message.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the session has ended"))
    }

    async fn next(&mut self) -> io::Result<Reply> {
        Ok(match self.message().await? {
            ServerMessage::Question { text, grant } => Reply::Question { text, grant },
            ServerMessage::Answer { answer } => Reply::Answer(answer),
            ServerMessage::Ended { log } => Reply::Ended(log),
            ServerMessage::Refused { why } => Reply::Refused(why),
            other => return Err(unexpected(other)),
        })
    }
}

fn unexpected(message: ServerMessage) -> io::Error {
    match message {
        ServerMessage::Refused { why } => io::Error::other(why),
        _ => io::Error::other("an answer to something else"),
    }
}
