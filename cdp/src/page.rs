//! One tab: its sessions, frames, worlds, scripts, domains and dialogs.
//!
//! Invariants:
//! - State changes and the events that tell of them happen under one lock, on the reader, in the order
//!   of arrival; a subscriber that reads the state after subscribing misses nothing.
//! - Scripts and domains reach every session, present and future: both lists are changed under that lock.
//! - A cached world belongs to the frame's present document; a navigation drops it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;

use crate::domain::{Domain, DomainGuard};
use crate::error::{CallError, GoneReason, PageError, WorldError};
use crate::events::{
    CONTROL_LANE, DetachKind, DialogAnswer, DialogKind, EventQueue, OpenDialog, PageEvent, PageEvents,
};
use crate::frames::{Frame, FrameTree, Record, Report};
use crate::ids::{DocumentId, ExecutionContextId, FrameId, TargetId};
use crate::queue::Queue;
use crate::session::{RawReply, Session, SessionKind, Subscription, Text, publish};
use crate::world::{WORLD_NAME, World, is_context_gone};

/// How often a world is asked for again because the frame navigated meanwhile.
const WORLD_ATTEMPTS: usize = 8;

/// One tab. Cloning costs a reference count; two are equal if they are the same attachment.
#[derive(Clone)]
pub struct Page {
    pub(crate) inner: Arc<PageInner>,
}

pub(crate) struct PageInner {
    target: TargetId,
    session: Session,
    /// The browser's own session.
    root: Session,
    opener: Option<TargetId>,
    state: Mutex<PageState>,
}

struct PageState {
    frames: FrameTree<Session>,
    /// Of out-of-process frames.
    sessions: Vec<Session>,
    workers: Vec<Session>,
    worlds: HashMap<FrameId, World>,
    scripts: Vec<Arc<str>>,
    domains: HashMap<Domain, usize>,
    dialog: Option<OpenDialog>,
    is_ready: bool,
    is_crashed: bool,
    is_closed: bool,
    lanes: Vec<Weak<Queue<PageEvent>>>,
    subscriptions: Vec<Subscription>,
}

impl PageState {
    fn emit(&mut self, event: &PageEvent) {
        self.lanes.retain(|lane| match lane.upgrade() {
            Some(lane) => {
                lane.push(event.clone());
                true
            }
            None => false,
        });
    }

    fn emit_removed(&mut self, frames: Vec<FrameId>) {
        for frame in frames {
            self.worlds.remove(&frame);
            self.emit(&PageEvent::FrameDetached { frame, kind: DetachKind::Removed });
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewDocumentScript<'a> {
    source: &'a str,
    world_name: &'a str,
    run_immediately: bool,
}

impl<'a> NewDocumentScript<'a> {
    fn new(source: &'a str) -> Self {
        Self { source, world_name: WORLD_NAME, run_immediately: true }
    }
}

const ADD_SCRIPT: &str = "Page.addScriptToEvaluateOnNewDocument";

impl Page {
    pub(crate) fn new(
        session: Session,
        root: Session,
        target: TargetId,
        opener: Option<TargetId>,
        url: String,
        scripts: Vec<Arc<str>>,
    ) -> Self {
        let frames = FrameTree::new(FrameId::from(target.as_str()), session.clone(), url);
        let state = PageState {
            frames,
            sessions: Vec::new(),
            workers: Vec::new(),
            worlds: HashMap::new(),
            scripts,
            domains: HashMap::new(),
            dialog: None,
            is_ready: false,
            is_crashed: false,
            is_closed: false,
            lanes: Vec::new(),
            subscriptions: Vec::new(),
        };
        let inner = PageInner { target, session, root, opener, state: Mutex::new(state) };
        Self { inner: Arc::new(inner) }
    }

    /// The tab's target.
    #[must_use]
    pub fn target_id(&self) -> &TargetId {
        &self.inner.target
    }

    /// The page's own session: its main frame and the frames in the same process.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.inner.session
    }

    /// The page that opened it, unless it asked not to tell.
    #[must_use]
    pub fn opener(&self) -> Option<&TargetId> {
        self.inner.opener.as_ref()
    }

    /// The main frame's URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.main_frame().url
    }

