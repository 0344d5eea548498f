//! A run that stays open: it is given one piece of work after another, and has one log.

use std::fmt;

use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::{EventRecord, LoggedEvent, PersonStep, RECORD_VERSION};
use cuebook_grammar::redaction::redacted;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult, StepReport};
use cuebook_grammar::seam::StepLog as _;
use tracing::{Instrument as _, info_span};

use super::end::Stop;
use super::layers::Seams;
use super::run::Controller;
use crate::recording;
use crate::request::{RunEvent, RunRequest, Work};
use crate::state::RunState;

/// A run that has begun and not ended. Each piece of work is checked, judged and logged as a run of its own would be;
/// steps, plans and calls are numbered over all of them.
pub struct OpenRun {
    run: RunState,
    /// The ground of the run, as far as the next piece of work acts on it.
    seen: Seen,
    /// How the last piece of work ended that did more than look.
    last: (RunResult, Option<RunError>),
}

/// How an open run knows its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seen {
    /// It has to look.
    #[default]
    No,
    /// It was looked at, and may have changed since.
    Looked,
    /// It was looked at for the next piece of work.
    Glanced,
}

impl fmt::Debug for OpenRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenRun").field("request", &self.run.request).finish_non_exhaustive()
    }
}

impl OpenRun {
    /// The tab in which the last piece of work ended.
    #[must_use]
    pub const fn page(&self) -> &PageId {
        &self.run.page
    }

    /// The folder of its log, as the request for it stated.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        self.run.request.run_dir.as_deref()
    }

    /// Does the next piece of work in this tab.
    pub fn turn_to(&mut self, page: PageId) {
        self.run.page = page;
        self.seen = Seen::No;
        self.run.ground = None;
        self.run.url = None;
    }

    /// Judges the next piece of work by this policy.
    pub fn judge_by(&mut self, policy: Policy) {
        self.run.request.policy = policy;
    }
}

impl<S: Seams> Controller<S> {
    /// Begins a run that stays open, and opens its start URL if it has one.
    ///
    /// # Errors
    /// The report of a run that ended at once: its log or its start URL could not be opened.
    pub async fn begin(&mut self, request: RunRequest) -> Result<OpenRun, Box<RunReport>> {
        let span = info_span!("run", run_id = %request.run_id);
        let request = RunRequest { work: Work::Session, ..request };
        let mut run = RunState::new(request, &self.budgets);
        async {
            let begun = match self.open_log(&run).await {
                Ok(()) => Box::pin(self.work(&mut run, true)).await,
                broken => broken,
            };
            match begun {
                Ok(()) => Ok(OpenRun { run, seen: Seen::No, last: (RunResult::Ok, None) }),
                Err(stop) => Err(Box::new(self.close(run, stop).await)),
            }
        }
        .instrument(span)
        .await
    }

    /// Does a piece of work as part of an open run, on the page as it was last [glanced](Self::glance) at, or
    /// [looked](Self::look) at if it has not changed since, if nothing else was done meanwhile. The report has the steps of
    /// this piece, and the usage of the whole run. An interrupt ends the piece, and not the run.
    pub async fn go_on(&mut self, open: &mut OpenRun, work: Work) -> RunReport {
        let span = info_span!("run", run_id = %open.run.request.run_id);
        let from = open.run.next_index;
        let seen = std::mem::take(&mut open.seen);
        let run = &mut open.run;
        let ground = run.ground.take();
        run.go_on_with(work, &self.budgets);
        run.ground = match ground {
            Some(ground) if seen == Seen::Glanced || seen == Seen::Looked && self.is_current(&ground).await => {
                Some(ground)
            }
            _ => None,
        };
        let ended = Box::pin(self.work(run, false)).instrument(span).await;
        run.plans = run.plans.saturating_add(1);
        self.page = Some(run.page.clone());
        let report = self.report(run, from, Stop::of(ended));
        // A look at what is not there is no failure of the run.
        if report.steps.iter().any(|step| step.action.action.kind().meta().effect != EffectClass::ReadOnly) {
            open.last = (report.result, report.error.clone());
        }
        report
    }

