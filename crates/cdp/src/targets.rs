//! Targets: attaches to pages, their out-of-process frames and workers, sets each up before its first script, and
//! routes their events.
//!
//! Invariants:
//! - Everything here runs on the reader, in the order of arrival.
//! - A paused target gets its set-up commands and its release in one go; no reply is awaited in between.
//! - No lock is held while a session's calls are failed: a waiting caller may take any lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser_events::{BrowserEvent, BrowserEvents, DownloadState};
use crate::connection::{Arrived, Connection};
use crate::emulation::{Emulations, network_state};
use crate::error::GoneReason;
use crate::ids::{FrameId, SessionId, TargetId};
use crate::page::Page;
use crate::queue::{Events, Lanes};
use crate::session::{Session, SessionInner, SessionKind};
use crate::sharing::Ours;
use crate::target_info::{TargetInfo, is_of_the_browser};

/// Setup and limits of a browser's pages.
#[derive(Clone, Debug)]
pub(crate) struct PageSetup {
    /// Width and height in CSS pixels; `None` keeps the window's.
    pub(crate) viewport: Option<(u32, u32)>,
    /// The most tabs opened by pages that may be open at a time; those that are opened through [`crate::Browser`] do not
    /// count.
    pub(crate) opened_tabs: usize,
    /// The most bytes that all downloads together may write; `None` in a browser of somebody else.
    pub(crate) download_bytes: Option<u64>,
    /// Runs in the world of the page itself, before its own scripts.
    pub(crate) page_script: Option<Arc<str>>,
    /// `true` if the browser is in a network namespace of its own.
    pub(crate) is_in_namespace: bool,
}

pub(crate) struct Hub {
    root: Session,
    connection: Arc<Connection>,
    setup: PageSetup,
    state: Mutex<HubState>,
}

#[derive(Default)]
struct HubState {
    /// Those of the browser as a whole have no page.
    sessions: HashMap<SessionId, (Session, Option<Page>)>,
    pages: Vec<Page>,
    /// Shared and service workers, with their browser context.
    workers: Vec<(Session, Option<String>)>,
    scripts: Vec<Arc<str>>,
    emulations: Emulations,
    ours: Ours,
    lanes: Lanes<BrowserEvent>,
    downloads: HashMap<String, Written>,
    is_gone: bool,
}

/// Part of what the downloads of a browser may write.
#[derive(Default)]
struct Written {
    /// Browser context of the page that started the download, if the page was known.
    context: Option<String>,
    bytes: u64,
}

impl HubState {
    fn emit(&mut self, event: &BrowserEvent) {
        self.lanes.emit(event);
    }
}

/// Attaches to targets of these types; all others run unobserved.
pub(crate) fn auto_attach(types: &[&str]) -> Value {
    let mut filter: Vec<Value> = types.iter().map(|kind| json!({"type": kind})).collect();
    filter.push(json!({"exclude": true}));
    json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter})
}