    /// All frames, parents before children, across processes.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        let state = self.inner.lock();
        state.frames.list().into_iter().map(|(id, record)| frame(id, record)).collect()
    }

    /// One frame.
    #[must_use]
    pub fn frame(&self, id: &FrameId) -> Option<Frame> {
        self.inner.lock().frames.get(id).map(|record| frame(id, record))
    }

    /// The main frame. A page that is gone still answers with its last state.
    #[must_use]
    pub fn main_frame(&self) -> Frame {
        let state = self.inner.lock();
        let root = state.frames.root();
        match state.frames.get(root) {
            Some(record) => frame(root, record),
            // The tree never loses its root.
            None => Frame {
                id: root.clone(),
                parent: None,
                session: self.inner.session.clone(),
                url: String::new(),
                name: String::new(),
                document: DocumentId::from(""),
                is_session_root: true,
            },
        }
    }

    /// The page's session, then those of its out-of-process frames.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        let state = self.inner.lock();
        std::iter::once(&self.inner.session).chain(&state.sessions).cloned().collect()
    }

    /// The sessions of its dedicated workers.
    #[must_use]
    pub fn workers(&self) -> Vec<Session> {
        self.inner.lock().workers.clone()
    }

    /// Subscribes to the page's control events, from now on.
    #[must_use]
    pub fn events(&self) -> PageEvents {
        let queue = Queue::new(CONTROL_LANE);
        let mut state = self.inner.lock();
        if state.is_closed {
            queue.push(PageEvent::Closed);
            queue.close();
        } else {
            state.lanes.push(Arc::downgrade(&queue));
        }
        drop(state);
        PageEvents { queue }
    }

    /// Subscribes to raw events of all sessions of the page, present and future, workers included,
    /// keeping at most `capacity` unread ones.
    #[must_use]
    pub fn session_events(&self, methods: &[&'static str], capacity: usize) -> EventQueue {
        let (subscription, queue) = Subscription::new(methods, capacity);
        let mut state = self.inner.lock();
        if state.is_closed {
            subscription.close();
        } else {
            state.subscriptions.push(subscription);
        }
        drop(state);
        queue
    }

    /// The dialog that is open now.
    #[must_use]
    pub fn dialog(&self) -> Option<OpenDialog> {
        self.inner.lock().dialog.clone()
    }

    /// Answers the dialog that is open now.
    ///
    /// # Errors
    /// [`PageError::NoDialog`]; [`PageError::Call`] if it was answered meanwhile.
    pub async fn answer_dialog(&self, answer: &DialogAnswer, until: Instant) -> Result<(), PageError> {
        let dialog = self.dialog().ok_or(PageError::NoDialog)?;
        dialog.answer(answer, until).await
    }

    /// Whether the main frame's renderer crashed and has not been replaced.
    #[must_use]
    pub fn crashed(&self) -> bool {
        self.inner.lock().is_crashed
    }

    /// Whether the page is gone.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.inner.lock().is_closed
    }

    /// The one isolated world of ours in that frame's present document. Two round trips the first time,
    /// none afterwards.
    ///
    /// # Errors
    /// [`WorldError::FrameGone`]; [`WorldError::ContextGone`] if the frame keeps navigating.
    pub async fn world(&self, frame: &FrameId, until: Instant) -> Result<World, WorldError> {
        let mut last = WorldError::FrameGone;
        for _ in 0..WORLD_ATTEMPTS {
            let reply = {
                let state = self.inner.lock();
                if let Some(world) = state.worlds.get(frame) {
                    return Ok(world.clone());
                }
                let Some(record) = state.frames.get(frame) else { return Err(WorldError::FrameGone) };
                let session = record.session.clone();
                drop(state);
                create_world(&self.inner, &session, frame)?
            };
            last = match tokio::time::timeout_at(until.into(), reply).await {
                Err(_) => return Err(deadline("Page.createIsolatedWorld").into()),
                Ok(Ok(Ok(world))) => return Ok(world),
                Ok(Ok(Err(error @ (WorldError::ContextGone | WorldError::FrameGone)))) => error,
                Ok(Ok(Err(error))) => return Err(error),
                Ok(Err(_)) => return Err(browser_gone("Page.createIsolatedWorld").into()),
            };
            if Instant::now() >= until {
                return Err(deadline("Page.createIsolatedWorld").into());
            }
            // A frame that changes its process is told by another session: let the reader get there.
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        Err(last)
    }

    /// Runs a script in our world of every document, present and future, in every frame and process of
    /// the page, before the page's own scripts.
    ///
    /// It must bear to run twice in one world. The empty document that a popup starts with hands its
    /// window on to the first document of the same origin: our listeners on the window and our globals
    /// live on there and the script does not run again, but what was bound to `document` is stale
    /// (Chromium 156).
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
        for call in calls {
            match call.await {
                Ok(_) => {}
                Err(error) if error.gone() == Some(GoneReason::Detached) && !self.closed() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Keeps a domain enabled on all sessions, present and future, while the guard lives. Calls that are
    /// started after this returns find it enabled.
    #[must_use]
    pub fn require(&self, domain: Domain) -> DomainGuard {
        let mut state = self.inner.lock();
        let holders = state.domains.entry(domain).or_default();
        *holders = holders.saturating_add(1);
        if *holders == 1 {
            self.inner.toggle(&state, domain, domain.enable());
        }
        drop(state);
        DomainGuard::new(self.clone(), domain)
    }

    pub(crate) fn release(&self, domain: Domain) {
        let mut state = self.inner.lock();
        let Some(holders) = state.domains.get_mut(&domain) else { return };
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            state.domains.remove(&domain);
            self.inner.toggle(&state, domain, domain.disable());
        }
    }

    /// Makes it the visible tab of its window.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn bring_to_front(&self, until: Instant) -> Result<(), CallError> {
        self.session().call_raw("Page.bringToFront", json!({}), until).await.map(drop)
    }

    /// Closes the tab without asking it, and waits until it is gone.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn close(&self, until: Instant) -> Result<(), PageError> {
        let mut events = self.events();
        let call = self.inner.root.call_raw("Target.closeTarget", json!({"targetId": self.inner.target}), until);
        match call.await {
            Ok(_) => {}
            Err(_) if self.closed() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let closed = async { while events.next().await.is_some() {} };
        tokio::time::timeout_at(until.into(), closed).await.map_err(|_| PageError::DeadlineExceeded)
    }
}

impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Page {}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Page({})", self.inner.target)
    }
}

fn frame(id: &FrameId, record: &Record<Session>) -> Frame {
    Frame {
        id: id.clone(),
        parent: record.parent.clone(),
        session: record.session.clone(),
        url: record.url.clone(),
        name: record.name.clone(),
        document: record.document.clone(),
        is_session_root: record.session.target_id().is_some_and(|target| target.as_str() == id.as_str()),
    }
}

fn deadline(method: &'static str) -> CallError {
    CallError::DeadlineExceeded { method: method.into() }
}

fn browser_gone(method: &'static str) -> CallError {
    CallError::SessionGone { method: method.into(), reason: GoneReason::BrowserGone }
}

type WorldReply = oneshot::Receiver<Result<World, WorldError>>;

/// Asks for the isolated world and for a handle on its global object.
///
/// A context's number is unique within its process only, so after a navigation to another process it
/// may name a context of the page's. The handle names the process as well. Both answers are looked at on
/// the reader: the frame's document at that moment is the document that they belong to.
fn create_world(page: &Arc<PageInner>, session: &Session, id: &FrameId) -> Result<WorldReply, WorldError> {
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
        object_id: String,
    }

    let (done, reply) = oneshot::channel();
    let (page, frame) = (page.clone(), id.clone());
    let on = session.clone();
    let params = json!({"frameId": id, "worldName": WORLD_NAME, "grantUniveralAccess": false});
    session.then("Page.createIsolatedWorld", &params, move |answer| {
        let context = match world_answer::<Created>(answer, &on) {
            Ok(created) => created.execution_context_id,
            Err(error) => return drop(done.send(Err(error))),
        };
        let Some(document) = page.document_on(&frame, &on) else {
            return drop(done.send(Err(WorldError::ContextGone)));
        };
        let again = on.clone();
        let params = json!({"expression": "globalThis", "contextId": context, "silent": true});
        // If this cannot be sent the sender is dropped with the closure: the session is gone.
        let _ = on.then("Runtime.evaluate", &params, move |answer| {
            let world = world_answer::<Global>(answer, &again)
                .and_then(|global| page.keep_world(frame, document, again, context, global.result.object_id));
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

impl PageInner {
    fn lock(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_listed(&self) -> bool {
        let state = self.lock();
        state.is_ready && !state.is_closed
    }

    /// Returns whether this was the first time.
    pub(crate) fn mark_ready(&self) -> bool {
        let mut state = self.lock();
        !state.is_closed && !std::mem::replace(&mut state.is_ready, true)
    }

    pub(crate) fn main_session(&self) -> &Session {
        &self.session
    }

    /// Sends what a session needs from the start, except its release. Called once per session, before
    /// anything else is sent on it.
    pub(crate) fn set_up(&self, session: &Session) {
        let mut state = self.lock();
        match session.kind() {
            SessionKind::Worker => state.workers.push(session.clone()),
            _ => {
                if session.kind() == SessionKind::Frame {
                    state.sessions.push(session.clone());
                }
                for script in &state.scripts {
                    session.post(ADD_SCRIPT, &NewDocumentScript::new(script));
                }
            }
        }
        for domain in state.domains.keys() {
            if session.kind() != SessionKind::Worker || domain.covers_workers() {
                session.post(domain.enable(), &json!({}));
            }
        }
        if session.kind() != SessionKind::Page {
            state.emit(&PageEvent::SessionAttached { session: session.clone() });
        }
    }

    fn toggle(&self, state: &PageState, domain: Domain, method: &'static str) {
        let workers = if domain.covers_workers() { state.workers.as_slice() } else { &[] };
        for session in std::iter::once(&self.session).chain(&state.sessions).chain(workers) {
            session.post(method, &json!({}));
        }
    }

    /// An out-of-process frame has its own session.
    pub(crate) fn frame_moved(&self, id: &FrameId, parent: Option<&FrameId>, session: &Session) {
        let mut state = self.lock();
        let is_new = state.frames.moved_to(id, parent, session);
        state.worlds.remove(id);
        if is_new {
            announce(&mut state, id);
        }
    }

    /// The sessions below one that is gone, itself included; they are taken off the page's lists.
    pub(crate) fn take_sessions_below(&self, session: &Session) -> Vec<Session> {
        let mut state = self.lock();
        let mut taken = vec![session.clone()];
        let mut at = 0;
        while let Some(parent) = taken.get(at).cloned() {
            let below = |child: &Session| child.inner.parent.as_ref() == Some(&parent);
            let found = state.sessions.extract_if(.., |child| below(child)).collect::<Vec<_>>();
            taken.extend(found);
            let found = state.workers.extract_if(.., |child| below(child)).collect::<Vec<_>>();
            taken.extend(found);
            at += 1;
        }
        state.sessions.retain(|other| other != session);
        state.workers.retain(|other| other != session);
        if state.dialog.as_ref().is_some_and(|dialog| taken.contains(&dialog.session)) {
            state.dialog = None;
            state.emit(&PageEvent::DialogClosed { accepted: false });
        }
        let taken_ref = &taken;
        state.worlds.retain(|_, world| !taken_ref.contains(world.session()));
        taken
    }

    /// The parent's session has told all it knew when the frame's own session ended. If the frame has not
    /// moved back by then, it is gone.
    pub(crate) fn frame_lost(&self, id: &FrameId, session: &Session) {
        let mut state = self.lock();
        if state.frames.get(id).is_some_and(|record| record.session == *session) {
            let removed = state.frames.removed(id);
            state.emit_removed(removed);
        }
    }

    pub(crate) fn crashed(&self, session: &Session) {
        let mut state = self.lock();
        if *session == self.session {
            state.is_crashed = true;
        }
        state.worlds.retain(|_, world| world.session() != session);
        if state.dialog.as_ref().is_some_and(|dialog| dialog.session == *session) {
            state.dialog = None;
        }
        state.emit(&PageEvent::Crashed { session: session.clone() });
    }

    pub(crate) fn revived(&self, session: &Session) {
        if *session == self.session {
            self.lock().is_crashed = false;
        }
    }

    /// Returns all sessions of the page, to be failed by the caller without the lock.
    pub(crate) fn close(&self) -> Vec<Session> {
        let mut state = self.lock();
        if std::mem::replace(&mut state.is_closed, true) {
            return Vec::new();
        }
        state.dialog = None;
        state.worlds.clear();
        state.emit(&PageEvent::Closed);
        for lane in state.lanes.drain(..) {
            if let Some(lane) = lane.upgrade() {
                lane.close();
            }
        }
        for subscription in state.subscriptions.drain(..) {
            subscription.close();
        }
        let mut sessions = std::mem::take(&mut state.sessions);
        sessions.append(&mut state.workers);
        sessions.push(self.session.clone());
        sessions
    }

    fn document_on(&self, frame: &FrameId, session: &Session) -> Option<DocumentId> {
        let state = self.lock();
        let record = state.frames.get(frame)?;
        (record.session == *session).then(|| record.document.clone())
    }

    fn keep_world(
        self: &Arc<Self>,
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
        let world = World::new(Arc::downgrade(self), frame.clone(), document, session, context, &global);
        state.worlds.insert(frame, world.clone());
        Ok(world)
    }

    /// A call found this world gone.
    pub(crate) fn forget_world(&self, world: &World) {
        let mut state = self.lock();
        if state.worlds.get(world.frame()).is_some_and(|kept| kept.is_same(world)) {
            state.worlds.remove(world.frame());
        }
    }

    pub(crate) fn publish(&self, session: &Session, method: &str, params: &Text) {
        let mut state = self.lock();
        if !state.subscriptions.is_empty() {
            publish(&mut state.subscriptions, session, method, params);
        }
    }

    /// The reply to `Page.getFrameTree`.
    pub(crate) fn frame_tree(&self, reply: &RawReply, session: &Session) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Reply {
            frame_tree: Tree,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Tree {
            frame: WireFrame,
            #[serde(default)]
            child_frames: Vec<Tree>,
        }
        let Ok(Reply { frame_tree }) = reply.parse::<Reply>() else {
            tracing::debug!("expected a frame tree of fewer than 100 levels");
            return;
        };
        let mut state = self.lock();
        let mut trees = vec![frame_tree];
        while let Some(tree) = trees.pop() {
            let id = tree.frame.id.clone();
            if state.frames.described(tree.frame.report(&id), session) {
                announce(&mut state, &id);
            }
            trees.extend(tree.child_frames.into_iter().rev());
        }
    }

    /// An event of the Page domain that changes what is known of the page.
    pub(crate) fn page_event(&self, session: &Session, method: &str, params: &Text) {
        let handled = match method {
            "Page.frameAttached" => params.parse().map(|event| self.frame_attached(session, &event)),
            "Page.frameNavigated" => params.parse().map(|event| self.frame_navigated(session, event)),
            "Page.navigatedWithinDocument" => params.parse().map(|event| self.within_document(session, event)),
            "Page.frameRequestedNavigation" => params.parse().map(|event| self.navigation_requested(event)),
            "Page.frameStoppedLoading" => params.parse().map(|event: StoppedLoading| {
                self.lock().emit(&PageEvent::LoadingStopped { frame: event.frame_id });
            }),
            "Page.frameDetached" => params.parse().map(|event| self.frame_detached(session, &event)),
            "Page.lifecycleEvent" => params.parse().map(|event| self.lifecycle(session, event)),
            "Page.javascriptDialogOpening" => params.parse().map(|event| self.dialog_opening(session, event)),
            "Page.javascriptDialogClosed" => params.parse().map(|event| self.dialog_closed(&event)),
            "Page.fileChooserOpened" => params.parse().map(|event| self.file_chooser(session, event)),
            _ => Ok(()),
        };
        if let Err(error) = handled {
            tracing::debug!(method, %error, "control event does not decode");
        }
    }

    fn frame_attached(&self, session: &Session, event: &FrameAttached) {
        let mut state = self.lock();
        let (frame, parent) = (&event.frame_id, &event.parent_frame_id);
        if state.frames.attached(frame, parent, session) {
            state.emit(&PageEvent::FrameAttached { frame: frame.clone(), parent: parent.clone() });
        } else {
            state.worlds.remove(frame);
        }
    }

    fn frame_navigated(&self, session: &Session, event: FrameNavigated) {
        let mut state = self.lock();
        let id = event.frame.id.clone();
        let is_new = state.frames.get(&id).is_none();
        let report = event.frame.report(&id);
        let (document, url) = (report.document.clone(), report.url.clone());
        let Some(removed) = state.frames.navigated(report, session, |other| other.gone().is_some()) else {
            return;
        };
        if is_new {
            announce(&mut state, &id);
        }
        state.worlds.remove(&id);
        state.emit_removed(removed);
        state.emit(&PageEvent::FrameNavigated { frame: id, document, url });
    }

    fn navigation_requested(&self, event: RequestedNavigation) {
        if event.disposition == "currentTab" {
            self.lock().emit(&PageEvent::NavigationRequested { frame: event.frame_id });
        }
    }

    fn within_document(&self, session: &Session, event: WithinDocument) {
        let mut state = self.lock();
        if state.frames.within_document(&event.frame_id, &event.url, session) {
            state.emit(&PageEvent::NavigatedWithinDocument { frame: event.frame_id, url: event.url });
        }
    }

    fn frame_detached(&self, session: &Session, event: &FrameDetached) {
        let mut state = self.lock();
        if event.reason == "swap" {
            if let Some(removed) = state.frames.swapped_out(&event.frame_id, session) {
                state.emit_removed(removed);
            }
            let frame = event.frame_id.clone();
            state.emit(&PageEvent::FrameDetached { frame, kind: DetachKind::Swapped });
        } else {
            let removed = state.frames.removed(&event.frame_id);
            state.emit_removed(removed);
        }
    }

    fn lifecycle(&self, session: &Session, event: Lifecycle) {
        let mut state = self.lock();
        state.frames.document_seen(&event.frame_id, &event.loader_id, session);
        state.emit(&PageEvent::Lifecycle { frame: event.frame_id, document: event.loader_id, name: event.name });
    }

    fn dialog_opening(&self, session: &Session, event: DialogOpening) {
        let dialog = OpenDialog {
            session: session.clone(),
            kind: DialogKind::from_wire(&event.kind),
            message: event.message,
            url: event.url,
            default_prompt: event.default_prompt,
        };
        let mut state = self.lock();
        state.dialog = Some(dialog.clone());
        state.emit(&PageEvent::DialogOpening(dialog));
    }

    fn dialog_closed(&self, event: &DialogClosed) {
        let mut state = self.lock();
        state.dialog = None;
        state.emit(&PageEvent::DialogClosed { accepted: event.result });
    }

    fn file_chooser(&self, session: &Session, event: FileChooser) {
        self.lock().emit(&PageEvent::FileChooserOpened {
            frame: event.frame_id,
            session: session.clone(),
            backend_node_id: event.backend_node_id,
            multiple: event.mode == "selectMultiple",
        });
    }
}

/// Tells of a frame that no `Page.frameAttached` told of.
fn announce(state: &mut PageState, id: &FrameId) {
    if let Some(parent) = state.frames.get(id).and_then(|record| record.parent.clone()) {
        state.emit(&PageEvent::FrameAttached { frame: id.clone(), parent });
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFrame {
    id: FrameId,
    #[serde(default)]
    parent_id: Option<FrameId>,
    loader_id: DocumentId,
    #[serde(default)]
    name: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    url_fragment: String,
}

impl WireFrame {
    fn report(self, id: &FrameId) -> Report<'_> {
        Report {
            id,
            parent: self.parent_id,
            document: self.loader_id,
            url: self.url + &self.url_fragment,
            name: self.name,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameAttached {
    frame_id: FrameId,
    parent_frame_id: FrameId,
}

#[derive(Deserialize)]
struct FrameNavigated {
    frame: WireFrame,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WithinDocument {
    frame_id: FrameId,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestedNavigation {
    frame_id: FrameId,
    #[serde(default)]
    disposition: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoppedLoading {
    frame_id: FrameId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameDetached {
    frame_id: FrameId,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lifecycle {
    frame_id: FrameId,
    loader_id: DocumentId,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DialogOpening {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    default_prompt: String,
}

#[derive(Deserialize)]
struct DialogClosed {
    #[serde(default)]
    result: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileChooser {
    frame_id: FrameId,
    #[serde(default)]
    backend_node_id: Option<i64>,
    #[serde(default)]
    mode: String,
}
