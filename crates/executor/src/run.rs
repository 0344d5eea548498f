//! One step while it runs: its state, and how it waits.
//!
//! Invariant: every wait races with what may end the step: a dialog, a crash, the end of the tab or of
//! the browser, and the step's deadline.

use std::borrow::Cow;
use std::future::Future;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cuebook_cdp::{
    Browser, BrowserEvent, DialogAnswer, DialogKind, FrameId, GoneReason, OpenDialog, Page, PageEvent, PageEvents,
    TargetId,
};
use cuebook_grammar::action::Action;
use cuebook_grammar::facts::{ElementFacts, EventFacts};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::ledger::Ledger;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Evidence, Stage};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::render::cut;
use cuebook_grammar::seam::{Denials, EffectGate, Redactor};
use cuebook_probe::Probe;
use futures_util::FutureExt as _;

use crate::activity::{LONGEST, dialog_fact};
use crate::gate::{Held, Holder};
use crate::input::devices::{Armed, Flight, Sent};
use crate::late::{Watch, end_of};
use crate::options::{BeforeUnload, ExecutorOptions};
use crate::redaction::scrub_text;
use crate::seen::Seen;
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

/// What a field made of its input, where that differs.
#[derive(Clone, Debug)]
pub(crate) enum Entered {
    /// What the field is to hold: what was there before and the text, or the same value in its own spelling.
    Value(String),
    /// Only this many of the options, the first ones.
    Options(usize),
}

/// Time that is kept back from a wait, to report why it failed.
const ANSWERING: Duration = Duration::from_millis(500);

pub(crate) struct Run<'a> {
    pub(crate) options: &'a ExecutorOptions,
    pub(crate) redactor: Option<&'a dyn Redactor>,
    /// Whether any step of this executor entered a secret.
    pub(crate) has_entered_secret: &'a AtomicBool,
    pub(crate) browser: &'a Browser,
    pub(crate) page: Page,
    /// The tabs that were open when the step began and still are.
    pub(crate) tabs: Vec<Page>,
    pub(crate) probe: Probe,
    pub(crate) step: &'a BoundStep,
    pub(crate) ground: &'a Observation,
    pub(crate) until: Instant,
    pub(crate) lane: PageEvents,
    pub(crate) watch: &'a mut Watch,
    pub(crate) evidence: Evidence,
    pub(crate) seen: Seen,
    /// What the run entered before this step.
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) denials: &'a dyn Denials,
    pub(crate) main: Option<Target<Resolved>>,
    pub(crate) looking: Looking,
    /// Input to the tab that the browser has not answered yet, that of earlier steps included.
    pub(crate) flight: Flight,
    pub(crate) gate: &'a mut dyn EffectGate,
    pub(crate) holder: &'a mut Option<Holder>,
}

