//! The effects of a step, gathered from the watched frames and from the wire.
//!
//! Requests and errors are those since the input, without the page's own polling.

use std::time::Duration;

use cuebook_cdp::FrameId;
use cuebook_grammar::action::Action;
use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::outcome::{EffectRecord, Late, MutationSummary, Problem, ProblemKind};
use cuebook_grammar::render::cut;
use cuebook_probe::ProbeError;
use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::activity::{Activity, LONGEST};
use crate::network::forget_gone;
use crate::run::StepRun;
use crate::script::{FrameSummary, Watched};
use crate::seen::Event;

/// How long a frame may take to report.
const PATIENCE: Duration = Duration::from_secs(1);
const MAX_REQUESTS: usize = 50;
const MAX_NOTABLE: usize = 10;

impl StepRun<'_> {
    /// Ends all watching, opens all guards and returns what was seen. Runs after a deadline too: it sends no input.
    pub(crate) async fn disarm(&mut self) -> Option<EffectRecord> {
        let is_unwatched = self.looking.watching().is_none() && self.seen.watched.is_empty();
        let late = self.late();
        if is_unwatched && late.is_empty() && self.seen.activity.answered.is_empty() && !self.has_come() {
            return None;
        }
        let by = std::time::Instant::now() + PATIENCE;
        let mut summaries: Vec<(FrameId, FrameSummary)> = Vec::new();
        if self.page.dialog().is_none() && !self.page.closed() && !self.page.crashed() {
            let known = std::mem::take(&mut self.seen.summaries);
            let calls = self.lanes.worlds.iter().map(|(frame, world)| {
                let (frame, world) = (frame.clone(), world.clone());
                async move {
                    let watched: Result<Watched, ProbeError> = world.call("(cb) => cb.act.disarm()", &[], by).await;
                    (frame, watched)
                }
            });
            // Frames that have reported everything are ended without waiting for the answer.
            let (ended, asked): (Vec<_>, Vec<_>) =
                self.lanes.worlds.keys().zip(calls).partition(|(frame, _)| known.contains_key(*frame));
            let _ = join_all(ended.into_iter().map(|(_, call)| call)).now_or_never();
            let calls: Vec<_> = asked.into_iter().map(|(_, call)| call).collect();
            summaries.extend(known);
            let answers = tokio::time::timeout_at(by.into(), join_all(calls)).await.unwrap_or_default();
            for (frame, watched) in answers {
                let Ok(Watched { changes, summary, .. }) = watched else { continue };
                self.take_changes(&frame, changes);
                summaries.extend(summary.map(|summary| (frame, summary)));
            }
        }
        let mut record = EffectRecord { late, ..self.record(&summaries) };
        let alerts = if record.new_document && !self.opens() { self.alerts(by).await } else { Vec::new() };
        let room = MAX_NOTABLE.saturating_sub(record.problems.len());
        let alert = |message: String| Problem { kind: ProblemKind::Alert, message: cut(&message, 300) };
        for problem in alerts.into_iter().take(room).map(alert) {
            // A document that both summed itself up and was asked names its alert twice.
            if !record.problems.contains(&problem) {
                record.problems.push(problem);
            }
        }
        let takes_focus = matches!(self.step.action(), Action::Focus(_)) && record.target_focused;
        if takes_focus || record.url_after.is_some() || summaries.iter().any(|(_, summary)| summary.effect) {
            self.saw(Event::Effect);
        }
        Some(record)
    }

    /// Consequences of earlier steps, for the record of this one.
    fn late(&mut self) -> Late {
        self.hear();
        forget_gone(&mut self.seen.traffic.run, &self.page);
        let requests = self.seen.traffic.run.take_late();
        Late {
            requests: requests.into_iter().map(|request| self.without_proxy(request)).collect(),
            downloads: self.seen.downloads.take_late(),
            new_tabs: std::mem::take(&mut self.seen.late_tabs),
        }
    }

    /// Returns `true` if something arrived that a step that only waits or reads would not look for: a tab, a dialog or
    /// a download.
    fn has_come(&self) -> bool {
        let Activity { new_tabs, dialogs, .. } = &self.seen.activity;
        !(new_tabs.is_empty() && dialogs.is_empty()) || self.seen.downloads.of_step().next().is_some()
    }

    /// Returns `true` if the step opens a page by itself.
    pub(crate) fn opens(&self) -> bool {
        matches!(self.step.action(), Action::Navigate(_) | Action::GoBack(_) | Action::GoForward(_) | Action::Reload(_))
    }

    /// The alerts of the page that the step led to.
    async fn alerts(&mut self, by: std::time::Instant) -> Vec<String> {
        if self.page.dialog().is_some() || self.page.closed() || self.page.crashed() {
            return Vec::new();
        }
        let frame = self.page.main_frame().id;
        let Ok(world) = self.probe.world(&frame, by).await else { return Vec::new() };
        world.call("(cb) => cb.act.alerts()", &[], by).await.unwrap_or_default()
    }

    /// Failed requests of the step, and a redirect to another page than the requested one.
    fn wire_problems(&self) -> Vec<Problem> {
        let requests = self.seen.traffic.problems();
        let redirect = self.redirected().filter(|_| requests.is_empty());
        let requests = requests.iter().map(|request| Problem {
            kind: ProblemKind::Request,
            message: cut(&self.without_proxy(request.clone()).in_words(), 300),
        });
        requests.chain(redirect).collect()
    }

    fn redirected(&self) -> Option<Problem> {
        let documents = self.seen.traffic.documents();
        let (asked, now) = (documents.first().filter(|_| self.seen.activity.new_document)?, self.seen.gathered.url());
        let is_elsewhere = place(&asked.url) != place(now);
        let back = self.seen.gathered.url_before().is_some_and(|before| place(before) == place(now));
        let goes = matches!(self.step.action(), Action::Navigate(_));
        let led = if back { "back to" } else { "to" };
        let there = RequestFact { url: now.to_owned(), ..asked.clone() };
        let message = format!("{} {} led {led} {}", asked.method, asked.path(), there.path());
        (is_elsewhere && (back || goes)).then(|| Problem { kind: ProblemKind::Redirect, message: cut(&message, 300) })
    }

    fn record(&mut self, summaries: &[(FrameId, FrameSummary)]) -> EffectRecord {
        let mut mutations = MutationSummary::default();
        let mut record = EffectRecord {
            new_document: self.seen.activity.new_document,
            problems: self.wire_problems().into_iter().take(MAX_NOTABLE).collect(),
            ..EffectRecord::default()
        };
        for (frame, summary) in summaries {
            mutations.added = mutations.added.saturating_add(summary.added);
            mutations.removed = mutations.removed.saturating_add(summary.removed);
            mutations.attributes = mutations.attributes.saturating_add(summary.attributes);
            mutations.texts = mutations.texts.saturating_add(summary.texts);
            let room = MAX_NOTABLE.saturating_sub(mutations.notable.len());
            mutations.notable.extend(summary.notable.iter().take(room).map(|text| cut(text, 200)));
            mutations.background = mutations.background.saturating_add(summary.background);
            let room = MAX_NOTABLE.saturating_sub(record.states.len());
            record.states.extend(summary.states.iter().take(room).map(|text| cut(text, 300)));
            let room = MAX_NOTABLE.saturating_sub(record.problems.len());
            record.problems.extend(summary.problems.iter().take(room).cloned());
            record.scrolled |= summary.scrolled;
            record.target_focused |= summary.target_focused;
            record.target_changed |= summary.target_changed;
            if record.focus.is_none() || self.is_main(frame) {
                record.focus = summary.focus.as_ref().map(|text| cut(text, 200)).or(record.focus);
            }
        }
        // A new document is one effect; its mutations are none.
        if self.seen.activity.new_document {
            record.states.clear();
        } else {
            record.mutations = mutations;
        }
        if let Some(before) = self.seen.gathered.url_before()
            && before != self.seen.gathered.url()
        {
            record.url_before = Some(cut(before, LONGEST));
            record.url_after = Some(cut(self.seen.gathered.url(), LONGEST));
        }
        let events = self.events();
        record.denied = self.denied();
        let requests = self.seen.traffic.effects().into_iter().take(MAX_REQUESTS);
        record.requests = requests.map(|request| self.without_proxy(request)).collect();
        let scripts = self.lanes.wire.console.errors();
        let scripts = scripts.into_iter().map(|error| error.in_words(|text| self.redacted(text)));
        record.console_errors = scripts.chain(self.logged_errors()).take(MAX_NOTABLE).collect();
        record.dialogs = self.seen.activity.answered.iter().cloned().chain(events.dialogs).collect();
        record.downloads = events.downloads;
        record.new_tabs = events.new_tabs;
        record.closed_tabs.clone_from(&self.seen.activity.closed_tabs);
        record.refused_tabs = self.seen.activity.refused_tabs;
        record
    }
}

/// A URL without the parts that a redirect to the same page may change.
fn place(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = after.split(['?', '#']).next().unwrap_or(after);
    path.strip_prefix("www.").unwrap_or(path).trim_end_matches('/')
}
