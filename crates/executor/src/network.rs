//! The requests of a tab, and the errors that the browser logs and its scripts make.
//!
//! Both are recorded from the first step on a tab to the end of the executor, so that requests which were open or
//! polling before a step are known. Bodies are never fetched. Costs one event on the wire for each stage of a request;
//! between two steps they wait in a bounded queue.
//!
//! Beyond its step, a request that changes something is remembered until it is answered: it belongs to the run
//! ([`Requests`]).
//!
//! Invariants:
//! - Conditions are judged on requests that began after the input.
//! - Requests to an address that the page kept requesting between steps are polling: they are not waited for and are no
//!   effect.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use cuebook_cdp::wire::network::{LoadingFailed, LoadingFinished, RequestWillBeSent, Response, ResponseReceived};
use cuebook_cdp::{Delivery, Domain, DomainGuard, EventQueue, Page, RawEvent};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::ledger::requests::{Leaving, Requests};
use cuebook_grammar::render::cut;
use httpdate::parse_http_date;
use serde::Deserialize;

use crate::activity::LONGEST;
use crate::console::{Console, ScriptError};

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
/// The most addresses that are counted between two steps.
const MAX_ADDRESSES: usize = 500;
/// An address that was requested this often between two steps is polled.
const POLLED: u32 = 3;
/// A request from before the step that is open for this long is a stream.
const STREAM: Duration = Duration::from_secs(2);
/// How long a page gets to react to an answer.
const REACTION: Duration = Duration::from_millis(150);

/// The traffic of one tab. Clones are the same.
#[derive(Clone)]
pub(crate) struct Network(Arc<Mutex<Traffic>>);

struct Traffic {
    main_frame: String,
    queue: EventQueue,
    _domains: [DomainGuard; 2],
    /// Requests since the input.
    requests: Vec<Sent>,
    /// Documents that began since the input.
    documents: BTreeSet<String>,
    /// When a request of the step was last answered.
    answered: Option<Instant>,
    errors: Vec<String>,
    console: Console,
    /// Open requests.
    open: HashMap<String, Open>,
    /// Requests by address since the last step.
    asked: BTreeMap<String, u32>,
    polled: BTreeSet<String>,
    last_activity: Instant,
    idle: Option<bool>,
    run: Requests,
}

/// A request since the input.
struct Sent {
    fact: RequestFact,
    is_polling: bool,
    /// A document, or requested by a script of a document from before the input. The resources of a new document say
    /// nothing about the step that led to it, nor does a missing picture.
    is_of_step: bool,
    /// The document of the tab itself.
    is_main: bool,
    is_answered: bool,
}

