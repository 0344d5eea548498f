//! The messages between a client and the server of a session: one JSON document a line.

use std::io;

use cuebook_grammar::render::quoted;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::answer::Answer;
use crate::call::Request;
use crate::events::Event;
use crate::person::HandedBack;

/// The version that a client and its server must share.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The tool that ends a session. Its message is read by every version.
pub(crate) const CLOSE: &str = "browser_close";
/// The longest line, in bytes.
const LINE: u64 = 16 << 20;

/// A message of a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(crate) enum ClientMessage {
    /// Calls a tool of [`ToolSet::All`](crate::ToolSet::All).
    Call {
        version: String,
        tool: String,
        #[serde(default)]
        arguments: Map<String, Value>,
    },
    /// Carries out a call, and sends its events before its answer.
    Request { version: String, request: Box<Request> },
    /// Answers the question of this number; without `allowed` there is nobody to answer here.
    Confirm {
        number: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed: Option<bool>,
    },
    /// Interrupts the call before.
    Cancel,
    /// Asks for all events from now on, until the session ends.
    Events { version: String },
    /// A person takes the browser over.
    Pause { version: String },
    /// The person hands it back.
    Resume { version: String },
}

/// A message of a server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub(crate) enum ServerMessage {
    /// The call goes on once this is answered, here or elsewhere.
    Question {
        /// Counts the questions of a connection.
        number: u64,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<String>,
    },
    /// The call is over.
    Answer { answer: Box<Answer> },
    /// News of the session, or of the call that goes on.
    Event { event: Event },
    /// A person has the browser, since this time.
    Paused { since_ms: u64 },
    /// No person has the browser any more; absent if none had.
    Resumed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        back: Option<HandedBack>,
    },
    /// The session has ended as it was asked to; where its log is.
    Ended {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<String>,
    },
    /// The message was not one that this server takes.
    Refused { why: String },
}

/// Reads a message; `None` at the end.
pub(crate) async fn read<T: DeserializeOwned>(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = from.take(LINE).read_until(b'\n', &mut line).await?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => serde_json::from_slice(&line).map(Some).map_err(|error| misread(&line, error)),
        Some(_) if u64::try_from(read).is_ok_and(|read| read >= LINE) => {
            Err(io::Error::other("a message is longer than 16 MiB"))
        }
        Some(_) => Err(io::Error::other("the message ends halfway")),
    }
}

/// Why a session does not serve a client of this version.
pub(crate) fn other_version(version: &str) -> String {
    let version = quoted(version, 20);
    format!("the session is served by version {VERSION}, and this is {version}: `cuebook close` ends it")
}

/// Why a line is no message: another version may have others.
fn misread(line: &[u8], error: serde_json::Error) -> io::Error {
    #[derive(Deserialize)]
    struct Versioned {
        version: String,
    }
    match serde_json::from_slice(line) {
        Ok(Versioned { version }) if version != VERSION => io::Error::other(other_version(&version)),
        _ => error.into(),
    }
}

/// Writes a message as a line.
pub(crate) async fn write(to: &mut (impl AsyncWrite + Unpin), message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() as u64 > LINE {
        let why = format!("a message of {} MiB is longer than the 16 MiB that a session takes", line.len() >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    to.write_all(&line).await?;
    to.flush().await
}
