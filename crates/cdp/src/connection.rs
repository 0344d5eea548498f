//! One connection: what is waiting for an answer, what is waiting to be sent, and what arrives.
//!
//! Invariants:
//! - Every pending call is answered exactly once: by its reply, by its session going away, or by the connection going
//!   away. A caller that gives up earlier forgets it here.
//! - Nothing here waits: sending queues, arriving dispatches.
//! - No parameters are traced, only method names. Whoever taps the wire gets all of it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::error::{CallError, GoneReason};
use crate::ids::SessionId;
use crate::message::{RawReply, Text};

/// Larger messages kill the websocket or get no answer.
pub(crate) const OUTBOUND_CAP: usize = 64 << 20;
/// Chrome has been seen to send 250 MB.
pub(crate) const INBOUND_CAP: usize = 256 << 20;
/// Upper bound on the bytes that may wait to be written, all messages together.
const BACKLOG_CAP: usize = 256 << 20;

pub(crate) type CallResult = Result<RawReply, CallError>;

/// Direction of a message, as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From here to the browser.
    Sent,
    /// From the browser to here.
    Received,
}

/// Gets every message of a connection as it stands on the wire: JSON, of up to 256 MiB. It runs where messages are sent and
/// read, so it must not block.
pub type WireTap = dyn Fn(Direction, &[u8]) + Send + Sync;

/// The receiver of an answer.
pub(crate) enum Sink {
    Caller(oneshot::Sender<CallResult>),
    /// Runs on the reader, so in the order of arrival, before the next event is handled.
    Then(Box<dyn FnOnce(CallResult) + Send>),
    /// The answer is dropped unread.
    Ignore,
}

struct Pending {
    session: Option<SessionId>,
    method: Cow<'static, str>,
    sink: Sink,
}

pub(crate) struct Connection {
    next_id: AtomicU64,
    pending: Mutex<HashMap<u64, Pending>>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    backlog: Arc<AtomicUsize>,
    is_gone: AtomicBool,
    tap: RwLock<Option<Arc<WireTap>>>,
}

/// The writing end of a connection's queue, for the transport.
pub(crate) struct Outgoing {
    queue: mpsc::UnboundedReceiver<Vec<u8>>,
    backlog: Arc<AtomicUsize>,
}

impl Outgoing {
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        let message = self.queue.recv().await?;
        self.backlog.fetch_sub(message.len(), Ordering::Relaxed);
        Some(message)
    }

    #[cfg(unix)]
    pub(crate) fn try_next(&mut self) -> Option<Vec<u8>> {
        let message = self.queue.try_recv().ok()?;
        self.backlog.fetch_sub(message.len(), Ordering::Relaxed);
        Some(message)
    }
}

/// A message, as far as it is decoded before it is needed.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    id: Option<u64>,
    #[serde(borrow, default)]
    method: Option<&'a str>,
    #[serde(borrow, default, rename = "sessionId")]
    session_id: Option<&'a str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

/// An event, as the connection hands it on.
pub(crate) struct Arrived<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) params: Text,
}

