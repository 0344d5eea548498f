//! A browser: launched and owned, or attached to and left alone.
//!
//! Invariants: dropping a launched one leaves no process and no profile; dropping one that was attached to leaves it
//! running; either way all pending calls fail at once.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use crate::attach;
use crate::browser_events::{BrowserEvent, BrowserEvents};
use crate::connection::Connection;
use crate::error::{AttachError, CallError, LaunchError, PageError};
use crate::ids::TargetId;
use crate::launch::{Chrome, LaunchOptions, Transport};
use crate::page::Page;
use crate::session::Session;
use crate::targets::{Hub, PageSetup, auto_attach};
use crate::transport::{Tasks, websocket};

/// How long the pages that are open at the start may take to report their frames. A page that is stuck in a dialog or
/// a script never does; it is listed when it does.
const FIRST_PAGES: Duration = Duration::from_secs(5);

/// The browser's name and version, as it reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrowserVersion {
    /// For example `Chrome/156.0.7000.0`.
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

/// What a browser does with downloads.
enum Downloads<'a> {
    Refused,
    Into(&'a Path),
    AsConfigured,
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
        let hub = Hub::new(connection, PageSetup { viewport: Some(options.viewport) });
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
        let version = match begin(&hub, downloads, until).await {
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

    /// Attaches to a running browser and to all its pages: `http://host:port`, or its `ws://` address.
    ///
    /// # Errors
    /// [`AttachError`]; `wss://` fails as [`AttachError::WebSocket`], since no TLS is built in.
    pub async fn attach(endpoint: &str, until: Instant) -> Result<Self, AttachError> {
        let address = attach::resolve(endpoint, until).await?;
        let socket = websocket::connect(&address, until).await?;
        let (connection, outgoing) = Connection::new();
        let hub = Hub::new(connection, PageSetup::default());
        let tasks = websocket::start(&hub, socket, outgoing);
        let version = begin(&hub, Downloads::AsConfigured, until).await.map_err(AttachError::Setup)?;
        Ok(Self { hub, tasks, chrome: None, version, transport: Transport::WebSocket })
    }

    /// The browser's own session.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.hub.root()
    }

    /// Opens a tab and waits until it is set up (not until it is loaded).
    ///
    /// # Errors
    /// [`PageError`]
    pub async fn new_page(&self, url: &str, until: Instant) -> Result<Page, PageError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Created {
            target_id: TargetId,
        }
        let mut events = self.events();
        let reply = self.session().call_raw("Target.createTarget", json!({"url": url}), until).await?;
        let Created { target_id } = reply.parse()?;
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

    /// One page.
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

    /// Closes a launched browser in an orderly way, kills what is left at the deadline, and removes the profile. One
    /// that was attached to is only disconnected.
    ///
    /// # Errors
    /// [`CallError::DeadlineExceeded`] if it had to be killed.
    pub async fn close(&self, until: Instant) -> Result<(), CallError> {
        let Some(chrome) = &self.chrome else {
            self.hub.gone();
            return Ok(());
        };
        // Chrome may exit before its answer is out.
        let _ = self.session().call_raw("Browser.close", json!({}), until).await;
        let exited = chrome.exited(until).await;
        chrome.end();
        self.hub.gone();
        if exited { Ok(()) } else { Err(CallError::DeadlineExceeded { method: "Browser.close".into() }) }
    }

    /// Whether the connection is up.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.hub.connection().is_gone()
    }

    /// The browser's name and version, as it reports them.
    #[must_use]
    pub fn version(&self) -> &BrowserVersion {
        &self.version
    }

    /// The process that was launched; `None` for a browser that was attached to.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.chrome.as_ref().map(Chrome::process_id)
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

/// The first commands on any connection.
async fn begin(hub: &Arc<Hub>, downloads: Downloads<'_>, until: Instant) -> Result<BrowserVersion, CallError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        product: String,
        #[serde(default)]
        protocol_version: String,
        #[serde(default)]
        user_agent: String,
    }
    let downloads = match downloads {
        Downloads::Refused => json!({"behavior": "deny", "eventsEnabled": true}),
        Downloads::Into(folder) => {
            json!({"behavior": "allowAndName", "downloadPath": folder, "eventsEnabled": true})
        }
        Downloads::AsConfigured => json!({"behavior": "default", "eventsEnabled": true}),
    };
    let root = hub.root();
    let version = root.call_raw("Browser.getVersion", json!({}), until);
    let downloads = root.call_raw("Browser.setDownloadBehavior", downloads, until);
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
