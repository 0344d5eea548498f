//! The layers of an agent: defaults and replacements.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuebook_cdp::{Emulation, TargetId, Window};
use cuebook_datalayer::{MemoryLog, ValueRedactor};
use cuebook_executor::ExecutorOptions;
use cuebook_grammar::id::PageId;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::boxed::{
    BoxedActionHandler, BoxedArtifactSink, BoxedConfirm, BoxedExecutor, BoxedPageModeler, BoxedPlanner,
    BoxedSecretSource, BoxedStepLog,
};
use cuebook_grammar::seam::{
    ActionHandler, ArtifactSink, BoxFuture, Confirm, DenyAll, Executor, NoSecrets, PageModeler, Planner, Redactor,
    RepairPolicy, SecretSource, StepLog,
};
use cuebook_grammar::secret::DigestKey;
use cuebook_outside::{OutsideHandler, OutsideOptions};
use cuebook_page_modeler::{ModelerOptions, Settling};
use cuebook_planner::Lexical;
use cuebook_repair::{Budgets, Controller, Interrupt, Layers, Listener, Sight};

use crate::agent::{Agent, Repairs};
use crate::browser::{BrowserSource, Containment, Tab, installed};
use crate::error::AgentError;
use crate::events::{EventSender, Forwarding};
use crate::journal::Journal;
use crate::keeping::Keeping;
use crate::live::Live;
use crate::storage::StorageState;
use crate::{environment, fresh};

/// Time limit for launching or attaching to a browser.
pub(crate) const STARTING: Duration = Duration::from_secs(30);

/// The wait before a page is shown to a person or a planner: until it has content and has been quiet for a while.
pub const SETTLING: Settling = Settling { quiet: Duration::from_millis(300), limit: Duration::from_secs(10) };

/// Builds an [`Agent`]. A layer is set by value, or as a box of [`cuebook_grammar::seam::boxed`]:
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
#[must_use = "`build` starts the agent"]
pub struct AgentBuilder {
    browser: BrowserSource,
    headed: Option<bool>,
    viewport: Option<(u32, u32)>,
    storage: Option<PathBuf>,
    emulation: Option<Emulation>,
    has_journal: bool,
    containment: Option<Containment>,
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

impl Agent {
    /// A builder with the defaults of the command line. Nothing is started yet.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }
}

impl AgentBuilder {
    /// The browser: [`LaunchOptions`](cuebook_cdp::LaunchOptions), an `Arc` of a connected one, an open [`Tab`], or
    /// [`BrowserSource::Attach`]. Default: [`BrowserSource::Installed`].
    pub fn browser(mut self, source: impl Into<BrowserSource>) -> Self {
        self.browser = source.into();
        self
    }

    /// How a launched browser reaches the network. Default: [`Containment::Proxy`].
    pub const fn containment(mut self, containment: Containment) -> Self {
        self.containment = Some(containment);
        self
    }

    /// `true` for a window on the screen, of a browser that is launched here. Default: as the launch options say, which
    /// is headless.
    pub const fn headed(mut self, headed: bool) -> Self {
        self.headed = Some(headed);
        self
    }

    /// Width and height of every page, in CSS pixels, in a browser that is launched here. Default: 1280 × 720.
    pub const fn viewport(mut self, width: u32, height: u32) -> Self {
        self.viewport = Some((width, height));
        self
    }

    /// Restores the cookies and the local storage of a file of Playwright's form, such as
    /// [`Agent::save_storage`] writes, before anything is opened.
    pub fn storage(mut self, file: impl Into<PathBuf>) -> Self {
        self.storage = Some(file.into());
        self
    }

    /// Language, time zone, place, device and colours of the pages of the agent's browser context. Default: the machine's.
    pub fn emulation(mut self, emulation: Emulation) -> Self {
        self.emulation = Some(emulation);
        self
    }

    /// Keeps what pages write to their consoles, and their requests, for [`BrowserContext::console`](crate::BrowserContext::console)
    /// and [`requests`](crate::BrowserContext::requests). Costs
    /// a message on the wire for each. Default: off.
    pub const fn journal(mut self, is_on: bool) -> Self {
        self.has_journal = is_on;
        self
    }

