//! The handle on a tab.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::protocol::browser_protocol::browser::BrowserContextId;
use crate::protocol::browser_protocol::page::BringToFrontParams;
use crate::protocol::browser_protocol::target::CloseTargetParams;

use super::events::{DialogAnswer, OpenDialog, PageEvent, PageEvents};
use super::state::{PageInner, PageState};
use crate::error::{CallError, PageError};
use crate::frames::{FrameTree, Record};
use crate::ids::{DocumentId, FrameId, TargetId};
use crate::queue::{Events, Lanes};
use crate::session::{EventQueue, Session, Shorten, Subscription};
use crate::target_info::TargetInfo;

/// How long [`Page::close`] waits for a tab to go before it asks again.
const CLOSE_AGAIN: Duration = Duration::from_millis(500);

/// A snapshot of a frame's state.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Frame {
    /// Its id, the same in every process it moves through.
    pub id: FrameId,
    /// The frame that holds it; `None` for the main frame.
    pub parent: Option<FrameId>,
    /// The session that it answers on.
    pub session: Session,
    /// Its document's URL, fragment included; empty before it has one.
    pub url: String,
    /// Name from its owner element, as Chrome reports it; empty if it has none.
    pub name: String,
    /// Document in the frame; its id is empty until a new frame has reported it.
    pub document: DocumentId,
    /// `true` if the session is this frame's own: the main frame, or an out-of-process frame.
    pub is_session_root: bool,
}

/// One tab. Cloning costs a reference count; two are equal if they are the same attachment.
#[derive(Clone)]
pub struct Page {
    pub(crate) inner: Arc<PageInner>,
}

impl Page {
    pub(crate) fn new(session: Session, root: Session, info: TargetInfo, scripts: Vec<Arc<str>>) -> Self {
        let TargetInfo { target_id: target, opener_id: opener, browser_context_id: context, url, .. } = info;
        let frames = FrameTree::new(FrameId::from(target.as_str()), session.clone(), url);
        let state = PageState {
            frames,
            sessions: Vec::new(),
            workers: Vec::new(),
            worlds: HashMap::new(),
            scripts,
            bindings: Vec::new(),
            domains: HashMap::new(),
            dialog: None,
            is_ready: false,
            is_crashed: false,
            is_closed: false,
            lanes: Lanes::default(),
            subscriptions: Vec::new(),
        };
        let inner = PageInner { target, session, root, opener, context, state: Mutex::new(state) };
        Self { inner: Arc::new(inner) }
    }

    /// Id of the tab's target, which stays when the tab navigates.
    #[must_use]
    pub fn target_id(&self) -> &TargetId {
        &self.inner.target
    }

    /// Returns `true` if both are in one browser context: they share cookies and storage, and a person sees them in one
    /// window.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        self.inner.context == other.inner.context
    }

    /// Id of its browser context. Commands to the browser about cookies and permissions are about its default context where
    /// they do not name another.
    #[must_use]
    pub fn context(&self) -> Option<BrowserContextId> {
        self.inner.context.clone().map(Into::into)
    }

    /// The page's own session: its main frame and the frames in the same process.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.inner.session
    }

    /// The page that opened it. Chromium 156 names it also where it was opened with `noopener`.
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

    /// Returns the frame with this id; `None` if the page has no such frame any more.
    #[must_use]
    pub fn frame(&self, id: &FrameId) -> Option<Frame> {
        self.inner.lock().frames.get(id).map(|record| frame(id, record))
    }

    /// The main frame. A page that is gone still returns its last state.
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
        let mut state = self.inner.lock();
        if state.is_closed {
            return Events::ended(PageEvent::Closed, PageEvent::Lagged);
        }
        state.lanes.subscribe(PageEvent::Lagged)
    }

    /// Subscribes to raw events of all sessions of the page, present and future, workers included,
    /// keeping at most `capacity` unread ones.
    #[must_use]
    pub fn session_events(&self, methods: &[&'static str], capacity: usize) -> EventQueue {
        let (subscription, queue) = Subscription::new(methods, capacity);
        self.subscribe(subscription);
        queue
    }

    /// Like [`Self::session_events`], for events that a page can make many and long: the result of `shorten` is queued
    /// in place of each.
    #[must_use]
    pub fn shortened_events(&self, methods: &[&'static str], capacity: usize, shorten: Shorten) -> EventQueue {
        let (subscription, queue) = Subscription::new(methods, capacity);
        self.subscribe(subscription.shortened(shorten));
        queue
    }

    fn subscribe(&self, subscription: Subscription) {
        let mut state = self.inner.lock();
        if state.is_closed {
            subscription.close();
        } else {
            state.subscriptions.push(subscription);
        }
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

    /// Returns `true` if the main frame's renderer crashed and has not been replaced.
    #[must_use]
    pub fn crashed(&self) -> bool {
        self.inner.lock().is_crashed
    }

    /// Returns `true` if the page is gone.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.inner.lock().is_closed
    }

    /// Makes it the visible tab of its window.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn bring_to_front(&self, until: Instant) -> Result<(), CallError> {
        self.session().request(BringToFrontParams {}, until).await.map(drop)
    }

    /// Closes the tab without asking it, and waits until it is gone.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn close(&self, until: Instant) -> Result<(), PageError> {
        let mut events = self.events();
        loop {
            let params = CloseTargetParams::new(self.inner.target.to_string());
            match self.inner.root.request(params, until).await {
                Ok(_) => {}
                Err(_) if self.closed() => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            // A close that meets the commit of a navigation is acknowledged and then dropped (crbug.com/536385539), so
            // it is requested again. A tab that is closing takes no notice.
            let closed = async { while events.next().await.is_some() {} };
            let again = until.min(Instant::now() + CLOSE_AGAIN);
            match tokio::time::timeout_at(again.into(), closed).await {
                Ok(()) => return Ok(()),
                Err(_) if again == until => return Err(PageError::NotClosed),
                Err(_) => {}
            }
        }
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
