//! A browser: launched and owned, or attached to and left alone.
//!
//! Invariants: dropping a launched one leaves no process and no profile; dropping one that was attached to leaves it
//! running, and its tabs as they are; either way all pending calls fail at once.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::protocol::browser_protocol::browser::{CloseParams, GetVersionParams};
use crate::protocol::browser_protocol::target::{
    AttachToBrowserTargetParams, AttachToTargetParams, CloseTargetParams, CreateBrowserContextParams,
    CreateTargetParams, DisposeBrowserContextParams, GetTargetsParams,
};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::attach;
use crate::browser_events::{BrowserEvent, BrowserEvents};
use crate::connection::{Connection, WireTap};
use crate::error::{AttachError, CallError, GoneReason, LaunchError, PageError};
use crate::ids::{SessionId, TargetId};
use crate::launch::{Chrome, LaunchOptions, OPENED_TABS, Transport};
use crate::opened::{OpenedTabs, leftovers};
use crate::page::Page;
use crate::session::Session;
use crate::sharing::{AttachOptions, HandedOver, OpenTab, Ours, Targets};
use crate::targets::{Hub, PageSetup, auto_attach};
use crate::transport::{Tasks, websocket};

/// How long the pages that are open at the start may take to report their frames. A page that is stuck in a dialog or
/// a script never does; it is listed when it does.
const FIRST_PAGES: Duration = Duration::from_secs(5);

/// How long pages may take to close before the browser does, and how long the browser may send what they left.
const LEAVING: Duration = Duration::from_secs(1);
const SENDING: Duration = Duration::from_millis(100);

/// The browser's name and version, as it reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrowserVersion {
    /// Product and version, for example `Chrome/156.0.7000.0`.
    pub product: String,
    /// The protocol's version, `1.3`.
    pub protocol: String,
    /// The default user agent.
    pub user_agent: String,
}

/// A connection to a browser. A launched one is killed, reaped and its profile removed on drop, which
/// blocks for some tens of milliseconds; one that was attached to is left as it is.
pub struct Browser {
    hub: Arc<Hub>,
    /// Before `chrome`: its pipes close first, so that it may begin to exit by itself.
    tasks: Tasks,
    chrome: Option<Chrome>,
    version: BrowserVersion,
    transport: Transport,
}

/// Handling of downloads by a browser.
enum Downloads<'a> {
    Refused,
    Into(&'a Path),
    /// As the person who uses the browser has it.
    AsConfigured,
}

impl Downloads<'_> {
    /// The parameters of `Browser.setDownloadBehavior`, for a context or the default one.
    fn behaviour(&self, context: Option<&str>) -> Value {
        let mut behaviour = match self {
            Self::Refused => json!({"behavior": "deny", "eventsEnabled": true}),
            Self::Into(folder) => json!({"behavior": "allowAndName", "downloadPath": folder, "eventsEnabled": true}),
            Self::AsConfigured => json!({"behavior": "default", "eventsEnabled": true}),
        };
        if let (Some(context), Some(members)) = (context, behaviour.as_object_mut()) {
            members.insert("browserContextId".to_owned(), json!(context));
        }
        behaviour
    }
}

impl Browser {
    /// Starts Chrome on a fresh profile and attaches to its first page. Takes a few hundred milliseconds.
    /// Must be called within a tokio runtime that outlives the browser.
    ///
    /// # Errors
    /// [`LaunchError`], with the end of Chrome's standard error. Nothing is left behind.
    pub async fn launch(options: &LaunchOptions, until: Instant) -> Result<Self, LaunchError> {
        let (chrome, pipes) = Chrome::start(options)?;
        let (connection, outgoing) = Connection::new();
        let hub = Hub::new(
            connection,
            PageSetup {
                viewport: Some(options.viewport),
                opened_tabs: options.opened_tabs,
                download_bytes: Some(options.download_bytes),
                page_script: options.page_script.clone(),
                is_in_namespace: options.namespace.is_some(),
            },
        );
        let tasks = match pipes {
            #[cfg(unix)]
            Some((write, read)) => crate::transport::pipe::start(&hub, write, read, outgoing)
                .map_err(|source| LaunchError::Spawn { binary: options.binary.path.clone(), source })?,
            #[cfg(not(unix))]
            Some(never) => match never {},
            None => {
                let address = chrome.web_socket(until).await?;
                let socket = websocket::connect(&address, until).await.map_err(LaunchError::Connect)?;
                websocket::start(&hub, socket, outgoing)
            }
        };
        let downloads = match &options.accept_downloads {
            Some(folder) => Downloads::Into(folder),
            None => Downloads::Refused,
        };
        let version = match begin(&hub, downloads, None, until).await {
            Ok(version) => version,
            Err(source) => {
                // A browser that exits closes its pipe a moment before its status can be read.
                let soon = until.min(Instant::now() + Duration::from_secs(1));
                if source.gone().is_some() {
                    chrome.exited(soon).await;
                }
                chrome.check(until)?;
                return Err(LaunchError::Setup { stderr: chrome.stderr(), source });
            }
        };
        Ok(Self { hub, tasks, chrome: Some(chrome), version, transport: options.transport })
    }

