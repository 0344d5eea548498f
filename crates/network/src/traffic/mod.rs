//! Traffic of a browser: recorded, and answered from the record in place of the network.
//!
//! Both hold requests of the browser as a whole, by `Fetch` on a session of their own: those of all tabs, frames, workers
//! and service workers, preflights, beacons and icons. WebSockets are not among them: what goes over them is recorded from
//! what tabs report, and not replayed.
//!
//! Cost: each request takes a round trip to this process, which makes loading a page some 1.5 times as long.

mod record;
mod reports;
mod serve;
mod sockets;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cuebook_cdp::paused::PausedRequest;
use cuebook_cdp::protocol::Command;
use cuebook_cdp::protocol::browser_protocol::fetch::{EnableParams, RequestPattern, RequestStage};
use cuebook_cdp::{Browser, BrowserEvent, CallError, Delivery, EventQueue, Page, Session};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::seam::HttpRequest;
use tokio::task::JoinSet;

pub use record::{Recorded, Recorder};
pub use serve::{Replayer, Served};

/// Unread events. What does not fit stays held: the browser never goes on with it.
const CAPACITY: usize = 10_000;
/// Time limit of an answer to the browser that nobody awaits.
const ANSWER: Duration = Duration::from_secs(60);

/// A script for the world of pages ([`LaunchOptions::page_script`](cuebook_cdp::LaunchOptions::page_script)) that fixes
/// `Math.random`, `crypto.getRandomValues`, `crypto.randomUUID`, `Date`, `performance.now` and the time of animation frames.
/// `epoch_ms` is the time at which each document begins, in milliseconds since 1970. The same seed and epoch give a
/// document the same values, as long as each of its scripts makes the same calls in the same order: callers, told apart by
/// their stacks, have random numbers of their own.
#[must_use]
pub fn page_script(seed: u32, epoch_ms: u64) -> Arc<str> {
    // The fence of the comment before the expression.
    format!("{}({seed}, {epoch_ms})", include_str!("seed.js").trim_end()).into()
}

/// A session that holds requests.
pub(crate) struct Holding {
    browser: Arc<Browser>,
    session: Session,
}

impl Holding {
    /// Holds all requests, at this stage.
    pub(crate) async fn begin(
        browser: &Arc<Browser>,
        stage: RequestStage,
        until: Instant,
    ) -> Result<(Self, EventQueue), CallError> {
        let url_pattern = Some("*".to_owned());
        let all = RequestPattern { url_pattern, request_stage: Some(stage), ..RequestPattern::default() };
        Self::of(browser, vec![all], until).await
    }

    /// Holds those that fit one of the patterns.
    pub(crate) async fn of(
        browser: &Arc<Browser>,
        patterns: Vec<RequestPattern>,
        until: Instant,
    ) -> Result<(Self, EventQueue), CallError> {
        let session = browser.begin_session(until).await?;
        let queue = session.events(&["Fetch.requestPaused"], CAPACITY);
        let holding = Self { browser: browser.clone(), session };
        let params = EnableParams { patterns: Some(patterns), ..EnableParams::default() };
        holding.session.request(params, until).await?;
        Ok((holding, queue))
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    /// Sends an answer. A request that is gone needs none.
    pub(crate) fn answer(session: &Session, answer: impl Command) {
        drop(session.request(answer, Instant::now() + ANSWER));
    }
}

/// The session ends, and what it holds goes on.
impl Drop for Holding {
    fn drop(&mut self) {
        self.browser.end_session(&self.session);
    }
}

/// Runs `watch` on all tabs, present and future, until it is dropped.
async fn each_tab<W: Future<Output = ()> + Send + 'static>(browser: Arc<Browser>, watch: impl Fn(Page) -> W) {
    let mut events = browser.events();
    let mut tabs = JoinSet::new();
    for page in browser.pages() {
        tabs.spawn(watch(page));
    }
    while let Some(event) = events.next().await {
        if let BrowserEvent::PageOpened { page, .. } = event {
            tabs.spawn(watch(page));
        }
    }
}

/// The next request of a queue; `None` once the browser is gone.
pub(crate) async fn next(queue: &mut EventQueue) -> Option<PausedRequest> {
    loop {
        match queue.next().await? {
            Delivery::Event(event) => match event.parse::<PausedRequest>() {
                Ok(paused) => return Some(paused),
                Err(error) => tracing::warn!(%error, "a request stays held: its event cannot be read"),
            },
            Delivery::Lagged(missed) => tracing::warn!(missed, "requests stay held: too many at once"),
        }
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn request_of(paused: &PausedRequest) -> HttpRequest {
    let request = &paused.request;
    HttpRequest {
        method: request.method.clone(),
        url: request.url.clone(),
        headers: request.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        body: request.body().unwrap_or_default(),
        resource_type: paused.resource_type.clone(),
    }
}
