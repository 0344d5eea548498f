//! The tab of an agent, and what is closed with it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cuebook_cdp::{
    AttachOptions, Browser, CallError, ContextId, LaunchOptions, Namespace, OpenTab, PageError, SearchPlaces, TargetId,
    Transport, find_chrome,
};
use cuebook_datalayer::traffic::Setting;
use cuebook_grammar::id::PageId;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::{BoxFuture, Denials, NoDenials};
use cuebook_network::traffic::page_script;
use cuebook_network::{Egress, Limits, System};

use crate::egress::{self, Uncontained};
use crate::environment::{self, FromEnv as _};
use crate::error::AgentError;

/// The source of a browser.
///
/// ```no_run
/// use cuebook::prelude::*;
///
/// # async fn run() -> Result<(), AgentError> {
/// let source = BrowserSource::Attach("http://127.0.0.1:9222".to_owned());
/// let agent = Agent::builder().browser(source).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum BrowserSource {
    /// Launched headless: the browser that the environment names, else the first installed one.
    #[default]
    Installed,
    /// Launched with these options.
    Launch(Box<LaunchOptions>),
    /// Attached to, at `http://host:port` or a `ws://` address. The tab is new, in a browser context of its own: without
    /// the cookies and the tabs of whoever uses the browser.
    Attach(String),
    /// An open tab of a running browser, with the cookies of its user. It stays open; tabs that it opens are closed.
    HandedOver {
        /// `http://host:port` or a `ws://` address.
        endpoint: String,
        /// Tab to take over, by its id or by its title or URL.
        tab: OpenTab,
    },
    /// Already connected. It stays open.
    Shared(Arc<Browser>),
    /// Already connected and launched by this process. It stays open; the tab is in a browser context of its own, which is
    /// disposed of with everything that its pages stored.
    Isolated(Arc<Browser>),
    /// A tab that is open, with its proxy. It stays open until the agent or another clone of it is closed.
    Tab(Box<Tab>),
}

/// The options of a browser whose pages get the randomness, the clock, the viewport, the time zone and the language of
/// `setting`, as a recording and its replay need it.
#[must_use]
pub fn launch_under(setting: &Setting, options: LaunchOptions) -> LaunchOptions {
    LaunchOptions {
        page_script: Some(page_script(setting.seed, setting.epoch_ms)),
        viewport: setting.viewport,
        timezone: Some(setting.timezone.clone()),
        locale: Some(setting.locale.clone()),
        ..options
    }
}

impl From<LaunchOptions> for BrowserSource {
    fn from(options: LaunchOptions) -> Self {
        Self::Launch(Box::new(options))
    }
}

impl From<Tab> for BrowserSource {
    fn from(tab: Tab) -> Self {
        Self::Tab(Box::new(tab))
    }
}

impl From<Arc<Browser>> for BrowserSource {
    fn from(browser: Arc<Browser>) -> Self {
        Self::Shared(browser)
    }
}

/// How a launched browser reaches the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Containment {
    /// Through a proxy of ours, which denies everything until it has a policy. A browser that can get past it is not used.
    /// In a network namespace where one can be made, otherwise by flags of the browser.
    #[default]
    Proxy,
    /// Like [`Self::Proxy`], only in a network namespace. Needs Linux, and `CAP_SYS_ADMIN`.
    Namespace,
    /// Like [`Self::Proxy`], by flags of the browser.
    Flags,
    /// As the system does. The policy then holds for steps and navigations only.
    None,
}

impl Containment {
    /// Returns `true` if a browser with these options gets a proxy of ours: it may have one already.
    pub(crate) fn is_of(self, options: &LaunchOptions) -> bool {
        self != Self::None && options.proxy.is_none()
    }
}

/// A tab of a browser. Clones are the same tab.
#[derive(Clone, Debug)]
pub struct Tab {
    /// Browser that has the tab.
    pub browser: Arc<Browser>,
    /// Id of the tab's target in `browser`.
    pub page: PageId,
    ending: Ending,
    egress: Option<(Arc<Egress>, Isolation)>,
    is_offline: bool,
}

