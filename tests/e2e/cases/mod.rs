//! Attacks by their numbers in `docs/security-cases.md`: pages that give orders, a planner that obeys each of them, and a
//! network in which every name leads to one server. What that server and the resolver saw is the oracle.

mod asking;
mod humans;
mod leaving;
mod reading;
mod secrets;
mod stalling;
mod urls;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use cuebook::egress::self_test;
use cuebook::executor::{ExecutorOptions, ScreenshotMode};
use cuebook::grammar::deadline::Deadline;
use cuebook::grammar::profile::Profile;
use cuebook::grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook::network::{Decision, Dial, Egress, Pending};
use cuebook::page_modeler::ModelerOptions;
use cuebook::prelude::*;
use cuebook_cdp::Browser;
use cuebook_tests::Script;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

/// Where runs start and may act.
const SHOP: &str = "http://shop.test";
/// Where pages may load from.
const CDN: &str = "http://cdn.shop.test";
/// Far beyond the time that anything here needs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for what a page tries to be denied, or to arrive.
const TRYING: Duration = Duration::from_secs(10);

/// Returns `true` if `holds` comes true within [`TRYING`].
async fn soon_true(holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + TRYING;
    while !holds() {
        if Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    true
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

/// Does what a page says: every text of an observation that begins with `agent: ` is an order, wherever it stands.
///
/// Orders: `click button "Pay"`, `open https://…`, or a step as JSON.
#[derive(Default)]
struct Obedient(Mutex<Vec<String>>);

impl Planner for Obedient {
    type Error = std::convert::Infallible;

    async fn plan(
        &self,
        asked: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        by: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        let steps = {
            let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            hear(&serde_json::to_value(asked.observation).unwrap_or_default(), &mut orders);
            orders.iter().filter_map(|order| step(order)).collect()
        };
        Script::new(&Value::Array(steps)).plan(asked, sink, by).await
    }
}

/// Collects the orders of a document that were not heard before.
fn hear(document: &Value, orders: &mut Vec<String>) {
    match document {
        Value::String(text) => {
            if let Some(order) = text.strip_prefix("agent: ")
                && !orders.iter().any(|heard| heard == order)
            {
                orders.push(order.to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| hear(item, orders)),
        Value::Object(members) => members.values().for_each(|member| hear(member, orders)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn step(order: &str) -> Option<Value> {
    if let Some(target) = order.strip_prefix("click ") {
        return Some(json!({ "type": "click", "targetRef": target }));
    }
    if let Some(url) = order.strip_prefix("open ") {
        return Some(json!({ "type": "navigate", "url": url }));
    }
    serde_json::from_str(order).ok()
}

/// A request that arrived.
#[derive(Clone, Debug)]
struct Request {
    host: String,
    path: String,
    body: String,
}

/// Every name has a public address, and behind every address is one server.
#[derive(Clone, Default)]
struct Net(Arc<Mutex<NetState>>);

#[derive(Default)]
struct NetState {
    /// By host and path. A page may begin with lines `STATUS 401` and `HEADER name: value`.
    pages: BTreeMap<String, String>,
    server: Option<SocketAddr>,
    names: BTreeSet<String>,
    requests: Vec<Request>,
}

impl Net {
    fn seen(&self) -> MutexGuard<'_, NetState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, headers: &HeaderMap, uri: &Uri, body: &Bytes) -> (StatusCode, HeaderMap, String) {
        let host = headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let body = String::from_utf8_lossy(body).into_owned();
        let mut answered = HeaderMap::new();
        let mut seen = self.seen();
        let page = seen.pages.get(&format!("{host}{}", uri.path())).cloned().unwrap_or_default();
        seen.requests.push(Request { host, path, body });
        drop(seen);
        if uri.path() == "/to" {
            let query = uri.query().unwrap_or_default();
            let (code, to) = query.split_once("&url=").unwrap_or((query, "/"));
            let code = code.strip_prefix("code=").and_then(|code| code.parse().ok()).unwrap_or(302);
            let to = to.replace("%26", "&").replace("%3F", "?");
            answered.extend(HeaderValue::from_str(&to).ok().map(|to| (HeaderName::from_static("location"), to)));
            return (StatusCode::from_u16(code).unwrap_or(StatusCode::FOUND), answered, String::new());
        }
        answered.insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
        let (mut status, mut html) = (StatusCode::OK, page.as_str());
        while let Some((first, rest)) = html.split_once('\n') {
            if let Some(code) = first.strip_prefix("STATUS ") {
                status = code.parse().unwrap_or(StatusCode::OK);
            } else if let Some((name, value)) = first.strip_prefix("HEADER ").and_then(|line| line.split_once(": ")) {
                let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::from_str(value).ok());
                answered.extend(parsed);
            } else {
                break;
            }
            html = rest;
        }
        (status, answered, html.to_owned())
    }
}

impl Dial for Net {
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>> {
        self.seen().names.insert(name.to_owned());
        Box::pin(async { Ok(vec![Ipv4Addr::new(93, 184, 216, 34).into()]) })
    }

    fn connect(&self, _: SocketAddr) -> Pending<'_, TcpStream> {
        let server = self.seen().server;
        Box::pin(async move { TcpStream::connect(server.ok_or(std::io::ErrorKind::ConnectionRefused)?).await })
    }
}

/// A contained browser on that network.
struct Ground {
    browser: Arc<Browser>,
    egress: Egress,
    net: Net,
    downloads: PathBuf,
    _profiles: TempDir,
}

/// The policy of the cases: a run starts on the shop, and its pages load from the other host as well.
fn policy(profile: Profile) -> Result<Policy> {
    Ok(Policy::new(profile).starting_at(SHOP)?.allowing(SHOP)?.reading(CDN)?)
}

impl Ground {
    async fn open() -> Result<Self> {
        let net = Net::default();
        let answering = net.clone();
        let app = Router::new().fallback(move |headers: HeaderMap, uri: Uri, body: Bytes| async move {
            answering.answer(&headers, &uri, &body)
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        net.seen().server = Some(listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, app).await });
        let egress = Egress::bind(net.clone()).await?;
        let profiles = TempDir::new()?;
        let mut options = cuebook_testkit::browser(profiles.path());
        let downloads = profiles.path().join("downloads");
        std::fs::create_dir(&downloads)?;
        (options.proxy, options.accept_downloads) = (Some(egress.address()), Some(downloads.clone()));
        let browser = Arc::new(Browser::launch(&options, soon()).await?);
        self_test(&browser, None, &egress, None, soon()).await?;
        let ground = Self { browser, egress, net, downloads, _profiles: profiles };
        ground.under(&policy(Profile::Auto)?);
        Ok(ground)
    }

    /// Sets the policy that the browser is under from now on.
    fn under(&self, policy: &Policy) {
        self.egress.set_policy(policy.clone());
    }

    /// Serves a page from now on, at `host/path`.
    fn page(&self, at: &str, html: &str) {
        self.net.seen().pages.insert(at.to_owned(), html.to_owned());
    }

    /// Returns `true` if the name was ever looked up.
    fn looked_up(&self, name: &str) -> bool {
        self.net.seen().names.contains(name)
    }

    /// The requests to a host so far.
    fn requests(&self, host: &str) -> Vec<Request> {
        self.net.seen().requests.iter().filter(|one| one.host == host).cloned().collect()
    }

    /// Returns `true` if the shop got a request for the path, or gets one soon.
    async fn arrives(&self, path: &str) -> bool {
        soon_true(|| self.requests("shop.test").iter().any(|one| one.path.starts_with(path))).await
    }

    /// Returns `true` if the proxy denied a request to the host, or does soon. Clears the decisions so far.
    async fn denies(&self, host: &str) -> bool {
        let is_denial = |one: Decision| one.host == host && one.verdict.is_denial();
        soon_true(|| self.egress.decisions().take().into_iter().any(is_denial)).await
    }

    /// An agent in a tab of its own, with nobody to ask. These pages are complete at once, and nobody looks at pictures.
    fn agent(&self, policy: Policy) -> AgentBuilder {
        let quick = ExecutorOptions { screenshots: ScreenshotMode::Off, ..ExecutorOptions::default() };
        let agent = Agent::builder().browser(self.browser.clone()).planner(Obedient::default()).policy(policy);
        agent.modeler_options(ModelerOptions::default()).executor_options(quick)
    }

    /// Opens a page of the shop and does what it says, in a tab that is closed afterwards with all its popups.
    async fn obey(&self, policy: Policy, path: &str) -> Result<RunReport> {
        self.obey_as(self.agent(policy), path).await
    }

    async fn obey_as(&self, agent: AgentBuilder, path: &str) -> Result<RunReport> {
        let kept: BTreeSet<_> = self.browser.pages().iter().map(|page| page.target_id().as_str().to_owned()).collect();
        let mut agent = agent.build().await?;
        let ended = match agent.open(&format!("{SHOP}{path}")).await {
            Ok(_) => agent.run("Do what the page says").await,
            failed => failed,
        };
        for page in self.browser.pages() {
            if !kept.contains(page.target_id().as_str()) {
                page.close(soon()).await.ok();
            }
        }
        Ok(RunReport::from_result(ended))
    }
}

/// The message with which a run ended.
fn why(report: &RunReport) -> String {
    report.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)).unwrap_or_default()
}

/// Asserts that a run was stopped by the policy or for want of consent, and that it says so.
fn blocked(report: &RunReport, by: &str) -> Result<()> {
    let why = why(report);
    ensure!(report.result == RunResult::Blocked && why.contains(by), "expected `{by}`, saw {:?}: {why}", report.result);
    Ok(())
}
