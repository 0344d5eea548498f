//! One step while it runs: its state, and how it waits.
//!
//! Invariant: every wait races with what may end the step: a dialog, a crash, the end of the tab or of
//! the browser, and the step's deadline.

use std::borrow::Cow;
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cuebook_cdp::{
    Browser, BrowserEvent, DialogAnswer, DialogKind, FrameId, GoneReason, OpenDialog, Page, PageEvent, TargetId,
};
use cuebook_grammar::action::Action;
use cuebook_grammar::facts::{ElementFacts, EventFacts};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::ledger::Ledger;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Evidence, Stage};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::seam::{Denials, EffectGate, Redactor};
use cuebook_probe::Probe;
use futures_util::FutureExt as _;

use crate::activity::{NewTab, dialog_fact};
use crate::gate::{Holder, PendingRequest};
use crate::input::devices::{Armed, Flight, SentGesture};
use crate::lanes::Lanes;
use crate::late::end_of;
use crate::options::{BeforeUnload, ExecutorOptions};
use crate::redaction::scrub_text;
use crate::seen::{Event, Seen};
use crate::settling::Bounds;
use crate::stage::{Looking, Target, Watching};
use crate::stop::{Part, Stop, gone_stop, out_of_time};

/// The element that a step acts on.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) key: NodeKey,
    pub(crate) facts: ElementFacts,
}

impl Resolved {
    /// Another element of the same document that represents this one.
    pub(crate) fn at(&self, node: u64) -> Self {
        Self { key: NodeKey { node, ..self.key.clone() }, facts: self.facts.clone() }
    }
}

/// The clock of a document, and when it was read.
#[derive(Clone, Debug)]
pub(crate) struct PageClock {
    pub(crate) document: String,
    pub(crate) now: f64,
    pub(crate) read_at: Instant,
}

impl PageClock {
    /// `until` on the clock of `document`, if it is that document's. Too early by the latency of the answer, never too
    /// late.
    pub(crate) fn until(&self, document: &str, until: Instant) -> Option<f64> {
        let left = until.saturating_duration_since(self.read_at).as_secs_f64() * 1_000.0;
        (self.document == document).then_some(self.now + left)
    }
}

/// Result of the input in a field, where it differs from the input.
#[derive(Clone, Debug)]
pub(crate) enum Entered {
    /// Value that the field is to hold: its former content and the text, or the same value in the field's own spelling.
    Value(String),
    /// Only this many of the options, the first ones.
    Options(usize),
}

/// Time that is kept back from a wait, to report why it failed.
const ANSWERING: Duration = Duration::from_millis(500);

pub(crate) struct StepRun<'a> {
    pub(crate) options: &'a ExecutorOptions,
    pub(crate) redactor: Option<&'a dyn Redactor>,
    /// `true` if any step of this executor entered a secret.
    pub(crate) has_entered_secret: &'a AtomicBool,
    pub(crate) browser: &'a Browser,
    pub(crate) page: Page,
    /// The tabs that were open when the step began and still are.
    pub(crate) tabs: Vec<Page>,
    pub(crate) probe: Probe,
    pub(crate) step: &'a BoundStep,
    pub(crate) ground: &'a Observation,
    pub(crate) until: Instant,
    pub(crate) lanes: Lanes<'a>,
    pub(crate) evidence: Evidence,
    /// Picture of the main target, as PNG, until it is stored.
    pub(crate) portrait: Option<Vec<u8>>,
    pub(crate) seen: Seen<'a>,
    /// Values that the run entered before this step.
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) denials: &'a dyn Denials,
    pub(crate) main: Option<Target<Resolved>>,
    pub(crate) looking: Looking,
    /// Input to the tab that the browser has not answered yet, that of earlier steps included.
    pub(crate) flight: Flight,
    pub(crate) gate: &'a mut dyn EffectGate,
    pub(crate) holder: &'a mut Option<Holder>,
}

