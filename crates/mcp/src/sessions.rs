//! The sessions of a server, by name.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, Instant};

use cuebook_grammar::render::quoted;
use cuebook_grammar::seam::BoxFuture;
use cuebook_session::{Events, Handle, Question, RunningCall};
use tokio::sync::Mutex;

/// The most sessions of one server.
const MOST: usize = 64;
/// The longest name of a session, in bytes.
const NAME: usize = 40;

/// Opens a session, when its first tool is called.
pub trait Opener: Send + Sync + 'static {
    /// Its sessions are open before a tool is called, and go on after the server.
    fn has_open(&self) -> bool {
        false
    }

    /// A session, or why there is none. A client named it, or named none.
    fn open<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<Handle, String>>;

    /// Closes what the sessions shared, after all of them have ended.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// The session of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The one of all clients that name none and cannot be told apart.
    Main,
    /// One that every client of the server may name.
    Named(String),
    /// The one of a client that names none.
    Client(String),
}

impl Key {
    /// # Errors
    /// The form of a name.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let is_name = (1..=NAME).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        match is_name {
            true => Ok(Self::Named(name.to_owned())),
            false => Err(format!("session: a name has 1 to 40 letters, digits, `-` and `_`, not {}", quoted(name, 60))),
        }
    }
}

/// A call that waits for a person.
pub(crate) struct Waiting {
    pub(crate) id: String,
    pub(crate) question: Question,
    pub(crate) running: RunningCall,
    pub(crate) events: Events,
    pub(crate) since: Instant,
}

/// A session, once it is open, and the question that it waits for.
pub(crate) struct Held {
    handle: Mutex<Option<Handle>>,
    pub(crate) waiting: Mutex<Option<Waiting>>,
    last: StdMutex<Instant>,
}

impl Held {
    /// The session is gone; the next call opens a new one.
    pub(crate) async fn forget(&self) {
        self.handle.lock().await.take();
    }

    fn touch(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    async fn take(&self) -> Option<Handle> {
        self.waiting.lock().await.take();
        self.handle.lock().await.take()
    }
}

/// The sessions of a server. They share nothing but it.
pub(crate) struct Sessions {
    opens: Box<dyn Opener>,
    held: StdMutex<HashMap<Key, Arc<Held>>>,
    questions: AtomicU32,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Sessions {
    pub(crate) fn new(opens: Box<dyn Opener>) -> Self {
        Self { opens, held: StdMutex::default(), questions: AtomicU32::new(0) }
    }

    /// A session, open or not yet.
    ///
    /// # Errors
    /// If there are too many.
    pub(crate) fn of(&self, key: &Key) -> Result<Arc<Held>, String> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.get(key) {
            known.touch();
            return Ok(known.clone());
        }
        if held.len() >= MOST {
            return Err(format!("{MOST} sessions are open, and a server has no more: close one with browser_close"));
        }
        let new =
            Arc::new(Held { handle: Mutex::new(None), waiting: Mutex::new(None), last: StdMutex::new(Instant::now()) });
        held.insert(key.clone(), new.clone());
        Ok(new)
    }

    /// The open session, opened now if need be.
    pub(crate) async fn handle(&self, key: &Key, held: &Held) -> Result<Handle, String> {
        let mut handle = held.handle.lock().await;
        let name = match key {
            Key::Named(name) => Some(name.as_str()),
            Key::Main | Key::Client(_) => None,
        };
        match &*handle {
            Some(handle) => Ok(handle.clone()),
            None => Ok(handle.insert(self.opens.open(name).await?).clone()),
        }
    }

    /// Id of a new question.
    pub(crate) fn question(&self) -> String {
        format!("q{}", self.questions.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn remove(&self, key: &Key) -> Option<Arc<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// Ends a session, as it was asked for. Returns the folder of its log, if it was open.
    pub(crate) async fn close(&self, key: &Key) -> Option<String> {
        if self.opens.has_open() {
            // It is open although nobody here used it yet; if it is not, there is nothing to end.
            let held = self.of(key).ok()?;
            self.handle(key, &held).await.ok();
        }
        self.remove(key)?.take().await?.close().await
    }

    /// The client of a session has gone.
    pub(crate) async fn leave(&self, key: &Key) {
        if let Some(held) = self.remove(key)
            && let Some(handle) = held.take().await
        {
            handle.leave().await;
        }
    }

    /// Ends all of them, and the browser that they share. Returns the folders of their logs.
    pub(crate) async fn close_all(&self) -> Vec<String> {
        let all = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        let mut logs = Vec::new();
        for held in all.into_values() {
            if let Some(handle) = held.take().await {
                logs.extend(handle.leave().await);
            }
        }
        self.opens.close().await;
        logs
    }

    /// Ends the sessions that nobody called for so long.
    pub(crate) async fn sweep(&self, idle: Duration) {
        let ended: Vec<Arc<Held>> = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            // A call that runs holds its session.
            let is_idle = |held: &Arc<Held>| {
                let last = *held.last.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::strong_count(held) == 1 && last.elapsed() > idle
            };
            held.extract_if(|_, held| is_idle(held)).map(|(_, held)| held).collect()
        };
        for held in ended {
            if let Some(handle) = held.take().await {
                handle.leave().await;
            }
        }
    }
}
