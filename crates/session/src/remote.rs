//! A session that another process serves, behind a [`Handle`](crate::Handle) as one of this process.

use std::io;
use std::path::{Path, PathBuf};

use cuebook::repair::Interrupt;
use cuebook_grammar::seam::ConfirmReply;
use serde_json::Map;
use tokio::io::BufReader;
use tokio::sync::{mpsc, oneshot};

use crate::answer::Answer;
use crate::call::Request;
use crate::client::{Client, Reply};
use crate::consent::Question;
use crate::events::Hub;
use crate::handle::{Handle, Job, Progress};
use crate::socket;
use crate::wire::{ClientMessage, ServerMessage, VERSION, read, write};

impl Handle {
    /// The session that another process serves at a socket. It goes on when the handle is dropped. Must be called within a
    /// runtime.
    #[must_use]
    pub fn of_other_process(socket: PathBuf) -> Self {
        let hub = Hub::new();
        let (handle, jobs) = Self::carried(hub.clone());
        tokio::spawn(carry(socket, jobs, hub));
        handle
    }
}

/// Carries the jobs of a handle to the session at a socket, each over a connection of its own; the session carries them out
/// in order.
async fn carry(socket: PathBuf, mut jobs: mpsc::Receiver<Job>, hub: Hub) {
    while let Some(job) = jobs.recv().await {
        match job {
            Job::Call { number, request, interrupt, progress } => {
                let (socket, hub) = (socket.clone(), hub.clone());
                tokio::spawn(async move {
                    if let Err(error) = call(&socket, number, request, &interrupt, &progress, &hub).await {
                        // Without an answer the call ends as that of a session that has ended.
                        tracing::debug!(%error, "the session does not answer");
                    }
                });
            }
            Job::Close(reply) => {
                let closed = async {
                    match Client::connect(&socket).await?.call("browser_close", Map::new()).await? {
                        Reply::Ended(log) => io::Result::Ok(log),
                        _ => Ok(None),
                    }
                };
                // Whoever asked may have gone.
                reply.send(closed.await.ok().flatten()).ok();
                return;
            }
            // The agent is in the other process, and so is the person.
            Job::End(_) | Job::Pause(_) | Job::Resume(_) => {}
        }
    }
}

async fn call(
    socket: &Path,
    number: u64,
    request: Request,
    interrupt: &Interrupt,
    progress: &mpsc::Sender<Progress>,
    hub: &Hub,
) -> io::Result<()> {
    let (from, mut to) = socket::connect(socket).await?;
    let from = BufReader::new(from);
    write(&mut to, &ClientMessage::Request { version: VERSION.to_owned(), request: Box::new(request) }).await?;
    let mut is_cancelled = false;
    let mut asked: Option<(u64, oneshot::Receiver<ConfirmReply>)> = None;
    // A message is read to its end: the other arm only writes.
    let mut next = Box::pin(read_on(from));
    loop {
        let message = tokio::select! {
            (message, rest) = &mut next => {
                next = Box::pin(read_on(rest));
                message?
            }
            reply = async { (&mut asked.as_mut()?.1).await.ok() }, if asked.is_some() => {
                // One whose caller is gone is dropped, and so denied.
                let allowed = match reply {
                    Some(ConfirmReply::Yes(_)) => Some(true),
                    Some(ConfirmReply::Unanswered) => None,
                    _ => Some(false),
                };
                if let Some((number, _)) = asked.take() {
                    write(&mut to, &ClientMessage::Confirm { number, allowed }).await?;
                }
                continue;
            }
            () = interrupt.triggered(), if !is_cancelled => {
                is_cancelled = true;
                write(&mut to, &ClientMessage::Cancel).await?;
                continue;
            }
        };
        let answer = match message {
            Some(ServerMessage::Event { event }) => {
                hub.send(event.of_call(number));
                continue;
            }
            Some(ServerMessage::Question { number, text, grant }) => {
                let (question, reply) = Question::new(text, grant);
                progress.send(Progress::Asks(question)).await.ok();
                // Another message before the reply means that somebody else has answered.
                asked = Some((number, reply));
                continue;
            }
            Some(ServerMessage::Answer { answer }) => *answer,
            Some(ServerMessage::Refused { why }) => Answer::failed(why),
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        progress.send(Progress::Done(Box::new(answer))).await.ok();
        return Ok(());
    }
}

/// The next message, and where the one after it comes from.
async fn read_on<R: tokio::io::AsyncBufRead + Unpin>(mut from: R) -> (io::Result<Option<ServerMessage>>, R) {
    (read(&mut from).await, from)
}