    /// Attaches to a running browser. Only tabs of ours are seen: those of a browser context of our own, or a tab that
    /// is handed over and what it opens. Tabs that a killed process of ours left in this browser are closed first.
    ///
    /// A new tab of somebody else is held for a moment, until it is known not to be ours.
    ///
    /// # Errors
    /// [`AttachError`]; `wss://` fails as [`AttachError::WebSocket`], since no TLS is built in.
    pub async fn attach(options: &AttachOptions, until: Instant) -> Result<Self, AttachError> {
        let address = attach::resolve(&options.endpoint, until).await?;
        let socket = websocket::connect(&address, until).await?;
        let (connection, outgoing) = Connection::new();
        let setup = PageSetup {
            viewport: None,
            opened_tabs: OPENED_TABS,
            download_bytes: None,
            page_script: None,
            is_in_namespace: false,
        };
        let hub = Hub::new(connection, setup);
        let tasks = websocket::start(&hub, socket, outgoing);
        for leftover in leftovers(&options.records, &address) {
            for tab in &leftover.tabs {
                // It may have been closed since.
                let _ = hub.root().request(CloseTargetParams::new(tab.clone()), until).await;
            }
            leftover.forget();
        }
        let context = match &options.tab {
            Some(tab) => {
                let opened = OpenedTabs::new(&options.records, &address);
                let handed_over = hand_over(hub.root(), tab, opened, until).await?;
                hub.with_ours(|ours| *ours = Ours::HandedOver(handed_over));
                None
            }
            None => {
                let context = new_context(hub.root(), None, until).await.map_err(AttachError::Setup)?;
                hub.with_ours(|ours| *ours = Ours::Context(context.clone()));
                Some(context)
            }
        };
        let version =
            begin(&hub, Downloads::AsConfigured, context.as_deref(), until).await.map_err(AttachError::Setup)?;
        Ok(Self { hub, tasks, chrome: None, version, transport: Transport::WebSocket })
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The browser's own session.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.hub.root()
    }

