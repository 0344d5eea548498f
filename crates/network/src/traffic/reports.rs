//! Reports of tabs on requests, for what the browser does not say of those that it holds: the cookies that responses set, and
//! when requests were sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cuebook_cdp::wire::network::RequestWillBeSent;
use cuebook_cdp::{Browser, Delivery, Domain, Page, RawEvent};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::{CAPACITY, each_tab};

/// A report comes about when its response does. Responses from a cache have none.
const REPORTED: Duration = Duration::from_millis(300);
/// Time for a busy page to report that it has sent a request.
const BUSY: Duration = Duration::from_secs(1);

const SENT: &str = "Network.requestWillBeSent";
/// Of a request that is answered from the cache of memory, after [`SENT`].
const CACHED: &str = "Network.requestServedFromCache";

/// Reports that nobody has asked for yet, by request; of a redirected request, in the order of its redirects.
#[derive(Clone, Default)]
pub(super) struct Reports(Arc<Shared>);

#[derive(Default)]
struct Shared {
    by_request: Mutex<HashMap<String, Reported>>,
    changed: Notify,
}

#[derive(Default)]
struct Reported {
    cookies: VecDeque<Vec<String>>,
    sent_ms: VecDeque<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Responded {
    request_id: String,
    #[serde(default)]
    headers: Map<String, Value>,
}

impl Reports {
    /// Listens to all tabs, present and future, until it is dropped.
    pub(super) async fn watch(self, browser: Arc<Browser>) {
        each_tab(browser, |page| self.clone().watch_tab(page)).await;
    }

    async fn watch_tab(self, page: Page) {
        let mut queue = page.session_events(&[SENT, "Network.responseReceivedExtraInfo", CACHED], CAPACITY);
        let _enabled = page.require(Domain::Network);
        while let Some(delivery) = queue.next().await {
            // An event that does not read is one that a later Chrome spells differently.
            if let Delivery::Event(event) = delivery {
                let _ = self.note(&event);
            }
        }
    }

    fn note(&self, event: &RawEvent) -> Option<()> {
        if event.method() == CACHED {
            // It never left, so nobody asks for it.
            let cached = event.parse::<Responded>().ok()?;
            self.take(&cached.request_id, |reported| reported.sent_ms.pop_back());
            return Some(());
        }
        if event.method() == SENT {
            let sent = event.parse::<RequestWillBeSent<'_>>().ok()?;
            let at = Duration::try_from_secs_f64(sent.wall_time).ok()?;
            let at = u64::try_from(at.as_millis()).ok()?;
            self.lock().entry(sent.request_id.into_owned()).or_default().sent_ms.push_back(at);
            self.0.changed.notify_waiters();
            return Some(());
        }
        let responded = event.parse::<Responded>().ok()?;
        let set = responded.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        let lines = set.filter_map(|(_, value)| value.as_str()).flat_map(str::lines).map(str::to_owned).collect();
        self.lock().entry(responded.request_id).or_default().cookies.push_back(lines);
        self.0.changed.notify_waiters();
        Some(())
    }

    /// Returns the cookies that the next response to this request sets, each as a header field has it; empty if no
    /// report comes within [`REPORTED`].
    pub(super) async fn cookies(&self, request: &str) -> Vec<String> {
        self.reported(request, REPORTED, |reported| reported.cookies.pop_front()).await.unwrap_or_default()
    }

    /// Returns when the next of the requests of this name was sent: milliseconds since 1970. A page that is busy reports it
    /// after its response; `None` if not within [`BUSY`].
    pub(super) async fn sent(&self, request: &str) -> Option<u64> {
        self.reported(request, BUSY, |reported| reported.sent_ms.pop_front()).await
    }

    async fn reported<T>(
        &self,
        request: &str,
        within: Duration,
        part: impl Fn(&mut Reported) -> Option<T>,
    ) -> Option<T> {
        let reported = async {
            loop {
                let changed = self.0.changed.notified();
                if let Some(reported) = self.take(request, &part) {
                    return reported;
                }
                changed.await;
            }
        };
        tokio::time::timeout(within, reported).await.ok()
    }

    fn take<T>(&self, request: &str, part: impl FnOnce(&mut Reported) -> Option<T>) -> Option<T> {
        let mut all = self.lock();
        let reported = all.get_mut(request)?;
        let taken = part(reported);
        if reported.cookies.is_empty() && reported.sent_ms.is_empty() {
            all.remove(request);
        }
        taken
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Reported>> {
        self.0.by_request.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
