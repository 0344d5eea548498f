//! A session behind a socket, for any number of clients.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuebook_grammar::render::quoted;
use cuebook_grammar::seam::ConfirmReply;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::{mpsc, watch};

use crate::answer::Answer;
use crate::call::Request;
use crate::consent::Question;
use crate::events::Event;
use crate::handle::{Handle, Progress};
use crate::registry::alone;
use crate::socket::{self, FromClient, Incoming, ToClient};
use crate::tool::Order;
use crate::tools::ToolSet;
use crate::wire::{CLOSE, ClientMessage, ServerMessage, VERSION, other_version, read, write};

/// Time for those who watch to get the last event.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often the time without a call is looked at.
const BEAT: Duration = Duration::from_secs(1);

/// State that the connections share.
struct Shared {
    handle: Handle,
    last: Mutex<Instant>,
    ended: watch::Sender<bool>,
    /// The file of the socket, until it is removed.
    socket: Mutex<Option<PathBuf>>,
    /// A copy is held by each connection that watches.
    watched: Mutex<Option<mpsc::Sender<()>>>,
}

impl Shared {
    /// Ends the session, and returns the folder of its log. The name of the socket is free from then on.
    async fn end(&self) -> Option<String> {
        let log = self.handle.close().await;
        self.free_name();
        log
    }

    /// Whoever comes now starts another session of this name.
    fn free_name(&self) {
        if let Some(socket) = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take() {
            std::fs::remove_file(socket).ok();
        }
    }
}

/// A socket that only its owner can use, and no session is served at yet.
#[derive(Debug)]
pub struct Listener {
    incoming: Incoming,
    socket: PathBuf,
}

