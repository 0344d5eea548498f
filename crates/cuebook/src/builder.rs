//! What an agent is made of: defaults, and what replaces them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_datalayer::{MemoryLog, ValueRedactor};
use cuebook_executor::{ExecutorOptions, LiveExecutor};
use cuebook_grammar::id::PageId;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::boxed::{
    BoxedActionHandler, BoxedArtifactSink, BoxedConfirm, BoxedExecutor, BoxedPageModeler, BoxedPlanner,
    BoxedSecretSource, BoxedStepLog,
};
use cuebook_grammar::seam::{
    ActionHandler, ArtifactSink, Confirm, Executor, NoSecrets, NobodyConfirms, PageModeler, Planner, Redactor,
    RepairPolicy, SecretSource, StepLog,
};
use cuebook_grammar::secret::DigestKey;
use cuebook_lexical::Lexical;
use cuebook_outside::{OutsideHandler, OutsideOptions};
use cuebook_page_modeler::{LivePageModeler, ModelerOptions, Settling};
use cuebook_repair::{Budgets, Controller, Interrupt, Ladder, Layers, Listener, Sight};

use crate::browser::{BrowserSource, Tab};
use crate::keeping::Keeping;
use crate::{Agent, AgentError, environment, fresh};

/// The time that a browser gets to start, or to be reached.
const STARTING: Duration = Duration::from_secs(30);

/// How long a page is waited for before a person or a planner sees it: until it has something to look at and has been
/// quiet for a while.
pub const SETTLING: Settling = Settling { quiet: Duration::from_millis(300), limit: Duration::from_secs(10) };

/// Makes an [`Agent`]. A layer is given by value, or as a box of [`cuebook_grammar::seam::boxed`]:
///
/// ```no_run
/// use cuebook::prelude::*;
/// use cuebook::grammar::seam::boxed::BoxedPlanner;
///
/// # async fn run(path: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
/// let planner: Box<dyn BoxedPlanner> = PlannerConfig::from_file(path)?.planner()?;
/// let agent = Agent::builder().planner(planner).runs_in("runs").build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "nothing is started before `build`"]
pub struct AgentBuilder {
    browser: BrowserSource,
    page: Option<PageId>,
    policy: Policy,
    budgets: Budgets,
    sight: Sight,
    modeler_options: Option<ModelerOptions>,
    executor_options: Option<ExecutorOptions>,
    digest: Option<DigestKey>,
    interrupt: Interrupt,
    runs: Option<PathBuf>,
    modeler: Option<Box<dyn BoxedPageModeler>>,
    planner: Option<Box<dyn BoxedPlanner>>,
    executor: Option<Box<dyn BoxedExecutor>>,
    repair: Option<Box<dyn RepairPolicy>>,
    log: Option<Box<dyn BoxedStepLog>>,
    artifacts: Option<Box<dyn BoxedArtifactSink>>,
    confirm: Option<Box<dyn BoxedConfirm>>,
    secrets: Option<Box<dyn BoxedSecretSource>>,
    handler: Option<Box<dyn BoxedActionHandler>>,
    redactor: Option<Arc<dyn Redactor>>,
    listener: Option<Box<dyn Listener>>,
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("browser", &self.browser)
            .field("policy", &self.policy)
            .field("budgets", &self.budgets)
            .finish_non_exhaustive()
    }
}

impl AgentBuilder {
    /// The browser: [`LaunchOptions`](cuebook_cdp::LaunchOptions), an `Arc` of one at hand, or [`BrowserSource::Attach`]. Else the one that is
    /// installed.
    pub fn browser(mut self, source: impl Into<BrowserSource>) -> Self {
        self.browser = source.into();
        self
    }

    /// The tab to work in, of a browser at hand or attached to; it is left open. Else a new one.
    pub fn page(mut self, page: PageId) -> Self {
        self.page = Some(page);
        self
    }

    /// What is allowed. Else what [`Policy::default`] allows, and the origins that the agent opens.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How much a run may use.
    pub const fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// What the planner gets of a page.
    pub const fn sight(mut self, sight: Sight) -> Self {
        self.sight = sight;
        self
    }

    /// Bounds of observations, where the modeler is not replaced. Else the defaults with [`SETTLING`].
    pub fn modeler_options(mut self, options: ModelerOptions) -> Self {
        self.modeler_options = Some(options);
        self
    }

    /// How steps are carried out, where the executor is not replaced. Else the defaults, with uploads from
    /// [`upload_roots`].
    pub fn executor_options(mut self, options: ExecutorOptions) -> Self {
        self.executor_options = Some(options);
        self
    }

    /// The key of digests, which a modeler and an executor of the caller's share with the controller. Else a fresh one.
    pub fn digest(mut self, key: DigestKey) -> Self {
        self.digest = Some(key);
        self
    }

