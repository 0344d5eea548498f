//! Recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_cdp::paused::PausedRequest;
use cuebook_cdp::{Browser, CallError, EventQueue, Session};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::seam::{HttpReply, HttpResponse, TrafficSink};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::cookies::Cookies;
use super::{Holding, next, request_of};

/// Time for a body to come to its end. Chrome withholds it from the page until then.
const BODY: Duration = Duration::from_secs(10);
/// Bodies beyond this are not kept.
const MAX_BODY: usize = 32 << 20;
/// Header fields of the transfer: what is recorded is decoded.
const OF_TRANSFER: [&str; 3] = ["content-encoding", "content-length", "transfer-encoding"];

/// Records what a browser requests and gets. Dropping it ends the recording.
#[derive(Debug)]
pub struct Recorder {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Recorded>,
}

/// How much was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Exchanges that the sink took.
    pub exchanges: u64,
    /// Exchanges that it refused.
    pub lost: u64,
}

impl Recorder {
    /// Records everything of `browser` from now on.
    ///
    /// # Errors
    /// [`CallError`] if the browser does not hold requests for us.
    pub async fn start(
        browser: &Arc<Browser>,
        sink: impl TrafficSink + 'static,
        until: Instant,
    ) -> Result<Self, CallError> {
        let cookies = Cookies::default();
        let watching = tokio::spawn(cookies.clone().watch(browser.clone())).abort_handle();
        let (holding, queue) = Holding::begin(browser, "Response", until).await?;
        let (stop, stopped) = oneshot::channel();
        let recording = record(holding, queue, (Arc::new(sink), cookies), stopped);
        let task = tokio::spawn(async move {
            let recorded = recording.await;
            watching.abort();
            recorded
        });
        Ok(Self { stop, task })
    }

    /// Ends the recording, once the bodies that are on their way have come, and says how much it is.
    pub async fn finish(self) -> Recorded {
        // It may have ended, with its browser.
        let _ = self.stop.send(());
        self.task.await.unwrap_or_default()
    }
}

async fn record<S: TrafficSink + 'static>(
    holding: Holding,
    mut queue: EventQueue,
    (sink, cookies): (Arc<S>, Cookies),
    mut stopped: oneshot::Receiver<()>,
) -> Recorded {
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let mut pending = JoinSet::new();
    loop {
        let paused = tokio::select! {
            paused = next(&mut queue) => paused,
            _ = &mut stopped => None,
            Some(_) = pending.join_next() => continue,
        };
        let Some(paused) = paused else { break };
        let (session, sink, counts) = (holding.session.clone(), sink.clone(), counts.clone());
        let cookies = cookies.clone();
        let ts_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis);
        pending.spawn(async move {
            let mut reply = reply(&session, &paused).await;
            let go_on = if reply.is_ok() { "Fetch.continueResponse" } else { "Fetch.continueRequest" };
            Holding::answer(&session, go_on, json!({ "requestId": paused.request_id }));
            if let (Ok(response), Some(request)) = (&mut reply, &paused.network_id) {
                let set = cookies.of(request).await.into_iter();
                response.headers.extend(set.map(|cookie| ("set-cookie".to_owned(), cookie)));
            }
            let kept = sink.record(request_of(&paused), reply, ts_ms).await;
            if let Err(error) = &kept {
                tracing::warn!(%error, "an exchange was not recorded");
            }
            let (taken, lost) = &*counts;
            if kept.is_ok() { taken } else { lost }.fetch_add(1, Ordering::Relaxed);
        });
    }
    while pending.join_next().await.is_some() {}
    drop(holding);
    Recorded { exchanges: counts.0.load(Ordering::Relaxed), lost: counts.1.load(Ordering::Relaxed) }
}

async fn reply(session: &Session, paused: &PausedRequest) -> HttpReply {
    let Some(status) = paused.response_status_code else {
        return Err(paused.response_error_reason.clone().unwrap_or_else(|| "Failed".to_owned()));
    };
    let header = |name: &str| {
        let found = paused.response_headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value.as_str())
    };
    let is_kept = |name: &str| !OF_TRANSFER.iter().any(|other| name.eq_ignore_ascii_case(other));
    let headers = paused.response_headers.iter().filter(|header| is_kept(&header.name));
    let headers = headers.map(|header| (header.name.clone(), header.value.clone())).collect();
    let is_redirect = matches!(status, 301..=303 | 307 | 308) && header("location").is_some();
    let has_none = is_redirect || matches!(status, 101 | 204 | 205 | 304) || paused.request.method == "HEAD";
    let is_stream = paused.resource_type == "EventSource"
        || header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream") || kind.starts_with("multipart/x-mixed-replace"));
    let is_long =
        header("content-length").and_then(|length| length.parse().ok()).is_some_and(|bytes: usize| bytes > MAX_BODY);
    let body = match () {
        () if has_none => Some(Vec::new()),
        () if is_stream || is_long => None,
        () => body(session, &paused.request_id).await.filter(|body| body.len() <= MAX_BODY),
    };
    Ok(HttpResponse { status, headers, body })
}

async fn body(session: &Session, id: &str) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        body: String,
        base64_encoded: bool,
    }
    let asked = session.call_raw("Fetch.getResponseBody", json!({ "requestId": id }), Instant::now() + BODY);
    let Body { body, base64_encoded } = asked.await.ok()?.parse().ok()?;
    if base64_encoded { STANDARD.decode(body).ok() } else { Some(body.into_bytes()) }
}