    /// The tab, of a browser that is shared or attached to; it stays open. Default: a new one.
    pub fn page(mut self, page: PageId) -> Self {
        self.page = Some(page);
        self
    }

    /// The policy. Default: [`Policy::default`]. The origins that the agent opens are added.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Time and repairs of a run.
    pub const fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Form in which the planner gets a page.
    pub const fn sight(mut self, sight: Sight) -> Self {
        self.sight = sight;
        self
    }

    /// Options of the default page modeler. Default: with [`SETTLING`].
    pub fn modeler_options(mut self, options: ModelerOptions) -> Self {
        self.modeler_options = Some(options);
        self
    }

    /// Options of the default executor. Default: with uploads from [`upload_roots`].
    pub fn executor_options(mut self, options: ExecutorOptions) -> Self {
        self.executor_options = Some(options);
        self
    }

    /// The digest key that a replaced modeler and executor share with the controller. Default: a random one.
    pub fn digest(mut self, key: DigestKey) -> Self {
        self.digest = Some(key);
        self
    }

    /// Ends the current run when it is triggered, and every later one at its start.
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Keeps the log, artifacts and report of each run in a subfolder of `folder`.
    pub fn runs_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.runs = Some(folder.into());
        self
    }

    /// Replaces the page modeler. Default: [`LivePageModeler`](cuebook_page_modeler::LivePageModeler).
    pub fn modeler(mut self, modeler: impl PageModeler + 'static) -> Self {
        self.modeler = Some(Box::new(modeler));
        self
    }

    /// The planner. Default: [`Lexical`], which needs no model.
    pub fn planner(mut self, planner: impl Planner + 'static) -> Self {
        self.planner = Some(Box::new(planner));
        self
    }

    /// Replaces the executor. Default: [`LiveExecutor`](cuebook_executor::LiveExecutor).
    pub fn executor(mut self, executor: impl Executor + 'static) -> Self {
        self.executor = Some(Box::new(executor));
        self
    }

    /// Decides what follows a failure. Default: [`Ladder`](cuebook_repair::Ladder), without the rungs that act on
    /// anything else for the single step of [`Agent::act`].
    pub fn repair(mut self, policy: impl RepairPolicy + 'static) -> Self {
        self.repair = Some(Box::new(policy));
        self
    }

