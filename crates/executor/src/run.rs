//! One step under way: what it holds, and how it waits.
//!
//! Invariant: every wait races with what may end the step: a dialog, a crash, the end of the tab or of
//! the browser, and the step's deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::{Duration, Instant};

use cuebook_cdp::{
    Browser, BrowserEvent, BrowserEvents, DialogAnswer, DialogKind as WireDialog, FrameId, GoneReason, OpenDialog,
    Page, PageEvent, PageEvents, TargetId,
};
use cuebook_grammar::action::Action;
use cuebook_grammar::facts::{DialogFact, DialogKind, ElementFacts, EventFacts};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Evidence, Stage};
use cuebook_grammar::plan::BoundStep;
use cuebook_probe::{Probe, ProbeWorld};
use futures_util::FutureExt as _;

use crate::downloads::Downloading;
use crate::facts::Gathered;
use crate::input::devices::{Armed, Flight, Sent};
use crate::network::Network;
use crate::options::{BeforeUnload, ExecutorOptions};
use crate::script::FrameSummary;
use crate::stage::{Ledger, Target, Watching};
use crate::stop::{Part, Stop, gone_stop, out_of_time};

/// The element that a step acts on.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) key: NodeKey,
    pub(crate) facts: ElementFacts,
}

impl Resolved {
    /// Another element of the same document that stands for this one.
    pub(crate) fn at(&self, node: u64) -> Self {
        Self { key: NodeKey { node, ..self.key.clone() }, facts: self.facts.clone() }
    }
}

/// What happened to the tab and the browser since the step began.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    pub(crate) dialogs: Vec<DialogFact>,
    /// Dialogs that the step itself answered.
    pub(crate) answered: Vec<DialogFact>,
    pub(crate) downloads: Vec<Downloading>,
    pub(crate) new_tabs: Vec<Page>,
    /// URLs of tabs that closed.
    pub(crate) closed_tabs: Vec<String>,
    pub(crate) new_document: bool,
    /// Since when the tab is on its way to another document.
    pub(crate) leaving: Option<Instant>,
    /// When the tab got the document that it has now, if that was since the input.
    pub(crate) document_at: Option<Instant>,
    /// Frames whose present document is not watched yet.
    pub(crate) dirty: BTreeSet<FrameId>,
    /// URLs that a watched document had for a while.
    pub(crate) urls: Vec<String>,
    /// Frames that told how they were at the first event of the gesture.
    pub(crate) rebased: BTreeSet<FrameId>,
    /// A frame told of an effect.
    pub(crate) effect: bool,
    pub(crate) events: u64,
}

/// A document that is being watched, or that has a guard at work.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    pub(crate) world: ProbeWorld,
    /// When watching began there.
    pub(crate) since: Instant,
    pub(crate) is_watching: bool,
}

/// What the clock of a document said, and when that was heard.
#[derive(Clone, Debug)]
pub(crate) struct PageClock {
    pub(crate) document: String,
    pub(crate) now: f64,
    pub(crate) heard: Instant,
}

impl PageClock {
    /// `until` on the clock of `document`, if it is that document's; rather too early than too late, by what
    /// the answer took.
    pub(crate) fn until(&self, document: &str, until: Instant) -> Option<f64> {
        let left = until.saturating_duration_since(self.heard).as_secs_f64() * 1_000.0;
        (self.document == document).then_some(self.now + left)
    }
}

/// What a field made of its input, where that is something else.
#[derive(Clone, Debug)]
pub(crate) enum Entered {
    /// The same value, spelt its own way.
    Spelling(String),
    /// The first so many of the options.
    Options(usize),
}

/// Time that is kept back from a wait to tell why it was in vain.
const ANSWERING: Duration = Duration::from_millis(500);

pub(crate) struct Run<'a> {
    pub(crate) options: &'a ExecutorOptions,
    pub(crate) browser: &'a Browser,
    pub(crate) page: Page,
    /// The tabs that were open when the step began and still are.
    pub(crate) tabs: Vec<Page>,
    pub(crate) probe: Probe,
    pub(crate) step: &'a BoundStep,
    pub(crate) ground: &'a Observation,
    pub(crate) until: Instant,
    pub(crate) lane: PageEvents,
    pub(crate) browser_lane: BrowserEvents,
    pub(crate) happened: Happened,
    pub(crate) evidence: Evidence,
    pub(crate) gathered: Gathered,
    pub(crate) watchers: BTreeMap<FrameId, Watcher>,
    pub(crate) network: Network,
    /// What frames told of the effects of the input, as long as nothing was heard of them since.
    pub(crate) told: BTreeMap<FrameId, FrameSummary>,
    pub(crate) input_at: Option<Instant>,
    pub(crate) main: Option<Target<Resolved>>,
    /// Since the page was sampled.
    pub(crate) watching: Option<Watching>,
    /// Whether anything was sent.
    pub(crate) ledger: Ledger,
    /// The input of the tab that was not answered yet, that of former steps included.
    pub(crate) flight: Flight,
}