impl Hub {
    pub(crate) fn new(connection: Arc<Connection>, setup: PageSetup) -> Arc<Self> {
        let root = SessionInner::new(None, None, SessionKind::Browser, None, connection.clone());
        Arc::new(Self { root: Session::new(root), connection, setup, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn root(&self) -> &Session {
        &self.root
    }

    /// A session of ours by its name.
    pub(crate) fn session(&self, id: &SessionId) -> Option<Session> {
        self.lock().sessions.get(id).map(|(session, _)| session.clone())
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    pub(crate) fn pages(&self) -> Vec<Page> {
        self.lock().pages.iter().filter(|page| page.inner.is_listed()).cloned().collect()
    }

    /// Returns `true` while an attached page has not reported its frames.
    pub(crate) fn has_pages_starting(&self) -> bool {
        self.lock().pages.iter().any(|page| !page.inner.is_listed())
    }

    /// Pages that are set up or starting.
    pub(crate) fn all_pages(&self) -> Vec<Page> {
        self.lock().pages.clone()
    }

    /// The shared and service workers of a browser context. None is attached to before settings need it.
    pub(crate) fn workers_of(&self, context: Option<&String>) -> Vec<Session> {
        let state = self.lock();
        state.workers.iter().filter(|(_, of)| of.as_ref() == context).map(|(session, _)| session.clone()).collect()
    }

    /// States or reads which pages are ours.
    pub(crate) fn with_ours<T>(&self, then: impl FnOnce(&mut Ours) -> T) -> T {
        then(&mut self.lock().ours)
    }

    /// Forgets a browser context that is disposed of: its settings, and the bytes that its downloads wrote.
    pub(crate) fn forget_context(&self, context: &str) {
        let context = Some(context.to_owned());
        let mut state = self.lock();
        state.emulations.by_context.remove(&context);
        state.downloads.retain(|_, written| written.context != context);
    }

    pub(crate) fn with_emulations<T>(&self, then: impl FnOnce(&mut Emulations) -> T) -> T {
        then(&mut self.lock().emulations)
    }

    /// Width and height of every page; `None` keeps the window's.
    pub(crate) fn viewport(&self) -> Option<(u32, u32)> {
        self.setup.viewport
    }

    pub(crate) fn is_in_namespace(&self) -> bool {
        self.setup.is_in_namespace
    }

    pub(crate) fn add_script(&self, source: &str) {
        let scripts = &mut self.lock().scripts;
        // Every executor on the browser adds its guard, and all have the same one.
        if !scripts.iter().any(|known| **known == *source) {
            scripts.push(Arc::from(source));
        }
    }

    pub(crate) fn events(&self) -> BrowserEvents {
        let mut state = self.lock();
        if state.is_gone {
            return Events::ended(BrowserEvent::Gone, BrowserEvent::Lagged);
        }
        state.lanes.subscribe(BrowserEvent::Lagged)
    }

    /// Routes one event to its page and session, and to the subscribers of both.
    pub(crate) fn arrived(self: &Arc<Self>, event: &Arrived<'_>) {
        let (session, page) = match event.session {
            None => (self.root.clone(), None),
            Some(id) => match self.lock().sessions.get(id) {
                Some((session, page)) => (session.clone(), page.clone()),
                None => return,
            },
        };
        let (method, params) = (event.method, &event.params);
        let handled = match method {
            "Target.attachedToTarget" => params.parse().map(|event| self.attached(&session, page.as_ref(), event)),
            "Target.detachedFromTarget" => params.parse().map(|event| self.detached(&session, &event)),
            "Inspector.targetCrashed" => {
                // The browser as a whole has no renderer.
                if let Some(page) = &page {
                    session.inner.fail(GoneReason::Crashed);
                    page.inner.crashed(&session);
                }
                Ok(())
            }
            "Inspector.targetReloadedAfterCrash" => {
                session.inner.revive();
                if let Some(page) = &page {
                    page.inner.revived(&session);
                }
                Ok(())
            }
            "Browser.downloadWillBegin" => params.parse().map(|event| self.download_started(event)),
            "Browser.downloadProgress" => params.parse().map(|event| self.download_progress(event)),
            _ => Ok(()),
        };
        if let Err(error) = handled {
            tracing::debug!(method, %error, "control event does not decode");
        }
        if let Some(Page { inner: page }) = &page {
            if session.kind() != SessionKind::Worker && method.starts_with("Page.") {
                page.page_event(&session, method, params);
            }
            page.publish(&session, method, params);
        }
        session.publish(method, params);
    }

    fn attached(self: &Arc<Self>, parent: &Session, of: Option<&Page>, event: Attached) {
        let info = event.target_info;
        let is_root = parent.kind() == SessionKind::Browser;
        let kind = match info.kind.as_str() {
            // Only if it was asked for.
            "browser" if is_root => Some(SessionKind::Browser),
            "page" if is_root => Some(SessionKind::Page),
            "iframe" if !is_root => Some(SessionKind::Frame),
            "worker" if !is_root => Some(SessionKind::Worker),
            "shared_worker" | "service_worker" if is_root => Some(SessionKind::Worker),
            _ => None,
        };
        let kind = kind
            .filter(|_| !is_of_the_browser(&info.url))
            .filter(|kind| !is_root || *kind == SessionKind::Browser || self.lock().ours.claim(&info));
        let session = Session::new(SessionInner::new(
            Some(event.session_id.clone()),
            Some(info.target_id.clone()),
            kind.unwrap_or(SessionKind::Worker),
            Some(parent.clone()),
            self.connection.clone(),
        ));
        let page = match kind {
            None => None,
            Some(SessionKind::Browser) => {
                self.lock().sessions.insert(event.session_id, (session, None));
                return;
            }
            Some(SessionKind::Worker) if is_root => {
                let context = info.browser_context_id;
                {
                    let mut state = self.lock();
                    state.sessions.insert(event.session_id, (session.clone(), None));
                    state.workers.push((session.clone(), context.clone()));
                }
                self.first_settings(&session, context.as_ref());
                session.post("Runtime.runIfWaitingForDebugger", &json!({}));
                return;
            }
            Some(SessionKind::Page) => {
                let mut state = self.lock();
                if state.is_gone {
                    return;
                }
                if let Some(opener) = info.opener_id.as_ref()
                    && state.pages.iter().filter(|page| page.opener().is_some()).count() >= self.setup.opened_tabs
                {
                    // Paused, it would keep its opener waiting for ever. It may run, but none of its requests is let go.
                    session.post("Fetch.enable", &json!({}));
                    session.post("Runtime.runIfWaitingForDebugger", &json!({}));
                    self.root.post("Target.closeTarget", &json!({"targetId": info.target_id}));
                    state.emit(&BrowserEvent::PageRefused { url: info.url, opener: opener.clone() });
                    return;
                }
                let scripts = state.scripts.clone();
                let page = Page::new(session.clone(), self.root.clone(), info.clone(), scripts);
                state.pages.push(page.clone());
                Some(page)
            }
            Some(_) => of.cloned(),
        };
        let Some(page) = page else {
            session.post("Runtime.runIfWaitingForDebugger", &json!({}));
            parent.post("Target.detachFromTarget", &json!({"sessionId": event.session_id}));
            return;
        };
        self.lock().sessions.insert(event.session_id, (session.clone(), Some(page.clone())));
        if session.kind() == SessionKind::Frame {
            let id = FrameId::from(info.target_id.as_str());
            let parent_frame = info.parent_frame_id.or(info.parent_id);
            page.inner.frame_moved(&id, parent_frame.as_ref(), &session);
        }
        self.set_up(&session, &page);
    }

    /// Gives a target what those of its browser context have.
    fn first_settings(&self, session: &Session, context: Option<&String>) {
        if self.setup.is_in_namespace {
            // Or it would tell pages that they are offline.
            let (method, params) = network_state(false, true);
            session.post(method, &params);
        }
        for (method, params) in self.with_emulations(|it| it.first(context, session.kind())) {
            session.post(method, &params);
        }
    }

    fn set_up(self: &Arc<Self>, session: &Session, page: &Page) {
        let page_script = self.setup.page_script.as_deref();
        if session.kind() == SessionKind::Worker {
            self.first_settings(session, page.inner.context.as_ref());
            if let Some(script) = page_script {
                session.post("Runtime.evaluate", &json!({"expression": script}));
            }
            page.inner.set_up(session);
            session.post("Runtime.runIfWaitingForDebugger", &json!({}));
            return;
        }
        session.post("Page.enable", &json!({}));
        session.post("Inspector.enable", &json!({}));
        session.post("Page.setLifecycleEventsEnabled", &json!({"enabled": true}));
        // A worklet that is left out of the filter is paused all the same, and nothing would ever let it run.
        session.post("Target.setAutoAttach", &auto_attach(&["iframe", "worker", "worklet"]));
        session.post("Page.setInterceptFileChooserDialog", &json!({"enabled": true}));
        if session.kind() == SessionKind::Page
            && let Some((width, height)) = self.setup.viewport
        {
            let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
            session.post("Emulation.setDeviceMetricsOverride", &metrics);
            // A page in the background behaves as one in the foreground: there is no person whose focus
            // could be meant.
            session.post("Emulation.setFocusEmulationEnabled", &json!({"enabled": true}));
        }
        self.first_settings(session, page.inner.context.as_ref());
        if let Some(script) = page_script {
            session.post("Page.addScriptToEvaluateOnNewDocument", &json!({"source": script}));
        }
        page.inner.set_up(session);
        let (hub, of, page) = (self.clone(), session.clone(), page.clone());
        // If it cannot be sent the session is gone already, which is handled elsewhere.
        let _ = session.then("Page.getFrameTree", &json!({}), move |answer| {
            if let Ok(reply) = answer {
                page.inner.frame_tree(&reply, &of);
            }
            if of.kind() == SessionKind::Page && page.inner.mark_ready() {
                let opener = page.opener().cloned();
                hub.lock().emit(&BrowserEvent::PageOpened { page, opener });
            }
        });
        session.post("Runtime.runIfWaitingForDebugger", &json!({}));
    }

    fn detached(self: &Arc<Self>, parent: &Session, event: &Detached) {
        let known = self.lock().sessions.get(&event.session_id).cloned();
        let (session, page) = match known {
            Some((session, Some(page))) => (session, page.inner),
            Some((session, None)) => return self.drop_session(&session, GoneReason::Detached),
            None => return,
        };
        if session.kind() == SessionKind::Page {
            self.page_gone(&page, GoneReason::Detached);
            return;
        }
        for gone in page.take_sessions_below(&session) {
            self.drop_session(&gone, GoneReason::Detached);
        }
        if session.kind() == SessionKind::Frame {
            // Either the frame was removed, or it moves back into its parent's process; the parent's session reports
            // which, perhaps only after this.
            let id = FrameId::from(event.target_id.as_ref().or(session.target_id()).map_or("", TargetId::as_str));
            let inner = page.clone();
            let (frame, of) = (id.clone(), session.clone());
            let asked = parent.then("Page.enable", &json!({}), move |_| inner.frame_lost(&frame, &of));
            if asked.is_err() {
                page.frame_lost(&id, &session);
            }
        }
    }

    fn drop_session(&self, session: &Session, reason: GoneReason) {
        if let Some(id) = session.id() {
            let mut state = self.lock();
            state.sessions.remove(id);
            state.workers.retain(|(worker, _)| worker != session);
        }
        session.inner.fail(reason);
    }

    fn page_gone(&self, page: &Arc<crate::page::PageInner>, reason: GoneReason) {
        let sessions = page.close();
        let target = {
            let mut state = self.lock();
            state.pages.retain(|other| !Arc::ptr_eq(&other.inner, page));
            page.main_session().target_id().cloned()
        };
        for session in sessions {
            self.drop_session(&session, reason);
        }
        if let Some(page) = target {
            self.lock().emit(&BrowserEvent::PageClosed { page });
        }
    }

    /// Ends every page and session, once, after the connection ended.
    pub(crate) fn gone(&self) {
        self.connection.shut_down();
        let pages = {
            let mut state = self.lock();
            if std::mem::replace(&mut state.is_gone, true) {
                return;
            }
            state.pages.clone()
        };
        for page in pages {
            self.page_gone(&page.inner, GoneReason::BrowserGone);
        }
        let rest: Vec<Session> = self.lock().sessions.drain().map(|(_, (session, _))| session).collect();
        for session in rest.iter().chain([&self.root]) {
            session.inner.fail(GoneReason::BrowserGone);
        }
        let mut state = self.lock();
        state.emit(&BrowserEvent::Gone);
        state.lanes.close();
    }

    fn download_started(&self, event: DownloadWillBegin) {
        let page = self.all_pages().into_iter().find(|page| page.frame(&event.frame_id).is_some());
        // Somebody else's, in a browser that is shared.
        if page.is_none() && self.with_ours(|ours| !matches!(ours, Ours::All)) {
            return;
        }
        let mut state = self.lock();
        if let Some(context) = page.and_then(|page| page.inner.context.clone()) {
            state.downloads.entry(event.guid.clone()).or_default().context = Some(context);
        }
        state.emit(&BrowserEvent::DownloadStarted {
            guid: event.guid,
            url: event.url,
            suggested_filename: event.suggested_filename,
            frame: event.frame_id,
        });
    }

    /// Cancels a download by which the downloads of this browser come to more bytes than it may write. Those of contexts
    /// that were disposed of do not count.
    fn bound_downloads(&self, guid: &str, state: DownloadState, received: u64) {
        let Some(most) = self.setup.download_bytes else { return };
        let downloads = &mut self.lock().downloads;
        if state == DownloadState::Canceled {
            downloads.remove(guid);
            return;
        }
        let own = downloads.entry(guid.to_owned()).or_default();
        own.bytes = received;
        let context = own.context.clone();
        if state == DownloadState::InProgress
            && downloads.values().fold(0, |sum: u64, one| sum.saturating_add(one.bytes)) > most
        {
            // Without its context, Chrome looks for it in the default one only.
            let params = match context {
                Some(context) => json!({"guid": guid, "browserContextId": context}),
                None => json!({"guid": guid}),
            };
            self.root.post("Browser.cancelDownload", &params);
        }
    }

    fn download_progress(&self, event: DownloadProgress) {
        let state = match event.state.as_str() {
            "completed" => DownloadState::Completed,
            "canceled" => DownloadState::Canceled,
            _ => DownloadState::InProgress,
        };
        self.bound_downloads(&event.guid, state, whole(event.received_bytes));
        self.lock().emit(&BrowserEvent::DownloadProgress {
            guid: event.guid,
            state,
            received: whole(event.received_bytes),
            total: whole(event.total_bytes),
        });
    }
}

/// Chrome writes byte counts as floating-point numbers.
fn whole(bytes: f64) -> u64 {
    // The conversion saturates, and turns NaN into 0.
    bytes as u64
}

/// Routes one message of a connection: an answer to its caller, an event to the hub.
pub(crate) fn route(hub: &Arc<Hub>, message: &bytes::Bytes) {
    hub.connection.arrive(message, |event| hub.arrived(&event));
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: SessionId,
    target_info: TargetInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detached {
    session_id: SessionId,
    #[serde(default)]
    target_id: Option<TargetId>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DownloadWillBegin {
    frame_id: FrameId,
    guid: String,
    url: String,
    #[serde(default)]
    suggested_filename: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DownloadProgress {
    guid: String,
    #[serde(default)]
    received_bytes: f64,
    #[serde(default)]
    total_bytes: f64,
    #[serde(default)]
    state: String,
}
