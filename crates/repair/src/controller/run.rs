//! A run from start to end.

use std::fmt;
use std::sync::Arc;

use cuebook_grammar::action::{Action, Navigate};
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::record::{RECORD_VERSION, RunEnd, RunHeader, StepOrigin};
use cuebook_grammar::redaction::redacted;
use cuebook_grammar::report::{ErrorCode, REPORT_VERSION, RunError, RunReport, RunResult};
use cuebook_grammar::seam::boxed::BoxedActionHandler;
use cuebook_grammar::seam::{ActionHandler, Redactor, StepLog as _};
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::step::Step;
use tracing::{Instrument as _, debug, info_span};

use super::end::{StepEnd, Stop, ended_by, invalid};
use super::layers::Seams;
use crate::budget::Budgets;
use crate::pace::Pace;
use crate::recording;
use crate::request::{Interrupt, Listener, RunRequest, Work};
use crate::state::{Ground, RunState};
use crate::task_words;

/// Runs tasks and plans, one after another.
pub struct Controller<S> {
    pub(super) layers: S,
    pub(super) budgets: Budgets,
    pub(super) digest: DigestKey,
    pub(super) redactor: Arc<dyn Redactor>,
    pub(super) interrupt: Interrupt,
    pub(super) listener: Box<dyn Listener>,
    pub(super) handler: Option<Box<dyn BoxedActionHandler>>,
    /// How fast its runs were on each origin.
    pub(super) pace: Pace,
    /// The tab in which the last run ended.
    pub(super) page: Option<PageId>,
}

impl<S: fmt::Debug> fmt::Debug for Controller<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("layers", &self.layers)
            .field("budgets", &self.budgets)
            .finish_non_exhaustive()
    }
}

impl<S: Seams> Controller<S> {
    /// A controller over these layers. `digest` is the key of the digests that replace sensitive text; `redactor` is
    /// shared with every sink.
    pub fn new(layers: S, digest: DigestKey, redactor: Arc<dyn Redactor>) -> Self {
        Self {
            layers,
            budgets: Budgets::default(),
            digest,
            redactor,
            interrupt: Interrupt::default(),
            listener: Box::new(()),
            handler: None,
            pace: Pace::default(),
            page: None,
        }
    }

    /// Performs actions outside the page with `handler`. Without one, such steps fail as `unsupported`.
    #[must_use]
    pub fn with_handler(mut self, handler: impl ActionHandler + 'static) -> Self {
        self.handler = Some(Box::new(handler));
        self
    }

    /// Replaces the default bounds on plans, repairs, questions and time.
    #[must_use]
    pub fn with_budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Sends events to `listener`.
    #[must_use]
    pub fn with_listener(mut self, listener: impl Listener + 'static) -> Self {
        self.listener = Box::new(listener);
        self
    }

