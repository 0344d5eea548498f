//! A client of a session's server.

use std::io;
use std::path::Path;

use serde_json::{Map, Value};
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::answer::Answer;
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

    async fn next(&mut self) -> io::Result<Reply> {
        let message = read::<ServerMessage>(&mut self.from).await?;
        let message = message.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the session has ended"))?;
        Ok(match message {
            ServerMessage::Question { text, grant } => Reply::Question { text, grant },
            ServerMessage::Answer { answer } => Reply::Answer(answer),
            ServerMessage::Ended { log } => Reply::Ended(log),
            ServerMessage::Refused { why } => Reply::Refused(why),
        })
    }
}
