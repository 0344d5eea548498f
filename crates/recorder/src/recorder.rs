//! The loop of a recording: what a person does, and a look at the page after it.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::page::GetNavigationHistoryParams;
use cuebook_cdp::{Browser, CallError, Delivery, Page, RawEvent, TargetId, WaitUntil};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::facts::DialogKind;
use cuebook_grammar::id::{CredentialRef, PageId};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::seam::{PageModeler, Redactor};
use cuebook_grammar::secret::DigestKey;
use serde::Deserialize;

use crate::draft::Recorded;
use crate::error::RecordError;
use crate::history::{History, Way};
use crate::report::Report;
use crate::story::Story;
use crate::tap::{ANSWERED, ASKED, BindingCalled, CALLED, DIALOG, NAVIGATED, News, Tap, WITHIN, id_of, is_main};

/// Time limit for opening the first page.
const OPENING: Duration = Duration::from_secs(60);
/// Time limit for a question to the browser.
const ASKING: Duration = Duration::from_secs(5);
/// Time limit for a look at the page.
const LOOKING: Duration = Duration::from_secs(10);
/// Rest between something that changed and the look at it.
const REST: Duration = Duration::from_millis(150);
/// How long the effects of the last step are awaited at the end.
const LAST_EFFECTS: Duration = Duration::from_secs(3);

/// Records a person in tabs of a browser.
pub struct Recorder<M> {
    browser: Arc<Browser>,
    modeler: M,
    redactor: Arc<dyn Redactor>,
    digest: DigestKey,
    credentials: Vec<(String, CredentialRef)>,
}

impl<M> std::fmt::Debug for Recorder<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("browser", &self.browser).finish_non_exhaustive()
    }
}

type Looking<M> = Pin<Box<dyn Future<Output = (M, Instant, Option<Observation>)> + Send>>;

/// The page modeler, or its look under way.
enum Eye<M> {
    Open(M),
    Looking(Looking<M>),
}

