//! All that is known of the page during a step: a fold over the reports of the tab, the browser, the wire and the
//! watched documents.
//!
//! Pure. Invariant: everything that arrives passes through [`Seen::on`], with the moment at which it arrived; what was
//! recorded of one step can be judged again without a browser (`trace.rs`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cuebook_cdp::{FrameId, TargetId};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::facts::{DialogFact, DownloadEnd, DownloadFact, EventFacts, TargetFacts};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::ledger::downloads::Downloads;
use cuebook_grammar::ledger::requests::Doing;
use cuebook_grammar::render::cut;
use cuebook_probe::Placement;
use serde::{Deserialize, Serialize};

use crate::activity::{Activity, LONGEST, NewTab};
use crate::facts::{Gathered, Question};
use crate::script::{Changes, FrameSample, FrameSummary};
use crate::tape::Tape;
use crate::traffic::{Exchange, Traffic};

/// Something that happened during a step: done by it, or reported by the browser or a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Event {
    /// The page was sampled as far as possible: what is seen from here on is an effect of the step.
    Began,
    /// Requests from here on belong to the step.
    Requests {
        doing: Doing,
    },
    /// The first input is sent.
    Input,
    /// The frames of the tab, in document order.
    Frames {
        frames: Vec<String>,
    },
    /// A frame has a new document.
    Document {
        frame: FrameId,
        is_main: bool,
        url: String,
    },
    /// The URL of the main document changed within it.
    Moved {
        frame: FrameId,
        url: String,
    },
    /// The tab asked for another document.
    Leaving,
    /// The main frame stopped loading: no further document is awaited.
    Stopped,
    Detached {
        frame: FrameId,
    },
    Dialog {
        dialog: DialogFact,
    },
    /// The step answers a dialog.
    DialogAnswered {
        dialog: DialogFact,
    },
    /// The verb itself knows that something changed.
    Effect,
    /// Where the page was before the input, where it could not be sampled then.
    CameFrom {
        url: String,
    },
    /// The URL that Chrome's own error page stands for.
    AskedFor {
        url: String,
    },
    /// Each document is asked these from now on.
    Questions {
        questions: Vec<Question>,
    },
    TabOpened {
        tab: TargetId,
        url: String,
    },
    /// An opened tab is elsewhere now.
    TabMoved {
        tab: TargetId,
        url: String,
    },
    TabClosed {
        tab: TargetId,
        url: String,
    },
    TabRefused,
    DownloadStarted {
        guid: String,
        fact: DownloadFact,
    },
    DownloadWentOn {
        guid: String,
        end: Option<DownloadEnd>,
        received: u64,
    },
    Exchange {
        exchange: Exchange,
    },
    /// No request was open for this long, if so.
    Quiet {
        span: Duration,
    },
    /// A frame as it is, outside the time that is watched.
    Sampled {
        frame: FrameId,
        is_main: bool,
        sample: FrameSample,
    },
    /// A frame is watched, since `age` ago, or has a guard at work.
    Watched {
        frame: FrameId,
        is_watching: bool,
        age: Duration,
    },
    /// Changes of a watched frame.
    Changed {
        frame: FrameId,
        is_main: bool,
        changes: Changes,
    },
    /// A target, as an extra round trip found it.
    Asked {
        target: TargetRef,
        facts: Box<TargetFacts>,
    },
    /// The frame that the path of a target leads to.
    Led {
        target: TargetRef,
        frame: Option<String>,
    },
    /// Where a frame lies.
    Placed {
        frame: FrameId,
        placement: Placement,
    },
}

/// The line of a trace that says so.
#[derive(Serialize)]
struct Arrived<'a> {
    event: &'a Event,
}

/// A document that is being watched, or that has a guard at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// When watching began there.
    pub(crate) since: Instant,
    pub(crate) is_watching: bool,
    /// Its frame still shows it.
    is_current: bool,
}

