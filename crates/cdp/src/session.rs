//! One flat session, a call on it, and the raw events of it.
//!
//! Invariants: a command is queued for sending when `call` is invoked, in that order, not when the
//! `Call` is awaited; dropping a `Call` forgets it; a call on a session that is gone fails at once.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use chromiumoxide_types::Command;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::Sleep;

use crate::connection::{CallResult, Connection, Sink};
use crate::error::{CallError, GoneReason};
use crate::ids::{SessionId, TargetId};
use crate::message::{RawReply, Text};
use crate::queue::{Events, Queue};

/// Kind of target that a session is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionKind {
    /// The browser as a whole.
    Browser,
    /// A tab of the browser.
    Page,
    /// A frame that has a process, and so a target, apart from its parent's.
    Frame,
    /// A dedicated worker of a page or frame.
    Worker,
}

/// One attachment to one target. Cloning costs a reference count; two are equal if they are the same
/// attachment.
#[derive(Clone)]
pub struct Session {
    pub(crate) inner: Arc<SessionInner>,
}

pub(crate) struct SessionInner {
    pub(crate) id: Option<SessionId>,
    pub(crate) target: Option<TargetId>,
    pub(crate) kind: SessionKind,
    pub(crate) parent: Option<Session>,
    pub(crate) connection: Arc<Connection>,
    gone: AtomicU8,
    subscriptions: Mutex<Vec<Subscription>>,
}

const LIVE: u8 = 0;
const DETACHED: u8 = 1;
const CRASHED: u8 = 2;
const BROWSER_GONE: u8 = 3;

impl SessionInner {
    pub(crate) fn new(
        id: Option<SessionId>,
        target: Option<TargetId>,
        kind: SessionKind,
        parent: Option<Session>,
        connection: Arc<Connection>,
    ) -> Self {
        Self { id, target, kind, parent, connection, gone: AtomicU8::new(LIVE), subscriptions: Mutex::new(Vec::new()) }
    }

    fn gone(&self) -> Option<GoneReason> {
        match self.gone.load(Ordering::Acquire) {
            LIVE => None,
            CRASHED => Some(GoneReason::Crashed),
            BROWSER_GONE => Some(GoneReason::BrowserGone),
            _ => Some(GoneReason::Detached),
        }
    }

    fn send(&self, method: Cow<'static, str>, params: &impl Serialize, sink: Sink) -> Result<u64, CallError> {
        self.connection.send(self.id.as_ref(), &|method| self.refuses(method), method, params, sink)
    }

    /// Why a command cannot be sent now. The browser process itself still answers some commands of a
    /// page whose renderer crashed, and those bring it back.
    pub(crate) fn refuses(&self, method: &str) -> Option<GoneReason> {
        let reason = self.gone()?;
        let is_answered_by_the_browser = reason == GoneReason::Crashed
            && (matches!(method, "Page.navigate" | "Page.reload" | "Page.close" | "Page.bringToFront")
                || method.starts_with("Target."));
        (!is_answered_by_the_browser).then_some(reason)
    }

    fn subscriptions(&self) -> MutexGuard<'_, Vec<Subscription>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the session, then fails everything that waits on it.
    pub(crate) fn fail(&self, reason: GoneReason) {
        let mark = match reason {
            GoneReason::Detached => DETACHED,
            GoneReason::Crashed => CRASHED,
            GoneReason::BrowserGone => BROWSER_GONE,
        };
        self.gone.fetch_max(mark, Ordering::AcqRel);
        self.connection.fail_session(self.id.as_ref(), reason);
        if reason != GoneReason::Crashed {
            for subscription in self.subscriptions().drain(..) {
                subscription.close();
            }
        }
    }

