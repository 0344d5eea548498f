//! Cookies that responses set: Chrome leaves them out of the responses that it holds, and reports them by tab.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cuebook_cdp::{Browser, Delivery, Domain, Page};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::{CAPACITY, each_tab};

/// A report comes about when its response does. Responses from a cache have none.
const REPORTED: Duration = Duration::from_millis(300);

/// The cookies of each response of a request, in the order of its redirects.
#[derive(Clone, Default)]
pub(super) struct Cookies(Arc<Reports>);

#[derive(Default)]
struct Reports {
    by_request: Mutex<HashMap<String, VecDeque<Vec<String>>>>,
    changed: Notify,
}

impl Cookies {
    /// Listens to all tabs, present and future, until it is dropped.
    pub(super) async fn watch(self, browser: Arc<Browser>) {
        each_tab(browser, |page| self.clone().watch_tab(page)).await;
    }

    async fn watch_tab(self, page: Page) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Report {
            request_id: String,
            #[serde(default)]
            headers: Map<String, Value>,
        }
        let mut queue = page.session_events(&["Network.responseReceivedExtraInfo"], CAPACITY);
        let _enabled = page.require(Domain::Network);
        while let Some(delivery) = queue.next().await {
            let Delivery::Event(event) = delivery else { continue };
            let Ok(report) = event.parse::<Report>() else { continue };
            let set = report.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
            let lines = set.filter_map(|(_, value)| value.as_str()).flat_map(str::lines).map(str::to_owned).collect();
            self.lock().entry(report.request_id).or_default().push_back(lines);
            self.0.changed.notify_waiters();
        }
    }

    /// Returns the cookies that the next response to this request sets, each as a header field has it; empty if no
    /// report comes within [`REPORTED`].
    pub(super) async fn of(&self, request: &str) -> Vec<String> {
        let reported = async {
            loop {
                let changed = self.0.changed.notified();
                if let Some(cookies) = self.lock().get_mut(request).and_then(VecDeque::pop_front) {
                    return cookies;
                }
                changed.await;
            }
        };
        tokio::time::timeout(REPORTED, reported).await.unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, VecDeque<Vec<String>>>> {
        self.0.by_request.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