    /// Another session of the browser as a whole, with domains of its own: what it enables ends with it, and others do not
    /// see its events. Ends by [`Browser::end_session`].
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn begin_session(&self, until: Instant) -> Result<Session, CallError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Attached {
            session_id: SessionId,
        }
        let params = AttachToBrowserTargetParams {};
        let Attached { session_id } = self.session().request(params, until).await?.parse()?;
        // The event comes before the reply.
        let (method, reason) = (AttachToBrowserTargetParams::IDENTIFIER.into(), GoneReason::Detached);
        self.hub.session(&session_id).ok_or(CallError::SessionGone { method, reason })
    }

    /// Ends a session of [`Browser::begin_session`]. The command is queued behind those that the session has sent.
    pub fn end_session(&self, session: &Session) {
        if let Some(id) = session.id() {
            self.session().post("Target.detachFromTarget", &json!({ "sessionId": id }));
        }
    }

    /// Opens a tab and waits until it is set up (not until it is loaded).
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn new_page(&self, url: &str, until: Instant) -> Result<Page, PageError> {
        self.open_page(url, self.own_context().as_deref(), until).await
    }

    /// The context of our tabs in a browser that was attached to.
    fn own_context(&self) -> Option<String> {
        self.hub.with_ours(|ours| match ours {
            Ours::Context(context) => Some(context.clone()),
            Ours::All | Ours::HandedOver(_) => None,
        })
    }

    /// A browser context: cookies, storage and cache of its own, and an HTTP proxy of its own for everything, loopback
    /// included, if one is given. It refuses downloads. The browser disposes of it when the connection ends.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn new_context(&self, proxy: Option<SocketAddr>, until: Instant) -> Result<ContextId, CallError> {
        let context = ContextId(new_context(self.session(), proxy, until).await?);
        match self.set_downloads(Some(&context), &Downloads::Refused, until).await {
            Ok(()) => Ok(context),
            Err(error) => {
                self.dispose(&context, until).await.ok();
                Err(error)
            }
        }
    }

    /// Accepts downloads from now on, of a context or that of [`new_page`](Self::new_page): each goes into `folder` under
    /// its guid.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn accept_downloads(
        &self,
        context: Option<&ContextId>,
        folder: &Path,
        until: Instant,
    ) -> Result<(), CallError> {
        self.set_downloads(context, &Downloads::Into(folder), until).await
    }

    async fn set_downloads(
        &self,
        context: Option<&ContextId>,
        downloads: &Downloads<'_>,
        until: Instant,
    ) -> Result<(), CallError> {
        let own = self.own_context();
        let behaviour = downloads.behaviour(context.map_or(own.as_deref(), |context| Some(&context.0)));
        self.session().call_raw("Browser.setDownloadBehavior", behaviour, until).await.map(drop)
    }

    /// As [`new_page`](Self::new_page), in a context of [`new_context`](Self::new_context). The page is ours only if the
    /// whole browser is: of an attached one, pages in other contexts are not.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn new_page_in(&self, context: &ContextId, url: &str, until: Instant) -> Result<Page, PageError> {
        self.open_page(url, Some(&context.0), until).await
    }

    /// As [`new_page`](Self::new_page), in the context of another page: they share cookies and storage.
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn new_page_beside(&self, page: &Page, url: &str, until: Instant) -> Result<Page, PageError> {
        self.open_page(url, page.inner.context.as_deref(), until).await
    }

    /// Disposes of a context, with its pages and everything that they stored.
    ///
    /// # Errors
    /// [`CallError`]
    pub async fn dispose(&self, context: &ContextId, until: Instant) -> Result<(), CallError> {
        self.hub.forget_context(&context.0);
        self.session().request(DisposeBrowserContextParams::new(context.0.clone()), until).await.map(drop)
    }

    async fn open_page(&self, url: &str, context: Option<&str>, until: Instant) -> Result<Page, PageError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Created {
            target_id: TargetId,
        }
        let mut events = self.events();
        let browser_context_id = context.map(|context| context.to_owned().into());
        let wanted = CreateTargetParams { browser_context_id, ..CreateTargetParams::new(url) };
        let reply = self.session().request(wanted, until).await?;
        let Created { target_id } = reply.parse()?;
        let was_let_go = self.hub.with_ours(|ours| match ours {
            Ours::HandedOver(HandedOver { opened, .. }) => {
                opened.add(target_id.clone());
                true
            }
            Ours::All | Ours::Context(_) => false,
        });
        if was_let_go {
            // It was announced before it was known to be ours.
            let again = AttachToTargetParams::new(target_id.to_string());
            self.session().request(AttachToTargetParams { flatten: Some(true), ..again }, until).await?;
        }
        let opened = async {
            loop {
                if let Some(page) = self.page(&target_id) {
                    return Ok(page);
                }
                match events.next().await {
                    Some(BrowserEvent::PageClosed { page }) if page == target_id => return Err(PageError::Gone),
                    Some(_) => {}
                    None => return Err(PageError::Gone),
                }
            }
        };
        tokio::time::timeout_at(until.into(), opened).await.map_err(|_| PageError::DeadlineExceeded)?
    }

    /// All pages that are set up, popups included, oldest first. Pages of the browser itself (new tab,
    /// extensions, developer tools) are left out.
    #[must_use]
    pub fn pages(&self) -> Vec<Page> {
        self.hub.pages()
    }

    /// The pages of the browser context that `page` is in, itself included, oldest first.
    #[must_use]
    pub fn pages_beside(&self, page: &Page) -> Vec<Page> {
        self.hub.pages().into_iter().filter(|other| other.is_beside(page)).collect()
    }

    /// Returns the page of one target, if it is set up; `None` otherwise.
    #[must_use]
    pub fn page(&self, target: &TargetId) -> Option<Page> {
        self.hub.pages().into_iter().find(|page| page.target_id() == target)
    }

    /// Subscribes to pages that open and close, downloads, and the end of the browser, from now on.
    #[must_use]
    pub fn events(&self) -> BrowserEvents {
        self.hub.events()
    }

    /// Adds a script to our world of every document of every page that opens from now on, popups
    /// included, before their first script runs.
    pub fn add_world_script(&self, source: &str) {
        self.hub.add_script(source);
    }

    /// The tab that was handed over by somebody else, who goes on using it: it is not ours to close.
    #[must_use]
    pub fn handed_over(&self) -> Option<TargetId> {
        self.hub.with_ours(|ours| match ours {
            Ours::HandedOver(HandedOver { tab, .. }) => Some(tab.clone()),
            Ours::All | Ours::Context(_) => None,
        })
    }

    /// Closes a launched browser in an orderly way, kills what is left at the deadline, and removes the profile. In one
    /// that was attached to, our tabs are closed; it is disconnected from.
    ///
    /// # Errors
    /// [`CallError::DeadlineExceeded`] if it had to be killed, or if a tab of ours was still open at the deadline.
    pub async fn close(&self, until: Instant) -> Result<(), CallError> {
        let Some(chrome) = &self.chrome else {
            let left = self.leave(until).await;
            self.hub.gone();
            return left;
        };
        // A page that is left may send what it kept until then, such as a deletion that could be undone. Chrome gives it
        // no time for that when it exits.
        let by = until.min(Instant::now() + LEAVING);
        let left = join_all(self.hub.all_pages().into_iter().map(async |page| page.close(by).await)).await;
        if left.iter().any(Result::is_ok) {
            chrome.exited(until.min(Instant::now() + SENDING)).await;
        }
        // Chrome may exit before its answer is out.
        let _ = self.session().request(CloseParams {}, until).await;
        let exited = chrome.exited(until).await;
        chrome.end();
        self.hub.gone();
        if exited { Ok(()) } else { Err(CallError::DeadlineExceeded { method: "Browser.close".into() }) }
    }

    /// Closes our tabs in a browser that runs on.
    async fn leave(&self, until: Instant) -> Result<(), CallError> {
        if let Some(context) = self.own_context() {
            return self.session().request(DisposeBrowserContextParams::new(context), until).await.map(drop);
        }
        let Some(kept) = self.handed_over() else { return Ok(()) };
        let pages = self.hub.all_pages().into_iter().filter(|page| *page.target_id() != kept);
        let closed = join_all(pages.map(async |page| page.close(until).await)).await;
        if closed.iter().any(Result::is_err) {
            return Err(CallError::DeadlineExceeded { method: "Target.closeTarget".into() });
        }
        self.hub.with_ours(|ours| {
            if let Ours::HandedOver(HandedOver { opened, .. }) = ours {
                opened.forget();
            }
        });
        Ok(())
    }

    /// Returns `true` while the connection is up.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.hub.connection().is_gone()
    }

    /// The browser's name and version, as it reports them.
    #[must_use]
    pub fn version(&self) -> &BrowserVersion {
        &self.version
    }

    /// The program that was launched; `None` for a browser that was attached to.
    #[must_use]
    pub fn program(&self) -> Option<&Path> {
        self.chrome.as_ref().map(Chrome::program)
    }

    /// The process that was launched; `None` for a browser that was attached to.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.chrome.as_ref().map(Chrome::process_id)
    }

    /// Hands every message of the connection to `tap` from now on, those of other contexts included; `None` ends it.
    pub fn tap(&self, tap: Option<Arc<WireTap>>) {
        self.hub.connection().set_tap(tap);
    }

    /// The transport of the connection.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.tasks.stop();
        self.hub.gone();
    }
}

