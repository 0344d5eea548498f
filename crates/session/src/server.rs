//! A session behind a socket, for any number of clients.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
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
use crate::tools::{Order, ToolSet};
use crate::wire::{Asked, Told, VERSION, read, write};

/// Time for closing a browser.
const CLOSING: Duration = Duration::from_secs(5);
/// How often the time without a call is looked at.
const BEAT: Duration = Duration::from_secs(1);

/// State that the connections share.
struct Served {
    handle: Handle,
    last: Mutex<Instant>,
    ended: watch::Sender<bool>,
}

/// Serves a session on a socket that only its owner can use, until a client closes it, `stop` comes, its browser is gone, or
/// no call came for `idle`.
///
/// # Errors
/// If the socket cannot be had: another one may be served there.
pub async fn serve(
    handle: Handle,
    socket: &Path,
    idle: Option<Duration>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    if UnixStream::connect(socket).await.is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "a session of this name is open"));
    }
    // One that died.
    std::fs::remove_file(socket).ok();
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
    let (ended, mut is_ended) = watch::channel(false);
    let served = Arc::new(Served { handle, last: Mutex::new(Instant::now()), ended });
    tokio::pin!(stop);
    loop {
        tokio::select! {
            connection = listener.accept() => {
                tokio::spawn(attend(served.clone(), connection?.0));
            }
            () = &mut stop => break,
            _ = is_ended.wait_for(|ended| *ended) => break,
            () = tokio::time::sleep(BEAT) => {
                let since = served.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
                if idle.is_some_and(|idle| since > idle) {
                    break;
                }
            }
        }
    }
    end(&served).await;
    std::fs::remove_file(socket).ok();
    Ok(())
}

/// Ends the session, and returns the folder of its log. Does nothing if it has ended.
async fn end(served: &Served) -> Option<String> {
    let (agent, report) = served.handle.end().await.ok()?;
    if tokio::time::timeout(CLOSING, agent.close()).await.is_err() {
        tracing::warn!("the browser did not close in time");
    }
    report.run_dir
}

async fn attend(served: Arc<Served>, connection: UnixStream) {
    let (from, mut to) = connection.into_split();
    let mut from = BufReader::new(from);
    loop {
        let told = match read::<Asked>(&mut from).await {
            Ok(None) => return,
            Ok(Some(asked)) => {
                *served.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                match call(&served, asked, &mut from, &mut to).await {
                    Ok(told) => told,
                    // The client is gone, and its call with it.
                    Err(_) => return,
                }
            }
            Err(error) => {
                let told = Told::Refused { why: format!("the message cannot be read: {error}") };
                write(&mut to, &told).await.ok();
                return;
            }
        };
        let is_last = match &told {
            Told::Ended { .. } => true,
            Told::Answer { answer } => answer.is_last(),
            _ => false,
        };
        let written = write(&mut to, &told).await;
        if is_last {
            served.ended.send_replace(true);
        }
        if is_last || written.is_err() {
            return;
        }
    }
}

async fn call(
    served: &Served,
    asked: Asked,
    from: &mut BufReader<tokio::net::unix::OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
) -> io::Result<Told> {
    let refused = |why: String| Ok(Told::Refused { why });
    let Asked::Call { version, tool, arguments } = asked else {
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
        Ok(Order::Close) => return Ok(Told::Ended { log: end(served).await }),
        Ok(Order::Confirm { .. }) => return refused("a question is answered where it is asked".to_owned()),
        Err(why) => return Ok(Told::Answer { answer: Box::new(Answer::failed(why)) }),
    };
    let Ok(mut running) = served.handle.begin(request).await else {
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
            Ok(Progress::Done(answer)) => return Ok(Told::Answer { answer }),
            Ok(Progress::Asks(question)) => {
                let told = Told::Question { text: question.text.clone(), grant: question.grant.clone() };
                write(to, &told).await?;
                match read::<Asked>(from).await? {
                    Some(Asked::Confirm { allowed: true }) => question.answer(ConfirmReply::Yes(None)),
                    Some(Asked::Confirm { allowed: false }) => question.answer(ConfirmReply::No),
                    _ => return Err(io::Error::other("the question was not answered")),
                }
            }
            Err(gone) => return refused(gone.to_string()),
        }
    }
}
