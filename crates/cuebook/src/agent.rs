//! One agent: a tab, and the layers that act in it.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, PageError, TargetId};
use cuebook_grammar::act::Act;
use cuebook_grammar::action::Navigate;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::render::with_sources;
use cuebook_grammar::report::{ErrorCode, RunError, RunFailure, RunReport, RunResult};
use cuebook_grammar::seam::boxed::{BoxedConfirm, BoxedExecutor, BoxedPageModeler, BoxedPlanner, BoxedStepLog};
use cuebook_grammar::seam::{BoxFuture, PageModeler, Redactor, Repair, RepairBudget, RepairCase, RepairPolicy};
use cuebook_repair::{Budgets, Controller, Ladder, Layers, RunRequest, Rung, Rungs, Sight, Work};

use crate::browser::Tab;
use crate::context::BrowserContext;
use crate::egress::reach;
use crate::error::{AgentError, StorageError};
use crate::events::{AgentEvents, EventSender};
use crate::fresh;
use crate::journal::Journal;
use crate::keeping::{Keeping, RunStorage};

/// Layers as trait objects: an agent has one type, whatever its layers are.
pub(crate) type Boxes = Layers<
    Box<dyn BoxedPageModeler>,
    Box<dyn BoxedPlanner>,
    Box<dyn BoxedExecutor>,
    Repairs,
    Box<dyn BoxedStepLog>,
    Box<dyn BoxedConfirm>,
>;

/// How the runs of an agent are repaired.
pub(crate) struct Repairs {
    policy: Box<dyn RepairPolicy>,
    /// For a run of one step. `None` if the builder was given a policy, which then holds for all.
    alone: Option<Ladder>,
    pub(crate) is_alone: bool,
}

impl Repairs {
    /// By the stated policy. Without one by the ladder; a step alone then gets no repair that acts on anything else.
    pub(crate) fn new(policy: Option<Box<dyn RepairPolicy>>) -> Self {
        let on_others = [Rung::Dismiss, Rung::Candidates, Rung::Box, Rung::Locators, Rung::Replan];
        let alone =
            policy.is_none().then(|| Ladder::with(on_others.into_iter().fold(Rungs::default(), Rungs::without)));
        Self { policy: policy.unwrap_or_else(|| Box::new(Ladder::default())), alone, is_alone: false }
    }
}

impl RepairPolicy for Repairs {
    fn next(&mut self, case: &RepairCase<'_>, observation: &Observation, budget: &RepairBudget) -> Repair {
        match &mut self.alone {
            Some(ladder) if self.is_alone => ladder.next(case, observation, budget),
            _ => self.policy.next(case, observation, budget),
        }
    }

    fn rung(&self) -> Option<&'static str> {
        match &self.alone {
            Some(ladder) if self.is_alone => RepairPolicy::rung(ladder),
            _ => self.policy.rung(),
        }
    }
}

/// Time limit for closing a browser.
const CLOSING: Duration = Duration::from_secs(5);

