//! One agent: a tab, and the layers that act in it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::Browser;
use cuebook_grammar::action::Navigate;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use cuebook_grammar::seam::boxed::{BoxedConfirm, BoxedExecutor, BoxedPageModeler, BoxedPlanner, BoxedStepLog};
use cuebook_grammar::seam::{PageModeler, Redactor, RepairPolicy};
use cuebook_grammar::step::Step;
use cuebook_repair::{Budgets, Controller, Layers, RunRequest, Sight, Work};

use crate::browser::Tab;
use crate::keeping::Keeping;
use crate::{AgentBuilder, AgentError, fresh};

/// The layers, each in a box.
pub(crate) type Boxes = Layers<
    Box<dyn BoxedPageModeler>,
    Box<dyn BoxedPlanner>,
    Box<dyn BoxedExecutor>,
    Box<dyn RepairPolicy>,
    Box<dyn BoxedStepLog>,
    Box<dyn BoxedConfirm>,
>;

/// The time that a browser gets to close.
const CLOSING: Duration = Duration::from_secs(5);

/// Drives one tab. Each call of [`open`](Self::open), [`act`](Self::act), [`follow`](Self::follow) and
/// [`run`](Self::run) is a run with a log and a report of its own; the tab, the policy and the ids of candidates go on
/// from one to the next.
pub struct Agent {
    pub(crate) controller: Controller<Boxes>,
    pub(crate) keeping: Keeping,
    pub(crate) redactor: Arc<dyn Redactor>,
    /// None where every layer that needs a browser was replaced.
    pub(crate) tab: Option<Tab>,
    pub(crate) page: PageId,
    pub(crate) policy: Policy,
    pub(crate) budgets: Budgets,
    pub(crate) sight: Sight,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("page", &self.page).field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Agent {
    /// The defaults of the command line; nothing is started yet.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// Opens `url`, whose origin is allowed from now on, private addresses included: they were named.
    pub async fn open(&mut self, url: &str) -> RunReport {
        // A URL that cannot be opened is refused by the check, which says why.
        if let Ok(policy) = self.policy.clone().starting_at(url) {
            self.policy = policy;
        }
        self.act(Navigate::to(url)).await
    }

    /// Observes the page. Its ids are those that steps may name for as long as the page has their elements.
    ///
    /// # Errors
    /// [`AgentError::Layer`] if the page modeler broke.
    pub async fn observe(&mut self, scope: Scope) -> Result<Observation, AgentError> {
        let deadline = Deadline::after(Instant::now(), self.budgets.observation);
        Ok(PageModeler::observe(&mut self.controller.layers_mut().modeler, &self.page, scope, deadline).await?)
    }

    /// Carries out one step as an operator's plan: checked, judged, logged, repaired.
    pub async fn act(&mut self, step: impl Into<Step>) -> RunReport {
        self.follow(PlanDraft::of(Author::Operator, vec![step.into()])).await
    }

    /// Carries out a plan.
    pub async fn follow(&mut self, plan: PlanDraft) -> RunReport {
        self.work(Work::Plan(Box::new(plan))).await
    }

    /// Carries out a task in words, by the planner.
    pub async fn run(&mut self, task: &str) -> RunReport {
        self.work(Work::Task(task.to_owned())).await
    }

    /// The tab where the last run ended.
    #[must_use]
    pub const fn page(&self) -> &PageId {
        &self.page
    }

    /// The browser; none where every layer that needs one was replaced.
    #[must_use]
    pub fn browser(&self) -> Option<&Arc<Browser>> {
        self.tab.as_ref().map(|tab| &tab.browser)
    }

    /// The policy as it stands, with the origins that were opened.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Ends the browser if it was launched for this agent, else closes the agent's tab if it opened it. An agent that
    /// is dropped instead kills a launched browser, and leaves another one as it is.
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

    async fn work(&mut self, work: Work) -> RunReport {
        let ended = |code, message: String| {
            RunReport::without_run(RunResult::Error, Some(RunError::new(code, self.redactor.redact(&message))))
        };
        let run_id = match fresh::run_id() {
            Ok(run_id) => run_id,
            Err(error) => return ended(ErrorCode::NoRandomness, AgentError::NoRandomness(error).to_string()),
        };
        let mut kept = match self.keeping.begin(&run_id, &self.redactor) {
            Ok(kept) => kept,
            Err(error) => return ended(ErrorCode::LogUnavailable, error.to_string()),
        };
        if let Some(log) = kept.log.take() {
            self.controller.layers_mut().log = log;
        }
        let request = RunRequest {
            run_id,
            run_dir: kept.dir.as_ref().map(|dir| dir.path().display().to_string()),
            work,
            start_url: None,
            page: self.page.clone(),
            policy: self.policy.clone(),
            sight: self.sight,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            browser: self.tab.as_ref().map(|tab| tab.browser.version().product.clone()),
        };
        let report = self.controller.run(request).await;
        if let Some(page) = self.controller.page() {
            self.page = page.clone();
        }
        kept.end(&report, self.redactor.as_ref());
        report
    }
}
