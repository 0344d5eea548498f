//! Listens in the tabs of a browser: the script in every document, and the events of the browser, in one queue.
//!
//! Invariant: the events of a tab come in the order in which the browser sent them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use cuebook_cdp::{
    Browser, BrowserEvent, Delivery, Domain, DomainGuard, FrameId, Page, RawEvent, Session, SessionId, TargetId,
};
use cuebook_grammar::id::PageId;
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::{Probe, ProbeError};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::script::{BINDING, RECORD};
use crate::target::Place;

pub(crate) const CALLED: &str = "Runtime.bindingCalled";
pub(crate) const NAVIGATED: &str = "Page.frameNavigated";
pub(crate) const WITHIN: &str = "Page.navigatedWithinDocument";
pub(crate) const ASKED: &str = "Page.frameRequestedNavigation";
pub(crate) const DIALOG: &str = "Page.javascriptDialogOpening";
pub(crate) const ANSWERED: &str = "Page.javascriptDialogClosed";
/// Events of one tab that are not read yet.
const CAPACITY: usize = 10_000;

/// Something of a browser or of one of its tabs.
pub(crate) enum News {
    /// A tab sent an event.
    Of(PageId, Delivery),
    /// A tab was opened.
    Opened(Page),
    /// A tab is gone.
    Closed(PageId),
    Download(String),
    /// The browser is gone.
    Gone,
}

/// A tab that is listened to.
pub(crate) struct Tapped {
    pub(crate) page: Page,
    probe: Probe,
    /// Without it, no call of the function that reports arrives.
    _domain: DomainGuard,
    /// Where contexts are: by session and number.
    known: HashMap<(Option<SessionId>, i64), Place>,
}

/// The tabs that are listened to.
pub(crate) struct Tap {
    digest: DigestKey,
    news: mpsc::Sender<News>,
    tabs: HashMap<PageId, Tapped>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Tap {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// A call of the function that reports.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BindingCalled {
    name: String,
    pub(crate) payload: String,
    execution_context_id: i64,
}

impl Tap {
    /// Listens to the browser as a whole. Events of tabs come once each is [added](Self::add).
    pub(crate) fn on(browser: &Arc<Browser>, digest: DigestKey) -> (Self, mpsc::Receiver<News>) {
        let (news, receiver) = mpsc::channel(CAPACITY);
        let (mut events, sender) = (browser.events(), news.clone());
        let task = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let news = match event {
                    BrowserEvent::PageOpened { page, .. } => News::Opened(page),
                    BrowserEvent::PageClosed { page } => News::Closed(id_of(&page)),
                    BrowserEvent::DownloadStarted { suggested_filename, .. } => News::Download(suggested_filename),
                    BrowserEvent::Gone => News::Gone,
                    _ => continue,
                };
                if sender.send(news).await.is_err() {
                    return;
                }
            }
            let _ = sender.send(News::Gone).await;
        });
        (Self { digest, news, tabs: HashMap::new(), tasks: vec![task] }, receiver)
    }

    /// Listens to a tab from now on.
    pub(crate) async fn add(&mut self, page: &Page, until: Instant) -> Result<(), ProbeError> {
        let id = id_of(page.target_id());
        if self.tabs.contains_key(&id) {
            return Ok(());
        }
        let mut events = page.session_events(&[CALLED, NAVIGATED, WITHIN, ASKED, DIALOG, ANSWERED], CAPACITY);
        let (of, sender) = (id.clone(), self.news.clone());
        self.tasks.push(tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if sender.send(News::Of(of.clone(), event)).await.is_err() {
                    return;
                }
            }
        }));
        let domain = page.require(Domain::Runtime);
        page.add_world_binding(BINDING, until).await.map_err(cuebook_cdp::WorldError::from)?;
        let probe = Probe::attach(page.clone(), self.digest.clone(), until).await?;
        probe.extend(RECORD, until).await?;
        let tapped = Tapped { page: page.clone(), probe, _domain: domain, known: HashMap::new() };
        tapped.for_a_person(until).await;
        self.tabs.insert(id, tapped);
        Ok(())
    }

    pub(crate) fn tab(&self, id: &PageId) -> Option<&Tapped> {
        self.tabs.get(id)
    }

    pub(crate) fn remove(&mut self, id: &PageId) {
        self.tabs.remove(id);
    }

    /// The document that a report came from; `None` if it is gone, or if the report is not from our world.
    pub(crate) async fn place(
        &mut self,
        tab: &PageId,
        event: &RawEvent,
        called: &BindingCalled,
        until: Instant,
    ) -> Option<Place> {
        if called.name != BINDING {
            return None;
        }
        let tapped = self.tabs.get_mut(tab)?;
        let (session, context) = (event.session(), called.execution_context_id);
        let key = (session.id().cloned(), context);
        if let Some(place) = tapped.known.get(&key)
            && tapped.page.frame(&place.frame).is_none_or(|frame| frame.document == place.document)
        {
            return Some(place.clone());
        }
        let found = tapped.found(tab, session, context, until).await?;
        tapped.known.retain(|_, place| place.frame != found.frame);
        tapped.known.insert(key, found.clone());
        Some(found)
    }
}

impl Tapped {
    /// A person sees native choosers.
    async fn for_a_person(&self, until: Instant) {
        for session in self.page.sessions() {
            let off = json!({"enabled": false});
            if let Err(error) = session.call_raw("Page.setInterceptFileChooserDialog", off, until).await {
                tracing::debug!(%error, "file choosers stay suppressed");
            }
        }
    }

    async fn found(&self, tab: &PageId, session: &Session, context: i64, until: Instant) -> Option<Place> {
        let mut stale = None;
        for frame in self.page.frames().into_iter().filter(|frame| frame.session == *session) {
            let Ok(world) = self.probe.world(&frame.id, until).await else { continue };
            if world.world().context().get() == context {
                let (frame, document) = (frame.id, world.document().clone());
                return Some(Place { tab: tab.clone(), frame, document });
            }
            if frame.is_session_root {
                stale = Some((frame.id, world));
            }
        }
        // A document to which an empty one passed its window on: the script runs in a world of the former.
        let (frame, world) = stale?;
        let binding = json!({"name": BINDING, "executionContextId": world.world().context().get()});
        let added = session.call_raw("Runtime.addBinding", binding, until).await;
        let started: Result<bool, _> = world.call("(cb) => cb.record.hello()", &[], until).await;
        tracing::debug!(%frame, is_added = added.is_ok(), is_started = started.is_ok(), "listens in another world");
        None
    }
}

/// The name of a tab in the language.
pub(crate) fn id_of(target: &TargetId) -> PageId {
    PageId::new(target.as_str())
}

/// Returns `true` if a frame is the main one of the page.
pub(crate) fn is_main(page: &Page, frame: &str) -> bool {
    page.main_frame().id == FrameId::from(frame)
}
