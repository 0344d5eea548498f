//! The browser's side: holds responses, and answers each as it is or changed.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_cdp::paused::{PausedRequest, answered};
use cuebook_cdp::protocol::browser_protocol::fetch::{
    ContinueRequestParams, ContinueResponseParams, FulfillRequestParams, GetResponseBodyParams, RequestPattern,
    RequestStage,
};
use cuebook_cdp::protocol::browser_protocol::network::ResourceType;
use cuebook_cdp::{Browser, CallError, EventQueue, Session};
use tokio::task::{JoinHandle, JoinSet};

use super::document;
use super::kind::{Drift, DriftKind, hash};
use crate::traffic::{Holding, next};

/// Time for the body of a page to come to its end.
const BODY: Duration = Duration::from_secs(20);
/// Pages beyond this many bytes stay as they are.
const MAX_BODY: usize = 16 << 20;
/// The longest delay of a request.
const LONGEST: f64 = 1_500.0;
/// The shortest one, in milliseconds.
const SHORTEST: f64 = 150.0;
/// The share of requests that are slow or fail, at full strength.
const SHARE: f64 = 0.5;
/// URLs that are known to have failed; none fails beyond.
const FAILED: usize = 10_000;
/// Types of requests that may fail. A page whose script is missing is dead until it is loaded again, so scripts do not.
const MAY_FAIL: [&str; 6] = ["Image", "Stylesheet", "Font", "Media", "XHR", "Fetch"];
/// Types of requests that are never late: streams, and those that a page sends when it goes.
const NEVER_LATE: [&str; 4] = ["EventSource", "WebSocket", "Ping", "CSPViolationReport"];

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/drift.js"));

/// Changes what a browser gets. Dropping it ends that; documents that are open stay as they are.
#[derive(Debug)]
pub struct Drifter {
    counts: Arc<Counts>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Counts {
    documents: AtomicU64,
    delayed: AtomicU64,
    failed: AtomicU64,
}

/// How much was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drifted {
    /// Documents that got the script.
    pub documents: u64,
    /// Responses that came late.
    pub delayed: u64,
    /// Requests that were answered with status 503 instead.
    pub failed: u64,
}

impl Drifter {
    /// Changes everything that `browser` gets from now on, in all its tabs.
    ///
    /// # Errors
    /// [`CallError`] if the browser does not hold responses for us.
    pub async fn begin(browser: &Arc<Browser>, drift: Drift, until: Instant) -> Result<Self, CallError> {
        let touches = |kind| drift.strength(kind) > 0.0;
        let is_all = touches(DriftKind::SlowRequests) || touches(DriftKind::FailingRequests);
        let (holding, queue) = if is_all {
            Holding::begin(browser, RequestStage::Response, until).await?
        } else {
            let documents = RequestPattern {
                url_pattern: Some("*".to_owned()),
                resource_type: Some(ResourceType::Document),
                request_stage: Some(RequestStage::Response),
            };
            Holding::of(browser, vec![documents], until).await?
        };
        let counts = Arc::<Counts>::default();
        let desk = Desk { drift, counts: counts.clone(), failed: Mutex::default() };
        let task = tokio::spawn(serve(holding, queue, Arc::new(desk)));
        Ok(Self { counts, task })
    }

    /// How much was changed so far.
    #[must_use]
    pub fn drifted(&self) -> Drifted {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Drifted {
            documents: count(&self.counts.documents),
            delayed: count(&self.counts.delayed),
            failed: count(&self.counts.failed),
        }
    }
}

/// Requests that are held go on unchanged.
impl Drop for Drifter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// State that the answers share.
struct Desk {
    drift: Drift,
    counts: Arc<Counts>,
    failed: Mutex<HashSet<String>>,
}

async fn serve(holding: Holding, mut queue: EventQueue, desk: Arc<Desk>) {
    let mut pending = JoinSet::new();
    loop {
        let paused = tokio::select! {
            paused = next(&mut queue) => paused,
            Some(_) = pending.join_next() => continue,
        };
        let Some(paused) = paused else { break };
        let (session, desk) = (holding.session().clone(), desk.clone());
        pending.spawn(async move { desk.answer(&session, &paused).await });
    }
}

