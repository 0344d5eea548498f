//! Our isolated worlds, and the scripts that run in them.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::state::PageInner;
use super::tab::Page;
use crate::error::{CallError, GoneReason, WorldError};
use crate::ids::{DocumentId, ExecutionContextId, FrameId};
use crate::message::RawReply;
use crate::session::{Call, Session};
use crate::world::{WORLD_NAME, World, is_context_gone};

/// Attempts to get a world while the frame keeps navigating.
const WORLD_ATTEMPTS: usize = 8;

pub(super) const ADD_SCRIPT: &str = "Page.addScriptToEvaluateOnNewDocument";
pub(super) const ADD_BINDING: &str = "Runtime.addBinding";

/// The parameters that put a function of this name into our worlds, and into no other.
pub(super) fn world_binding(name: &str) -> Value {
    json!({"name": name, "executionContextName": WORLD_NAME})
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewDocumentScript<'a> {
    source: &'a str,
    world_name: &'a str,
    run_immediately: bool,
}

impl<'a> NewDocumentScript<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, world_name: WORLD_NAME, run_immediately: true }
    }
}

impl Page {
    /// The one isolated world of ours in that frame's present document. Two round trips the first time,
    /// none afterwards. Where an empty document passed its window on to this one, it is a new world, in which the world
    /// scripts have not run.
    ///
    /// # Errors
    /// [`WorldError::FrameGone`]; [`WorldError::ContextGone`] if the frame keeps navigating.
    pub async fn world(&self, frame: &FrameId, until: Instant) -> Result<World, WorldError> {
        let mut last = WorldError::FrameGone;
        let mut name = WORLD_NAME.to_owned();
        for attempt in 0..WORLD_ATTEMPTS {
            let reply = {
                let state = self.inner.lock();
                if let Some(world) = state.worlds.get(frame).filter(|world| !world.is_gone()) {
                    return Ok(world.clone());
                }
                let Some(record) = state.frames.get(frame) else { return Err(WorldError::FrameGone) };
                let session = record.session.clone();
                drop(state);
                create_world(&self.inner, &session, frame, &name)?
            };
            last = match tokio::time::timeout_at(until.into(), reply).await {
                Err(_) => return Err(deadline("Page.createIsolatedWorld").into()),
                Ok(Ok(Ok(Some(world)))) => return Ok(world),
                Ok(Ok(Ok(None))) => {
                    name = format!("{WORLD_NAME}-{attempt}");
                    last = WorldError::ContextGone;
                    continue;
                }
                Ok(Ok(Err(error @ (WorldError::ContextGone | WorldError::FrameGone)))) => error,
                Ok(Ok(Err(error))) => return Err(error),
                Ok(Err(_)) => return Err(browser_gone("Page.createIsolatedWorld").into()),
            };
            if Instant::now() >= until {
                return Err(deadline("Page.createIsolatedWorld").into());
            }
            // Another session reports a frame that changes its process: let the reader get there.
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        Err(last)
    }

    /// Runs a script in our world of every document, present and future, in every frame and process of
    /// the page, before the page's own scripts.
    ///
    /// It may run twice in one world. The empty document that a popup starts with passes its window on to the first
    /// document of the same origin: our listeners on the window and our globals live on there and the script does not
    /// run again, but what was bound to `document` is stale (Chromium 156).
    ///
    /// # Errors
    /// [`CallError`] of the page's own session; frames that went away meanwhile do not count.
    pub async fn add_world_script(&self, source: &str, until: Instant) -> Result<(), CallError> {
        let calls = {
            let mut state = self.inner.lock();
            state.scripts.push(Arc::from(source));
            let params = NewDocumentScript::new(source);
            std::iter::once(&self.inner.session)
                .chain(&state.sessions)
                .map(|session| session.call_raw(ADD_SCRIPT, &params, until))
                .collect::<Vec<_>>()
        };
        self.all_done(calls).await
    }

    /// Puts a function of this name into our world of every document, present and future, in every frame and process of
    /// the page. It takes one string, which arrives as the event `Runtime.bindingCalled`
    /// ([`Self::session_events`]). The page's own scripts have no such function. [`Domain::Runtime`](crate::Domain::Runtime)
    /// must be enabled before, and as long as the function is to work (Chromium 156). A second world of a document, to
    /// which an empty document passed its window on ([`Self::world`]), gets none.
    ///
    /// # Errors
    /// [`CallError`] of the page's own session; frames that went away meanwhile do not count.
    pub async fn add_world_binding(&self, name: &str, until: Instant) -> Result<(), CallError> {
        let calls = {
            let mut state = self.inner.lock();
            state.bindings.push(Arc::from(name));
            std::iter::once(&self.inner.session)
                .chain(&state.sessions)
                .map(|session| session.call_raw(ADD_BINDING, world_binding(name), until))
                .collect::<Vec<_>>()
        };
        self.all_done(calls).await
    }

    async fn all_done(&self, calls: Vec<Call<RawReply>>) -> Result<(), CallError> {
        for call in calls {
            match call.await {
                Ok(_) => {}
                Err(error) if error.gone() == Some(GoneReason::Detached) && !self.closed() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl PageInner {
    fn document_on(&self, frame: &FrameId, session: &Session) -> Option<DocumentId> {
        let state = self.lock();
        let record = state.frames.get(frame)?;
        (record.session == *session).then(|| record.document.clone())
    }

    fn keep_world(
        &self,
        frame: FrameId,
        document: DocumentId,
        session: Session,
        context: ExecutionContextId,
        global: String,
    ) -> Result<World, WorldError> {
        let mut state = self.lock();
        let is_current =
            state.frames.get(&frame).is_some_and(|record| record.session == session && record.document == document);
        if !is_current {
            return Err(WorldError::ContextGone);
        }
        let world = World::new(frame.clone(), document, session, context, &global);
        state.worlds.insert(frame, world.clone());
        Ok(world)
    }
}

/// `None` for a world of the initial empty document, which passed its window on to this one.
type WorldReply = oneshot::Receiver<Result<Option<World>, WorldError>>;

/// The global object, unless the constructors on it are those of another document's elements: where the initial empty
/// document passes its window on, elements are instances of none of them (Chromium 156).
const GLOBAL: &str = "[document.documentElement, document.createElement('p')]\
    .every((it) => !it || it instanceof Element) ? globalThis : null";

/// Asks for the isolated world and for a handle on its global object.
///
/// A context's number is unique within its process only, so after a navigation to another process it
/// may name a context of the page's. The handle names the process as well. Both answers are handled on
/// the reader: the frame's document at that moment is the document that they belong to.
fn create_world(page: &Arc<PageInner>, session: &Session, id: &FrameId, name: &str) -> Result<WorldReply, WorldError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Created {
        execution_context_id: ExecutionContextId,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Global {
        result: Handle,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Handle {
        object_id: Option<String>,
    }

    let (done, reply) = oneshot::channel();
    let (page, frame) = (page.clone(), id.clone());
    let on = session.clone();
    let params = json!({"frameId": id, "worldName": name, "grantUniveralAccess": false});
    session.then("Page.createIsolatedWorld", &params, move |answer| {
        let context = match world_answer::<Created>(answer, &on) {
            Ok(created) => created.execution_context_id,
            Err(error) => return drop(done.send(Err(error))),
        };
        let Some(document) = page.document_on(&frame, &on) else {
            return drop(done.send(Err(WorldError::ContextGone)));
        };
        let again = on.clone();
        let params = json!({"expression": GLOBAL, "contextId": context, "silent": true});
        // If this cannot be sent the sender is dropped with the closure: the session is gone.
        let _ = on.then("Runtime.evaluate", &params, move |answer| {
            let world = world_answer::<Global>(answer, &again).and_then(|global| match global.result.object_id {
                Some(global) => page.keep_world(frame, document, again, context, global).map(Some),
                None => Ok(None),
            });
            drop(done.send(world));
        });
    })?;
    Ok(reply)
}

fn world_answer<T: for<'a> Deserialize<'a>>(
    answer: Result<RawReply, CallError>,
    session: &Session,
) -> Result<T, WorldError> {
    match answer.and_then(|reply| reply.parse::<T>()) {
        Ok(value) => Ok(value),
        Err(CallError::Protocol { ref message, .. }) if message.contains("No frame for given id") => {
            Err(WorldError::FrameGone)
        }
        Err(error) if is_context_gone(&error, session) => Err(WorldError::ContextGone),
        Err(error) => Err(error.into()),
    }
}

fn deadline(method: &'static str) -> CallError {
    CallError::DeadlineExceeded { method: method.into() }
}

fn browser_gone(method: &'static str) -> CallError {
    CallError::SessionGone { method: method.into(), reason: GoneReason::BrowserGone }
}
