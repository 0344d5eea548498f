//! Cookies and local storage of a browser context, in the format of Playwright's storage state.
//!
//! Invariants:
//! - Values are never logged and stand in no error.
//! - A file is replaced as a whole, readable by its owner only.
//! - To reach the storage of an origin, nothing is requested from it: its page is empty and made here.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cuebook_cdp::paused::PausedRequest;
use cuebook_cdp::protocol::browser_protocol::fetch::{EnableParams, FulfillRequestParams, RequestPattern};
use cuebook_cdp::protocol::browser_protocol::network::{
    CookieParam, CookiePartitionKey, DeleteCookiesParams, TimeSinceEpoch,
};
use cuebook_cdp::protocol::browser_protocol::storage::{GetCookiesParams, SetCookiesParams};
use cuebook_cdp::{Browser, CallError, Delivery, Page, PageError, WaitUntil};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use crate::context::BrowserContext;
use crate::error::StorageError;

/// Time limit for reading or writing all storage.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for closing a tab of ours, also after everything else took too long.
const CLOSING: Duration = Duration::from_secs(5);
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
    /// Site of the page on top, of a cookie that holds below it only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition_key: Option<String>,
    #[serde(default, rename = "_crHasCrossSiteAncestor", skip_serializing_if = "Option::is_none")]
    has_cross_site_ancestor: Option<bool>,
}

/// A cookie as Chrome reports it, which may be newer than the generated types.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChromeCookie {
    name: String,
    value: String,
    domain: String,
    path: String,
    expires: f64,
    http_only: bool,
    secure: bool,
    #[serde(default)]
    same_site: Option<String>,
    #[serde(default)]
    partition_key: Option<CookiePartitionKey>,
}

impl From<ChromeCookie> for Cookie {
    fn from(cookie: ChromeCookie) -> Self {
        let ChromeCookie { name, value, domain, path, expires, http_only, secure, same_site, partition_key } = cookie;
        let has_cross_site_ancestor = partition_key.as_ref().map(|key| key.has_cross_site_ancestor);
        let partition_key = partition_key.map(|key| key.top_level_site);
        Self {
            name,
            value,
            domain,
            path,
            expires,
            http_only,
            secure,
            same_site,
            partition_key,
            has_cross_site_ancestor,
        }
    }
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
        let is_below_others = cookie.has_cross_site_ancestor.unwrap_or_default();
        param.partition_key = cookie.partition_key.map(|site| CookiePartitionKey::new(site, is_below_others));
        param.expires = (cookie.expires >= 0.0).then(|| TimeSinceEpoch::new(cookie.expires));
        param
    }
}