    /// The log of all runs, instead of [`runs_in`](Self::runs_in): each is opened, logged and closed before the next.
    pub fn log(mut self, log: impl StepLog + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    /// Storage of the default executor for pictures and files.
    pub fn artifacts(mut self, sink: impl ArtifactSink + 'static) -> Self {
        self.artifacts = Some(Box::new(sink));
        self
    }

    /// Asks a person for consent. Default: what needs consent is denied.
    pub fn confirm(mut self, confirm: impl Confirm + 'static) -> Self {
        self.confirm = Some(Box::new(confirm));
        self
    }

    /// Secrets for the default executor. Default: none.
    pub fn secrets(mut self, secrets: impl SecretSource + 'static) -> Self {
        self.secrets = Some(Box::new(secrets));
        self
    }

    /// Runs actions outside of the page, instead of [`OutsideHandler`]. Its actions are opened in the policy.
    pub fn handler(mut self, handler: impl ActionHandler + 'static) -> Self {
        self.handler = Some(Box::new(handler));
        self
    }

    /// Removes secrets from everything that is stored.
    pub fn redactor(mut self, redactor: Arc<dyn Redactor>) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Receives the events of runs.
    pub fn listener(mut self, listener: impl Listener + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Starts the browser and connects the layers. If page, modeler and executor are all set, no browser is started
    /// unless [`browser`](Self::browser) was called.
    ///
    /// # Errors
    /// [`AgentError`] if an option cannot be obeyed, there is no usable browser, or no random bytes.
    pub fn build(self) -> BoxFuture<'static, Result<Agent, AgentError>> {
        Box::pin(self.compose())
    }

    async fn compose(self) -> Result<Agent, AgentError> {
        self.check()?;
        let storage = self.storage.as_deref().map(StorageState::read).transpose()?;
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
        let redactor = self.redactor.unwrap_or_else(|| Arc::new(ValueRedactor::default()));
        let (tab, page, modeler, executor) = match (self.browser, self.page, self.modeler, self.executor) {
            (BrowserSource::Installed, Some(page), Some(modeler), Some(executor)) => (None, page, modeler, executor),
            (source, page, modeler, executor) => {
                let source = launched_as(source, self.headed, self.viewport)?;
                let containment = self.containment.unwrap_or_default();
                let tab = Tab::open_or_take(source, page, containment, Instant::now() + STARTING).await?;
                let live = Live::on(&tab, digest.clone(), redactor.clone());
                let modeler = modeler.unwrap_or_else(|| {
                    let settled = || ModelerOptions { settling: SETTLING, ..ModelerOptions::default() };
                    let options = self.modeler_options.unwrap_or_else(settled);
                    Box::new(live.modeler(options))
                });
                let executor = executor.unwrap_or_else(|| {
                    let roots =
                        || ExecutorOptions { upload_roots: upload_roots(&policy), ..ExecutorOptions::default() };
                    let options = self.executor_options.unwrap_or_else(roots);
                    let secrets = self.secrets.unwrap_or_else(|| Box::new(NoSecrets));
                    let artifacts = self.artifacts.unwrap_or_else(|| Box::new(keeping.artifacts().clone()));
                    Box::new(live.executor(secrets, artifacts, options))
                });
                let page = tab.page.clone();
                (Some(tab), page, modeler, executor)
            }
        };
        let layers = Layers {
            modeler,
            planner: Arc::new(self.planner.unwrap_or_else(|| Box::new(Lexical))),
            executor,
            repair: Repairs::new(self.repair),
            log: self.log.unwrap_or_else(|| Box::new(MemoryLog::default())),
            confirm: self.confirm.unwrap_or_else(|| Box::new(DenyAll)),
        };
        let handler = self.handler.unwrap_or_else(|| {
            let options = OutsideOptions { path: environment::path(), ..OutsideOptions::default() };
            Box::new(OutsideHandler::new(options))
        });
        let events = EventSender::new();
        let listener = self.listener.unwrap_or_else(|| Box::new(()));
        let controller = Controller::new(layers, digest, redactor.clone())
            .with_budgets(self.budgets)
            .with_interrupt(self.interrupt)
            .with_listener(Forwarding { listener, streams: events.clone() })
            .with_handler(handler);
        let restored = storage.as_ref().map(StorageState::origins).unwrap_or_default();
        let (budgets, sight) = (self.budgets, self.sight);
        let (restored, journal) = (Arc::new(Mutex::new(restored)), None);
        let mut agent =
            Agent { controller, keeping, redactor, tab, page, policy, budgets, sight, events, restored, journal };
        let page = agent.browser().and_then(|browser| browser.page(&TargetId::from(agent.page.as_str())));
        if let (Some(storage), Some(browser), Some(page)) = (storage, agent.browser(), page)
            && let Err(error) = storage.restore(browser, &page, Instant::now() + STARTING).await
        {
            agent.close().await.ok();
            return Err(error.into());
        }
        if let Err(error) = settle(&mut agent, self.emulation, self.has_journal).await {
            agent.close().await.ok();
            return Err(error);
        }
        Ok(agent)
    }

    /// Refuses options that would have no effect.
    fn check(&self) -> Result<(), AgentError> {
        let source = &self.browser;
        let (modeler, executor) = (self.modeler.is_some(), self.executor.is_some());
        let is_replaced = matches!(source, BrowserSource::Installed) && self.page.is_some() && modeler && executor;
        let is_launched = matches!(source, BrowserSource::Installed | BrowserSource::Launch(_)) && !is_replaced;
        let not_launched = "this agent does not launch the browser";
        let replaced = "the executor that would use it is replaced";
        let has_other_proxy = matches!(source, BrowserSource::Launch(options) if options.proxy.is_some());
        let is_contained = self.containment.is_some_and(|containment| containment != Containment::None);
        let takes_page = is_replaced || matches!(source, BrowserSource::Shared(_) | BrowserSource::Attach(_));
        let is_handed_over = match source {
            BrowserSource::HandedOver { .. } => true,
            BrowserSource::Attach(_) => self.page.is_some(),
            BrowserSource::Shared(browser) => browser.handed_over().is_some(),
            BrowserSource::Tab(tab) => tab.browser.handed_over().is_some(),
            _ => false,
        };
        let unusable = [
            ("headed", self.headed.is_some() && !is_launched, not_launched),
            ("viewport", self.viewport.is_some() && !is_launched, not_launched),
            ("containment", self.containment.is_some() && !is_launched, not_launched),
            ("containment", is_contained && has_other_proxy, "the launch options name another proxy"),
            ("storage", self.storage.is_some() && is_replaced, "there is no browser"),
            ("storage", self.storage.is_some() && is_handed_over, "the browser is the one that a person uses"),
            ("emulation", self.emulation.is_some() && is_replaced, "there is no browser"),
            ("journal", self.has_journal && is_replaced, "there is no browser"),
            ("page", self.page.is_some() && !takes_page, "this source of a browser takes no tab by its id"),
            ("modeler_options", self.modeler_options.is_some() && modeler, "the page modeler is replaced"),
            ("executor_options", self.executor_options.is_some() && executor, replaced),
            ("secrets", self.secrets.is_some() && executor, replaced),
            ("artifacts", self.artifacts.is_some() && executor, replaced),
            ("runs_in", self.runs.is_some() && self.log.is_some(), "the log is replaced"),
        ];
        match unusable.into_iter().find(|(_, is_unusable, _)| *is_unusable) {
            Some((option, _, reason)) => Err(AgentError::UnusableOption { option, reason }),
            None => Ok(()),
        }
    }
}

/// Gives the browser context of an agent its settings, and the permissions of the policy. Nothing of somebody else's
/// browser is granted.
async fn settle(agent: &mut Agent, emulation: Option<Emulation>, has_journal: bool) -> Result<(), AgentError> {
    if let Some(emulation) = emulation {
        agent.context()?.emulate(emulation).await?;
    }
    if !agent.policy.permissions().is_empty() {
        let context = agent.context()?;
        let is_ours = context.browser.handed_over().is_none();
        for permission in agent.policy.permissions().iter().filter(|_| is_ours) {
            context.permit(&permission.name, &permission.origin, true).await?;
        }
    }
    if has_journal {
        let context = agent.context()?;
        agent.journal = Some(Arc::new(Journal::of(&context.browser, &context.page, agent.redactor.clone())));
    }
    Ok(())
}

/// The source with a window and a viewport as stated.
fn launched_as(
    source: BrowserSource,
    headed: Option<bool>,
    viewport: Option<(u32, u32)>,
) -> Result<BrowserSource, AgentError> {
    let mut options = match source {
        BrowserSource::Installed if headed.is_some() || viewport.is_some() => Box::new(installed()?),
        BrowserSource::Launch(options) => options,
        source => return Ok(source),
    };
    if let Some(headed) = headed {
        options.window = if headed { Window::Headed } else { Window::Headless };
    }
    options.viewport = viewport.unwrap_or(options.viewport);
    Ok(BrowserSource::Launch(options))
}

/// The directories whose files a policy allows to upload: those that may be read or written.
#[must_use]
pub fn upload_roots(policy: &Policy) -> Vec<PathBuf> {
    let outside = policy.outside();
    outside.read_roots.iter().chain(&outside.write_roots).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_option_that_would_have_no_effect_is_an_error() {
        let attached = || Agent::builder().browser(BrowserSource::Attach("http://127.0.0.1:1".to_owned()));
        for (builder, option) in [
            (attached().headed(true), "headed"),
            (attached().viewport(640, 480), "viewport"),
            (attached().containment(Containment::Flags), "containment"),
            (attached().page(PageId::new("t1")).storage("state.json"), "storage"),
            (Agent::builder().page(PageId::new("t1")), "page"),
            (Agent::builder().runs_in("runs").log(MemoryLog::default()), "runs_in"),
        ] {
            let Err(AgentError::UnusableOption { option: named, .. }) = builder.build().await else {
                panic!("{option} was obeyed");
            };
            assert_eq!(named, option);
        }
    }
}