/// Means that keep a browser from getting past the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// A network of its own, with the proxy as the only way out; and the flags.
    Namespace,
    /// Flags of the browser alone.
    Flags,
}

impl Isolation {
    pub(crate) const fn by(namespace: Option<&Namespace>) -> Self {
        if namespace.is_some() { Self::Namespace } else { Self::Flags }
    }
}

/// Part of a browser that is closed with a tab.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    /// The browser if it was launched for this tab; only our things in it if it was attached to.
    Browser,
    /// The tab, and those that it opened.
    Tab,
    /// The browser context of the tab.
    Context(ContextId),
    /// Nothing: the tab existed before.
    Nothing,
}

impl Tab {
    /// Launches or attaches to a browser and opens a tab in it. A launched browser has no other tab. Profiles that
    /// killed browsers left under the same root are removed first. A browser that was not launched here, or that has
    /// another proxy, is not contained.
    ///
    /// # Errors
    /// [`AgentError::NoBrowser`], [`AgentError::Launch`], [`AgentError::Uncontained`], [`AgentError::Attach`],
    /// [`AgentError::Tab`].
    pub fn open(
        source: BrowserSource,
        containment: Containment,
        until: Instant,
    ) -> BoxFuture<'static, Result<Self, AgentError>> {
        Box::pin(Self::open_in(source, containment, until))
    }

    async fn open_in(source: BrowserSource, containment: Containment, until: Instant) -> Result<Self, AgentError> {
        let mut options = match source {
            BrowserSource::Installed => installed()?,
            BrowserSource::Launch(options) => *options,
            BrowserSource::Attach(endpoint) => {
                let options = AttachOptions::new(endpoint, environment::profile_root());
                let browser = Arc::new(Browser::attach(&options, until).await?);
                return Ok(Self { ending: Ending::Browser, ..Self::beside(browser, until).await? });
            }
            BrowserSource::HandedOver { endpoint, tab } => {
                let mut options = AttachOptions::new(endpoint, environment::profile_root());
                options.tab = Some(tab);
                let browser = Arc::new(Browser::attach(&options, until).await?);
                let page = browser.handed_over().ok_or(PageError::Gone)?;
                let page = PageId::new(page.as_str());
                return Ok(Self { ending: Ending::Browser, ..Self::of(browser, page) });
            }
            BrowserSource::Shared(browser) => return Self::beside(browser, until).await,
            BrowserSource::Isolated(browser) => {
                let context = browser.new_context(None, until).await.map_err(PageError::from)?;
                return Ok(Self::in_context(browser, context, None, until).await?);
            }
            BrowserSource::Tab(tab) => return Ok(*tab),
        };
        options.withheld_variables.extend(environment::confidential());
        let (browser, egress) = match containment.is_of(&options) {
            true => {
                let (browser, egress, isolation) = contained(options, containment, until).await?;
                (browser, Some((Arc::new(egress), isolation)))
            }
            false => (launch(&options, until).await?, None),
        };
        let page = browser.new_page("about:blank", until).await?;
        // The browser opened a tab by itself.
        for other in browser.pages().into_iter().filter(|other| other.target_id() != page.target_id()) {
            other.close(until).await.ok();
        }
        let page = PageId::new(page.target_id().as_str());
        Ok(Self { ending: Ending::Browser, egress, ..Self::of(browser, page) })
    }

    /// A tab in a context of its own, which is disposed of with it.
    pub(crate) async fn in_context(
        browser: Arc<Browser>,
        context: ContextId,
        egress: Option<(Arc<Egress>, Isolation)>,
        until: Instant,
    ) -> Result<Self, PageError> {
        let page = browser.new_page_in(&context, "about:blank", until).await?;
        let page = PageId::new(page.target_id().as_str());
        Ok(Self { ending: Ending::Context(context), egress, ..Self::of(browser, page) })
    }

    /// A new tab of a browser that runs on without it.
    async fn beside(browser: Arc<Browser>, until: Instant) -> Result<Self, AgentError> {
        let page = browser.new_page("about:blank", until).await?;
        let page = PageId::new(page.target_id().as_str());
        Ok(Self { ending: Ending::Tab, ..Self::of(browser, page) })
    }

    /// Opens another tab of the same browser context, which is closed with that or with the browser.
    ///
    /// # Errors
    /// [`AgentError::Tab`]
    pub(crate) async fn another(&self, until: Instant) -> Result<PageId, AgentError> {
        let page = self.browser.page(&TargetId::from(self.page.as_str()));
        let page = match page {
            Some(page) => self.browser.new_page_beside(&page, "about:blank", until).await?,
            None => match &self.ending {
                Ending::Context(context) => self.browser.new_page_in(context, "about:blank", until).await?,
                _ => self.browser.new_page("about:blank", until).await?,
            },
        };
        Ok(PageId::new(page.target_id().as_str()))
    }

    /// As [`open`](Self::open), or takes `page` of a browser that was not launched here.
    pub(crate) async fn open_or_take(
        source: BrowserSource,
        page: Option<PageId>,
        containment: Containment,
        until: Instant,
    ) -> Result<Self, AgentError> {
        match (source, page) {
            (BrowserSource::Shared(browser), Some(page)) => Ok(Self::of(browser, page)),
            (BrowserSource::Attach(endpoint), Some(page)) => {
                let tab = OpenTab::Id(TargetId::from(page.as_str()));
                Self::open(BrowserSource::HandedOver { endpoint, tab }, containment, until).await
            }
            (source, _) => Self::open(source, containment, until).await,
        }
    }

    /// An open tab, which stays open.
    #[must_use]
    pub const fn of(browser: Arc<Browser>, page: PageId) -> Self {
        Self { browser, page, ending: Ending::Nothing, egress: None, is_offline: false }
    }

    /// Keeps the pages from reaching anything, under any policy: a replay answers their requests.
    #[must_use]
    pub fn offline(self) -> Self {
        Self { is_offline: true, ..self }
    }

    /// Lets the pages of a contained browser reach what `policy` allows, from now on. An agent does so before each run.
    pub fn reach(&self, policy: Policy) {
        if let Some(egress) = self.egress().filter(|_| !self.is_offline) {
            egress.set_policy(policy);
        }
    }

    /// Accepts downloads from now on: each goes into `folder` under its guid. A browser that was attached to keeps them
    /// where its user has them.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn accept_downloads(&self, folder: &Path, until: Instant) -> Result<(), CallError> {
        let context = match &self.ending {
            Ending::Context(context) => Some(context),
            _ if self.browser.process_id().is_none() => return Ok(()),
            _ => None,
        };
        self.browser.accept_downloads(context, folder, until).await
    }

    /// The address that the tab shows at the moment; `None` if it is gone.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        self.browser.page(&TargetId::from(self.page.as_str())).map(|page| page.url())
    }

    /// The program of a browser that was launched.
    #[must_use]
    pub fn program(&self) -> Option<String> {
        self.browser.program().map(|path| path.display().to_string())
    }

    /// The proxy that everything of a contained browser goes through.
    #[must_use]
    pub fn egress(&self) -> Option<&Egress> {
        self.egress.as_ref().map(|(egress, _)| egress.as_ref())
    }

    /// Returns the means that keep a contained browser from getting past its proxy; `None` if it is not contained.
    #[must_use]
    pub fn isolation(&self) -> Option<Isolation> {
        self.egress.as_ref().map(|(_, isolation)| *isolation)
    }

    /// Returns the denials of its proxy; none if it is not contained.
    #[must_use]
    pub fn denials(&self) -> Arc<dyn Denials> {
        match &self.egress {
            Some((egress, _)) => egress.decisions().clone(),
            None => Arc::new(NoDenials),
        }
    }

    /// States in a report what the origins of the policy were enforced on, and why not on more.
    pub fn stamp(&self, report: &mut RunReport) {
        let is_ours = matches!(self.ending, Ending::Browser | Ending::Context(_));
        let is_launched = is_ours && self.browser.process_id().is_some();
        let (enforcement, note) = match &self.egress {
            Some(_) => ("egress", None),
            None if is_launched => ("navigation", Some("the browser was launched without the proxy")),
            None => ("navigation", Some("the browser was not launched by this run, and has its own network")),
        };
        let isolation = self.isolation().map(|isolation| match isolation {
            Isolation::Namespace => "namespace",
            Isolation::Flags => "flags",
        });
        report.enforcement = enforcement.to_owned();
        report.isolation = isolation.map(str::to_owned);
        report.enforcement_note = note.map(str::to_owned);
    }

    /// Closes the browser if it was launched for this tab, else what was opened here: the tab unless it existed before,
    /// and the tabs that it opened.
    ///
    /// # Errors
    /// [`AgentError::Close`] if a launched browser had to be killed, or a tab did not close; [`AgentError::Tab`].
    pub async fn close(self, until: Instant) -> Result<(), AgentError> {
        match self.ending {
            Ending::Browser => Ok(self.browser.close(until).await?),
            Ending::Tab => {
                let mut ours = vec![TargetId::from(self.page.as_str())];
                for page in self.browser.pages() {
                    let is_opened_here = page.opener().is_some_and(|opener| ours.contains(opener));
                    if is_opened_here {
                        ours.push(page.target_id().clone());
                    }
                    if ours.contains(page.target_id()) {
                        page.close(until).await?;
                    }
                }
                Ok(())
            }
            Ending::Context(context) => Ok(self.browser.dispose(&context, until).await.map_err(PageError::from)?),
            Ending::Nothing => Ok(()),
        }
    }
}