    /// Ends when `interrupt` is triggered.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Ends the next work when `interrupt` is triggered, instead of the former one.
    pub fn interrupt_by(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    /// The layers, for changes between runs, such as a new log.
    pub const fn layers_mut(&mut self) -> &mut S {
        &mut self.layers
    }

    /// The tab in which the last run ended, as a step may open another one; `None` before the first run.
    #[must_use]
    pub const fn page(&self) -> Option<&PageId> {
        self.page.as_ref()
    }

    /// Runs to the end. There is always a report.
    pub async fn run(&mut self, request: RunRequest) -> RunReport {
        let run_id = request.run_id.clone();
        let span = info_span!("run", run_id = %run_id);
        async {
            let mut run = RunState::new(request, &self.budgets);
            let ended = Box::pin(self.drive(&mut run)).await;
            self.close(run, Stop::of(ended)).await
        }
        .instrument(span)
        .await
    }

    /// Closes the log of a run and reports all of it.
    pub(super) async fn close(&mut self, run: RunState, stop: Stop) -> RunReport {
        self.page = Some(run.page.clone());
        let report = self.report(&run, 0, stop);
        let end = RunEnd {
            run_id: run.request.run_id.clone(),
            ts_ms: recording::now_ms(),
            result: report.result,
            conclusion: run.ending.conclusion.clone(),
            late: report.late.clone(),
        };
        if let Err(error) = self.layers.log().close(&end).await {
            debug!(%error, "the log could not be closed");
        }
        report
    }

    /// Reports the steps of a run from one on.
    pub(super) fn report(&self, run: &RunState, from: u32, stop: Stop) -> RunReport {
        let (result, error, answer) = match stop {
            Stop::Interrupted => {
                (RunResult::Interrupted, Some(RunError::new(ErrorCode::Interrupted, "the run was interrupted")), None)
            }
            Stop::Broken { code, message } => {
                (RunResult::Error, Some(RunError::new(code, self.redactor.redact(&message))), None)
            }
            Stop::Ended { result, error, answer } => (result, error, answer),
        };
        let report = RunReport {
            schema_version: REPORT_VERSION.to_owned(),
            run_id: Some(run.request.run_id.to_string()),
            run_dir: run.request.run_dir.clone(),
            result,
            error,
            answer: answer.map(|answer| self.redactor.redact(&answer).into_owned()),
            steps: run.reports.iter().filter(|report| report.index >= from).cloned().collect(),
            usage: run.usage,
            enforcement: "navigation".to_owned(),
            isolation: None,
            enforcement_note: None,
            late: run.ending.late.clone(),
        };
        // Once more: a secret may have been learned after the step that its echo is from.
        redacted(report, self.redactor.as_ref()).unwrap_or_else(|error| {
            let error = RunError::new(ErrorCode::LogUnavailable, error.to_string());
            let run_dir = run.request.run_dir.clone();
            RunReport { run_dir, ..RunReport::without_run(RunResult::Error, Some(error)) }
        })
    }

    async fn drive(&mut self, run: &mut RunState) -> Result<(), Stop> {
        self.open_log(run).await?;
        self.work(run, true).await
    }

    pub(super) async fn open_log(&mut self, run: &RunState) -> Result<(), Stop> {
        let task_of = |draft: &PlanDraft| draft.context.as_ref()?.task.as_ref().map(ToString::to_string);
        let (command, task) = match &run.request.work {
            Work::Task(task) => ("run", Some(task.clone())),
            Work::Plan(draft) => ("exec", task_of(draft)),
            Work::Replay(draft) => ("replay", task_of(draft)),
            Work::Session => ("session", None),
        };
        let task = task.map(|task| self.redactor.redact(&task_words::without_passwords(&task)).into_owned());
        let header = RunHeader {
            schema_version: RECORD_VERSION.to_owned(),
            run_id: run.request.run_id.clone(),
            ts_ms: recording::now_ms(),
            cuebook: run.request.program.clone(),
            browser: run.request.browser.clone(),
            browser_path: run.request.browser_path.clone(),
            command: command.to_owned(),
            task,
            url: run.request.start_url.clone(),
            plan: run.request.plan_file.clone(),
            session: run.request.session.clone(),
            case: run.request.case.clone(),
        };
        self.layers.log().open(&header).await.map_err(Stop::broken(ErrorCode::LogUnavailable))
    }

    /// Does what was asked for; opens the start URL first if it `begins` a run.
    pub(super) async fn work(&mut self, run: &mut RunState, begins: bool) -> Result<(), Stop> {
        let work = run.request.work.clone();
        let judged = match &work {
            Work::Plan(draft) | Work::Replay(draft) => self.judged_unseen(run, draft)?,
            Work::Task(_) | Work::Session => None,
        };
        if matches!(work, Work::Replay(_)) {
            run.widen(Scope::Full);
        }
        if begins {
            self.open_start(run).await?;
        }
        match work {
            Work::Plan(draft) | Work::Replay(draft) => self.run_given_plan(run, &draft, judged).await,
            Work::Task(task) => self.run_task(run, &task).await,
            Work::Session => Ok(()),
        }
    }

    /// Opens the start URL as a step like any other.
    async fn open_start(&mut self, run: &mut RunState) -> Result<(), Stop> {
        let Some(url) = run.request.start_url.clone() else { return Ok(()) };
        let step = Step::from(Action::Navigate(Navigate::to(&url)));
        let blank = Observation::blank(run.page.clone(), "about:blank");
        let open = PlanDraft::of(Author::Operator, vec![step]);
        for draft in std::iter::once(open).chain(run.request.opening.clone()) {
            let plan = draft.check(&blank, &run.request.policy).map_err(invalid)?;
            for index in 0..plan.steps().len() {
                run.ground = Some(Ground { observation: blank.clone(), is_current: true });
                let end = self.run_step(run, &plan, index, StepOrigin::Start).await;
                run.ground = None;
                if let StepEnd::Failed(failure) = end? {
                    return Err(ended_by(&failure));
                }
            }
        }
        Ok(())
    }
}
