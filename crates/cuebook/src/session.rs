//! An agent whose run stays open: it is given one step after another, and all of them are one run with one log.

use std::time::Instant;

use cuebook_cdp::PageError;
use cuebook_grammar::act::Act;
use cuebook_grammar::action::Navigate;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::LoggedEvent;
use cuebook_grammar::report::{ErrorCode, RunError, RunFailure, RunReport, RunResult};
use cuebook_grammar::seam::BoxFuture;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_recorder::{Recorded, Recorder};
use cuebook_repair::{Interrupt, OpenRun, RunRequest, Work, now_ms};

use crate::agent::Agent;
use crate::builder::STARTING;
use crate::context::BrowserContext;
use crate::egress::reach;
use crate::error::AgentError;
use crate::events::AgentEvents;
use crate::keeping::RunStorage;
use crate::live::Live;

/// A run that stays open. Each call is checked, judged, logged and reported as a run of the agent would be, with its own
/// budgets; the log and the report of [`end`](Self::end) have all of them. The ids of an observation stay valid for the
/// calls that follow.
///
/// ```no_run
/// use cuebook::prelude::*;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let mut session = Agent::builder().runs_in("runs").build().await?.begin().await?;
/// session.open("https://shop.test/login").await?;
/// let page = session.look(Scope::Full).await?;
/// let button = page.find(Role::Button, "Log in")?;
/// session.act(Author::Model, Click::on(button)).await?;
/// let (agent, report) = session.end().await;
/// println!("{} steps in {:?}", report.steps.len(), report.run_dir);
/// agent.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct Session {
    agent: Agent,
    run: OpenRun,
    kept: RunStorage,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("agent", &self.agent).field("run", &self.run).finish_non_exhaustive()
    }
}

impl Agent {
    /// Begins a run that stays open until it is [ended](Session::end).
    ///
    /// # Errors
    /// [`RunFailure`] if the log cannot be written. The agent is dropped then.
    pub async fn begin(self) -> Result<Session, RunFailure> {
        match self.request(Work::Session) {
            Ok(request) => self.begin_as(request).await,
            Err(error) => {
                let error = RunError::new(ErrorCode::NoRandomness, error.to_string());
                Err(Box::new(RunReport::without_run(RunResult::Error, Some(error))).into_failure())
            }
        }
    }

    /// As [`begin`](Self::begin), for whoever states more of the run, such as its id: see
    /// [`carry_out`](Self::carry_out).
    ///
    /// # Errors
    /// [`RunFailure`] if the log cannot be written. The agent is dropped then.
    pub fn begin_as(self, request: RunRequest) -> BoxFuture<'static, Result<Session, RunFailure>> {
        Box::pin(self.open_run(request))
    }

    async fn open_run(mut self, request: RunRequest) -> Result<Session, RunFailure> {
        let request = RunRequest { work: Work::Session, ..request };
        let begun = match self.prepare(request) {
            Ok((request, kept)) => self.controller.begin(request).await.map(|run| (run, kept)),
            Err(report) => Err(report),
        };
        match begun {
            Ok((run, kept)) => Ok(Session { agent: self, run, kept }),
            Err(report) => Err(report.into_failure()),
        }
    }
}

impl Session {
    /// Opens `url` in the current tab, and allows its origin from now on, even at a private address.
    ///
    /// # Errors
    /// [`RunFailure`], with the report of this step.
    pub async fn open(&mut self, url: &str) -> Result<RunReport, RunFailure> {
        // The check rejects an invalid URL with the reason.
        if let Ok(policy) = self.agent.policy.clone().starting_at(url) {
            self.judge_by(policy);
        }
        self.act(Author::Operator, Navigate::to(url)).await
    }

