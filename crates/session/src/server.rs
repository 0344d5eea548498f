//! A session behind a socket, for any number of clients.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuebook_grammar::render::quoted;
use cuebook_grammar::seam::ConfirmReply;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use crate::answer::Answer;
use crate::handle::{Handle, Progress};
use crate::tool::Order;
use crate::tools::ToolSet;
use crate::wire::{ClientMessage, ServerMessage, VERSION, read, write};

/// Time for closing a browser.
const CLOSING: Duration = Duration::from_secs(5);
/// How often the time without a call is looked at.
const BEAT: Duration = Duration::from_secs(1);

/// State that the connections share.
struct Shared {
    handle: Handle,
    last: Mutex<Instant>,
    ended: watch::Sender<bool>,
    /// The file of the socket, until it is removed.
    socket: Mutex<Option<PathBuf>>,
}

impl Shared {
    /// Ends the session, and returns the folder of its log. The name of the socket is free from then on.
    async fn end(&self) -> Option<String> {
        let ended = self.handle.end().await.ok();
        if let Some(socket) = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take() {
            std::fs::remove_file(socket).ok();
        }
        let (agent, report) = ended?;
        if tokio::time::timeout(CLOSING, agent.close()).await.is_err() {
            tracing::warn!("the browser did not close in time");
        }
        report.run_dir
    }
}

/// A socket that only its owner can use, and no session is served at yet.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    socket: PathBuf,
}

impl Listener {
    /// Listens at a path. The socket of a session that died there is replaced.
    ///
    /// # Errors
    /// If a session is served there, or the socket cannot be made.
    pub async fn at(socket: PathBuf) -> io::Result<Self> {
        if UnixStream::connect(&socket).await.is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "a session of this name is open"));
        }
        std::fs::remove_file(&socket).ok();
        let listener = UnixListener::bind(&socket)?;
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, socket })
    }
}

/// Serves a session until a client closes it, `stop` comes, its browser is gone, or no call came for `idle`. The socket is
/// removed before whoever closed it is answered.
///
/// # Errors
/// If the system takes no connection.
pub async fn serve(
    handle: Handle,
    listener: Listener,
    idle: Option<Duration>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let Listener { listener, socket } = listener;
    let (ended, mut is_ended) = watch::channel(false);
    let shared = Arc::new(Shared { handle, last: Mutex::new(Instant::now()), ended, socket: Mutex::new(Some(socket)) });
    tokio::pin!(stop);
    loop {
        tokio::select! {
            connection = listener.accept() => {
                tokio::spawn(attend(shared.clone(), connection?.0));
            }
            () = &mut stop => break,
            _ = is_ended.wait_for(|ended| *ended) => break,
            () = tokio::time::sleep(BEAT) => {
                let since = shared.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
                if idle.is_some_and(|idle| since > idle) {
                    break;
                }
            }
        }
    }
    shared.end().await;
    Ok(())
}

async fn attend(shared: Arc<Shared>, connection: UnixStream) {
    let (from, mut to) = connection.into_split();
    let mut from = BufReader::new(from);
    loop {
        let reply = match read::<ClientMessage>(&mut from).await {
            Ok(None) => return,
            Ok(Some(message)) => {
                *shared.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                match call(&shared, message, &mut from, &mut to).await {
                    Ok(reply) => reply,
                    // The client is gone, and its call with it.
                    Err(_) => return,
                }
            }
            Err(error) => {
                let reply = ServerMessage::Refused { why: format!("the message cannot be read: {error}") };
                write(&mut to, &reply).await.ok();
                return;
            }
        };
        let is_last = match &reply {
            ServerMessage::Ended { .. } => true,
            ServerMessage::Answer { answer } => answer.is_last(),
            _ => false,
        };
        let written = write(&mut to, &reply).await;
        if is_last {
            shared.ended.send_replace(true);
        }
        if is_last || written.is_err() {
            return;
        }
    }
}

async fn call(
    shared: &Shared,
    message: ClientMessage,
    from: &mut BufReader<tokio::net::unix::OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
) -> io::Result<ServerMessage> {
    let refused = |why: String| Ok(ServerMessage::Refused { why });
    let ClientMessage::Call { version, tool, arguments } = message else {
        return refused("no question is open".to_owned());
    };
    if version != VERSION {
        return refused(format!("the session is served by version {VERSION}, and this is {version}: close it first"));
    }
    let Some(known) = ToolSet::All.tools().into_iter().find(|known| known.name == tool) else {
        return refused(format!("there is no tool {}", quoted(&tool, 60)));
    };
    let request = match known.order(arguments) {
        Ok(Order::Call(request)) => request,
        Ok(Order::Close) => return Ok(ServerMessage::Ended { log: shared.end().await }),
        Ok(Order::Confirm { .. }) => return refused("a question is answered where it is asked".to_owned()),
        Err(why) => return Ok(ServerMessage::Answer { answer: Box::new(Answer::failed(why)) }),
    };
    let Ok(mut running) = shared.handle.begin(request).await else {
        return refused("the session has ended".to_owned());
    };
    let mut is_watched = true;
    loop {
        let next = tokio::select! {
            next = running.next() => next,
            // A client that goes away takes its call along.
            rest = from.fill_buf(), if is_watched => match rest?.is_empty() {
                true => return Err(io::ErrorKind::UnexpectedEof.into()),
                false => {
                    is_watched = false;
                    continue;
                }
            },
        };
        match next {
            Ok(Progress::Done(answer)) => return Ok(ServerMessage::Answer { answer }),
            Ok(Progress::Asks(question)) => {
                let reply = ServerMessage::Question { text: question.text.clone(), grant: question.grant.clone() };
                write(to, &reply).await?;
                match read::<ClientMessage>(from).await? {
                    Some(ClientMessage::Confirm { allowed: true }) => question.answer(ConfirmReply::Yes(None)),
                    Some(ClientMessage::Confirm { allowed: false }) => question.answer(ConfirmReply::No),
                    _ => return Err(io::Error::other("the question was not answered")),
                }
            }
            Err(gone) => return refused(gone.to_string()),
        }
    }
}
