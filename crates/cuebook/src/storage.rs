//! Cookies and local storage of a browser context, in the format of Playwright's storage state.
//!
//! Invariants:
//! - Values are never logged and stand in no error.
//! - A file is replaced as a whole, readable by its owner only.
//! - To reach the storage of an origin, nothing is requested from it: its page is empty and made here.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use cuebook_cdp::paused::PausedRequest;
use cuebook_cdp::protocol::browser_protocol::fetch::{EnableParams, FulfillRequestParams, RequestPattern};
use cuebook_cdp::protocol::browser_protocol::network::{CookieParam, TimeSinceEpoch};
use cuebook_cdp::protocol::browser_protocol::storage::{GetCookiesParams, SetCookiesParams};
use cuebook_cdp::{Delivery, Page, PageError, TargetId, WaitUntil};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use crate::agent::Agent;
use crate::browser::Tab;
use crate::error::StorageError;

/// Time limit for reading or writing all storage.
const PATIENCE: Duration = Duration::from_secs(30);
/// Requests of an empty page that may wait to be answered.
const REQUESTS: usize = 100;

/// Cookies, and local storage by origin. Unknown members of a file are ignored.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct StorageState {
    #[serde(default)]
    cookies: Vec<Cookie>,
    #[serde(default)]
    origins: Vec<OriginState>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    path: String,
    /// Seconds since 1970; -1 for a cookie of the session.
    #[serde(default = "of_the_session")]
    expires: f64,
    #[serde(default)]
    http_only: bool,
    #[serde(default)]
    secure: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    same_site: Option<String>,
}

fn of_the_session() -> f64 {
    -1.0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OriginState {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    value: String,
}

impl From<Cookie> for CookieParam {
    fn from(cookie: Cookie) -> Self {
        let mut param = Self::new(cookie.name, cookie.value);
        param.domain = Some(cookie.domain);
        param.path = Some(cookie.path);
        param.secure = Some(cookie.secure);
        param.http_only = Some(cookie.http_only);
        param.same_site = cookie.same_site.and_then(|same_site| same_site.parse().ok());
        param.expires = (cookie.expires >= 0.0).then(|| TimeSinceEpoch::new(cookie.expires));
        param
    }
}

impl StorageState {
    /// Reads a file. Blocks.
    pub(crate) fn read(path: &Path) -> Result<Self, StorageError> {
        let text = std::fs::read(path).map_err(|source| StorageError::File { path: path.to_owned(), source })?;
        let state: Self = serde_json::from_slice(&text)
            .map_err(|source| StorageError::Malformed { path: path.to_owned(), source })?;
        for entry in &state.origins {
            let url = Url::parse(&entry.origin).ok();
            if !url.is_some_and(|url| url.has_host() && url.origin().ascii_serialization() == entry.origin) {
                return Err(StorageError::Origin { origin: entry.origin.clone() });
            }
        }
        Ok(state)
    }

    /// The origins that have local storage.
    pub(crate) fn origins(&self) -> Vec<String> {
        self.origins.iter().map(|entry| entry.origin.clone()).collect()
    }

    /// Puts everything into the browser context of `tab`, before anything is opened in it. Cookies that expired are left
    /// out by the browser.
    pub(crate) async fn restore(self, tab: &Tab, until: Instant) -> Result<(), StorageError> {
        let page = tab.another(until).await?;
        for cookie in self.cookies {
            let (name, domain) = (cookie.name.clone(), cookie.domain.clone());
            let set = page.session().call(SetCookiesParams::new(vec![cookie.into()]), until).await;
            set.map_err(|source| StorageError::Cookie { name, domain, source })?;
        }
        for OriginState { origin, local_storage } in self.origins {
            open_empty(&page, &origin, until).await?;
            let set = "items => { for (const { name, value } of items) localStorage.setItem(name, value); }";
            let world = page.world(&page.main_frame().id, until).await?;
            world.call::<()>(set, &[json!(local_storage)], until).await?;
        }
        Ok(page.close(until).await?)
    }

    fn write(&self, path: &Path) -> Result<(), StorageError> {
        let failed = |source| StorageError::File { path: path.to_owned(), source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Readable by the owner only, as a temporary file is.
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        file.write_all(&text).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Opens an empty document of `origin` without a request to it.
async fn open_empty(page: &Page, origin: &str, until: Instant) -> Result<(), StorageError> {
    let session = page.session();
    let mut requests = session.events(&["Fetch.requestPaused"], REQUESTS);
    let all = EnableParams { patterns: Some(vec![RequestPattern::default()]), handle_auth_requests: None };
    session.call(all, until).await?;
    let answering = async {
        while let Some(delivery) = requests.next().await {
            if let Delivery::Event(event) = delivery
                && let Ok(paused) = event.parse::<PausedRequest>()
            {
                drop(session.call(FulfillRequestParams::new(paused.request_id, 200), until));
            }
        }
    };
    tokio::select! {
        opened = page.goto(origin, WaitUntil::DomContentLoaded, until) => opened?,
        () = answering => return Err(PageError::Gone.into()),
    };
    Ok(())
}

const ENTRIES: &str = "() => Object.entries(localStorage).map(([name, value]) => ({ name, value }))";

impl Agent {
    /// Writes the cookies of the agent's browser context, and the local storage of the origins that are open in its tab
    /// or were restored, to a file of Playwright's form, which [`AgentBuilder::storage`](crate::AgentBuilder::storage)
    /// takes. The file holds credentials: it is readable by its owner only.
    ///
    /// ```no_run
    /// # async fn run(agent: &mut cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// agent.run("Log in as ann with password correct-horse").await?;
    /// agent.save_storage("state.json").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StorageError`]. An existing file is then as it was.
    pub async fn save_storage(&self, path: impl AsRef<Path>) -> Result<(), StorageError> {
        #[derive(Deserialize)]
        struct Reply {
            cookies: Vec<Cookie>,
        }
        let until = Instant::now() + PATIENCE;
        let tab = self.tab.as_ref().ok_or(StorageError::NoBrowser)?;
        let page = tab.browser.page(&TargetId::from(self.page.as_str())).ok_or(PageError::Gone)?;
        // Chrome may know kinds of cookies that the generated types do not.
        let reply = page.session().request(GetCookiesParams::default(), until).await?;
        let cookies = reply.parse::<Reply>()?.cookies;
        let mut stored: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for frame in page.frames() {
            let Some(origin) = Url::parse(&frame.url).ok().map(|url| url.origin()).filter(url::Origin::is_tuple) else {
                continue;
            };
            // A sandboxed frame has none.
            if let Ok(world) = page.world(&frame.id, until).await
                && let Ok(entries) = world.call(ENTRIES, &[], until).await
            {
                stored.insert(origin.ascii_serialization(), entries);
            }
        }
        let elsewhere: Vec<_> = self.restored.iter().filter(|origin| !stored.contains_key(*origin)).collect();
        if !elsewhere.is_empty() {
            let empty = tab.another(until).await?;
            for origin in elsewhere {
                open_empty(&empty, origin, until).await?;
                let world = empty.world(&empty.main_frame().id, until).await?;
                stored.insert(origin.clone(), world.call(ENTRIES, &[], until).await?);
            }
            empty.close(until).await?;
        }
        let stored = stored.into_iter().filter(|(_, entries)| !entries.is_empty());
        let origins = stored.map(|(origin, local_storage)| OriginState { origin, local_storage }).collect();
        StorageState { cookies, origins }.write(path.as_ref())
    }
}
