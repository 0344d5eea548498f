//! One flat session, and a call on it.
//!
//! Invariants: a command is queued for sending when `call` is invoked, in that order, not when the
//! `Call` is awaited; dropping a `Call` forgets it.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use chromiumoxide_types::Command;
use serde::{Deserialize, Serialize};

use crate::error::{CallError, GoneReason};
use crate::events::EventQueue;
use crate::ids::{SessionId, TargetId};

/// What a session is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionKind {
    /// The browser as a whole.
    Browser,
    /// A tab.
    Page,
    /// An out-of-process frame.
    Frame,
    /// A worker.
    Worker,
}

/// One attachment to one target. Cloning costs a reference count.
#[derive(Clone)]
pub struct Session {
    pub(crate) inner: Arc<SessionInner>,
}

pub(crate) struct SessionInner {}

impl Session {
    /// Sends a typed command; the reply is awaited through the returned future.
    pub fn call<C: Command>(&self, command: C, until: Instant) -> Call<C::Response> {
        let _ = (command, until);
        todo!()
    }

    /// Sends a command by name, with parameters of the caller's own shape.
    pub fn call_raw(
        &self,
        method: &'static str,
        params: impl Serialize,
        until: Instant,
    ) -> Call<RawReply> {
        let _ = (method, params, until);
        todo!()
    }

    /// Subscribes to events of this session by name.
    pub fn events(&self, methods: &[&'static str], capacity: usize) -> EventQueue {
        let _ = (methods, capacity);
        todo!()
    }

    /// The session's id; none for the browser's own.
    #[must_use]
    pub fn id(&self) -> Option<&SessionId> {
        todo!()
    }

    /// The target that it is attached to; none for the browser's own.
    #[must_use]
    pub fn target_id(&self) -> Option<&TargetId> {
        todo!()
    }

    /// What it is attached to.
    #[must_use]
    pub fn kind(&self) -> SessionKind {
        todo!()
    }

    /// Why it does not answer any more, if so.
    #[must_use]
    pub fn gone(&self) -> Option<GoneReason> {
        todo!()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

/// A reply that has not been decoded.
#[derive(Clone, Debug)]
pub struct RawReply {}

impl RawReply {
    /// Decodes the result, borrowing from the reply.
    ///
    /// # Errors
    /// [`CallError::Decode`]
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, CallError> {
        todo!()
    }
}

/// A command that was sent and whose reply is awaited.
#[must_use = "a call that is dropped is forgotten; its reply is discarded"]
pub struct Call<R> {
    _reply: PhantomData<fn() -> R>,
}

impl<R> Future for Call<R> {
    type Output = Result<R, CallError>;

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        todo!()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Text {
    bytes: Bytes,
}

impl Text {
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

pub(crate) fn parse_lenient<'a, T: Deserialize<'a>>(
    text: &'a Text,
) -> Result<T, serde_json::Error> {
    serde_json::from_slice(&text.bytes)
}