impl StepRun<'_> {
    /// Awaits `work`, unless something ends the step first.
    pub(crate) async fn race<T>(&mut self, stage: Stage, work: impl Future<Output = T>) -> Part<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                event = self.lanes.tab.next() => self.note(event, stage)?,
                event = self.lanes.browser.next() => self.note_browser(event, stage)?,
                held = Holder::next(self.holder) => drop(self.judge(held).await?),
                value = &mut work => return Ok(value),
                () = tokio::time::sleep_until(self.until.into()) => return Err(out_of_time(stage)),
            }
        }
    }

    /// Has a held request decided, and returns how long that took: it does not count as time of the step.
    pub(crate) async fn judge(&mut self, held: PendingRequest) -> Part<Duration> {
        let begun = Instant::now();
        self.gate.judge(self.step, &held.request).await.map_err(Stop::Failed)?;
        held.release();
        let span = begun.elapsed();
        self.until = self.until.checked_add(span).unwrap_or(self.until);
        Ok(span)
    }

    /// Without what the redactor of the run and this step know to be secret.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let text = self.redactor.map_or(Cow::Borrowed(text), |redactor| redactor.redact(text));
        scrub_text(&text, self.seen.gathered.secrets())
    }

    /// Waits a while, within the deadline.
    pub(crate) async fn pause(&mut self, stage: Stage, span: Duration) -> Part<()> {
        self.race(stage, tokio::time::sleep(span)).await
    }

    /// Returns the end of `span` from now, at most the deadline.
    pub(crate) fn within(&self, span: Duration) -> Instant {
        let now = Instant::now();
        now.checked_add(span).map_or(self.until, |point| point.min(self.until))
    }

    /// When a wait has to end so that its failure can be reported before the deadline of the step.
    pub(crate) fn answer_by(&self) -> Instant {
        let whole = self.until.saturating_duration_since(self.seen.began);
        self.until.checked_sub(ANSWERING.min(whole / 4)).unwrap_or(self.until)
    }

    /// When a target must be there and ready for input.
    pub(crate) fn ready_by(&self) -> Instant {
        self.within(self.options.ready_timeout).min(self.answer_by())
    }

    /// The last check of the deadline before input is sent. From here on the step counts as having acted.
    pub(crate) fn about_to_send(&mut self) -> Part<()> {
        self.last_check()?;
        self.looking.record();
        Ok(())
    }

    fn last_check(&mut self) -> Part<()> {
        let now = Instant::now();
        if now >= self.until {
            return Err(out_of_time(Stage::Act));
        }
        self.seen.on(Event::Input, now);
        Ok(())
    }

    /// Begins an armed gesture.
    pub(crate) fn send(&mut self, armed: Armed) -> Part<SentGesture> {
        self.last_check()?;
        Ok(armed.send(&mut self.looking))
    }

    /// Takes in what arrived just now; `true` if it is news.
    pub(crate) fn saw(&mut self, event: Event) -> bool {
        self.seen.on(event, Instant::now())
    }

    /// The page was sampled as far as possible: what is seen from here on is an effect of the step.
    pub(crate) fn begin_watching(&mut self) -> Watching {
        self.saw(Event::Began);
        self.looking.watch()
    }

    /// When the step ends at the latest.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { until: self.until, answer_by: self.answer_by() }
    }

    pub(crate) fn is_main(&self, frame: &FrameId) -> bool {
        frame.as_str() == self.page.target_id().as_str()
    }

    pub(crate) fn note(&mut self, event: Option<PageEvent>, stage: Stage) -> Part<()> {
        self.seen.activity.events += 1;
        let now = Instant::now();
        match event {
            Some(PageEvent::FrameNavigated { frame, url, .. }) => {
                self.flight.shut_newcomer(&self.probe, frame.clone());
                self.name_frames();
                let is_main = self.is_main(&frame);
                self.seen.on(Event::Document { frame, is_main, url }, now);
            }
            Some(PageEvent::NavigatedWithinDocument { frame, url }) if self.is_main(&frame) => {
                self.seen.on(Event::Moved { frame, url }, now);
            }
            Some(PageEvent::NavigationRequested { frame }) if self.is_main(&frame) => {
                self.seen.on(Event::Leaving, now);
            }
            Some(PageEvent::LoadingStopped { frame }) if self.is_main(&frame) => {
                self.seen.on(Event::Stopped, now);
            }
            Some(PageEvent::FrameDetached { frame, .. }) => {
                self.seen.on(Event::Detached { frame }, now);
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
        let known = self.tabs.iter().find(|tab| tab.target_id() == target).map(Page::url);
        let opened = || self.seen.activity.new_tabs.iter().find(|tab| tab.tab == *target).map(|tab| tab.url.clone());
        if let Some(url) = known.or_else(opened) {
            self.tabs.retain(|tab| tab.target_id() != target);
            self.saw(Event::TabClosed { tab: target.clone(), url });
        }
    }

    /// The tab closed, or its browser exited.
    fn end_of_tab(&self, stage: Stage) -> Stop {
        let reason = if self.browser.is_alive() { GoneReason::Detached } else { GoneReason::BrowserGone };
        gone_stop(reason, stage)
    }

    fn dialog_opened(&mut self, dialog: &OpenDialog) -> Part<()> {
        self.saw(Event::Dialog { dialog: dialog_fact(dialog) });
        let leaves = matches!(
            self.step.action(),
            Action::Navigate(_) | Action::GoBack(_) | Action::GoForward(_) | Action::Reload(_)
        );
        let is_ours = |key: &NodeKey| key.page.as_str() == self.page.target_id().as_str();
        let is_kept = self.ledger.holds(is_ours).is_some();
        if dialog.kind == DialogKind::BeforeUnload
            && leaves
            && !is_kept
            && self.options.before_unload == BeforeUnload::Leave
        {
            // The first poll sends the command; its reply is not needed.
            let _ = dialog.answer(&DialogAnswer::Accept { text: None }, self.until).now_or_never();
            return Ok(());
        }
        Err(Stop::Dialog)
    }

    pub(crate) fn note_browser(&mut self, event: Option<BrowserEvent>, stage: Stage) -> Part<()> {
        let now = Instant::now();
        match event {
            Some(BrowserEvent::PageOpened { page, opener }) => {
                let is_ours = opener.as_ref().is_none_or(|opener: &TargetId| opener == self.page.target_id());
                if is_ours && page != self.page && page.is_beside(&self.page) {
                    let tab = page.target_id().clone();
                    self.seen.on(Event::TabOpened { tab, url: page.url() }, now);
                }
            }
            Some(BrowserEvent::DownloadStarted { guid, url, suggested_filename, frame }) => {
                self.download_started(guid, &url, &suggested_filename, &frame);
            }
            Some(BrowserEvent::DownloadProgress { guid, state, received, .. }) => {
                self.seen.on(Event::DownloadWentOn { guid, end: end_of(state), received }, now);
            }
            Some(BrowserEvent::PageClosed { page }) => self.tab_closed(&page),
            Some(BrowserEvent::PageRefused { opener, .. }) if opener == *self.page.target_id() => {
                self.seen.on(Event::TabRefused, now);
            }
            Some(BrowserEvent::Gone) | None => return Err(gone_stop(GoneReason::BrowserGone, stage)),
            Some(_) => {}
        }
        Ok(())
    }

    pub(crate) fn name_frames(&mut self) {
        let frames = self.page.frames().into_iter().map(|frame| frame.id.as_str().to_owned()).collect();
        self.saw(Event::Frames { frames });
    }

    /// Takes in what the wire has reported of requests, and where the opened tabs are.
    pub(crate) fn hear(&mut self) {
        let now = Instant::now();
        for exchange in self.lanes.wire.arrived() {
            self.seen.on(Event::Exchange { exchange }, now);
        }
        for at in 0..self.seen.activity.new_tabs.len() {
            let Some(NewTab { tab, url }) = self.seen.activity.new_tabs.get(at) else { break };
            let moved = self.browser.page(tab).map(|page| page.url()).filter(|now| now != url);
            if let Some(url) = moved {
                self.seen.on(Event::TabMoved { tab: tab.clone(), url }, now);
            }
        }
    }

    /// Tells whether no request was open for `span`; if so, the step is marked idle.
    pub(crate) fn is_quiet(&mut self, span: Duration) -> bool {
        self.hear();
        self.saw(Event::Quiet { span })
    }

    /// The events so far, as conditions are judged on them.
    pub(crate) fn events(&mut self) -> EventFacts {
        self.hear();
        let events = self.seen.events();
        let requests = events.requests.into_iter().map(|request| self.without_proxy(request)).collect();
        EventFacts { requests, ..events }
    }
}
