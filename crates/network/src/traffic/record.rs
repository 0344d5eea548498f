//! Records the exchanges and websockets of a browser into a sink.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_cdp::paused::PausedRequest;
use cuebook_cdp::protocol::browser_protocol::fetch::{
    ContinueRequestParams, ContinueResponseParams, GetResponseBodyParams, RequestStage,
};
use cuebook_cdp::{Browser, CallError, EventQueue, Session};
use cuebook_grammar::seam::{ExchangeTimes, HttpReply, HttpRequest, HttpResponse, TrafficSink};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::reports::Reports;
use super::sockets::{SocketExchange, Sockets};
use super::{Holding, next, now_ms, request_of};

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
        let reports = Reports::default();
        let (sockets, ended) = Sockets::new();
        let mut watching = JoinSet::new();
        watching.spawn(reports.clone().watch(browser.clone()));
        watching.spawn(sockets.clone().watch(browser.clone()));
        let (holding, queue) = Holding::begin(browser, RequestStage::Response, until).await?;
        let (stop, stopped) = oneshot::channel();
        let keeper = Keeper { sink: Arc::new(sink), counts: Arc::default() };
        let task = tokio::spawn(async move {
            let recorded = record(holding, queue, keeper, reports, (sockets, ended), stopped).await;
            drop(watching);
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

/// Gives exchanges to a sink, and counts them.
struct Keeper<S> {
    sink: Arc<S>,
    counts: Arc<(AtomicU64, AtomicU64)>,
}

impl<S> Clone for Keeper<S> {
    fn clone(&self) -> Self {
        Self { sink: self.sink.clone(), counts: self.counts.clone() }
    }
}

impl<S: TrafficSink> Keeper<S> {
    async fn keep(self, request: HttpRequest, reply: HttpReply, times: ExchangeTimes) {
        let kept = self.sink.record(request, reply, times).await;
        if let Err(error) = &kept {
            tracing::warn!(%error, "an exchange was not recorded");
        }
        let (taken, lost) = &*self.counts;
        if kept.is_ok() { taken } else { lost }.fetch_add(1, Ordering::Relaxed);
    }
}

async fn record<S: TrafficSink + 'static>(
    holding: Holding,
    mut queue: EventQueue,
    keeper: Keeper<S>,
    reports: Reports,
    (sockets, mut ended): (Sockets, Receiver<SocketExchange>),
    mut stopped: oneshot::Receiver<()>,
) -> Recorded {
    let mut pending = JoinSet::new();
    loop {
        let paused = tokio::select! {
            paused = next(&mut queue) => paused,
            _ = &mut stopped => None,
            Some((request, reply, times)) = ended.recv() => {
                pending.spawn(keeper.clone().keep(request, reply, times));
                continue;
            }
            Some(_) = pending.join_next() => continue,
        };
        let Some(paused) = paused else { break };
        let (session, keeper, reports) = (holding.session.clone(), keeper.clone(), reports.clone());
        let responded_ms = now_ms();
        pending.spawn(async move {
            let mut reply = reply(&session, &paused).await;
            let ended_ms = now_ms();
            let id = paused.request_id.clone();
            match &reply {
                Ok(_) => Holding::answer(&session, ContinueResponseParams::new(id)),
                Err(_) => Holding::answer(&session, ContinueRequestParams::new(id)),
            }
            if let (Ok(response), Some(request)) = (&mut reply, &paused.network_id) {
                let set = reports.cookies(request).await.into_iter();
                response.headers.extend(set.map(|cookie| ("set-cookie".to_owned(), cookie)));
            }
            let requested_ms = match &paused.network_id {
                Some(request) => reports.sent(request).await,
                None => None,
            };
            let times = ExchangeTimes { requested_ms, responded_ms, ended_ms };
            keeper.keep(request_of(&paused), reply, times).await;
        });
    }
    for (request, reply, times) in std::iter::from_fn(|| ended.try_recv().ok()).chain(sockets.rest()) {
        pending.spawn(keeper.clone().keep(request, reply, times));
    }
    while pending.join_next().await.is_some() {}
    drop(holding);
    let (taken, lost) = &*keeper.counts;
    Recorded { exchanges: taken.load(Ordering::Relaxed), lost: lost.load(Ordering::Relaxed) }
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
    let reply = session.call(GetResponseBodyParams::new(id.to_owned()), Instant::now() + BODY).await.ok()?;
    if reply.base64_encoded { STANDARD.decode(reply.body).ok() } else { Some(reply.body.into_bytes()) }
}