impl std::fmt::Debug for Browser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Browser({} over {:?})", self.version.product, self.transport)
    }
}

/// Browser context made by [`Browser::new_context`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextId(String);

/// A browser context of our own. The browser disposes of it, and of its tabs, when the connection ends, however.
async fn new_context(root: &Session, proxy: Option<SocketAddr>, until: Instant) -> Result<String, CallError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Created {
        browser_context_id: String,
    }
    let wanted = CreateBrowserContextParams {
        dispose_on_detach: Some(true),
        proxy_server: proxy.map(|proxy| format!("http://{proxy}")),
        proxy_bypass_list: proxy.map(|_| "<-loopback>".to_owned()),
        ..CreateBrowserContextParams::default()
    };
    let reply = root.request(wanted, until).await?;
    Ok(reply.parse::<Created>()?.browser_context_id)
}

/// Takes over a tab that is open.
async fn hand_over(
    root: &Session,
    tab: &OpenTab,
    opened: OpenedTabs,
    until: Instant,
) -> Result<HandedOver, AttachError> {
    let reply = root.request(GetTargetsParams::default(), until).await.map_err(AttachError::Setup)?;
    let Targets { target_infos } = reply.parse().map_err(AttachError::Setup)?;
    let tab = tab.find(&target_infos)?;
    let others = target_infos.into_iter().map(|info| info.target_id).filter(|id| *id != tab).collect();
    Ok(HandedOver { tab, others, opened })
}

/// The first commands on any connection.
async fn begin(
    hub: &Arc<Hub>,
    downloads: Downloads<'_>,
    context: Option<&str>,
    until: Instant,
) -> Result<BrowserVersion, CallError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        product: String,
        #[serde(default)]
        protocol_version: String,
        #[serde(default)]
        user_agent: String,
    }
    let root = hub.root();
    let version = root.request(GetVersionParams {}, until);
    let downloads = root.call_raw("Browser.setDownloadBehavior", downloads.behaviour(context), until);
    let attached = root.call_raw("Target.setAutoAttach", auto_attach(&["page"]), until);
    let version: Version = version.await?.parse()?;
    downloads.await?;
    let mut events = hub.events();
    attached.await?;
    let first_pages = async { while hub.has_pages_starting() && events.next().await.is_some() {} };
    let patience = until.min(Instant::now() + FIRST_PAGES);
    // A page that becomes ready later is announced by an event.
    let _ = tokio::time::timeout_at(patience.into(), first_pages).await;
    Ok(BrowserVersion { product: version.product, protocol: version.protocol_version, user_agent: version.user_agent })
}