impl Listener {
    /// Listens at a path. What a session that died there left is replaced. Of several that come at once, one listens.
    ///
    /// # Errors
    /// If a session is served there, or the socket cannot be made.
    pub fn at(socket: PathBuf) -> io::Result<Self> {
        let _alone = socket.parent().and_then(alone);
        if socket::is_served(&socket) {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "a session of this name is open"));
        }
        for left in [&socket, &socket.with_extension("json")] {
            std::fs::remove_file(left).ok();
        }
        let incoming = Incoming::bind(&socket)?;
        Ok(Self { incoming, socket })
    }

    /// Listens no more, as no session is served.
    pub fn close(self) {
        std::fs::remove_file(self.socket).ok();
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
    let Listener { mut incoming, socket } = listener;
    let (ended, mut is_ended) = watch::channel(false);
    let (watched, mut unwatched) = mpsc::channel(1);
    let (last, socket, watched) = (Mutex::new(Instant::now()), Mutex::new(Some(socket)), Mutex::new(Some(watched)));
    let shared = Arc::new(Shared { handle, last, ended, socket, watched });
    tokio::pin!(stop);
    loop {
        tokio::select! {
            connection = incoming.next() => {
                let (from, to) = connection?;
                tokio::spawn(attend(shared.clone(), from, to));
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
    drop(shared.watched.lock().unwrap_or_else(PoisonError::into_inner).take());
    // All copies are gone once nobody watches. A watcher that does not read is not waited for.
    tokio::time::timeout(FAREWELL, unwatched.recv()).await.ok();
    Ok(())
}

async fn attend(shared: Arc<Shared>, from: FromClient, mut to: ToClient) {
    let mut from = BufReader::new(from);
    loop {
        let reply = match read::<ClientMessage>(&mut from).await {
            Ok(None) => return,
            Ok(Some(ClientMessage::Events { version })) => {
                tell(shared, &version, from, to).await;
                return;
            }
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
        if is_last {
            shared.free_name();
        }
        let written = write(&mut to, &reply).await;
        if is_last {
            shared.ended.send_replace(true);
        }
        if is_last || written.is_err() {
            return;
        }
    }
}

/// Sends all events, until the session ends or the client goes. Whoever reads slowly is told what it missed.
async fn tell(shared: Arc<Shared>, version: &str, mut from: BufReader<FromClient>, mut to: ToClient) {
    if let Err(why) = of_version(version) {
        write(&mut to, &ServerMessage::Refused { why }).await.ok();
        return;
    }
    let mut events = shared.handle.events();
    let _watching = shared.watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // The session may end while this waits, and with it what is shared.
    drop(shared);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            // A client that watches says no more, until it goes.
            _ = from.fill_buf() => return,
        };
        let Some(event) = event else { return };
        let is_last = matches!(event, Event::Ended { .. });
        if write(&mut to, &ServerMessage::Event { event }).await.is_err() || is_last {
            return;
        }
    }
}

fn of_version(version: &str) -> Result<(), String> {
    match version == VERSION {
        true => Ok(()),
        false => Err(other_version(version)),
    }
}

/// The call that a message asks for, or what it is answered with at once.
async fn request(shared: &Shared, message: ClientMessage) -> Result<(Request, bool), ServerMessage> {
    let refused = |why: String| ServerMessage::Refused { why };
    let (tool, arguments) = match message {
        // Every version can end a session that it cannot use.
        ClientMessage::Call { tool, arguments, .. } if tool == CLOSE && arguments.is_empty() => (tool, arguments),
        ClientMessage::Call { version, tool, arguments } => {
            of_version(&version).map_err(refused)?;
            (tool, arguments)
        }
        ClientMessage::Request { version, request } => {
            of_version(&version).map_err(refused)?;
            return Ok((*request, true));
        }
        ClientMessage::Pause { version } => {
            of_version(&version).map_err(refused)?;
            let paused = shared.handle.pause().await;
            return Err(
                paused.map_or_else(|gone| refused(gone.to_string()), |since_ms| ServerMessage::Paused { since_ms })
            );
        }
        ClientMessage::Resume { version } => {
            of_version(&version).map_err(refused)?;
            let resumed = shared.handle.resume().await;
            return Err(resumed.map_or_else(|gone| refused(gone.to_string()), |back| ServerMessage::Resumed { back }));
        }
        ClientMessage::Confirm { .. } | ClientMessage::Cancel | ClientMessage::Events { .. } => {
            return Err(refused("no question is open".to_owned()));
        }
    };
    let Some(known) = ToolSet::All.tools().into_iter().find(|known| known.name == tool) else {
        return Err(refused(format!("there is no tool {}", quoted(&tool, 60))));
    };
    match known.order(arguments) {
        Ok(Order::Call(request)) => Ok((request, false)),
        Ok(Order::Close) => Err(ServerMessage::Ended { log: shared.end().await }),
        Ok(Order::Confirm { .. }) => Err(refused("a question is answered where it is asked".to_owned())),
        Err(why) => Err(ServerMessage::Answer { answer: Box::new(Answer::failed(why)) }),
    }
}

async fn call(
    shared: &Shared,
    message: ClientMessage,
    from: &mut BufReader<FromClient>,
    to: &mut ToClient,
) -> io::Result<ServerMessage> {
    let (request, is_reported) = match request(shared, message).await {
        Ok(request) => request,
        Err(reply) => return Ok(reply),
    };
    let refused = |why: String| Ok(ServerMessage::Refused { why });
    let mut events = shared.handle.events();
    let Ok(mut running) = shared.handle.begin(request).await else {
        return refused("the session has ended".to_owned());
    };
    let mut is_watched = true;
    let mut number = 0;
    loop {
        let next = tokio::select! {
            biased;
            Some(event) = events.next(), if is_reported => {
                if event.call() == Some(running.number()) {
                    write(to, &ServerMessage::Event { event }).await?;
                }
                continue;
            }
            next = running.next() => next,
            // A client that goes away takes its call along.
            rest = from.fill_buf(), if is_watched => match rest?.is_empty() {
                true => return Err(io::ErrorKind::UnexpectedEof.into()),
                // A process that carries calls has no other message before the answer.
                false if is_reported => match read::<ClientMessage>(from).await? {
                    Some(ClientMessage::Cancel) => {
                        running.cancel();
                        continue;
                    }
                    _ => return Err(io::Error::other("a message before the answer")),
                },
                false => {
                    is_watched = false;
                    continue;
                }
            },
        };
        match next {
            Ok(Progress::Done(answer)) => return Ok(ServerMessage::Answer { answer }),
            Ok(Progress::Asks(question)) => {
                number += 1;
                if !ask(question, number, from, to).await? {
                    running.cancel();
                }
            }
            Err(gone) => return refused(gone.to_string()),
        }
    }
}

/// Asks the client until it answers, or somebody else has. Returns `false` if it cancels the call instead.
async fn ask(
    mut question: Question,
    number: u64,
    from: &mut BufReader<FromClient>,
    to: &mut ToClient,
) -> io::Result<bool> {
    let (text, grant) = (question.text.clone(), question.grant.clone());
    write(to, &ServerMessage::Question { number, text, grant }).await?;
    loop {
        tokio::select! {
            rest = from.fill_buf() => drop(rest?),
            () = question.taken_back() => return Ok(true),
        }
        let reply = match read::<ClientMessage>(from).await? {
            // The answer to an earlier one, which somebody else had answered.
            Some(ClientMessage::Confirm { number: earlier, .. }) if earlier != number => continue,
            Some(ClientMessage::Confirm { allowed: Some(true), .. }) => ConfirmReply::Yes(None),
            Some(ClientMessage::Confirm { allowed: Some(false), .. }) => ConfirmReply::No,
            Some(ClientMessage::Confirm { allowed: None, .. }) => ConfirmReply::Unanswered,
            Some(ClientMessage::Cancel) => return Ok(false),
            _ => return Err(io::Error::other("the question was not answered")),
        };
        question.answer(reply);
        return Ok(true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::client::{Client, Reply};
    use crate::events::Hub;
    use crate::handle::Job;

    #[tokio::test]
    async fn a_client_of_another_version_is_refused_with_what_ends_the_session() {
        let socket = std::env::temp_dir().join(format!("cuebook-version-{}.sock", std::process::id()));
        let (handle, mut jobs) = Handle::carried(Hub::new());
        tokio::spawn(async move {
            let Some(Job::Close(reply)) = jobs.recv().await else { panic!("a call of another version came through") };
            reply.send(None).unwrap();
        });
        let serving = tokio::spawn(serve(handle, Listener::at(socket.clone()).unwrap(), None, std::future::pending()));
        let said = async |line: &str| {
            let (from, mut to) = socket::connect(&socket).await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut to, format!("{line}\n").as_bytes()).await.unwrap();
            read::<ServerMessage>(&mut BufReader::new(from)).await.unwrap().unwrap()
        };
        for line in [
            r#"{"kind":"call","version":"99.1","tool":"browser_snapshot"}"#,
            r#"{"kind":"call","version":"99.1","tool":"browser_close","arguments":{"later":true}}"#,
            r#"{"kind":"events","version":"99.1"}"#,
            r#"{"kind":"somethingNew","version":"99.1"}"#,
        ] {
            let reply = said(line).await;
            let ServerMessage::Refused { why } = &reply else { panic!("{line}: {reply:?}") };
            assert!(why.contains("99.1") && why.contains("`cuebook close` ends it"), "{why}");
        }
        for (line, expected) in [(r#"{"kind":"call","ver"#, "cannot be read"), ("[[[", "cannot be read")] {
            let reply = said(line).await;
            assert!(matches!(&reply, ServerMessage::Refused { why } if why.contains(expected)), "{line}: {reply:?}");
        }
        let closed = said(r#"{"kind":"call","version":"99.1","tool":"browser_close"}"#).await;
        assert!(matches!(closed, ServerMessage::Ended { log: None }), "{closed:?}");
        serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_learns_what_it_missed_and_holds_nobody_up() {
        let socket = std::env::temp_dir().join(format!("cuebook-events-{}.sock", std::process::id()));
        let hub = Hub::new();
        let (handle, mut jobs) = Handle::carried(hub.clone());
        let last = hub.clone();
        tokio::spawn(async move {
            while let Some(job) = jobs.recv().await {
                if let Job::Close(reply) = job {
                    last.send(Event::Ended { log: None });
                    reply.send(None).unwrap();
                    return;
                }
            }
        });
        let listener = Listener::at(socket.clone()).unwrap();
        let serving = tokio::spawn(serve(handle, listener, None, std::future::pending()));
        let mut slow = Client::connect(&socket).await.unwrap();
        slow.watch().await.unwrap();
        let ticking = {
            let hub = hub.clone();
            tokio::spawn(async move {
                loop {
                    hub.send(Event::Paused { since_ms: 0 });
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
        };
        assert_eq!(slow.event().await.unwrap(), Some(Event::Paused { since_ms: 0 }), "it watches");
        ticking.abort();
        for number in 0..50_000 {
            hub.send(Event::ConsoleError { message: format!("{number} {}", "x".repeat(100)) });
            if number % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        let mut other = Client::connect(&socket).await.unwrap();
        let closed = other.call("browser_close", Map::new()).await.unwrap();
        assert!(matches!(closed, Reply::Ended(None)), "{closed:?}");
        let (mut read, mut missed) = (0, 0);
        loop {
            match slow.event().await.unwrap().expect("the last event comes") {
                Event::ConsoleError { .. } => read += 1,
                Event::Missed { count } => missed += count,
                Event::Ended { .. } => break,
                _ => {}
            }
        }
        assert!(missed > 0 && read + missed >= 50_000, "{read} read, {missed} missed");
        serving.await.unwrap().unwrap();
    }
}
