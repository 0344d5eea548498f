//! What the tab asks of the network, and what the browser reports of its errors.
//!
//! Both are listened to from the first step on a tab to the end of the executor, so that what was under way
//! or went on by itself before a step is known. Bodies are never asked for. Costs one event on the wire for
//! each stage of a request; between two steps they wait in a bounded queue.
//!
//! Invariants:
//! - What a condition is judged on began after the input.
//! - Requests to an address that the page asked over and over while no step was under way are its own
//!   polling: they keep nobody waiting and are no effect.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cuebook_cdp::{Delivery, Domain, DomainGuard, EventQueue, Page, RawEvent};
use cuebook_grammar::facts::RequestFact;
use serde::Deserialize;

use crate::run::cut;

const METHODS: [&str; 5] = [
    "Network.requestWillBeSent",
    "Network.responseReceived",
    "Network.loadingFinished",
    "Network.loadingFailed",
    "Log.entryAdded",
];
const CAPACITY: usize = 4_000;
const MAX_REQUESTS: usize = 200;
const MAX_ERRORS: usize = 10;
/// Addresses that are kept account of between two steps.
const MAX_ADDRESSES: usize = 500;
/// An address that was asked so often between two steps is polled.
const POLLED: u32 = 3;
/// A request from before the step that is under way for so long is a stream.
const STREAM: Duration = Duration::from_secs(2);

/// The traffic of one tab. Clones are the same.
#[derive(Clone)]
pub(crate) struct Network(Arc<Mutex<Traffic>>);

struct Traffic {
    queue: EventQueue,
    _domains: [DomainGuard; 2],
    /// Requests since the input, and whether they are the page's own polling.
    requests: Vec<(RequestFact, bool)>,
    errors: Vec<String>,
    /// Requests under way.
    open: HashMap<String, Open>,
    /// Addresses that were asked since the last step.
    asked: BTreeMap<String, u32>,
    polled: BTreeSet<String>,
    last_activity: Instant,
    idle: Option<bool>,
}

struct Open {
    since: Instant,
    /// Where it stands in the list; none if it began before the input.
    position: Option<usize>,
    is_polling: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WillBeSent {
    request_id: String,
    #[serde(default)]
    loader_id: String,
    request: Request,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    redirect_response: Option<Response>,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    url: String,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    request_id: String,
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    request_id: String,
    #[serde(default)]
    error_text: Option<String>,
}

#[derive(Deserialize)]
struct Logged {
    entry: Entry,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    level: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    url: String,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Network {
    /// Listens from now on.
    pub(crate) fn watch(page: &Page) -> Self {
        let queue = page.session_events(&METHODS, CAPACITY);
        Self(Arc::new(Mutex::new(Traffic {
            queue,
            _domains: [page.require(Domain::Network), page.require(Domain::Log)],
            requests: Vec::new(),
            errors: Vec::new(),
            open: HashMap::new(),
            asked: BTreeMap::new(),
            polled: BTreeSet::new(),
            last_activity: Instant::now(),
            idle: None,
        })))
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step begins: what came until now belongs to the time before it.
    pub(crate) fn settle(&self) {
        let mut traffic = self.traffic();
        traffic.asked.clear();
        traffic.drain();
        let often: Vec<String> =
            traffic.asked.iter().filter(|(_, times)| **times >= POLLED).map(|(address, _)| address.clone()).collect();
        traffic.polled.extend(often);
        while traffic.polled.len() > MAX_ADDRESSES {
            traffic.polled.pop_first();
        }
        traffic.begin();
    }

    /// From now on what comes belongs to the step.
    pub(crate) fn begin(&self) {
        let mut traffic = self.traffic();
        traffic.drain();
        traffic.begin();
    }

    /// All requests since the input.
    pub(crate) fn facts(&self) -> Vec<RequestFact> {
        let mut traffic = self.traffic();
        traffic.drain();
        traffic.requests.iter().map(|(fact, _)| fact.clone()).collect()
    }

    /// Those that the page does not make all the time.
    pub(crate) fn effects(&self) -> Vec<RequestFact> {
        self.traffic().requests.iter().filter(|(_, is_polling)| !is_polling).map(|(fact, _)| fact.clone()).collect()
    }

    /// Errors that the browser reported since the input.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.traffic().errors.clone()
    }

    pub(crate) fn idle_fact(&self) -> Option<bool> {
        self.traffic().idle
    }

    /// Marks quiet if there was no request for `quiet`; tells whether there was.
    pub(crate) fn is_quiet(&self, quiet: Duration) -> bool {
        let mut traffic = self.traffic();
        traffic.drain();
        let is_busy = traffic
            .open
            .values()
            .any(|open| !open.is_polling && (open.position.is_some() || open.since.elapsed() < STREAM));
        let is_quiet = !is_busy && traffic.last_activity.elapsed() >= quiet;
        if is_quiet {
            traffic.idle = Some(true);
        }
        is_quiet
    }
}

impl Traffic {
    fn begin(&mut self) {
        self.requests.clear();
        self.errors.clear();
        self.open.values_mut().for_each(|open| open.position = None);
        self.last_activity = Instant::now();
        self.idle = None;
    }