    /// The browser replaced the crashed renderer.
    pub(crate) fn revive(&self) {
        let _ = self.gone.compare_exchange(CRASHED, LIVE, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// One event as it came off the wire.
#[derive(Clone, Debug)]
pub struct RawEvent {
    pub(crate) method: &'static str,
    pub(crate) session: Session,
    pub(crate) params: Text,
}

impl RawEvent {
    /// The event's name, as the subscriber wrote it.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// The session that it came from.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Decodes the parameters, borrowing from the event.
    ///
    /// # Errors
    /// [`CallError::Decode`]; the session and the subscription live on.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, CallError> {
        self.params.parse().map_err(|source| CallError::Decode { method: Cow::Borrowed(self.method), source })
    }
}

/// Entry delivered by a queue of raw events.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// An event, undecoded, in order of arrival.
    Event(RawEvent),
    /// This many events were dropped here, because the queue was full.
    Lagged(u64),
}

/// Raw events, through a queue whose capacity the subscriber chooses; `None` once the session or the page is gone.
pub type EventQueue = Events<Delivery>;

/// A subscriber of raw events.
pub(crate) struct Subscription {
    methods: Box<[&'static str]>,
    shorten: Option<Shorten>,
    queue: Weak<Queue<Delivery>>,
}

/// Function that returns the parameters to queue in place of an event's own; `None` queues nothing. It runs where
/// messages are read, so it has to be quick.
pub type Shorten = fn(&RawEvent) -> Option<serde_json::Value>;

impl Subscription {
    pub(crate) fn new(methods: &[&'static str], capacity: usize) -> (Self, EventQueue) {
        let queue = Queue::new(capacity);
        let subscription = Self { methods: methods.into(), shorten: None, queue: Arc::downgrade(&queue) };
        (subscription, Events::new(queue, Delivery::Lagged))
    }

    pub(crate) fn shortened(self, shorten: Shorten) -> Self {
        Self { shorten: Some(shorten), ..self }
    }

    pub(crate) fn close(&self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.close();
        }
    }
}

/// Hands an event to its subscribers, and drops the subscriptions whose queue is gone.
pub(crate) fn publish(subscriptions: &mut Vec<Subscription>, session: &Session, method: &str, params: &Text) {
    subscriptions.retain(|subscription| {
        let Some(queue) = subscription.queue.upgrade() else { return false };
        if let Some(method) = subscription.methods.iter().find(|wanted| **wanted == method) {
            let event = RawEvent { method, session: session.clone(), params: params.clone() };
            match subscription.shorten {
                None => queue.push(Delivery::Event(event)),
                Some(shorten) => {
                    if let Some(params) = shorten(&event) {
                        queue.push(Delivery::Event(RawEvent { params: Text::made(params.to_string()), ..event }));
                    }
                }
            }
        }
        true
    });
}

impl Session {
    pub(crate) fn new(inner: SessionInner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// Sends a typed command; the returned future awaits the reply. The command is queued before this returns, so
    /// calls pipeline.
    pub fn call<C: Command>(&self, command: C, until: Instant) -> Call<C::Response> {
        let method = command.identifier();
        self.start(method, &command, until, decode_owned::<C::Response>)
    }

    /// Sends a typed command whose reply stays raw, to be read into a lenient type of the caller
    /// ([`RawReply::parse`]): a Chrome that is newer than the generated types may answer what those refuse.
    pub fn request<C: Command>(&self, command: C, until: Instant) -> Call<RawReply> {
        self.start(command.identifier(), &command, until, Ok)
    }

    /// Sends a command by name, with parameters of the caller's own shape, where the generated types do not fit.
    pub fn call_raw(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
        until: Instant,
    ) -> Call<RawReply> {
        self.start(method.into(), &params, until, Ok)
    }

    /// Subscribes to events of this session by name, from now on, keeping at most `capacity` unread
    /// ones. The domain must be enabled (`Page::require`).
    #[must_use]
    pub fn events(&self, methods: &[&'static str], capacity: usize) -> EventQueue {
        let (subscription, queue) = Subscription::new(methods, capacity);
        let mut subscriptions = self.inner.subscriptions();
        if matches!(self.gone(), Some(GoneReason::Detached | GoneReason::BrowserGone)) {
            subscription.close();
        } else {
            subscriptions.push(subscription);
        }
        drop(subscriptions);
        queue
    }

    /// The session's id; `None` for the browser's own.
    #[must_use]
    pub fn id(&self) -> Option<&SessionId> {
        self.inner.id.as_ref()
    }

    /// The target that it is attached to; `None` for the browser's own.
    #[must_use]
    pub fn target_id(&self) -> Option<&TargetId> {
        self.inner.target.as_ref()
    }

    /// Returns the kind of target that it is attached to.
    #[must_use]
    pub fn kind(&self) -> SessionKind {
        self.inner.kind
    }

    /// Why it no longer answers; `None` while it does.
    #[must_use]
    pub fn gone(&self) -> Option<GoneReason> {
        self.inner.gone()
    }

    /// Sends a command whose reply is not needed. A failure shows in later calls.
    pub(crate) fn post(&self, method: impl Into<Cow<'static, str>>, params: &impl Serialize) {
        let _ = self.inner.send(method.into(), params, Sink::Ignore);
    }

    /// Sends a command whose reply is handled on the reader, before the next event.
    pub(crate) fn then(
        &self,
        method: &'static str,
        params: &impl Serialize,
        then: impl FnOnce(CallResult) + Send + 'static,
    ) -> Result<(), CallError> {
        let sink = Sink::Then(Box::new(then));
        self.inner.send(Cow::Borrowed(method), params, sink).map(drop)
    }

    pub(crate) fn publish(&self, method: &str, params: &Text) {
        let mut subscriptions = self.inner.subscriptions();
        if !subscriptions.is_empty() {
            publish(&mut subscriptions, self, method, params);
        }
    }

    fn start<R>(
        &self,
        method: Cow<'static, str>,
        params: &impl Serialize,
        until: Instant,
        decode: fn(RawReply) -> Result<R, CallError>,
    ) -> Call<R> {
        let (caller, reply) = oneshot::channel();
        let state = match self.inner.send(method.clone(), params, Sink::Caller(caller)) {
            Ok(id) => State::Sent { connection: self.inner.connection.clone(), id, reply, sleep: None },
            Err(error) => State::Failed(Some(error)),
        };
        Call { state, method, until, decode }
    }
}

impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Session {}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?}", self.inner.kind)?;
        if let Some(target) = &self.inner.target {
            write!(f, " {target}")?;
        }
        f.write_str(")")
    }
}

fn decode_owned<R: DeserializeOwned>(reply: RawReply) -> Result<R, CallError> {
    reply.parse()
}

/// A command that was sent and whose reply is awaited. Cancellation safe: dropping it forgets it.
#[must_use = "a call that is dropped is forgotten; its reply is discarded"]
pub struct Call<R> {
    state: State,
    method: Cow<'static, str>,
    until: Instant,
    decode: fn(RawReply) -> Result<R, CallError>,
}

enum State {
    Sent {
        connection: Arc<Connection>,
        id: u64,
        reply: oneshot::Receiver<CallResult>,
        /// Made at the first poll that has to wait: a call may be started outside a runtime.
        sleep: Option<Pin<Box<Sleep>>>,
    },
    Failed(Option<CallError>),
}

impl<R> Future for Call<R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let answer = match &mut this.state {
            State::Failed(error) => Err(error
                .take()
                .unwrap_or(CallError::SessionGone { method: this.method.clone(), reason: GoneReason::Detached })),
            State::Sent { connection, id, reply, sleep } => match Pin::new(reply).poll(context) {
                Poll::Ready(Ok(answer)) => answer,
                Poll::Ready(Err(_)) => {
                    Err(CallError::SessionGone { method: this.method.clone(), reason: GoneReason::BrowserGone })
                }
                Poll::Pending => {
                    let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(this.until.into())));
                    if sleep.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    connection.forget(*id);
                    Err(CallError::DeadlineExceeded { method: this.method.clone() })
                }
            },
        };
        this.state = State::Failed(None);
        Poll::Ready(answer.and_then(this.decode))
    }
}