impl StorageState {
    /// Reads a file. Blocks.
    pub(crate) fn read(path: &Path) -> Result<Self, StorageError> {
        let text = std::fs::read(path).map_err(|source| StorageError::File { path: path.to_owned(), source })?;
        let malformed = |line, column| StorageError::Malformed { path: path.to_owned(), line, column };
        let at = |error: serde_json::Error| malformed(error.line(), error.column());
        // A document of another kind would be a state without anything.
        let members: BTreeMap<String, IgnoredAny> = serde_json::from_slice(&text).map_err(at)?;
        if !["cookies", "origins"].iter().any(|name| members.contains_key(*name)) {
            return Err(malformed(1, 1));
        }
        let state: Self = serde_json::from_slice(&text).map_err(at)?;
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

    /// Puts everything into the browser context of a page, before anything is opened in it. The browser leaves out cookies
    /// that have expired.
    pub(crate) async fn restore(self, browser: &Browser, page: &Page, until: Instant) -> Result<(), StorageError> {
        let page = browser.new_page_beside(page, "about:blank", until).await?;
        let restored = self.put_through(browser, &page, until).await;
        let closed = page.close(Instant::now() + CLOSING).await;
        restored?;
        Ok(closed?)
    }

    async fn put_through(self, browser: &Browser, page: &Page, until: Instant) -> Result<(), StorageError> {
        for cookie in self.cookies {
            let (name, domain) = (cookie.name.clone(), cookie.domain.clone());
            let set = set_cookie(browser, page, cookie.into(), until).await;
            set.map_err(|source| StorageError::Cookie { name, domain, source })?;
        }
        for OriginState { origin, local_storage } in self.origins {
            let set = "items => { for (const { name, value } of items) localStorage.setItem(name, value); }";
            on_empty::<()>(page, &origin, set, &[json!(local_storage)], until).await?;
        }
        Ok(())
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

/// Calls a function on an empty document of `origin`, without a request to it.
async fn on_empty<T: DeserializeOwned>(
    page: &Page,
    origin: &str,
    function: &str,
    args: &[Value],
    until: Instant,
) -> Result<T, StorageError> {
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
    let world = page.world(&page.main_frame().id, until).await?;
    // A browser that knows a site by `https` only goes there instead.
    if world.evaluate::<String>("location.origin", until).await? != origin {
        return Err(StorageError::Origin { origin: origin.to_owned() });
    }
    Ok(world.call(function, args, until).await?)
}

/// An opaque origin, such as that of `about:blank`, has no storage, and refuses to say so.
const ENTRIES: &str = "() => { try { return Object.entries(localStorage).map(([name, value]) => ({ name, value })); } \
                       catch { return []; } }";

/// Keys of a storage, with the lengths of their values.
const LENGTHS: &str = "area => { try { return Object.entries(globalThis[area]).map(([name, value]) => [name, value.length]); } \
                       catch { return []; } }";

/// A cookie, without its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CookieEntry {
    /// Its name, as the server set it.
    pub name: String,
    /// Host that it is sent to; with a dot in front, also to those below it.
    pub domain: String,
    /// Paths that it is sent with begin so.
    pub path: String,
    /// Seconds since 1970 until it expires; absent for a cookie of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<f64>,
    /// `true` if scripts cannot read it.
    #[serde(default)]
    pub http_only: bool,
    /// `true` if it is sent over HTTPS only.
    #[serde(default)]
    pub secure: bool,
    /// `Strict`, `Lax` or `None`, where it states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_site: Option<String>,
}

impl From<ChromeCookie> for CookieEntry {
    fn from(cookie: ChromeCookie) -> Self {
        let ChromeCookie { name, domain, path, expires, http_only, secure, same_site, .. } = cookie;
        Self { name, domain, path, expires: (expires >= 0.0).then_some(expires), http_only, secure, same_site }
    }
}

/// The cookies of the page's context. Asked by the session of a page, Chromium 156 answers with those of the browser's
/// default context.
async fn cookies(browser: &Browser, page: &Page, until: Instant) -> Result<Vec<ChromeCookie>, StorageError> {
    #[derive(Deserialize)]
    struct Reply {
        cookies: Vec<ChromeCookie>,
    }
    let wanted = GetCookiesParams { browser_context_id: page.context() };
    Ok(browser.session().request(wanted, until).await?.parse::<Reply>()?.cookies)
}

async fn set_cookie(browser: &Browser, page: &Page, cookie: CookieParam, until: Instant) -> Result<(), CallError> {
    let mut wanted = SetCookiesParams::new(vec![cookie]);
    wanted.browser_context_id = page.context();
    browser.session().call(wanted, until).await.map(drop)
}

impl BrowserContext {
    /// The browser and the page, if their storage is ours to read and write.
    fn own(&self) -> Result<(&Browser, &Page), StorageError> {
        if self.browser.handed_over().is_some() {
            Err(StorageError::HandedOver)
        } else {
            Ok((&self.browser, &self.page))
        }
    }

    fn restored(&self) -> MutexGuard<'_, Vec<String>> {
        self.restored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the cookies, and the local storage of the origin of its page and of those that
    /// were restored, to a file of Playwright's form, which [`AgentBuilder::storage`](crate::AgentBuilder::storage) and
    /// [`load_storage`](Self::load_storage) take. The file holds credentials: it is readable by its owner only. Returns
    /// the cookies in it.
    ///
    /// ```no_run
    /// # async fn run(agent: &mut cuebook::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// agent.run("Log in as ann with password correct-horse").await?;
    /// agent.context()?.save_storage("state.json").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StorageError`]. An existing file is then as it was.
    pub async fn save_storage(&self, path: impl AsRef<Path>) -> Result<Vec<CookieEntry>, StorageError> {
        let until = Instant::now() + PATIENCE;
        let (browser, page) = self.own()?;
        let cookies = cookies(browser, page, until).await?;

        // Frames of other sites have a storage of their own below this page, which is none of their site's.
        let main = page.main_frame();
        let origin = Url::parse(&main.url).ok().map(|url| url.origin()).filter(url::Origin::is_tuple);
        let origin = origin.map(|origin| origin.ascii_serialization());
        let mut stored: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        if let Some(origin) = origin {
            stored.insert(origin, page.world(&main.id, until).await?.call(ENTRIES, &[], until).await?);
        }
        let mut elsewhere = self.restored().clone();
        elsewhere.retain(|origin| !stored.contains_key(origin));
        if !elsewhere.is_empty() {
            let empty = browser.new_page_beside(page, "about:blank", until).await?;
            let read = async {
                for origin in elsewhere {
                    stored.insert(origin.clone(), on_empty(&empty, &origin, ENTRIES, &[], until).await?);
                }
                Ok::<_, StorageError>(())
            }
            .await;
            empty.close(Instant::now() + CLOSING).await.ok();
            read?;
        }
        let stored = stored.into_iter().filter(|(_, entries)| !entries.is_empty());
        let origins = stored.map(|(origin, local_storage)| OriginState { origin, local_storage }).collect();
        let entries = cookies.iter().cloned().map(CookieEntry::from).collect();
        let cookies = cookies.into_iter().map(Cookie::from).collect();
        StorageState { cookies, origins }.write(path.as_ref())?;
        Ok(entries)
    }

    /// Adds the cookies and the local storage of a file of Playwright's form to what there is. A page
    /// that is open sees them when it is loaded again. Returns how many cookies and origins there were.
    ///
    /// # Errors
    /// [`StorageError`]
    pub async fn load_storage(&self, path: impl AsRef<Path>) -> Result<(usize, usize), StorageError> {
        let state = StorageState::read(path.as_ref())?;
        let (cookies, origins) = (state.cookies.len(), state.origins());
        let (browser, page) = self.own()?;
        state.restore(browser, page, Instant::now() + PATIENCE).await?;
        let count = origins.len();
        let mut restored = self.restored();
        for origin in origins {
            if !restored.contains(&origin) {
                restored.push(origin);
            }
        }
        Ok((cookies, count))
    }

    /// The cookies, without their values.
    ///
    /// # Errors
    /// [`StorageError`]
    pub async fn cookies(&self) -> Result<Vec<CookieEntry>, StorageError> {
        let (browser, page) = self.own()?;
        Ok(cookies(browser, page, Instant::now() + PATIENCE).await?.into_iter().map(CookieEntry::from).collect())
    }

    /// The keys of the current page's storage, that of the tab or that of the origin, with the lengths of their values in
    /// UTF-16 code units.
    ///
    /// # Errors
    /// [`StorageError`]
    pub async fn stored(&self, is_of_tab: bool) -> Result<Vec<(String, usize)>, StorageError> {
        let until = Instant::now() + PATIENCE;
        let (_, page) = self.own()?;
        let area = if is_of_tab { "sessionStorage" } else { "localStorage" };
        Ok(page.world(&page.main_frame().id, until).await?.call(LENGTHS, &[area.into()], until).await?)
    }

    /// Sets a cookie of the session for a URL.
    ///
    /// # Errors
    /// [`StorageError::Cookie`] if the browser does not take it.
    pub async fn set_cookie(&self, name: &str, value: &str, url: &str) -> Result<(), StorageError> {
        let (browser, page) = self.own()?;
        let mut cookie = CookieParam::new(name, value);
        cookie.url = Some(url.to_owned());
        let set = set_cookie(browser, page, cookie, Instant::now() + PATIENCE).await;
        set.map_err(|source| StorageError::Cookie { name: name.to_owned(), domain: url.to_owned(), source })
    }

    /// Removes the cookies with this name, or all of them. Returns how many there were.
    ///
    /// # Errors
    /// [`StorageError`]
    pub async fn clear_cookies(&self, name: Option<&str>) -> Result<usize, StorageError> {
        let until = Instant::now() + PATIENCE;
        let (browser, page) = self.own()?;
        let known = cookies(browser, page, until).await?;
        let meant: Vec<_> = known.iter().filter(|cookie| name.is_none_or(|name| cookie.name == name)).collect();
        for cookie in &meant {
            let mut params = DeleteCookiesParams::new(cookie.name.clone());
            params.domain = Some(cookie.domain.clone());
            params.path = Some(cookie.path.clone());
            params.partition_key.clone_from(&cookie.partition_key);
            page.session().call(params, until).await?;
        }
        Ok(meant.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_another_kind_is_no_storage_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            StorageState::read(&path).is_ok()
        };
        for text in ["{}", "[]", "{\"hello\": 1}", "{\"steps\": [], \"candidates\": {}}", "{\"cookies\": 1}", ""] {
            assert!(!read(text), "{text}");
        }
        for text in ["{\"cookies\": []}", "{\"origins\": [], \"more\": 1}", "{\"cookies\": [], \"origins\": []}"] {
            assert!(read(text), "{text}");
        }
    }
}