impl Run<'_> {
    /// Awaits `work`, unless something ends the step first.
    pub(crate) async fn race<T>(&mut self, stage: Stage, work: impl Future<Output = T>) -> Part<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                event = self.lane.next() => self.note(event, stage)?,
                event = self.watch.lane.next() => self.note_browser(event, stage)?,
                held = Holder::next(self.holder) => drop(self.judge(held).await?),
                value = &mut work => return Ok(value),
                () = tokio::time::sleep_until(self.until.into()) => return Err(out_of_time(stage)),
            }
        }
    }

    /// Has a held request decided, and returns how long that took: it does not count as time of the step.
    pub(crate) async fn judge(&mut self, held: Held) -> Part<Duration> {
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

    /// What is left until the deadline, and at most `span`.
    pub(crate) fn within(&self, span: Duration) -> Instant {
        let now = Instant::now();
        now.checked_add(span).map_or(self.until, |point| point.min(self.until))
    }

    /// When a wait has to end so that its failure can be reported before the deadline of the step.
    pub(crate) fn answer_by(&self) -> Instant {
        let left = self.until.saturating_duration_since(Instant::now());
        self.until.checked_sub(ANSWERING.min(left / 4)).unwrap_or(self.until)
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
        self.seen.input_at.get_or_insert(now);
        Ok(())
    }

    /// Begins an armed gesture.
    pub(crate) fn send(&mut self, armed: Armed) -> Part<Sent> {
        self.last_check()?;
        Ok(armed.send(&mut self.looking))
    }

    /// The page was sampled as far as possible: what is seen from here on is an effect of the step.
    pub(crate) fn begin_watching(&mut self) -> Watching {
        self.seen.gathered.set_before();
        self.looking.watch()
    }

    /// Milliseconds from the input to `moment`.
    pub(crate) fn at_ms(&self, moment: Instant) -> u32 {
        self.seen.at_ms(moment)
    }

    pub(crate) fn is_main(&self, frame: &FrameId) -> bool {
        frame.as_str() == self.page.target_id().as_str()
    }

    pub(crate) fn note(&mut self, event: Option<PageEvent>, stage: Stage) -> Part<()> {
        self.seen.activity.events += 1;
        match event {
            Some(PageEvent::FrameNavigated { frame, url, .. }) => {
                self.seen.gathered.forget(frame.as_str());
                if self.is_main(&frame) {
                    self.seen.activity.leaving = None;
                    self.seen.activity.new_document = true;
                    self.seen.activity.document_at = self.seen.input_at.map(|_| Instant::now());
                    self.seen.gathered.set_url(&cut(&url, LONGEST), Some(""));
                }
                self.flight.shut_newcomer(&self.probe, frame.clone());
                self.seen.activity.dirty.insert(frame);
                self.name_frames();
                self.sampled();
            }
            Some(PageEvent::NavigatedWithinDocument { frame, url }) if self.is_main(&frame) => {
                // A watched document reports its URL with everything else, in order; URLs that it did not sample
                // are added after that.
                if self.seen.watchers.get(&frame).is_some_and(|watcher| watcher.is_watching) {
                    self.seen.activity.urls.push(cut(&url, LONGEST));
                } else {
                    self.seen.gathered.set_url(&cut(&url, LONGEST), None);
                    self.sampled();
                }
            }
            Some(PageEvent::NavigationRequested { frame }) if self.is_main(&frame) => {
                self.seen.activity.leaving = Some(Instant::now());
            }
            Some(PageEvent::LoadingStopped { frame }) if self.is_main(&frame) => self.seen.activity.leaving = None,
            Some(PageEvent::FrameDetached { frame, .. }) => {
                self.seen.gathered.forget(frame.as_str());
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
        let known = self.tabs.iter().chain(&self.seen.activity.new_tabs).find(|tab| tab.target_id() == target);
        if let Some(url) = known.map(|tab| cut(&tab.url(), LONGEST)) {
            self.tabs.retain(|tab| tab.target_id() != target);
            self.seen.activity.new_tabs.retain(|tab| tab.target_id() != target);
            self.seen.activity.closed_tabs.push(url);
        }
    }

    /// The tab closed, or its browser exited.
    fn end_of_tab(&self, stage: Stage) -> Stop {
        let reason = if self.browser.is_alive() { GoneReason::Detached } else { GoneReason::BrowserGone };
        gone_stop(reason, stage)
    }

    fn dialog_opened(&mut self, dialog: &OpenDialog) -> Part<()> {
        self.seen.activity.dialogs.push(dialog_fact(dialog));
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
        match event {
            Some(BrowserEvent::PageOpened { page, opener }) => {
                let is_ours = opener.as_ref().is_none_or(|opener: &TargetId| opener == self.page.target_id());
                if is_ours && page != self.page && page.is_beside(&self.page) {
                    self.seen.activity.new_tabs.push(page);
                    self.sampled();
                }
            }
            Some(BrowserEvent::DownloadStarted { guid, url, suggested_filename, frame }) => {
                self.download_started(guid, &url, &suggested_filename, &frame);
            }
            Some(BrowserEvent::DownloadProgress { guid, state, received, .. }) => {
                self.watch.downloads.went_on(&guid, end_of(state), received, Instant::now());
            }
            Some(BrowserEvent::PageClosed { page }) => self.tab_closed(&page),
            Some(BrowserEvent::PageRefused { opener, .. }) if opener == *self.page.target_id() => {
                self.seen.activity.refused_tabs = self.seen.activity.refused_tabs.saturating_add(1);
            }
            Some(BrowserEvent::Gone) | None => return Err(gone_stop(GoneReason::BrowserGone, stage)),
            Some(_) => {}
        }
        Ok(())
    }

    /// Adds the page as it is known now to the samples, once input was sent.
    pub(crate) fn sampled(&mut self) {
        if self.seen.input_at.is_some() && self.looking.watching().is_some() {
            let at = self.at_ms(Instant::now());
            self.seen.gathered.push(at);
        }
    }

    /// Adds the URLs that no sample shows.
    pub(crate) fn add_urls(&mut self) {
        let now = self.seen.gathered.url().to_owned();
        for url in std::mem::take(&mut self.seen.activity.urls) {
            if self.seen.input_at.is_some() && !self.seen.gathered.shows_url(&url) {
                self.seen.gathered.set_url(&url, None);
                self.sampled();
                self.seen.gathered.set_url(&now, None);
                self.sampled();
            }
        }
    }

    pub(crate) fn name_frames(&mut self) {
        let frames = self.page.frames().into_iter().map(|frame| frame.id.as_str().to_owned()).collect();
        self.seen.gathered.set_frames(frames);
    }

    /// The events so far, as conditions are judged on them.
    pub(crate) fn events(&self) -> EventFacts {
        let new_tabs: Vec<String> = self.seen.activity.new_tabs.iter().map(|page| cut(&page.url(), LONGEST)).collect();
        let downloads = self.downloads();
        let any = self.seen.activity.effect
            || self.seen.activity.new_document
            || self.seen.activity.leaving.is_some()
            || !self.seen.activity.dialogs.is_empty()
            || !downloads.is_empty()
            || !self.seen.activity.closed_tabs.is_empty()
            || !new_tabs.is_empty();
        EventFacts {
            network_idle: self.seen.network.idle_fact(),
            requests: self.seen.network.facts().into_iter().map(|request| self.without_proxy(request)).collect(),
            dialogs: self.seen.activity.dialogs.clone(),
            downloads,
            new_tabs,
            any_effect: Some(any),
        }
    }
}