impl Connection {
    pub(crate) fn new() -> (Arc<Self>, Outgoing) {
        #[expect(
            clippy::disallowed_methods,
            reason = "a command is queued without waiting; the queue is bounded in bytes by BACKLOG_CAP"
        )]
        let (outgoing, queue) = mpsc::unbounded_channel();
        let backlog = Arc::new(AtomicUsize::new(0));
        let connection = Arc::new(Self {
            next_id: AtomicU64::new(1),
            pending: Mutex::new(HashMap::new()),
            outgoing,
            backlog: backlog.clone(),
            is_gone: AtomicBool::new(false),
            tap: RwLock::new(None),
        });
        (connection, Outgoing { queue, backlog })
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands every message to `tap` from now on, or to nobody.
    pub(crate) fn set_tap(&self, tap: Option<Arc<WireTap>>) {
        *self.tap.write().unwrap_or_else(PoisonError::into_inner) = tap;
    }

    fn tapped(&self, direction: Direction, message: &[u8]) {
        let tap = self.tap.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(tap) = tap {
            tap(direction, message);
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// Queues a command, unless the session refuses it. The sink is used only if this succeeds.
    pub(crate) fn send(
        &self,
        session: Option<&SessionId>,
        refuses: &dyn Fn(&str) -> Option<GoneReason>,
        method: Cow<'static, str>,
        params: &impl Serialize,
        sink: Sink,
    ) -> Result<u64, CallError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Message<'a, P> {
            id: u64,
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            session_id: Option<&'a SessionId>,
            params: &'a P,
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        tracing::trace!(name: "cdp.call", id, method = %method);
        let message = Message { id, method: &method, session_id: session, params };
        let message = match serde_json::to_vec(&message) {
            Ok(message) => message,
            Err(source) => return Err(CallError::Encode { method, source }),
        };
        let bytes = message.len();
        if bytes > OUTBOUND_CAP {
            return Err(CallError::TooLarge { method, bytes, limit: OUTBOUND_CAP });
        }
        // The session's state is read under this lock: who fails a session's calls marks it first and
        // takes the lock afterwards, so no call slips in between.
        let mut pending = self.pending();
        if self.is_gone() {
            return Err(CallError::SessionGone { method, reason: GoneReason::BrowserGone });
        }
        if let Some(reason) = refuses(&method) {
            return Err(CallError::SessionGone { method, reason });
        }
        let backlog = self.backlog.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if backlog > BACKLOG_CAP {
            self.backlog.fetch_sub(bytes, Ordering::Relaxed);
            return Err(CallError::TooLarge { method, bytes: backlog, limit: BACKLOG_CAP });
        }
        self.tapped(Direction::Sent, &message);
        if self.outgoing.send(message).is_err() {
            return Err(CallError::SessionGone { method, reason: GoneReason::BrowserGone });
        }
        if !matches!(sink, Sink::Ignore) {
            pending.insert(id, Pending { session: session.cloned(), method, sink });
        }
        Ok(id)
    }

    /// This answer is no longer awaited.
    pub(crate) fn forget(&self, id: u64) {
        let forgotten = self.pending().remove(&id);
        drop(forgotten);
    }

    #[cfg(test)]
    pub(crate) fn pending_calls(&self) -> usize {
        self.pending().len()
    }

    /// Answers everything that waits on one session. The session must have been marked before.
    pub(crate) fn fail_session(&self, session: Option<&SessionId>, reason: GoneReason) {
        let failed: Vec<Pending> =
            self.pending().extract_if(|_, call| call.session.as_ref() == session).map(|(_, call)| call).collect();
        fail(failed, reason);
    }

    /// The transport ended: answers everything.
    pub(crate) fn shut_down(&self) {
        self.is_gone.store(true, Ordering::Release);
        let failed: Vec<Pending> = self.pending().drain().map(|(_, call)| call).collect();
        fail(failed, GoneReason::BrowserGone);
    }

    /// Takes one message off the wire. Answers are delivered here, events handed to `on_event`.
    pub(crate) fn arrive(&self, message: &Bytes, on_event: impl FnOnce(Arrived<'_>)) {
        self.tapped(Direction::Received, message);
        let envelope: Envelope<'_> = match serde_json::from_slice(message) {
            Ok(envelope) => envelope,
            Err(error) => {
                tracing::debug!(bytes = message.len(), %error, "expected a protocol message");
                return;
            }
        };
        if let Some(id) = envelope.id {
            let Some(call) = self.pending().remove(&id) else { return };
            let answer = match envelope.error {
                Some(WireError { code, message }) => Err(CallError::Protocol { method: call.method, code, message }),
                None => Ok(RawReply { method: call.method, text: Text::of(message, envelope.result) }),
            };
            deliver(call.sink, answer);
        } else if let Some(method) = envelope.method {
            on_event(Arrived { session: envelope.session_id, method, params: Text::of(message, envelope.params) });
        }
    }
}

fn fail(calls: Vec<Pending>, reason: GoneReason) {
    for call in calls {
        deliver(call.sink, Err(CallError::SessionGone { method: call.method, reason }));
    }
}

fn deliver(sink: Sink, answer: CallResult) {
    match sink {
        // The receiver may have been dropped in between.
        Sink::Caller(caller) => drop(caller.send(answer)),
        Sink::Then(then) => then(answer),
        Sink::Ignore => {}
    }
}