    /// Ends the run at hand when it is triggered, and every later one at its start.
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Keeps log, artifacts and report of each run in a folder of its own under `folder`.
    pub fn runs_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.runs = Some(folder.into());
        self
    }

    /// Observes pages.
    pub fn modeler(mut self, modeler: impl PageModeler + 'static) -> Self {
        self.modeler = Some(Box::new(modeler));
        self
    }

    /// Plans tasks. Else the planner without a model, [`Lexical`].
    pub fn planner(mut self, planner: impl Planner + 'static) -> Self {
        self.planner = Some(Box::new(planner));
        self
    }

    /// Carries out steps.
    pub fn executor(mut self, executor: impl Executor + 'static) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }

    /// Decides what follows a failure. Else the [`Ladder`].
    pub fn repair(mut self, policy: impl RepairPolicy + 'static) -> Self {
        self.repair = Some(Box::new(policy));
        self
    }

    /// Keeps the log of all runs: each is opened, logged and closed before the next. Goes before
    /// [`runs_in`](Self::runs_in).
    pub fn log(mut self, log: impl StepLog + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    /// Keeps pictures and files, where the executor is not replaced.
    pub fn artifacts(mut self, sink: impl ArtifactSink + 'static) -> Self {
        self.artifacts = Some(Box::new(sink));
        self
    }

    /// Asks a person for consent. Else nobody is there, and what needs consent is denied.
    pub fn confirm(mut self, confirm: impl Confirm + 'static) -> Self {
        self.confirm = Some(Box::new(confirm));
        self
    }

    /// Knows secrets, where the executor is not replaced. Else there are none.
    pub fn secrets(mut self, secrets: impl SecretSource + 'static) -> Self {
        self.secrets = Some(Box::new(secrets));
        self
    }

    /// Carries out what lies outside of the page, in place of [`OutsideHandler`]. Its actions are opened in the policy.
    pub fn handler(mut self, handler: impl ActionHandler + 'static) -> Self {
        self.handler = Some(Box::new(handler));
        self
    }

    /// Takes secrets out of all that is kept.
    pub fn redactor(mut self, redactor: Arc<dyn Redactor>) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Watches runs.
    pub fn listener(mut self, listener: impl Listener + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Starts the browser and puts the layers together. Where page, modeler and executor are all given, nothing needs a
    /// browser, and none is started unless [`browser`](Self::browser) was called.
    ///
    /// # Errors
    /// [`AgentError`] if there is no browser to be had, or no random bytes.
    pub async fn build(self) -> Result<Agent, AgentError> {
        let digest = match self.digest {
            Some(key) => key,
            None => fresh::digest_key().map_err(AgentError::NoRandomness)?,
        };
        let keeping = match (&self.log, self.runs) {
            (Some(_), _) => Keeping::given(),
            (None, Some(runs)) => Keeping::in_folders(runs),
            (None, None) => Keeping::nothing(),
        };
        let policy = match &self.handler {
            Some(handler) => ActionHandler::actions(handler).into_iter().fold(self.policy, Policy::registering),
            None => self.policy,
        };
        let (tab, page, modeler, executor) = match (self.browser, self.page, self.modeler, self.executor) {
            (BrowserSource::Installed, Some(page), Some(modeler), Some(executor)) => (None, page, modeler, executor),
            (source, page, modeler, executor) => {
                let tab = Tab::open_or_take(source, page, Instant::now() + STARTING).await?;
                let modeler = modeler.unwrap_or_else(|| {
                    let settled = || ModelerOptions { settling: SETTLING, ..ModelerOptions::default() };
                    let options = self.modeler_options.unwrap_or_else(settled);
                    Box::new(LivePageModeler::new(tab.browser.clone(), digest.clone(), options))
                });
                let executor = executor.unwrap_or_else(|| {
                    let roots =
                        || ExecutorOptions { upload_roots: upload_roots(&policy), ..ExecutorOptions::default() };
                    let options = self.executor_options.unwrap_or_else(roots);
                    let secrets = self.secrets.unwrap_or_else(|| Box::new(NoSecrets));
                    let artifacts = self.artifacts.unwrap_or_else(|| Box::new(keeping.artifacts().clone()));
                    Box::new(LiveExecutor::new(tab.browser.clone(), digest.clone(), secrets, artifacts, options))
                });
                let page = tab.page.clone();
                (Some(tab), page, modeler, executor)
            }
        };
        let layers = Layers {
            modeler,
            planner: self.planner.unwrap_or_else(|| Box::new(Lexical)),
            executor,
            repair: self.repair.unwrap_or_else(|| Box::new(Ladder)),
            log: self.log.unwrap_or_else(|| Box::new(MemoryLog::default())),
            confirm: self.confirm.unwrap_or_else(|| Box::new(NobodyConfirms)),
        };
        let redactor = self.redactor.unwrap_or_else(|| Arc::new(ValueRedactor::default()));
        let handler = self.handler.unwrap_or_else(|| {
            let options = OutsideOptions { path: environment::path(), ..OutsideOptions::default() };
            Box::new(OutsideHandler::new(options))
        });
        let controller = Controller::new(layers, digest, redactor.clone())
            .with_budgets(self.budgets)
            .with_interrupt(self.interrupt)
            .with_listener(self.listener.unwrap_or_else(|| Box::new(())))
            .with_handler(handler);
        let (budgets, sight) = (self.budgets, self.sight);
        Ok(Agent { controller, keeping, redactor, tab, page, policy, budgets, sight })
    }
}

/// The directories from which a policy lets files be put into pages: those that may be read or written.
#[must_use]
pub fn upload_roots(policy: &Policy) -> Vec<PathBuf> {
    let outside = policy.outside();
    outside.read_roots.iter().chain(&outside.write_roots).map(Into::into).collect()
}