/// Everything known of the page during a step.
pub(crate) struct Seen<'a> {
    pub(crate) activity: Activity,
    pub(crate) gathered: Gathered,
    pub(crate) traffic: &'a mut Traffic,
    pub(crate) downloads: &'a mut Downloads,
    /// URLs of tabs that opened since the step before.
    pub(crate) late_tabs: Vec<String>,
    /// A step that only waits may wait for a download of an earlier one.
    waits: bool,
    /// Where the decisions of the proxy begin that belong to the step.
    pub(crate) denied_from: u64,
    pub(crate) watched: BTreeMap<FrameId, Watched>,
    /// The effects of the input that a frame reported with its answer to it; gone once it is asked again.
    pub(crate) summaries: BTreeMap<FrameId, FrameSummary>,
    /// When the step began.
    pub(crate) began: Instant,
    /// When the first input was sent.
    pub(crate) input_at: Option<Instant>,
    /// Set by [`Event::Began`]: nothing is sampled before it.
    has_begun: bool,
    pub(crate) tape: Option<Tape>,
}

impl<'a> Seen<'a> {
    /// Of a step that begins.
    pub(crate) fn new(
        gathered: Gathered,
        traffic: &'a mut Traffic,
        downloads: &'a mut Downloads,
        denied_from: u64,
        waits: bool,
        began: Instant,
    ) -> Self {
        Self {
            activity: Activity::default(),
            gathered,
            traffic,
            downloads,
            late_tabs: Vec::new(),
            waits,
            denied_from,
            watched: BTreeMap::new(),
            summaries: BTreeMap::new(),
            began,
            input_at: None,
            has_begun: false,
            tape: None,
        }
    }

    /// Takes in what arrived; `true` if it is news.
    pub(crate) fn on(&mut self, event: Event, at: Instant) -> bool {
        self.record(Arrived { event: &event }, at);
        match event {
            Event::Began => {
                self.gathered.set_before();
                self.has_begun = true;
            }
            Event::Requests { doing } => self.traffic.begin(doing, at),
            Event::Input => drop(self.input_at.get_or_insert(at)),
            Event::Frames { frames } => self.gathered.set_frames(frames),
            Event::Document { frame, is_main, url } => {
                self.gathered.forget(frame.as_str());
                if is_main {
                    self.activity.leaving = None;
                    self.activity.new_document = true;
                    self.activity.document_at = self.input_at.map(|_| at);
                    self.gathered.set_url(&cut(&url, LONGEST), Some(""));
                }
                if let Some(watched) = self.watched.get_mut(&frame) {
                    watched.is_current = false;
                }
                self.activity.dirty.insert(frame);
                self.sample(at);
            }
            // A watched document reports its URL with everything else, in order; URLs that it did not sample are added
            // after that.
            Event::Moved { frame, url } => {
                let url = cut(&url, LONGEST);
                if self.watched.get(&frame).is_some_and(|watched| watched.is_watching) {
                    self.activity.urls.push(url);
                } else {
                    self.gathered.set_url(&url, None);
                    self.sample(at);
                }
            }
            Event::Leaving => self.activity.leaving = Some(at),
            Event::Stopped => self.activity.leaving = None,
            Event::Detached { frame } => self.gathered.forget(frame.as_str()),
            Event::Dialog { dialog } => self.activity.dialogs.push(dialog),
            Event::DialogAnswered { dialog } => self.activity.answered.push(dialog),
            Event::Effect => self.activity.effect = true,
            Event::CameFrom { url } => self.gathered.was_at(&url),
            Event::AskedFor { url } => self.gathered.asked_for(&url),
            Event::Questions { questions } => self.gathered.ask(questions),
            Event::TabOpened { tab, url } => {
                self.activity.new_tabs.push(NewTab { tab, url: cut(&url, LONGEST) });
                self.sample(at);
            }
            Event::TabMoved { tab, url } => {
                for one in self.activity.new_tabs.iter_mut().filter(|one| one.tab == tab) {
                    one.url = cut(&url, LONGEST);
                }
            }
            Event::TabClosed { tab, url } => {
                self.activity.new_tabs.retain(|one| one.tab != tab);
                self.activity.closed_tabs.push(cut(&url, LONGEST));
            }
            Event::TabRefused => self.activity.refused_tabs = self.activity.refused_tabs.saturating_add(1),
            Event::DownloadStarted { guid, fact } => {
                self.downloads.started(guid, fact, true, at);
                self.sample(at);
            }
            Event::DownloadWentOn { guid, end, received } => self.downloads.went_on(&guid, end, received, at),
            Event::Exchange { exchange } => self.traffic.on(exchange, at),
            Event::Quiet { span } => return self.traffic.is_quiet(span, at),
            Event::Sampled { frame, is_main, sample } => self.gathered.record(frame.as_str(), is_main, sample),
            Event::Watched { frame, is_watching, age } => {
                self.activity.dirty.remove(&frame);
                let since = at.checked_sub(age).unwrap_or(at);
                self.watched.insert(frame, Watched { since, is_watching, is_current: true });
            }
            Event::Changed { frame, is_main, changes } => self.changed(&frame, is_main, changes),
            Event::Asked { target, facts } => self.gathered.record_asked(target, *facts),
            Event::Led { target, frame } => return self.gathered.lead(&target, frame),
            Event::Placed { frame, placement } => return self.gathered.place(frame.as_str(), placement),
        }
        true
    }