/// Drives one tab. Each call of [`open`](Self::open), [`act`](Self::act), [`follow`](Self::follow) and
/// [`run`](Self::run) is one run, with its own log and report. The tab, the policy and the ids of candidates persist
/// across runs.
pub struct Agent {
    pub(crate) controller: Controller<Boxes>,
    pub(crate) keeping: Keeping,
    pub(crate) redactor: Arc<dyn Redactor>,
    /// `None` if every layer that needs a browser was replaced.
    pub(crate) tab: Option<Tab>,
    pub(crate) page: PageId,
    pub(crate) policy: Policy,
    pub(crate) budgets: Budgets,
    pub(crate) sight: Sight,
    pub(crate) events: EventSender,
    /// Origins whose local storage was restored.
    pub(crate) restored: Arc<Mutex<Vec<String>>>,
    pub(crate) journal: Option<Arc<Journal>>,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("page", &self.page).field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Agent {
    /// Opens `url`, and allows its origin from now on, even at a private address.
    ///
    /// ```no_run
    /// # async fn run(agent: &mut cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// agent.open("http://localhost:8737/login").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RunFailure`], with the report.
    pub async fn open(&mut self, url: &str) -> Result<RunReport, RunFailure> {
        // The check rejects an invalid URL with the reason.
        if let Ok(policy) = self.policy.clone().starting_at(url) {
            self.policy = policy;
        }
        self.act(Navigate::to(url)).await
    }

    /// Observes the page. Steps may use its ids for as long as the page has their elements.
    ///
    /// ```no_run
    /// use cuebook::prelude::*;
    ///
    /// # async fn run(agent: &mut Agent) -> Result<(), AgentError> {
    /// let page = agent.observe(Scope::Full).await?;
    /// for candidate in &page.candidates {
    ///     println!("{} {}", candidate.id, candidate.title());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`AgentError::Layer`] if the page modeler broke.
    pub async fn observe(&mut self, scope: Scope) -> Result<Observation, AgentError> {
        let deadline = Deadline::after(Instant::now(), self.budgets.observation);
        Ok(PageModeler::observe(&mut self.controller.layers_mut().modeler, &self.page, scope, deadline).await?)
    }

    /// Runs one step as a plan of the operator: checked, judged, logged. Unless the builder was given a
    /// [policy for repairs](crate::AgentBuilder::repair), nothing else on the page is acted on for it: it is waited and
    /// scrolled for, it follows its target and enters a lost value again, and else it fails. What covers its target is
    /// in the failure. [`follow`](Self::follow) dismisses what is in the way, as a step of the report whose origin is
    /// `repair`.
    ///
    /// ```no_run
    /// use cuebook::prelude::*;
    ///
    /// # async fn run(agent: &mut Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// agent.act(SetValue::at(Locator::role(Role::TextBox, "User"), "ann")).await?;
    /// let page = agent.observe(Scope::View).await?;
    /// let button = page.find(Role::Button, "Log in")?; // an error says what is there instead
    /// agent.act(Click::on(button).expect(Condition::url_changes_to("/home"))).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RunFailure`], with the report.
    pub async fn act(&mut self, step: impl Into<Act>) -> Result<RunReport, RunFailure> {
        let plan = step.into().into_plan(Author::Operator);
        self.work(Work::Plan(Box::new(plan)), None, true).await.into_result()
    }

    /// Runs a plan.
    ///
    /// ```no_run
    /// use cuebook::prelude::*;
    ///
    /// # async fn run(agent: &mut Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let plan = PlanDraft::read(&std::fs::read_to_string("login.json")?, Author::Operator)?;
    /// agent.follow(plan).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RunFailure`], with the report.
    pub async fn follow(&mut self, plan: PlanDraft) -> Result<RunReport, RunFailure> {
        self.work(Work::Plan(Box::new(plan)), None, false).await.into_result()
    }

    /// Runs a plan that names ids of an observation that another process made
    /// ([`with_meanings`](Observation::with_meanings)). Each is bound to the only thing on the page that means the same,
    /// or the plan is refused before any of it runs.
    ///
    /// ```no_run
    /// use cuebook::prelude::*;
    ///
    /// # async fn run(agent: &mut Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let observed = Observation::read(&std::fs::read_to_string("page.json")?)?;
    /// let plan = PlanDraft::read(&std::fs::read_to_string("plan.json")?, Author::Operator)?;
    /// agent.open(&observed.url).await?;
    /// agent.follow_observed(plan, observed).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RunFailure`], with the report.
    pub async fn follow_observed(&mut self, plan: PlanDraft, observed: Observation) -> Result<RunReport, RunFailure> {
        self.work(Work::Plan(Box::new(plan)), Some(Box::new(observed)), false).await.into_result()
    }

    /// Carries out a task in words: the planner writes the plans.
    ///
    /// ```no_run
    /// # async fn run(agent: &mut cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let report = agent.run("Search for tea and open the first result").await?;
    /// println!("{} steps", report.steps.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RunFailure`], with the report.
    pub async fn run(&mut self, task: &str) -> Result<RunReport, RunFailure> {
        self.work(Work::Task(task.to_owned()), None, false).await.into_result()
    }

    /// The events of this agent's runs from now on, until the agent is closed or dropped. Any number of streams may be
    /// open. One that is not read keeps the latest 1,024 events, and then says how many it missed.
    ///
    /// ```no_run
    /// # async fn run(agent: &mut cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut events = agent.events();
    /// tokio::spawn(async move {
    ///     while let Some(event) = events.next().await {
    ///         println!("{event:?}");
    ///     }
    /// });
    /// agent.run("Search for tea and open the first result").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> AgentEvents {
        self.events.subscribe()
    }

    /// The tab in which the last run ended.
    #[must_use]
    pub const fn page(&self) -> &PageId {
        &self.page
    }

    /// The browser. `None` if every layer that needs one was replaced.
    #[must_use]
    pub fn browser(&self) -> Option<&Arc<Browser>> {
        self.tab.as_ref().map(|tab| &tab.browser)
    }

    /// The browser context of its tabs: state, settings, console and requests.
    ///
    /// # Errors
    /// [`PageError::Gone`] if the current tab is gone, or there is no browser.
    pub fn context(&self) -> Result<BrowserContext, PageError> {
        let browser = self.browser().ok_or(PageError::Gone)?.clone();
        let page = browser.page(&TargetId::from(self.page.as_str())).ok_or(PageError::Gone)?;
        let (restored, journal) = (self.restored.clone(), self.journal.clone());
        Ok(BrowserContext { browser, page, restored, journal })
    }

    /// Writes cookies and local storage to a file, as [`BrowserContext::save_storage`].
    ///
    /// # Errors
    /// [`StorageError`]. An existing file is then as it was.
    pub async fn save_storage(&self, path: impl AsRef<Path>) -> Result<(), StorageError> {
        if self.browser().is_none() {
            return Err(StorageError::NoBrowser);
        }
        self.context()?.save_storage(path).await.map(drop)
    }