impl Desk {
    async fn answer(&self, session: &Session, paused: &PausedRequest) {
        let id = paused.request_id.clone();
        let path = path_of(&paused.request.url);
        if paused.response_status_code.is_none() {
            return Holding::answer(session, ContinueRequestParams::new(id));
        }
        if let Some(delay) = self.delay(paused, path) {
            self.counts.delayed.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(delay).await;
        }
        if self.fails(paused, path) {
            self.counts.failed.fetch_add(1, Ordering::Relaxed);
            let headers =
                [("content-type", "text/plain"), ("access-control-allow-origin", "*"), ("cache-control", "no-store")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            return Holding::answer(session, answered(id, 503, headers, b"Service Unavailable"));
        }
        let changed = match paused.resource_type.as_str() {
            "Document" => self.changed(session, paused, path).await,
            _ => None,
        };
        match changed {
            Some(answer) => {
                self.counts.documents.fetch_add(1, Ordering::Relaxed);
                Holding::answer(session, answer);
            }
            None => Holding::answer(session, ContinueResponseParams::new(id)),
        }
    }

    fn delay(&self, paused: &PausedRequest, path: &str) -> Option<Duration> {
        let (kind, key) = (DriftKind::SlowRequests, [paused.request.method.as_str(), path]);
        let is_late = self.drift.draw(kind, &key) < self.drift.strength(kind) * SHARE;
        let may_be = !NEVER_LATE.contains(&paused.resource_type.as_str());
        (is_late && may_be).then(|| {
            let share = self.drift.draw(kind, &["time", path]);
            Duration::from_secs_f64((SHORTEST + share * (LONGEST - SHORTEST)) / 1_000.0)
        })
    }

    /// Once for each URL.
    fn fails(&self, paused: &PausedRequest, path: &str) -> bool {
        let kind = DriftKind::FailingRequests;
        let may_fail = paused.request.method == "GET"
            && MAY_FAIL.contains(&paused.resource_type.as_str())
            && paused.response_status_code.is_some_and(|status| (200..300).contains(&status));
        if !may_fail || self.drift.draw(kind, &[path]) >= self.drift.strength(kind) * SHARE {
            return false;
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.len() < FAILED && failed.insert(paused.request.url.clone())
    }

    /// The page with the script; `None` for what is no page.
    async fn changed(&self, session: &Session, paused: &PausedRequest, path: &str) -> Option<FulfillRequestParams> {
        let status = paused.response_status_code?;
        let has_body = !matches!(status, 101 | 204 | 205 | 300..=399) && paused.request.method != "HEAD";
        if !has_body || !document::is_page(&paused.response_headers) {
            return None;
        }
        let body = body(session, &paused.request_id).await.filter(|body| body.len() <= MAX_BODY)?;
        let nonce = format!("{:08x}", hash(self.drift.seed(), &["nonce", path]));
        // Nothing of the path is in the source.
        let source = format!("({SCRIPT})({{}}).start({})", self.drift.config(path));
        let changed = document::with_script(&body, &source, &nonce)?;
        let headers = document::headers(&paused.response_headers, &body, &nonce);
        let headers = headers.into_iter().map(|header| (header.name, header.value));
        Some(answered(paused.request_id.clone(), status, headers, &changed))
    }
}

/// Returns the path, which identifies a document. Hosts and ports differ between installations, queries between visits.
fn path_of(url: &str) -> &str {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..))).unwrap_or(url);
    path.split(['?', '#']).next().unwrap_or_default()
}

async fn body(session: &Session, id: &str) -> Option<Vec<u8>> {
    let reply = session.call(GetResponseBodyParams::new(id.to_owned()), Instant::now() + BODY).await.ok()?;
    if reply.base64_encoded { STANDARD.decode(reply.body).ok() } else { Some(reply.body.into_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_by_its_path() {
        assert_eq!(path_of("http://127.0.0.1:80/shop/a?b=/c#d"), "/shop/a");
        assert_eq!(path_of("https://a.test"), "https://a.test");
    }

    #[test]
    fn the_script_ends_where_it_ends() {
        let lower = SCRIPT.to_ascii_lowercase();
        assert!(!lower.contains("</script") && !lower.contains("<!--"));
        assert!(SCRIPT.is_ascii(), "it stands in documents of any encoding");
    }
}