impl<R> Drop for Call<R> {
    fn drop(&mut self) {
        if let State::Sent { connection, id, .. } = &self.state {
            connection.forget(*id);
        }
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({})", self.method)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use bytes::Bytes;
    use serde_json::json;

    use super::{Session, SessionInner, SessionKind};
    use crate::connection::{Connection, Outgoing};
    use crate::error::{CallError, GoneReason};

    fn session() -> (Session, Arc<Connection>, Outgoing) {
        let (connection, outgoing) = Connection::new();
        let inner = SessionInner::new(Some("S".into()), Some("T".into()), SessionKind::Page, None, connection.clone());
        (Session::new(inner), connection, outgoing)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    fn reply(connection: &Connection, text: &str) {
        connection.arrive(&Bytes::copy_from_slice(text.as_bytes()), |_| {});
    }

    #[tokio::test]
    async fn calls_are_queued_in_the_order_of_calling_before_any_is_awaited() {
        let (session, connection, mut outgoing) = session();
        let first = session.call_raw("A.one", json!({"x": 1}), soon());
        let second = session.call_raw("A.two", json!({}), soon());
        let sent = outgoing.next().await.unwrap();
        assert_eq!(sent, br#"{"id":1,"method":"A.one","sessionId":"S","params":{"x":1}}"#);
        assert!(outgoing.next().await.unwrap().starts_with(br#"{"id":2"#));
        reply(&connection, r#"{"id":2,"sessionId":"S","result":{"n":2}}"#);
        reply(&connection, r#"{"id":1,"sessionId":"S","error":{"code":-32000,"message":"no"}}"#);
        assert_eq!(second.await.unwrap().json(), br#"{"n":2}"#);
        assert!(matches!(first.await, Err(CallError::Protocol { code: -32000, .. })));
        assert_eq!(connection.pending_calls(), 0);
    }

    #[tokio::test]
    async fn a_dropped_call_is_forgotten_and_its_late_reply_is_ignored() {
        let (session, connection, _outgoing) = session();
        drop(session.call_raw("A.one", json!({}), soon()));
        assert_eq!(connection.pending_calls(), 0);
        reply(&connection, r#"{"id":1,"result":{}}"#);
    }

    #[tokio::test]
    async fn a_call_past_its_deadline_says_so_and_is_forgotten() {
        let (session, connection, _outgoing) = session();
        let call = session.call_raw("A.one", json!({}), Instant::now());
        assert!(matches!(call.await, Err(CallError::DeadlineExceeded { .. })));
        assert_eq!(connection.pending_calls(), 0);
    }

    #[tokio::test]
    async fn a_session_that_goes_away_fails_pending_and_later_calls() {
        let (session, _connection, _outgoing) = session();
        let pending = session.call_raw("A.one", json!({}), soon());
        session.inner.fail(GoneReason::Detached);
        assert_eq!(pending.await.unwrap_err().gone(), Some(GoneReason::Detached));
        let later = session.call_raw("A.two", json!({}), soon());
        assert_eq!(later.await.unwrap_err().gone(), Some(GoneReason::Detached));
    }

    #[tokio::test]
    async fn a_crashed_session_still_sends_what_brings_it_back() {
        let (session, connection, _outgoing) = session();
        session.inner.fail(GoneReason::Crashed);
        let refused = session.call_raw("Runtime.evaluate", json!({}), soon());
        assert_eq!(refused.await.unwrap_err().gone(), Some(GoneReason::Crashed));
        let _reload = session.call_raw("Page.reload", json!({}), soon());
        assert_eq!(connection.pending_calls(), 1);
        session.inner.revive();
        assert_eq!(session.gone(), None);
    }

    #[tokio::test]
    async fn a_message_beyond_the_cap_is_not_sent() {
        let (session, connection, _outgoing) = session();
        let call = session.call_raw("A.one", "x".repeat(65 << 20), soon());
        assert!(matches!(call.await, Err(CallError::TooLarge { .. })));
        assert_eq!(connection.pending_calls(), 0);
    }

    #[tokio::test]
    async fn a_reply_of_another_shape_is_one_typed_error() {
        let (session, connection, _outgoing) = session();
        let call = session.call_raw("A.one", json!({}), soon());
        reply(&connection, "not json");
        reply(&connection, r#"{"id":1,"result":{"n":"text"}}"#);
        #[derive(Debug, serde::Deserialize)]
        struct Number {
            #[expect(dead_code, reason = "only its type matters")]
            n: u32,
        }
        let reply = call.await.unwrap();
        assert!(matches!(reply.parse::<Number>(), Err(CallError::Decode { .. })));
    }
}