struct Open {
    since: Instant,
    /// Seconds of the browser's monotonic clock.
    sent: f64,
    /// Its index in the list; `None` if it began before the input.
    position: Option<usize>,
    is_polling: bool,
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
            main_frame: page.target_id().as_str().to_owned(),
            queue,
            _domains: [page.require(Domain::Network), page.require(Domain::Log)],
            requests: Vec::new(),
            documents: BTreeSet::new(),
            answered: None,
            errors: Vec::new(),
            console: Console::watch(page),
            open: HashMap::new(),
            asked: BTreeMap::new(),
            polled: BTreeSet::new(),
            last_activity: Instant::now(),
            idle: None,
            run: Requests::default(),
        })))
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step begins: earlier requests do not belong to it.
    pub(crate) fn settle(&self) {
        let mut traffic = self.traffic();
        traffic.asked.clear();
        traffic.drain();
        traffic.console.settle();
        let often: Vec<String> =
            traffic.asked.iter().filter(|(_, times)| **times >= POLLED).map(|(address, _)| address.clone()).collect();
        traffic.polled.extend(often);
        while traffic.polled.len() > MAX_ADDRESSES {
            traffic.polled.pop_first();
        }
        traffic.begin();
    }

    /// From now on, requests belong to the step; see [`Requests::begin`].
    pub(crate) fn begin(&self, by: Option<String>) {
        let mut traffic = self.traffic();
        traffic.drain();
        traffic.begin();
        traffic.run.begin(by);
    }

    /// The step ends; see [`Requests::end`].
    pub(crate) fn end(&self, acted: bool, shows: bool) {
        let mut traffic = self.traffic();
        traffic.drain();
        traffic.run.end(Instant::now(), acted, shows);
    }

    /// The requests of earlier steps, as far as the wire has reported them, for documents that the tab still shows.
    pub(crate) fn of_run<T>(&self, page: &Page, ask: impl FnOnce(&mut Requests) -> T) -> T {
        let mut traffic = self.traffic();
        traffic.drain();
        let frames = page.frames();
        traffic.run.keep(|document| frames.iter().any(|one| one.document.as_str() == document));
        ask(&mut traffic.run)
    }

    /// All requests since the input.
    pub(crate) fn facts(&self) -> Vec<RequestFact> {
        let mut traffic = self.traffic();
        traffic.drain();
        traffic.requests.iter().map(|sent| sent.fact.clone()).collect()
    }

    /// Those that are not polling.
    pub(crate) fn effects(&self) -> Vec<RequestFact> {
        self.traffic().requests.iter().filter(|sent| !sent.is_polling).map(|sent| sent.fact.clone()).collect()
    }

    /// Requests of the step that failed or were answered with an error.
    pub(crate) fn problems(&self) -> Vec<RequestFact> {
        let traffic = self.traffic();
        traffic.of_step().map(|sent| &sent.fact).filter(|fact| fact.is_problem()).cloned().collect()
    }

    /// The documents that the step requested in the tab itself, in order.
    pub(crate) fn documents(&self) -> Vec<RequestFact> {
        self.traffic().requests.iter().filter(|sent| sent.is_main).map(|sent| sent.fact.clone()).collect()
    }

    /// Since when every request of the step is answered and the page had time to react; in the future or `None` while
    /// that is not so.
    pub(crate) fn settled_at(&self, begun: Instant) -> Option<Instant> {
        let mut traffic = self.traffic();
        traffic.drain();
        let is_open = traffic.of_step().any(|sent| !sent.is_answered);
        (!is_open).then(|| traffic.answered.map_or(begun, |answered| answered + REACTION))
    }

    /// A request of the step that is not answered: one that changes something, if there is one.
    pub(crate) fn unanswered(&self) -> Option<RequestFact> {
        let traffic = self.traffic();
        let mut open = traffic.of_step().filter(|sent| !sent.is_answered).map(|sent| &sent.fact);
        let first = open.next()?;
        Some(std::iter::once(first).chain(open).find(|fact| fact.changes()).unwrap_or(first).clone())
    }

    /// Errors that the browser reported since the input.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.traffic().errors.clone()
    }

    /// What went wrong in the page's scripts since the input.
    pub(crate) fn script_errors(&self) -> Vec<ScriptError> {
        self.traffic().console.errors()
    }

    pub(crate) fn idle_fact(&self) -> Option<bool> {
        self.traffic().idle
    }

    /// Whether no request was open for `quiet`; if so, the step is marked idle.
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
    fn of_step(&self) -> impl Iterator<Item = &Sent> {
        self.requests.iter().filter(|sent| sent.is_of_step && !sent.is_polling)
    }

    fn begin(&mut self) {
        self.requests.clear();
        self.documents.clear();
        self.answered = None;
        self.errors.clear();
        self.console.begin();
        self.open.values_mut().for_each(|open| open.position = None);
        self.last_activity = Instant::now();
        self.idle = None;
    }

    fn drain(&mut self) {
        while let Some(delivery) = self.queue.try_next() {
            match delivery {
                Delivery::Event(event) => self.take(&event),
                Delivery::Lagged(_) => {
                    // How the open requests ended is unknown now.
                    self.open.clear();
                    self.requests.iter_mut().for_each(|sent| sent.is_answered = true);
                    self.last_activity = Instant::now();
                }
            }
        }
    }

    fn take(&mut self, event: &RawEvent) {
        match event.method() {
            "Network.requestWillBeSent" => {
                if let Ok(sent) = event.parse::<RequestWillBeSent<'_>>() {
                    self.sent(&sent);
                }
            }
            "Network.responseReceived" => {
                let Ok(received) = event.parse::<ResponseReceived<'_>>() else { return };
                self.answered(&received.request_id, &received.response);
            }
            "Log.entryAdded" => {
                let Ok(Logged { entry }) = event.parse::<Logged>() else { return };
                if entry.level == "error" && self.errors.len() < MAX_ERRORS {
                    let at = if entry.url.is_empty() { String::new() } else { format!(" ({})", entry.url) };
                    self.errors.push(cut(&format!("{}{at}", entry.text), 300));
                }
            }
            "Network.loadingFailed" => {
                let Ok(failed) = event.parse::<LoadingFailed<'_>>() else { return };
                let why = Some(cut(&failed.error_text, 200)).filter(|text| !text.is_empty());
                self.closed(&failed.request_id, failed.timestamp, why);
            }
            _ => {
                let Ok(finished) = event.parse::<LoadingFinished<'_>>() else { return };
                self.closed(&finished.request_id, finished.timestamp, None);
            }
        }
    }

    fn closed(&mut self, id: &str, at: f64, failure: Option<String>) {
        let Some(open) = self.open.remove(id) else { return };
        if !open.is_polling {
            self.last_activity = Instant::now();
        }
        let took = Duration::try_from_secs_f64(at - open.sent).ok();
        self.run.ended(id, |request| {
            request.failure.clone_from(&failure);
        });
        self.ended(open.position, |request| {
            request.failure = failure;
            request.duration_ms = took.and_then(|took| u32::try_from(took.as_millis()).ok());
        });
    }

    fn sent(&mut self, sent: &RequestWillBeSent<'_>) {
        if let Some(response) = &sent.redirect_response {
            self.answered(&sent.request_id, response);
            self.closed(&sent.request_id, sent.timestamp, None);
        }
        if sent.request.url.starts_with("data:") {
            return;
        }
        let address = address(&sent.request.method, &sent.request.url);
        let is_polling = self.polled.contains(&address);
        let is_document = sent.kind == "Document" && sent.request_id == sent.loader_id;
        let is_main = is_document && sent.frame_id == Some(self.main_frame.as_str());
        if is_document {
            self.documents.insert(sent.loader_id.clone().into_owned());
            // Another document: the polling of the former one does not count.
            self.asked.clear();
        }
        let is_of_step = is_document
            || matches!(&*sent.kind, "XHR" | "Fetch" | "Script") && !self.documents.contains(&*sent.loader_id);
        if !is_polling {
            self.last_activity = Instant::now();
        }
        let url = cut(sent.request.url.split('#').next().unwrap_or(""), LONGEST);
        let method = cut(&sent.request.method, 20);
        let fact = RequestFact { method, url, status: None, failure: None, retry_after_ms: None, duration_ms: None };
        if !is_polling {
            let is_call = matches!(&*sent.kind, "XHR" | "Fetch");
            let (id, document) = (&*sent.request_id, &*sent.loader_id);
            let leaving = Leaving { id, document, address: &address, is_call, fact: &fact };
            self.run.sent(&leaving, Instant::now());
        }
        if self.asked.len() < MAX_ADDRESSES || self.asked.contains_key(&address) {
            let times = self.asked.entry(address).or_default();
            *times = times.saturating_add(1);
        }
        let position = (self.requests.len() < MAX_REQUESTS).then(|| {
            self.requests.push(Sent { fact, is_polling, is_of_step, is_main, is_answered: false });
            self.requests.len() - 1
        });
        // Streams stay open: they are no sign of work.
        if !matches!(&*sent.kind, "WebSocket" | "EventSource" | "Ping") && self.open.len() < CAPACITY {
            let open = Open { since: Instant::now(), sent: sent.timestamp, position, is_polling };
            self.open.insert(sent.request_id.clone().into_owned(), open);
        }
    }

    fn answered(&mut self, id: &str, response: &Response<'_>) {
        let status = u16::try_from(response.status).unwrap_or_default();
        let position = self.open.get(id).and_then(|open| open.position);
        if status >= 400 || (200..300).contains(&status) {
            self.run.ended(id, |request| request.status = Some(status));
        }
        let retry_after_ms = matches!(status, 429 | 503).then(|| retry_after(response)).flatten().map(millis);
        self.ended(position, |request| {
            request.status = Some(status);
            request.retry_after_ms = retry_after_ms;
        });
    }

    fn ended(&mut self, position: Option<usize>, end: impl FnOnce(&mut RequestFact)) {
        let Some(sent) = position.and_then(|position| self.requests.get_mut(position)) else { return };
        end(&mut sent.fact);
        if sent.is_of_step && !sent.is_answered {
            self.answered = Some(Instant::now());
        }
        sent.is_answered = true;
    }
}