    /// Observes the current tab with the page's text, and logs what was seen.
    ///
    /// # Errors
    /// [`RunFailure`] if the page could not be observed, or the log not be written.
    pub fn look(&mut self, scope: Scope) -> BoxFuture<'_, Result<Observation, RunFailure>> {
        let seen = self.agent.controller.look(&mut self.run, scope);
        Box::pin(async { seen.await.map_err(|report| report.into_failure()) })
    }

    /// Observes the current tab without the page's text, to pick what the next step or plan acts on. That is carried out
    /// on the page as it was seen here, and does not look again; nothing is logged before it.
    ///
    /// # Errors
    /// [`RunFailure`] if the page could not be observed.
    pub fn glance(&mut self, scope: Scope) -> BoxFuture<'_, Result<Observation, RunFailure>> {
        let seen = self.agent.controller.glance(&mut self.run, scope);
        Box::pin(async { seen.await.map_err(|report| report.into_failure()) })
    }

    /// Runs one step, repaired as [`Agent::act`] repairs it.
    ///
    /// # Errors
    /// [`RunFailure`], with the report of this step.
    pub async fn act(&mut self, author: Author, step: impl Into<Act>) -> Result<RunReport, RunFailure> {
        let plan = step.into().into_plan(author);
        self.work(Work::Plan(Box::new(plan)), true).await.into_result()
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// [`RunFailure`], with the report of this plan.
    pub async fn follow(&mut self, plan: PlanDraft) -> Result<RunReport, RunFailure> {
        self.work(Work::Plan(Box::new(plan)), false).await.into_result()
    }

    /// Carries out a task in words: the planner writes the plans.
    ///
    /// # Errors
    /// [`RunFailure`], with the report of this task.
    pub async fn run(&mut self, task: &str) -> Result<RunReport, RunFailure> {
        self.work(Work::Task(task.to_owned()), false).await.into_result()
    }

    /// Boxed as what an agent performs.
    fn work(&mut self, work: Work, is_alone: bool) -> BoxFuture<'_, RunReport> {
        Box::pin(self.carry_through(work, is_alone))
    }

    async fn carry_through(&mut self, work: Work, is_alone: bool) -> RunReport {
        let agent = &mut self.agent;
        agent.controller.layers_mut().repair.is_alone = is_alone;
        if let Some(tab) = &agent.tab {
            tab.reach(reach(&agent.policy, &work));
        }
        let mut report = agent.controller.go_on(&mut self.run, work).await;
        if let Some(tab) = &agent.tab {
            tab.stamp(&mut report);
        }
        agent.page = self.run.page().clone();
        agent.ended(report)
    }

    /// Ends the next call, and not the run, when `interrupt` is triggered. The step that it interrupts stays open in the
    /// log: nothing is claimed about it.
    pub fn interrupt_by(&mut self, interrupt: Interrupt) {
        self.agent.controller.interrupt_by(interrupt);
    }

    /// The policy of the calls that follow.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.agent.policy
    }

    /// Judges the calls that follow by another policy.
    pub fn judge_by(&mut self, policy: Policy) {
        self.run.judge_by(policy.clone());
        self.agent.policy = policy;
    }

    /// The tab that calls work in.
    #[must_use]
    pub const fn page(&self) -> &PageId {
        self.run.page()
    }

    /// Makes another tab the current one.
    pub fn turn_to(&mut self, page: PageId) {
        self.agent.page = page.clone();
        self.run.turn_to(page);
    }

    /// Opens an empty tab, which becomes the current one.
    ///
    /// # Errors
    /// [`AgentError::Tab`] if the browser does not open it, or there is none.
    pub async fn new_tab(&mut self) -> Result<(), AgentError> {
        let tab = self.agent.tab.as_ref().ok_or(PageError::Gone)?;
        let page = tab.another(Instant::now() + STARTING).await?;
        self.turn_to(page);
        Ok(())
    }

    /// The browser context of its tabs: state, settings, console and requests. What is done there is no step of the run;
    /// [`note_change`](Self::note_change) puts it into the log.
    ///
    /// # Errors
    /// [`PageError::Gone`] if the current tab is gone, or there is no browser.
    pub fn context(&self) -> Result<BrowserContext, PageError> {
        self.agent.context()
    }

    /// Logs a change of what pages see, before it is made: no step does it, so that only the log tells of it.
    ///
    /// # Errors
    /// [`RunFailure`] if the log cannot be written. The change is not to be made then.
    pub async fn note_change(&mut self, change: serde_json::Value) -> Result<(), RunFailure> {
        let event = LoggedEvent::ContextChanged { change };
        self.agent.controller.note(&self.run, event).await.map_err(|report| report.into_failure())
    }

    /// Logs what a person did who had the browser since `since_ms`, in milliseconds since 1970: their steps, with the origin
    /// [`Person`](cuebook_grammar::record::StepOrigin::Person), and what [`recorder`](Self::recorder) noted beside them.
    ///
    /// # Errors
    /// [`RunFailure`] if the log cannot be written.
    pub fn hand_back(&mut self, since_ms: u64, recorded: Recorded) -> BoxFuture<'_, Result<(), RunFailure>> {
        let event = LoggedEvent::HandedBack {
            since_ms,
            duration_ms: now_ms().saturating_sub(since_ms),
            steps: u32::try_from(recorded.steps.len()).unwrap_or(u32::MAX),
            notes: recorded.notes.iter().map(ToString::to_string).collect(),
        };
        let logged = self.agent.controller.hand_back(&mut self.run, recorded.steps, event);
        Box::pin(async { logged.await.map_err(|report| report.into_failure()) })
    }

    /// The folder of its log; `None` if it is kept in memory.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        self.run.log()
    }

    /// The events of the run, as [`Agent::events`].
    #[must_use]
    pub fn events(&self) -> AgentEvents {
        self.agent.events()
    }

    /// A recorder of what a person does in the browser meanwhile, with the redactor of the run; `None` if the agent has no
    /// browser. [`hand_back`](Self::hand_back) makes it a part of the run.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn recorder(&self) -> std::io::Result<Option<Recorder<LivePageModeler>>> {
        let Some(tab) = &self.agent.tab else { return Ok(None) };
        let live = Live::on(tab, crate::fresh::digest_key()?, self.agent.redactor.clone());
        Ok(Some(live.recorder(ModelerOptions::default())))
    }

    /// The agent, for what is no part of the run, such as saving its storage.
    #[must_use]
    pub const fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Ends the run as its last call ended. The report has all of its steps.
    pub fn end(self) -> BoxFuture<'static, (Agent, RunReport)> {
        let Self { mut agent, run, kept } = self;
        Box::pin(async move {
            let report = agent.controller.end(run).await;
            let report = agent.conclude(report, &kept);
            (agent, report)
        })
    }
}