    fn drain(&mut self) {
        while let Some(delivery) = self.queue.try_next() {
            match delivery {
                Delivery::Event(event) => self.take(&event),
                Delivery::Lagged(_) => {
                    // How those ended that were under way is not known any more.
                    self.open.clear();
                    self.last_activity = Instant::now();
                }
            }
        }
    }

    fn take(&mut self, event: &RawEvent) {
        match event.method() {
            "Network.requestWillBeSent" => {
                if let Ok(sent) = event.parse::<WillBeSent>() {
                    self.sent(sent);
                }
            }
            "Network.responseReceived" => {
                let Ok(received) = event.parse::<Received>() else { return };
                self.answered(&received.request_id, received.response.status);
            }
            "Log.entryAdded" => {
                let Ok(Logged { entry }) = event.parse::<Logged>() else { return };
                if entry.level == "error" && self.errors.len() < MAX_ERRORS {
                    let at = if entry.url.is_empty() { String::new() } else { format!(" ({})", entry.url) };
                    self.errors.push(format!("{}{at}", entry.text).chars().take(300).collect());
                }
            }
            _ => {
                let Ok(ended) = event.parse::<Ended>() else { return };
                let Some(open) = self.open.remove(&ended.request_id) else { return };
                if !open.is_polling {
                    self.last_activity = Instant::now();
                }
                if let Some(text) = ended.error_text
                    && let Some((request, _)) = open.position.and_then(|position| self.requests.get_mut(position))
                {
                    request.failure = Some(text.chars().take(200).collect());
                }
            }
        }
    }

    fn sent(&mut self, sent: WillBeSent) {
        if let Some(response) = &sent.redirect_response {
            self.answered(&sent.request_id, response.status);
        }
        if sent.request.url.starts_with("data:") {
            return;
        }
        if sent.kind == "Document" && sent.request_id == sent.loader_id {
            // Another document: what the former one kept asking is no habit of this one.
            self.asked.clear();
        }
        let address = address(&sent.request.method, &sent.request.url);
        let is_polling = self.polled.contains(&address);
        if self.asked.len() < MAX_ADDRESSES || self.asked.contains_key(&address) {
            let times = self.asked.entry(address).or_default();
            *times = times.saturating_add(1);
        }
        if !is_polling {
            self.last_activity = Instant::now();
        }
        let position = (self.requests.len() < MAX_REQUESTS).then(|| {
            let url = sent.request.url.split('#').next().unwrap_or("");
            let method = sent.request.method.chars().take(20).collect();
            self.requests.push((RequestFact { method, url: cut(url), status: None, failure: None }, is_polling));
            self.requests.len() - 1
        });
        // Streams stay open for good: they are no sign of work.
        if !matches!(sent.kind.as_str(), "WebSocket" | "EventSource" | "Ping") && self.open.len() < CAPACITY {
            self.open.insert(sent.request_id, Open { since: Instant::now(), position, is_polling });
        }
    }

    fn answered(&mut self, id: &str, status: u16) {
        let position = self.open.get(id).and_then(|open| open.position);
        if let Some((request, _)) = position.and_then(|position| self.requests.get_mut(position)) {
            request.status = Some(status);
        }
    }
}

/// What is asked, without what differs from one time to the next.
fn address(method: &str, url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let path = url.get(..end).unwrap_or(url);
    format!("{method} {}", path.chars().take(300).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_leaves_out_what_differs_each_time() {
        assert_eq!(address("GET", "https://a.test/poll?t=1#x"), "GET https://a.test/poll");
        assert_eq!(address("GET", "https://a.test/poll?t=2"), address("GET", "https://a.test/poll"));
        assert_ne!(address("POST", "https://a.test/poll"), address("GET", "https://a.test/poll"));
    }
}
