//! Handling of the traffic of a run's browser: nothing, record it, or answer it from a recording.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook::network::drift::Drifter;
use cuebook::network::traffic::{Recorder, Replayer};
use cuebook::{Tab, fresh};
use cuebook_cdp::{Browser, Direction};
use cuebook_datalayer::traffic::{FixtureRules, Fixtures, Setting, TrafficLog};
use cuebook_datalayer::{CdpLog, RunDir, StepClock};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::Redactor;
use cuebook_repair::now_ms;
use serde::Serialize;

use crate::args::{RunOptions, Wire};
use crate::browser::VIEWPORT;
use crate::exit::Refusal;
use crate::progress::{self, counted};
use crate::text::{plain, with_sources};

/// Time limit for the browser to begin.
const BEGIN: Duration = Duration::from_secs(10);

/// Handling of a run's traffic, before there is a browser.
pub(crate) enum Traffic {
    Live,
    Record(TrafficLog),
    Replay(Fixtures),
}

/// Like [`Traffic`], while the run goes on.
pub(crate) enum Running {
    Live,
    Recording(Recorder),
    Replaying(Replayer, Fixtures),
}

/// Counts of the requests of a replay without a network.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Offline {
    /// Requests that were answered from the recording.
    pub(crate) answered: u64,
    /// Requests that the recording does not have. Each has failed.
    pub(crate) missed: u64,
    /// Their methods and URLs, the first 100.
    pub(crate) misses: Vec<String>,
    /// URLs of recorded WebSockets, which cannot be replayed and have failed, the first 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_replayable: Vec<String>,
    /// The positions of the exchanges that were needed.
    #[serde(skip)]
    pub(crate) served: BTreeSet<usize>,
}

impl Offline {
    pub(crate) fn in_words(&self) -> String {
        let answered = counted(usize::try_from(self.answered).unwrap_or(usize::MAX), "request");
        let mut text = format!("offline: {answered} answered from the recording, {} not in it\n", self.missed);
        for miss in &self.misses {
            text.push_str(&format!("  not recorded: {}\n", plain(miss)));
        }
        for socket in &self.not_replayable {
            text.push_str(&format!("  cannot be replayed: WebSocket {}\n", plain(socket)));
        }
        text
    }
}

impl Traffic {
    /// By the flags, for a run in `dir`. Tells the browser what it needs.
    pub(crate) fn new(
        options: &mut RunOptions,
        recording: Option<(&RunDir, FixtureRules)>,
        dir: &RunDir,
        redactor: Arc<dyn Redactor>,
        clock: StepClock,
    ) -> Result<Self, Refusal> {
        let unreadable = |error| Refusal::invalid(ErrorCode::Unreadable, with_sources(&error));
        options.session.browser.wire.is_drifting = options.drift.is_some();
        if let Some((recorded, rules)) = recording {
            let fixtures = Fixtures::open(recorded, rules, Some(redactor)).map_err(unreadable)?;
            let Some((setting, fixtures)) = fixtures else {
                let message = "the traffic of this run was not recorded: record it with --record-network";
                return Err(Refusal::invalid(ErrorCode::Unreadable, message.to_owned()));
            };
            options.session.browser.wire =
                Wire { setting: Some(setting), is_offline: true, ..options.session.browser.wire };
            return Ok(Self::Replay(fixtures));
        }
        if !options.record_network {
            return Ok(Self::Live);
        }
        let setting = match options.session.browser.wire.setting.take() {
            Some(of_recording) => of_recording,
            None => {
                let viewport = options.session.browser.viewport.unwrap_or(VIEWPORT);
                let mut setting = Setting::new(fresh::seed().map_err(Refusal::no_randomness)?, now_ms(), viewport);
                let pages = &options.session.browser.pages;
                setting.timezone = pages.timezone.clone().unwrap_or(setting.timezone);
                setting.locale = pages.locale.clone().unwrap_or(setting.locale);
                setting
            }
        };
        let log = TrafficLog::create(dir, &setting, Some(redactor), clock)
            .map_err(|error| Refusal::invalid(ErrorCode::LogUnavailable, with_sources(&error)))?;
        options.session.browser.wire.setting = Some(setting);
        Ok(Self::Record(log))
    }

    /// Begins, before the first request of the run.
    pub(crate) async fn begin(self, tab: &Tab) -> Result<Running, Refusal> {
        let until = Instant::now() + BEGIN;
        let begun = match self {
            Self::Live => return Ok(Running::Live),
            Self::Record(log) => Recorder::start(&tab.browser, log, until).await.map(Running::Recording),
            Self::Replay(fixtures) => Replayer::start(&tab.browser, fixtures.clone(), until)
                .await
                .map(|replayer| Running::Replaying(replayer, fixtures)),
        };
        begun.map_err(|error| Refusal::unusable(ErrorCode::NoBrowser, with_sources(&error)))
    }
}

/// Keeps the messages between us and a run's browser, until it is dropped.
pub(crate) struct Tapped<'a> {
    browser: &'a Browser,
    _log: CdpLog,
}

impl<'a> Tapped<'a> {
    /// Begins, if the flags ask for it.
    pub(crate) fn begin(
        options: &RunOptions,
        dir: &RunDir,
        tab: &'a Tab,
        redactor: Arc<dyn Redactor>,
    ) -> Result<Option<Self>, Refusal> {
        if !options.record_cdp {
            return Ok(None);
        }
        let log = CdpLog::create(dir, redactor)
            .map_err(|error| Refusal::invalid(ErrorCode::LogUnavailable, with_sources(&error)))?;
        let write = log.writer();
        let tap = move |direction, message: &[u8]| write(direction == Direction::Sent, now_ms(), message);
        tab.browser.tap(Some(Arc::new(tap)));
        Ok(Some(Self { browser: &tab.browser, _log: log }))
    }
}

impl Drop for Tapped<'_> {
    fn drop(&mut self) {
        self.browser.tap(None);
    }
}

/// Begins the drift that the flags ask for, until it is dropped.
pub(crate) async fn drift(options: &RunOptions, tab: &Tab) -> Result<Option<Drifter>, Refusal> {
    let Some(drifts) = &options.drift else { return Ok(None) };
    let drift = drifts.seeded(options.drift_seed);
    match Drifter::begin(&tab.browser, drift, Instant::now() + BEGIN).await {
        Ok(drifter) => Ok(Some(drifter)),
        Err(error) => Err(Refusal::unusable(ErrorCode::NoBrowser, with_sources(&error))),
    }
}

impl Running {
    /// Ends, before the browser is closed.
    pub(crate) async fn end(self, is_quiet: bool) -> Option<Offline> {
        match self {
            Self::Live => None,
            Self::Recording(recorder) => {
                let recorded = recorder.finish().await;
                if recorded.lost > 0 {
                    let lost = counted(usize::try_from(recorded.lost).unwrap_or(usize::MAX), "exchange");
                    progress::say(&format!("note: {lost} could not be recorded"));
                } else if !is_quiet {
                    let kept = counted(usize::try_from(recorded.exchanges).unwrap_or(usize::MAX), "exchange");
                    progress::say(&format!("network: {kept} recorded"));
                }
                None
            }
            Self::Replaying(replayer, fixtures) => {
                let served = replayer.end().await;
                Some(Offline {
                    answered: served.answered,
                    missed: served.missed,
                    misses: fixtures.misses(),
                    not_replayable: fixtures.sockets(),
                    served: fixtures.served(),
                })
            }
        }
    }
}