    fn changed(&mut self, frame: &FrameId, is_main: bool, changes: Changes) {
        let Some(watched) = self.watched.get(frame).copied() else { return };
        if let Some(before) = changes.before
            && self.activity.rebased.is_empty()
        {
            self.activity.rebased.insert(frame.clone());
            self.gathered.record(frame.as_str(), is_main, before);
            self.gathered.set_before();
        }
        for sample in changes.samples {
            let offset = Duration::try_from_secs_f64((sample.t / 1_000.0).clamp(0.0, 3_600.0)).unwrap_or_default();
            let at = self.at_ms(watched.since.checked_add(offset).unwrap_or(watched.since));
            // The last sample of a document that was replaced meanwhile still counts.
            let url = self.gathered.url().to_owned();
            self.gathered.record(frame.as_str(), is_main, sample);
            self.gathered.push(at);
            if watched.is_watching && !watched.is_current && is_main && self.activity.new_document {
                self.gathered.forget(frame.as_str());
                self.gathered.set_url(&url, Some(""));
            }
        }
        self.activity.effect |= changes.effect;
    }

    /// Records what the step does besides, if it is recorded at all.
    pub(crate) fn record(&self, line: impl Serialize, at: Instant) {
        if let Some(tape) = &self.tape {
            tape.write(line, at);
        }
    }

    /// Adds the page as it is known now to the samples, once input was sent.
    pub(crate) fn sample(&mut self, at: Instant) {
        if self.input_at.is_some() && self.has_begun {
            self.gathered.push(self.at_ms(at));
        }
    }

    /// Adds the URLs that no sample shows.
    pub(crate) fn add_urls(&mut self, at: Instant) {
        let now = self.gathered.url().to_owned();
        for url in std::mem::take(&mut self.activity.urls) {
            if self.input_at.is_some() && !self.gathered.shows_url(&url) {
                self.gathered.set_url(&url, None);
                self.sample(at);
                self.gathered.set_url(&now, None);
                self.sample(at);
            }
        }
    }

    /// Milliseconds from the input to `moment`.
    pub(crate) fn at_ms(&self, moment: Instant) -> u32 {
        let since = self.input_at.map_or(Duration::ZERO, |input| moment.saturating_duration_since(input));
        u32::try_from(millis(since)).unwrap_or(u32::MAX)
    }

    /// The downloads so far, as conditions and records carry them.
    fn downloads_so_far(&self) -> Vec<DownloadFact> {
        if self.waits {
            self.downloads.all().map(|one| one.fact.clone()).collect()
        } else {
            self.downloads.of_step().map(|one| one.fact.clone()).collect()
        }
    }

    /// A download of the step is under way.
    pub(crate) fn is_downloading(&self) -> bool {
        self.downloads.of_step().any(|one| one.fact.end.is_none())
    }

    /// The events so far, as conditions are judged on them.
    pub(crate) fn events(&self) -> EventFacts {
        let Activity { dialogs, new_tabs, closed_tabs, .. } = &self.activity;
        let downloads = self.downloads_so_far();
        let any = self.activity.effect
            || self.activity.new_document
            || self.activity.leaving.is_some()
            || !dialogs.is_empty()
            || !downloads.is_empty()
            || !closed_tabs.is_empty()
            || !new_tabs.is_empty();
        EventFacts {
            network_idle: self.traffic.idle_fact(),
            requests: self.traffic.facts(),
            dialogs: dialogs.clone(),
            downloads,
            new_tabs: new_tabs.iter().map(|one| one.url.clone()).collect(),
            any_effect: Some(any),
        }
    }
}