    /// The current policy, with the origins that were opened.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Closes the browser if it was launched for this agent, else the tab if the agent opened it; with
    /// [`BrowserSource::Tab`](crate::BrowserSource::Tab), what was opened for that tab. Dropping the agent instead kills a
    /// launched browser, and leaves any other one as it is.
    ///
    /// # Errors
    /// [`AgentError::Close`] if a launched browser had to be killed; [`AgentError::Tab`].
    pub async fn close(self) -> Result<(), AgentError> {
        let Self { controller, tab, .. } = self;
        drop(controller);
        match tab {
            Some(tab) => tab.close(Instant::now() + CLOSING).await,
            None => Ok(()),
        }
    }

    /// A request for work in the tab where the last run ended, under the policy of the agent, for
    /// [`carry_out`](Self::carry_out).
    ///
    /// # Errors
    /// [`AgentError::NoRandomness`]
    pub fn request(&self, work: Work) -> Result<RunRequest, AgentError> {
        let run_id = fresh::run_id().map_err(AgentError::NoRandomness)?;
        let request = RunRequest::new(run_id, work, self.page.clone(), self.policy.clone());
        Ok(RunRequest { sight: self.sight, ..request })
    }

    /// Carries out a request: what [`open`](Self::open), [`act`](Self::act), [`follow`](Self::follow) and
    /// [`run`](Self::run) do, for whoever states more of a run, such as its id or where it starts.
    ///
    /// ```no_run
    /// use cuebook::repair::{RunRequest, Work};
    ///
    /// # async fn run(agent: &mut cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let request = agent.request(Work::Task("Open the first result".to_owned()))?;
    /// let report = agent.carry_out(request.starting_at("https://shop.test/search?q=tea")).await;
    /// println!("{:?}", report.result);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn carry_out(&mut self, request: RunRequest) -> RunReport {
        self.perform(request, false).await
    }

    async fn work(&mut self, work: Work, observed: Option<Box<Observation>>, is_alone: bool) -> RunReport {
        match self.request(work) {
            Ok(request) => self.perform(RunRequest { observed, goes_on: is_alone, ..request }, is_alone).await,
            Err(error) => self.ended(RunReport::without_run(
                RunResult::Error,
                Some(RunError::new(ErrorCode::NoRandomness, error.to_string())),
            )),
        }
    }

    /// Boxed, so that the layers are compiled into this crate, and not into each one that awaits a run.
    fn perform(&mut self, request: RunRequest, is_alone: bool) -> BoxFuture<'_, RunReport> {
        Box::pin(self.carry_through(request, is_alone))
    }

    async fn carry_through(&mut self, request: RunRequest, is_alone: bool) -> RunReport {
        self.controller.layers_mut().repair.is_alone = is_alone;
        let (request, kept) = match self.prepare(request) {
            Ok(prepared) => prepared,
            Err(report) => return self.ended(*report),
        };
        let report = self.controller.run(request).await;
        if let Some(page) = self.controller.page() {
            self.page = page.clone();
        }
        self.conclude(report, &kept)
    }

    /// A folder for a run, its log in it, and the request with what the agent knows of its browser.
    pub(crate) fn prepare(&mut self, request: RunRequest) -> Result<(RunRequest, RunStorage), Box<RunReport>> {
        let mut kept = self.keeping.begin(&request.run_id, &self.redactor).map_err(|error| {
            let why = self.redactor.redact(&with_sources(&error)).into_owned();
            let error = RunError::new(ErrorCode::LogUnavailable, why);
            Box::new(RunReport::without_run(RunResult::Error, Some(error)))
        })?;
        if let Some(log) = kept.log.take() {
            self.controller.layers_mut().log = log;
        }
        let tab = self.tab.as_ref();
        if let Some(tab) = tab {
            tab.reach(reach(&request.policy, &request.work));
        }
        let kept_in = kept.dir.as_ref().map(|dir| dir.path().display().to_string());
        let request = RunRequest {
            run_dir: kept_in.or(request.run_dir),
            browser: request.browser.or_else(|| tab.map(|tab| tab.browser.version().product.clone())),
            browser_path: request.browser_path.or_else(|| tab.and_then(Tab::program)),
            ..request
        };
        Ok((request, kept))
    }

    /// Keeps the report of a run that ended, and tells the streams.
    pub(crate) fn conclude(&self, mut report: RunReport, kept: &RunStorage) -> RunReport {
        if let Some(tab) = &self.tab {
            tab.stamp(&mut report);
        }
        kept.end(&report, self.redactor.as_ref());
        self.ended(report)
    }

    pub(crate) fn ended(&self, report: RunReport) -> RunReport {
        self.events.ended(&report);
        report
    }
}