    /// Observes the tab of an open run with the page's text, and logs what was seen.
    ///
    /// # Errors
    /// The report, without steps, of why the page could not be observed or what was seen not be logged.
    pub async fn look(&mut self, open: &mut OpenRun, scope: Scope) -> Result<Observation, Box<RunReport>> {
        let run = &mut open.run;
        run.go_on_with(Work::Session, &self.budgets);
        let seen = async {
            let seen = self.observe(run, scope).await?;
            let seen = self.read(run, seen).await?;
            let seen = self.clean(seen)?;
            self.keep(run, &seen).await?;
            Ok(seen)
        };
        let seen = Box::pin(seen).await;
        open.seen = if seen.is_ok() { Seen::Looked } else { Seen::No };
        seen.map_err(|stop| Box::new(self.report(&open.run, u32::MAX, stop)))
    }

    /// Observes the tab of an open run without the page's text, to pick what the next piece of work acts on. That does
    /// not look again. What was seen is logged with its first step, as ever.
    ///
    /// # Errors
    /// The report, without steps, of why the page could not be observed.
    pub async fn glance(&mut self, open: &mut OpenRun, scope: Scope) -> Result<Observation, Box<RunReport>> {
        let run = &mut open.run;
        run.go_on_with(Work::Session, &self.budgets);
        let seen = async {
            let seen = self.observe(run, scope).await?;
            self.clean(seen)
        };
        let seen = Box::pin(seen).await;
        open.seen = if seen.is_ok() { Seen::Glanced } else { Seen::No };
        seen.map_err(|stop| Box::new(self.report(&open.run, u32::MAX, stop)))
    }

    /// Keeps an event in the log of an open run, redacted.
    ///
    /// # Errors
    /// The report, without steps, of why the log cannot be written.
    pub async fn note(&mut self, open: &OpenRun, event: LoggedEvent) -> Result<(), Box<RunReport>> {
        let kept = self.keep_event(&open.run, event).await;
        kept.map_err(|stop| Box::new(self.report(&open.run, u32::MAX, stop)))
    }

    pub(super) async fn keep_event(&mut self, run: &RunState, event: LoggedEvent) -> Result<(), Stop> {
        let record = EventRecord {
            schema_version: RECORD_VERSION.to_owned(),
            run_id: run.request.run_id.clone(),
            ts_ms: recording::now_ms(),
            event,
        };
        let record = redacted(record, self.redactor.as_ref()).map_err(Stop::broken(ErrorCode::LogUnavailable))?;
        self.layers.log().happened(&record).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
        self.listener.event(RunEvent::Logged(&record.event));
        Ok(())
    }

    /// Logs the steps of a person who had taken the browser over, and that they handed it back. The steps have a `begin` as
    /// all have, but it was written after the person had acted.
    ///
    /// # Errors
    /// As [`note`](Self::note).
    pub async fn hand_back(
        &mut self,
        open: &mut OpenRun,
        steps: Vec<PersonStep>,
        event: LoggedEvent,
    ) -> Result<(), Box<RunReport>> {
        open.seen = Seen::No;
        let run = &mut open.run;
        // Whoever acts next looks at the page first.
        run.ground = None;
        let logged = async {
            for step in steps {
                let index = run.take_index();
                let (intent, record) = recording::of_person(&run.request.run_id, index, step);
                let intent = redacted(intent, self.redactor.as_ref());
                let intent = intent.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
                let record = recording::kept(record, self.redactor.as_ref());
                let record = record.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
                let ticket = self.layers.log().begin(&intent).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
                self.layers.log().commit(ticket, &record).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
                self.listener.event(RunEvent::StepEnded(&record));
                run.put_report(StepReport::of(&record, 0, 0));
            }
            self.keep_event(run, event).await
        };
        logged.await.map_err(|stop| Box::new(self.report(&open.run, u32::MAX, stop)))
    }

    /// Ends an open run as its last piece of work ended that did more than look, and reports all of it.
    pub async fn end(&mut self, open: OpenRun) -> RunReport {
        let OpenRun { run, last: (result, error), .. } = open;
        self.close(run, Stop::Ended { result, error, answer: None }).await
    }
}