/// How long a server asks to wait (RFC 9110, section 10.2.3): seconds, or a date, which is compared with the server's own.
fn retry_after(response: &Response<'_>) -> Option<Duration> {
    let headers: BTreeMap<String, String> = serde_json::from_str(response.headers?.get()).ok()?;
    let field = |name: &str| {
        let found = headers.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    };
    let asked = field("retry-after")?;
    if let Ok(seconds) = asked.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let now = field("date").and_then(|date| parse_http_date(date).ok()).unwrap_or_else(SystemTime::now);
    Some(parse_http_date(asked).ok()?.duration_since(now).unwrap_or_default())
}

/// A request without the parts that differ each time.
fn address(method: &str, url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let path = url.get(..end).unwrap_or(url);
    format!("{method} {}", cut(path, 300))
}

#[cfg(test)]
mod tests {
    use cuebook_cdp::wire::network::Response;

    use super::{address, retry_after};

    #[test]
    fn a_server_asks_to_wait_in_seconds_or_until_a_date() {
        let asked = |headers: &str| {
            let text = format!(r#"{{"url":"http://a.test/","status":429,"headers":{{{headers}}}}}"#);
            let response: Response<'_> = serde_json::from_str(&text).unwrap();
            retry_after(&response).map(|wait| wait.as_secs())
        };
        assert_eq!(asked(r#""Retry-After":"120""#), Some(120));
        let date = r#""date":"Wed, 21 Oct 2015 07:28:00 GMT","retry-after":"Wed, 21 Oct 2015 07:29:30 GMT""#;
        assert_eq!(asked(date), Some(90));
        assert_eq!(asked(r#""retry-after":"Wed, 21 Oct 2015 07:29:30 GMT""#), Some(0), "long past");
        assert_eq!(asked(r#""retry-after":"soon""#), None);
        assert_eq!(asked(r#""x":"1""#), None);
    }

    #[test]
    fn an_address_leaves_out_what_differs_each_time() {
        assert_eq!(address("GET", "https://a.test/poll?t=1#x"), "GET https://a.test/poll");
        assert_eq!(address("GET", "https://a.test/poll?t=2"), address("GET", "https://a.test/poll"));
        assert_ne!(address("POST", "https://a.test/poll"), address("GET", "https://a.test/poll"));
    }
}