impl<M: PageModeler + 'static> Recorder<M> {
    /// A recorder of the tabs of `browser` that `modeler` sees. `redactor` learns every secret that is typed.
    #[must_use]
    pub fn new(browser: Arc<Browser>, modeler: M, redactor: Arc<dyn Redactor>, digest: DigestKey) -> Self {
        Self { browser, modeler, redactor, digest, credentials: Vec::new() }
    }

    /// Names the secret that goes into the field of this name, label or placeholder. What is typed there is then never kept,
    /// whatever the field is.
    #[must_use]
    pub fn naming(mut self, field: impl Into<String>, secret: CredentialRef) -> Self {
        self.credentials.push((field.into(), secret));
        self
    }

    /// Opens `url` in a tab and records until `stop` is ready, or the last tab or the browser is gone.
    ///
    /// # Errors
    /// [`RecordError`], only before anything could be recorded.
    pub async fn record(
        self,
        tab: &PageId,
        url: &str,
        stop: impl Future<Output = ()>,
    ) -> Result<Recorded, RecordError> {
        self.listen(tab, Some(url), stop).await
    }

    /// Records in a tab as it is, and in those of the same context, until `stop` is ready, or the last tab or the browser is
    /// gone.
    ///
    /// # Errors
    /// [`RecordError`], only before anything could be recorded.
    pub async fn record_on(self, tab: &PageId, stop: impl Future<Output = ()>) -> Result<Recorded, RecordError> {
        self.listen(tab, None, stop).await
    }

    async fn listen(
        self,
        tab: &PageId,
        url: Option<&str>,
        stop: impl Future<Output = ()>,
    ) -> Result<Recorded, RecordError> {
        let Self { browser, modeler, redactor, digest, credentials } = self;
        let page = browser.page(&TargetId::from(tab.as_str())).ok_or(RecordError::NoTab)?;
        let until = Instant::now() + OPENING;
        let (mut tap, mut news) = Tap::on(&browser, digest);
        tap.add(&page, until).await?;
        let others: Vec<Page> = match url {
            Some(url) => {
                page.goto(url, WaitUntil::DomContentLoaded, until).await?;
                Vec::new()
            }
            None => {
                browser.pages_beside(&page).into_iter().filter(|other| other.target_id() != page.target_id()).collect()
            }
        };
        let mut listening = Listening {
            tap,
            story: Story::new(redactor, credentials),
            histories: HashMap::new(),
            dialogs: HashMap::new(),
            due: Some(Instant::now()),
            rests_until: Instant::now(),
        };
        listening.story.opened(tab, None, &page.url(), Instant::now());
        if let Some(history) = history(&page).await {
            listening.histories.insert(tab.clone(), history);
        }
        for other in others {
            listening.took(News::Opened(other)).await;
        }
        // That the tab came here is no step.
        let opening: Vec<News> = std::iter::from_fn(|| news.try_recv().ok()).collect();
        for new in opening.into_iter().filter(|new| !matches!(new, News::Of(..))) {
            listening.took(new).await;
        }

        let mut eye = Eye::Open(modeler);
        let mut stop = std::pin::pin!(stop);
        let mut ends_at = None;
        loop {
            eye = match eye {
                Eye::Open(modeler) => listening.look(modeler),
                looking @ Eye::Looking(_) => looking,
            };
            let due = listening.due.map(|due| due.max(listening.rests_until));
            let wake = due.filter(|_| matches!(eye, Eye::Open(_)));
            let wake = [wake, ends_at.map(|end: Instant| end.min(Instant::now() + REST))].into_iter().flatten().min();
            tokio::select! {
                biased;
                () = &mut stop, if ends_at.is_none() => {
                    ends_at = Some(Instant::now() + LAST_EFFECTS);
                    listening.due.get_or_insert_with(Instant::now);
                }
                new = news.recv() => {
                    let Some(new) = new else { break };
                    if !listening.took(new).await {
                        break;
                    }
                }
                looked = looked(&mut eye) => {
                    let (modeler, began, page) = looked;
                    eye = Eye::Open(modeler);
                    // At most half of the time is spent looking.
                    listening.rests_until = Instant::now() + began.elapsed();
                    if let Some(page) = page {
                        listening.story.observed(page, began);
                    }
                }
                () = sleep_until(wake) => {}
            }
            let now = Instant::now();
            if ends_at.is_some_and(|end| now >= end || listening.story.is_settled(now)) {
                break;
            }
        }
        Ok(listening.story.end())
    }
}

