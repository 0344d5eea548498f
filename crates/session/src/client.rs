//! A client of a session's server.

use std::io;
use std::path::Path;

use cuebook_grammar::seam::ConfirmReply;
use serde_json::{Map, Value};
use tokio::io::BufReader;

use crate::answer::Answer;
use crate::events::Event;
use crate::person::HandedBack;
use crate::socket::{self, FromServer, ToServer};
use crate::wire::{ClientMessage, ServerMessage, VERSION, read, write};

/// A connection to a session.
#[derive(Debug)]
pub struct Client {
    from: BufReader<FromServer>,
    to: ToServer,
}

/// A message about a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// It goes on once this is [answered](Client::answer).
    Question {
        /// Its number, for the answer.
        number: u64,
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
        let (from, to) = socket::connect(socket).await?;
        Ok(Self { from: BufReader::new(from), to })
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// If the session ends meanwhile.
    pub async fn call(&mut self, tool: &str, arguments: Map<String, Value>) -> io::Result<Reply> {
        let message = ClientMessage::Call { version: VERSION.to_owned(), tool: tool.to_owned(), arguments };
        write(&mut self.to, &message).await?;
        next(&mut self.from).await
    }

    /// Answers a question once `reply` is there, or takes what comes after it: somebody else may answer first.
    ///
    /// # Errors
    /// If the session ends meanwhile.
    pub async fn answer(&mut self, number: u64, reply: impl Future<Output = ConfirmReply>) -> io::Result<Reply> {
        let Self { from, to } = self;
        let next = next(from);
        tokio::pin!(next);
        tokio::select! {
            next = &mut next => return next,
            reply = reply => {
                let allowed = match reply {
                    ConfirmReply::Yes(_) => Some(true),
                    ConfirmReply::No => Some(false),
                    _ => None,
                };
                write(to, &ClientMessage::Confirm { number, allowed }).await?;
            }
        }
        next.await
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
        message_of(&mut self.from).await
    }
}

async fn message_of(from: &mut BufReader<FromServer>) -> io::Result<ServerMessage> {
    let message = read(from).await?;
    message.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "the session has ended"))
}

async fn next(from: &mut BufReader<FromServer>) -> io::Result<Reply> {
    Ok(match message_of(from).await? {
        ServerMessage::Question { number, text, grant } => Reply::Question { number, text, grant },
        ServerMessage::Answer { answer } => Reply::Answer(answer),
        ServerMessage::Ended { log } => Reply::Ended(log),
        ServerMessage::Refused { why } => Reply::Refused(why),
        other => return Err(unexpected(other)),
    })
}

fn unexpected(message: ServerMessage) -> io::Error {
    match message {
        ServerMessage::Refused { why } => io::Error::other(why),
        _ => io::Error::other("an answer to something else"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::consent::Question;
    use crate::events::Hub;
    use crate::handle::{Handle, Job, Progress};
    use crate::server::{Listener, serve};

    async fn asks(progress: &mpsc::Sender<Progress>, text: &str) -> tokio::sync::oneshot::Receiver<ConfirmReply> {
        let (question, answer) = Question::new(text.to_owned(), None);
        progress.send(Progress::Asks(question)).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_question_answered_elsewhere_is_over_and_a_late_answer_answers_no_other() {
        let socket = std::env::temp_dir().join(format!("cuebook-asked-{}.sock", std::process::id()));
        let (handle, mut jobs) = Handle::carried(Hub::new());
        tokio::spawn(async move {
            let Some(Job::Call { progress, .. }) = jobs.recv().await else { panic!("no call") };
            drop(asks(&progress, "first").await);
            let reply = asks(&progress, "second").await.await;
            progress.send(Progress::Done(Box::new(Answer::failed(format!("{reply:?}"))))).await.unwrap();
        });
        let listener = Listener::at(socket.clone()).unwrap();
        tokio::spawn(serve(handle, listener, None, std::future::pending()));
        let mut client = Client::connect(&socket).await.unwrap();
        let first = client.call("browser_snapshot", Map::new()).await.unwrap();
        assert!(matches!(first, Reply::Question { number: 1, .. }), "{first:?}");
        let second = client.answer(1, std::future::pending()).await.unwrap();
        assert!(matches!(&second, Reply::Question { number: 2, text, .. } if text == "second"), "{second:?}");
        write(&mut client.to, &ClientMessage::Confirm { number: 1, allowed: Some(true) }).await.unwrap();
        let answer = client.answer(2, async { ConfirmReply::No }).await.unwrap();
        assert!(matches!(&answer, Reply::Answer(it) if it.error.as_deref() == Some("Ok(No)")), "{answer:?}");
        std::fs::remove_file(socket).unwrap();
    }
}