/// The options of the browser that the environment names, else of the first installed one.
pub(crate) fn installed() -> Result<LaunchOptions, AgentError> {
    let binary = find_chrome(&SearchPlaces::from_env()).map_err(AgentError::NoBrowser)?;
    Ok(LaunchOptions::new(binary, environment::profile_root()))
}

async fn contained(
    options: LaunchOptions,
    containment: Containment,
    until: Instant,
) -> Result<(Arc<Browser>, Egress, Isolation), AgentError> {
    let (browser, egress, namespace) = behind_proxy(options, containment, until).await?;
    egress::self_test(&browser, None, &egress, namespace.as_deref(), until).await?;
    Ok((browser, egress, Isolation::by(namespace.as_deref())))
}

/// A browser behind a proxy that denies everything, unproven; and the network namespace that it is in.
pub(crate) async fn behind_proxy(
    mut options: LaunchOptions,
    containment: Containment,
    until: Instant,
) -> Result<(Arc<Browser>, Egress, Option<Arc<Namespace>>), AgentError> {
    // The websocket of a browser in a namespace could not be reached.
    let may_enter = options.transport == Transport::Pipe;
    let namespace = match containment {
        Containment::Namespace => Some(Namespace::new().map_err(Uncontained::NoNamespace)?),
        Containment::Proxy if may_enter => match Namespace::new() {
            Ok(namespace) => Some(namespace),
            Err(error) => {
                tracing::debug!(%error, "no network namespace");
                None
            }
        },
        _ => None,
    };
    let namespace = namespace.map(Arc::new);
    let egress = proxy(namespace.as_deref())?;
    options.proxy = Some(egress.address());
    options.namespace.clone_from(&namespace);
    Ok((launch(&options, until).await?, egress, namespace))
}

/// A proxy in a network namespace, or in ours, that denies everything until it has a policy.
pub(crate) fn proxy(namespace: Option<&Namespace>) -> Result<Egress, Uncontained> {
    let listener = egress::listen(namespace).map_err(Uncontained::Port)?;
    Egress::over(listener, System, Limits::default()).map_err(Uncontained::Port)
}

pub(crate) async fn launch(options: &LaunchOptions, until: Instant) -> Result<Arc<Browser>, AgentError> {
    if let Err(error) = cuebook_cdp::sweep(&options.profile_root) {
        tracing::warn!(%error, "profiles of earlier runs cannot be removed");
    }
    Ok(Arc::new(Browser::launch(options, until).await?))
}