async fn looked<M>(eye: &mut Eye<M>) -> (M, Instant, Option<Observation>) {
    match eye {
        Eye::Looking(looking) => looking.await,
        Eye::Open(_) => std::future::pending().await,
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}

/// The pages that are listened to, and what came of it.
struct Listening {
    tap: Tap,
    story: Story,
    histories: HashMap<PageId, History>,
    /// The kind of the dialog that is open in a tab.
    dialogs: HashMap<PageId, DialogKind>,
    /// When the page is looked at next.
    due: Option<Instant>,
    rests_until: Instant,
}

impl Listening {
    /// Begins a look at the watched tab if one is due.
    fn look<M: PageModeler + 'static>(&mut self, mut modeler: M) -> Eye<M> {
        let now = Instant::now();
        let tab = self.story.watched().cloned().filter(|tab| !self.dialogs.contains_key(tab));
        let is_due = self.due.is_some_and(|due| due <= now) && self.rests_until <= now;
        let Some(tab) = tab.filter(|_| is_due) else { return Eye::Open(modeler) };
        self.due = None;
        Eye::Looking(Box::pin(async move {
            let deadline = Deadline::after(now, LOOKING);
            let page = match modeler.observe(&tab, Scope::Full, deadline).await {
                Ok(mut page) => {
                    if let Err(error) = modeler.read(&mut page, deadline).await {
                        tracing::debug!(%error, "the page cannot be read");
                    }
                    Some(page)
                }
                Err(error) => {
                    tracing::debug!(%error, "the page cannot be looked at");
                    None
                }
            };
            (modeler, now, page)
        }))
    }

    fn look_soon(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + REST);
    }

    /// Takes in what is new; `false` if nothing can come any more.
    async fn took(&mut self, news: News) -> bool {
        let now = Instant::now();
        match news {
            News::Gone => return false,
            News::Download(name) => self.story.download(&name, now),
            News::Opened(page) => {
                let id = id_of(page.target_id());
                if let Err(error) = self.tap.add(&page, now + ASKING).await {
                    tracing::debug!(%error, "a tab cannot be listened to");
                    return true;
                }
                let opener = page.opener().map(id_of);
                self.story.opened(&id, opener.as_ref(), &page.url(), now);
                if let Some(history) = history(&page).await {
                    self.histories.insert(id, history);
                }
            }
            News::Closed(id) => {
                self.story.closed(&id, now);
                self.tap.remove(&id);
                self.dialogs.remove(&id);
                if self.story.watched().is_none() {
                    return false;
                }
            }
            News::Of(_, Delivery::Lagged(_)) => self.story.lost(),
            News::Of(tab, Delivery::Event(event)) => {
                self.event(&tab, &event, now).await;
                // What a report led to.
                if event.method() == CALLED {
                    return true;
                }
            }
        }
        self.look_soon();
        true
    }

    async fn event(&mut self, tab: &PageId, event: &RawEvent, now: Instant) {
        match event.method() {
            CALLED => {
                let Ok(called) = event.parse::<BindingCalled>() else { return };
                let Some(place) = self.tap.place(tab, event, &called, now + ASKING).await else { return };
                let Some(report) = Report::read(&called.payload) else { return };
                self.look_soon();
                self.story.reported(&place, report, now);
            }
            NAVIGATED => {
                let Ok(Navigated { frame }) = event.parse() else { return };
                self.navigated(tab, &frame.id, false, now).await;
            }
            WITHIN => {
                let Ok(Within { frame_id }) = event.parse() else { return };
                self.navigated(tab, &frame_id, true, now).await;
            }
            ASKED => {
                let Ok(Within { frame_id }) = event.parse() else { return };
                if self.tap.tab(tab).is_some_and(|tapped| is_main(&tapped.page, &frame_id)) {
                    self.story.asked(tab);
                }
            }
            DIALOG => {
                let Ok(Opening { kind, message }) = event.parse() else { return };
                let kind = dialog_kind(&kind);
                self.dialogs.insert(tab.clone(), kind);
                self.story.dialog_opened(tab, kind, &message, now);
            }
            ANSWERED => {
                let Ok(Answered { result, user_input }) = event.parse() else { return };
                let kind = self.dialogs.remove(tab).unwrap_or(DialogKind::Alert);
                self.story.dialog_closed(tab, kind, result, &user_input, now);
            }
            _ => {}
        }
    }

    async fn navigated(&mut self, tab: &PageId, frame: &str, is_within: bool, now: Instant) {
        let Some(page) = self.tap.tab(tab).map(|tapped| tapped.page.clone()) else { return };
        if !is_main(&page, frame) {
            return;
        }
        let after = history(&page).await;
        let before = self.histories.get(tab).cloned().unwrap_or_default();
        let way = after.as_ref().map_or(Way::New, |after| after.way_from(&before, is_within));
        self.histories.extend(after.map(|after| (tab.clone(), after)));
        self.story.navigated(tab, &page.url(), way, now);
    }
}

/// The history of a tab. While one document replaces another there is a moment without one (Chromium 156: "Not attached to
/// an active page").
async fn history(page: &Page) -> Option<History> {
    for _ in 0..20 {
        let asked = page.session().request(GetNavigationHistoryParams {}, Instant::now() + ASKING).await;
        match asked.and_then(|reply| reply.parse()) {
            Ok(history) => return Some(history),
            Err(CallError::Protocol { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(_) => return None,
        }
    }
    None
}

fn dialog_kind(kind: &str) -> DialogKind {
    match kind {
        "confirm" => DialogKind::Confirm,
        "prompt" => DialogKind::Prompt,
        "beforeunload" => DialogKind::BeforeUnload,
        _ => DialogKind::Alert,
    }
}

#[derive(Deserialize)]
struct Navigated {
    frame: FrameNamed,
}

#[derive(Deserialize)]
struct FrameNamed {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Within {
    frame_id: String,
}

#[derive(Deserialize)]
struct Opening {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    result: bool,
    #[serde(default)]
    user_input: String,
}