/// The most characters of a dialog's message, or of a URL, that are kept.
const TEXT_CAP: usize = 2_000;

impl Run<'_> {
    /// Awaits `work`, unless something ends the step first.
    pub(crate) async fn race<T>(&mut self, stage: Stage, work: impl Future<Output = T>) -> Part<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                event = self.lane.next() => self.note(event, stage)?,
                event = self.browser_lane.next() => self.note_browser(event, stage)?,
                value = &mut work => return Ok(value),
                () = tokio::time::sleep_until(self.until.into()) => return Err(out_of_time(stage)),
            }
        }
    }

    /// Waits a while, within the deadline.
    pub(crate) async fn pause(&mut self, stage: Stage, span: Duration) -> Part<()> {
        self.race(stage, tokio::time::sleep(span)).await
    }

    /// What is left until the deadline, and at most `span`.
    pub(crate) fn within(&self, span: Duration) -> Instant {
        let now = Instant::now();
        now.checked_add(span).map_or(self.until, |point| point.min(self.until))
    }

    /// When a wait has to end for its reason to be told within the deadline of the step.
    pub(crate) fn answer_by(&self) -> Instant {
        let left = self.until.saturating_duration_since(Instant::now());
        self.until.checked_sub(ANSWERING.min(left / 4)).unwrap_or(self.until)
    }

    /// When a target must be there and ready for input.
    pub(crate) fn ready_by(&self) -> Instant {
        self.within(self.options.ready_timeout).min(self.answer_by())
    }

    /// The last look at the clock before input is sent. From here on the step counts as having acted.
    pub(crate) fn about_to_send(&mut self) -> Part<()> {
        let now = Instant::now();
        if now >= self.until {
            return Err(out_of_time(Stage::Act));
        }
        self.input_at.get_or_insert(now);
        self.ledger.record();
        Ok(())
    }

    /// Begins an armed gesture.
    pub(crate) fn send(&mut self, armed: Armed) -> Part<Sent> {
        self.about_to_send()?;
        Ok(armed.send(&mut self.ledger))
    }

    /// The page was sampled as far as it can be: what is seen from here on came of the step.
    pub(crate) fn begin_watching(&mut self) -> Watching {
        self.gathered.set_before();
        *self.watching.insert(Watching::begun())
    }

    /// Milliseconds from the input to `moment`.
    pub(crate) fn at_ms(&self, moment: Instant) -> u32 {
        let since = self.input_at.map_or(Duration::ZERO, |input| moment.saturating_duration_since(input));
        u32::try_from(since.as_millis()).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_main(&self, frame: &FrameId) -> bool {
        frame.as_str() == self.page.target_id().as_str()
    }

    pub(crate) fn note(&mut self, event: Option<PageEvent>, stage: Stage) -> Part<()> {
        self.happened.events += 1;
        match event {
            Some(PageEvent::FrameNavigated { frame, url, .. }) => {
                self.gathered.forget(frame.as_str());
                if self.is_main(&frame) {
                    self.happened.leaving = None;
                    self.happened.new_document = true;
                    self.happened.document_at = self.input_at.map(|_| Instant::now());
                    self.gathered.tell_url(&cut(&url), Some(""));
                }
                self.flight.shut_newcomer(&self.probe, frame.clone());
                self.happened.dirty.insert(frame);
                self.name_frames();
                self.sampled();
            }
            Some(PageEvent::NavigatedWithinDocument { frame, url }) if self.is_main(&frame) => {
                // A watched document tells its URL with everything else, in order; what it was too quick
                // for is added once it has told.
                if self.watchers.get(&frame).is_some_and(|watcher| watcher.is_watching) {
                    self.happened.urls.push(cut(&url));
                } else {
                    self.gathered.tell_url(&cut(&url), None);
                    self.sampled();
                }
            }
            Some(PageEvent::NavigationRequested { frame }) if self.is_main(&frame) => {
                self.happened.leaving = Some(Instant::now());
            }
            Some(PageEvent::LoadingStopped { frame }) if self.is_main(&frame) => self.happened.leaving = None,
            Some(PageEvent::FrameDetached { frame, .. }) => {
                self.gathered.forget(frame.as_str());
                self.name_frames();
            }
            Some(PageEvent::DialogOpening(dialog)) => return self.dialog_opened(&dialog),
            Some(PageEvent::Crashed { session }) if session == *self.page.session() => {
                return Err(gone_stop(GoneReason::Crashed, stage));
            }
            Some(PageEvent::Closed) | None => return Err(self.end_of_tab(stage)),
            Some(_) => {}
        }
        Ok(())
    }

    /// A tab that was there when the step began, or that the step opened, is gone.
    pub(crate) fn tab_closed(&mut self, target: &TargetId) {
        let known = self.tabs.iter().chain(&self.happened.new_tabs).find(|tab| tab.target_id() == target);
        if let Some(url) = known.map(|tab| cut(&tab.url())) {
            self.tabs.retain(|tab| tab.target_id() != target);
            self.happened.new_tabs.retain(|tab| tab.target_id() != target);
            self.happened.closed_tabs.push(url);
        }
    }

    /// The tab ended by itself, or because its browser did.
    fn end_of_tab(&self, stage: Stage) -> Stop {
        let reason = if self.browser.is_alive() { GoneReason::Detached } else { GoneReason::BrowserGone };
        gone_stop(reason, stage)
    }

    fn dialog_opened(&mut self, dialog: &OpenDialog) -> Part<()> {
        self.happened.dialogs.push(dialog_fact(dialog));
        let leaves = matches!(
            self.step.action(),
            Action::Navigate(_) | Action::GoBack(_) | Action::GoForward(_) | Action::Reload(_)
        );
        if dialog.kind == WireDialog::BeforeUnload && leaves && self.options.before_unload == BeforeUnload::Leave {
            // The command is on its way once the future was polled; its reply tells nothing.
            let _ = dialog.answer(&DialogAnswer::Accept { text: None }, self.until).now_or_never();
            return Ok(());
        }
        Err(Stop::Dialog)
    }

    pub(crate) fn note_browser(&mut self, event: Option<BrowserEvent>, stage: Stage) -> Part<()> {
        match event {
            Some(BrowserEvent::PageOpened { page, opener }) => {
                let is_ours = opener.as_ref().is_none_or(|opener: &TargetId| opener == self.page.target_id());
                if is_ours && page != self.page {
                    self.happened.new_tabs.push(page);
                    self.sampled();
                }
            }
            Some(BrowserEvent::DownloadStarted { guid, url, suggested_filename, frame }) => {
                self.download_started(guid, &url, &suggested_filename, &frame);
            }
            Some(BrowserEvent::DownloadProgress { guid, state, received, .. }) => {
                self.download_went_on(&guid, state, received);
            }
            Some(BrowserEvent::PageClosed { page }) => self.tab_closed(&page),
            Some(BrowserEvent::Gone) | None => return Err(gone_stop(GoneReason::BrowserGone, stage)),
            Some(_) => {}
        }
        Ok(())
    }

    /// Adds the page as it is known now to the samples, once input was sent.
    pub(crate) fn sampled(&mut self) {
        if self.input_at.is_some() && self.watching.is_some() {
            let at = self.at_ms(Instant::now());
            self.gathered.push(at);
        }
    }

    /// Adds those URLs that no sample shows.
    pub(crate) fn add_urls(&mut self) {
        let now = self.gathered.url().to_owned();
        for url in std::mem::take(&mut self.happened.urls) {
            if self.input_at.is_some() && !self.gathered.shows_url(&url) {
                self.gathered.tell_url(&url, None);
                self.sampled();
                self.gathered.tell_url(&now, None);
                self.sampled();
            }
        }
    }

    pub(crate) fn name_frames(&mut self) {
        let frames = self.page.frames().into_iter().map(|frame| frame.id.as_str().to_owned()).collect();
        self.gathered.set_frames(frames);
    }

    /// What happened, as conditions are judged on it.
    pub(crate) fn events(&self) -> EventFacts {
        let new_tabs: Vec<String> = self.happened.new_tabs.iter().map(|page| cut(&page.url())).collect();
        let any = self.happened.effect
            || self.happened.new_document
            || self.happened.leaving.is_some()
            || !self.happened.dialogs.is_empty()
            || !self.happened.downloads.is_empty()
            || !self.happened.closed_tabs.is_empty()
            || !new_tabs.is_empty();
        EventFacts {
            network_idle: self.network.idle_fact(),
            requests: self.network.facts(),
            dialogs: self.happened.dialogs.clone(),
            downloads: self.downloads(),
            new_tabs,
            any_effect: Some(any),
        }
    }
}

pub(crate) fn cut(text: &str) -> String {
    text.chars().take(TEXT_CAP).collect()
}

pub(crate) fn dialog_fact(dialog: &OpenDialog) -> DialogFact {
    let kind = match dialog.kind {
        WireDialog::Confirm => DialogKind::Confirm,
        WireDialog::Prompt => DialogKind::Prompt,
        WireDialog::BeforeUnload => DialogKind::BeforeUnload,
        _ => DialogKind::Alert,
    };
    DialogFact { kind, message: cut(&dialog.message) }
}
