//! Answering from a record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cuebook_cdp::paused::{PausedRequest, answered};
use cuebook_cdp::protocol::browser_protocol::fetch::{
    ContinueRequestParams, FailRequestParams, FulfillRequestParams, RequestStage,
};
use cuebook_cdp::protocol::browser_protocol::network::ErrorReason;
use cuebook_cdp::{Browser, CallError, EventQueue, Session};
use cuebook_grammar::seam::{FixtureSource, HttpReply, HttpRequest, HttpResponse};
use tokio::task::JoinHandle;

use super::{Holding, next, request_of};

/// Answers every request of a browser from a record; nothing reaches the network. Dropping it ends that.
#[derive(Debug)]
pub struct Replayer {
    counts: Arc<Counts>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Counts {
    answered: AtomicU64,
    missed: AtomicU64,
}

/// How many requests were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// Requests that were answered from the record.
    pub answered: u64,
    /// Requests that the record does not have. Each has failed.
    pub missed: u64,
}

impl Replayer {
    /// Answers everything of `browser` from now on, in the order of the requests.
    ///
    /// # Errors
    /// [`CallError`] if the browser does not hold requests for us.
    pub async fn start(
        browser: &Arc<Browser>,
        source: impl FixtureSource + 'static,
        until: Instant,
    ) -> Result<Self, CallError> {
        let (holding, queue) = Holding::begin(browser, RequestStage::Request, until).await?;
        let counts = Arc::new(Counts::default());
        let task = tokio::spawn(serve(holding, queue, source, counts.clone()));
        Ok(Self { counts, task })
    }

    /// Ends it, and returns how many requests were answered. From then on, the next one in the same browser can start.
    pub async fn end(mut self) -> Served {
        self.task.abort();
        // The error says that it was aborted.
        let _ = (&mut self.task).await;
        Served {
            answered: self.counts.answered.load(Ordering::Relaxed),
            missed: self.counts.missed.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Replayer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(holding: Holding, mut queue: EventQueue, source: impl FixtureSource, counts: Arc<Counts>) {
    while let Some(paused) = next(&mut queue).await {
        answer(&holding.session, &paused, &source, &counts).await;
    }
}

/// Sends the command that answers a request.
async fn answer(session: &Session, paused: &PausedRequest, source: &impl FixtureSource, counts: &Counts) {
    let id = paused.request_id.clone();
    let request = request_of(paused);
    let is_of_the_network = request.url.starts_with("http:") || request.url.starts_with("https:");
    if !is_of_the_network {
        return Holding::answer(session, ContinueRequestParams::new(id));
    }
    let recorded = source.reply(&request).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "a recorded response cannot be read");
        None
    });
    let Some(reply) = recorded.or_else(|| by_itself(&request)) else {
        counts.missed.fetch_add(1, Ordering::Relaxed);
        tracing::info!(method = request.method, url = request.url, "not recorded");
        return Holding::answer(session, FailRequestParams::new(id, ErrorReason::InternetDisconnected));
    };
    counts.answered.fetch_add(1, Ordering::Relaxed);
    match reply {
        Ok(response) => Holding::answer(session, fulfilled(id, &request, response)),
        Err(reason) => {
            let reason = reason.parse().unwrap_or(ErrorReason::Failed);
            Holding::answer(session, FailRequestParams::new(id, reason));
        }
    }
}

/// Returns the reply to a request that needs no record: permission for the requests that the page made in the
/// recording, and the icon that Chrome asks for by itself.
fn by_itself(request: &HttpRequest) -> Option<HttpReply> {
    let header = |name: &str| {
        let found = request.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    if request.method == "OPTIONS"
        && let Some(method) = header("access-control-request-method")
    {
        let allowed = [
            ("access-control-allow-origin", header("origin").unwrap_or_else(|| "*".to_owned())),
            ("access-control-allow-methods", method),
            ("access-control-allow-headers", header("access-control-request-headers").unwrap_or_default()),
            ("access-control-allow-credentials", "true".to_owned()),
        ];
        let headers = allowed.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        return Some(Ok(HttpResponse { status: 204, headers, body: Some(Vec::new()) }));
    }
    let is_icon = request.method == "GET" && request.url.ends_with("/favicon.ico");
    is_icon.then(|| Ok(HttpResponse { status: 404, headers: Vec::new(), body: Some(Vec::new()) }))
}

fn fulfilled(id: String, request: &HttpRequest, response: HttpResponse) -> FulfillRequestParams {
    let HttpResponse { mut status, mut headers, body } = response;
    let mut body = body.unwrap_or_default();
    if request.method == "HEAD" {
        body.clear();
    } else if status == 200
        && let Some((first, last)) = range_of(request, body.len())
    {
        headers.push(("content-range".to_owned(), format!("bytes {first}-{last}/{}", body.len())));
        body = body.get(first..=last).unwrap_or_default().to_vec();
        status = 206;
    }
    answered(id, status, headers, &body)
}

/// The part of a body that a request asks for, first and last byte, if it asks for one part.
fn range_of(request: &HttpRequest, length: usize) -> Option<(usize, usize)> {
    let (_, range) = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("range"))?;
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let end = length.checked_sub(1)?;
    let (first, last) = match (first, last) {
        ("", count) => (length.saturating_sub(count.parse().ok()?), end),
        (first, "") => (first.parse().ok()?, end),
        (first, last) => (first.parse().ok()?, last.parse::<usize>().ok()?.min(end)),
    };
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, headers: &[(&str, &str)]) -> HttpRequest {
        HttpRequest {
            method: method.to_owned(),
            url: "https://shop.test/a".to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: Vec::new(),
            resource_type: "Media".to_owned(),
        }
    }

    #[test]
    fn one_range_of_a_whole_body_is_served() {
        for (range, part) in [
            ("bytes=0-", Some((0, 9))),
            ("bytes=2-4", Some((2, 4))),
            ("bytes=8-99", Some((8, 9))),
            ("bytes=-3", Some((7, 9))),
            ("bytes=10-", None),
            ("bytes=4-2", None),
            ("bytes=-", None),
            ("bytes=0-1,4-5", None),
            ("lines=0-1", None),
        ] {
            assert_eq!(range_of(&request("GET", &[("Range", range)]), 10), part, "{range}");
        }
        assert_eq!(range_of(&request("GET", &[("range", "bytes=0-")]), 0), None);
    }

    #[test]
    fn a_preflight_is_allowed_what_it_asks_for() {
        let asked = [("Access-Control-Request-Method", "PUT"), ("Origin", "https://shop.test")];
        let reply = by_itself(&request("OPTIONS", &asked)).unwrap().unwrap();
        assert_eq!(reply.status, 204);
        assert!(reply.headers.contains(&("access-control-allow-methods".to_owned(), "PUT".to_owned())));
        assert!(by_itself(&request("OPTIONS", &[])).is_none(), "it is no preflight");
        assert!(by_itself(&request("GET", &[])).is_none());
    }
}
