//! The wire of a tab: its requests and logged errors, and the errors of its scripts.
//!
//! Both are recorded from the first step on a tab to the end of the executor, so that requests which were open or
//! polling before a step are known. Bodies are never fetched. Costs one event on the wire for each stage of a request;
//! between two steps they wait in a bounded queue.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use cuebook_cdp::wire::network::{LoadingFailed, LoadingFinished, RequestWillBeSent, Response, ResponseReceived};
use cuebook_cdp::{Delivery, Domain, DomainGuard, EventQueue, Page, RawEvent};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::ledger::requests::Requests;
use cuebook_grammar::render::cut;
use httpdate::parse_http_date;
use serde::Deserialize;

use crate::console::Console;
use crate::traffic::{Exchange, Traffic};

const METHODS: [&str; 5] = [
    "Network.requestWillBeSent",
    "Network.responseReceived",
    "Network.loadingFinished",
    "Network.loadingFailed",
    "Log.entryAdded",
];
const CAPACITY: usize = 4_000;

/// The wire of one tab, and what is known from it.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) wire: Wire,
    pub(crate) traffic: Traffic,
}

/// The reports of the browser about a tab's requests, in order, and about its scripts.
pub(crate) struct Wire {
    queue: EventQueue,
    _domains: [DomainGuard; 2],
    pub(crate) console: Console,
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

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl Network {
    /// Listens from now on.
    pub(crate) fn watch(page: &Page) -> Self {
        let wire = Wire {
            queue: page.session_events(&METHODS, CAPACITY),
            _domains: [page.require(Domain::Network), page.require(Domain::Log)],
            console: Console::watch(page),
        };
        Self { wire, traffic: Traffic::new(page.target_id().as_str(), Instant::now()) }
    }

    /// A step begins: earlier requests do not belong to it.
    pub(crate) fn settle(&mut self) {
        self.traffic.count_anew();
        self.catch_up();
        self.wire.console.settle();
        self.wire.console.begin();
        self.traffic.settle(Instant::now());
    }

    /// The requests of earlier steps, as far as the wire has reported them, for documents that the tab still shows.
    pub(crate) fn of_run(&mut self, page: &Page) -> &mut Requests {
        self.catch_up();
        forget_gone(&mut self.traffic.run, page);
        &mut self.traffic.run
    }

    fn catch_up(&mut self) {
        let now = Instant::now();
        self.wire.arrived().into_iter().for_each(|exchange| self.traffic.on(exchange, now));
    }
}

/// Drops what belongs to documents that a tab does not show any more.
pub(crate) fn forget_gone(requests: &mut Requests, page: &Page) {
    let frames = page.frames();
    requests.keep(|document| frames.iter().any(|one| one.document.as_str() == document));
}

impl Wire {
    /// The reports that have arrived since the last call.
    pub(crate) fn arrived(&mut self) -> Vec<Exchange> {
        let mut arrived = Vec::new();
        while let Some(delivery) = self.queue.try_next() {
            match delivery {
                Delivery::Event(event) => read(&event, &mut arrived),
                Delivery::Lagged(_) => arrived.push(Exchange::Lost),
            }
        }
        arrived
    }
}

/// A report of the wire as exchanges: the request that follows a redirect answers the one before.
fn read(event: &RawEvent, into: &mut Vec<Exchange>) {
    match event.method() {
        "Network.requestWillBeSent" => {
            let Ok(sent) = event.parse::<RequestWillBeSent<'_>>() else { return };
            let (id, at) = (sent.request_id.clone().into_owned(), sent.timestamp);
            if let Some(response) = &sent.redirect_response {
                into.push(answer(id.clone(), response));
                into.push(Exchange::Ended { id: id.clone(), at, failure: None });
            }
            if !sent.request.url.starts_with("data:") {
                into.push(Exchange::Sent {
                    id,
                    document: sent.loader_id.into_owned(),
                    frame: sent.frame_id.map(str::to_owned),
                    resource: sent.kind.into_owned(),
                    method: sent.request.method.into_owned(),
                    url: sent.request.url.into_owned(),
                    at,
                });
            }
        }
        "Network.responseReceived" => {
            let Ok(received) = event.parse::<ResponseReceived<'_>>() else { return };
            into.push(answer(received.request_id.into_owned(), &received.response));
        }
        "Log.entryAdded" => {
            let Ok(Logged { entry }) = event.parse::<Logged>() else { return };
            if entry.level == "error" {
                let at = if entry.url.is_empty() { String::new() } else { format!(" ({})", entry.url) };
                into.push(Exchange::Logged(cut(&format!("{}{at}", entry.text), 300)));
            }
        }
        "Network.loadingFailed" => {
            let Ok(failed) = event.parse::<LoadingFailed<'_>>() else { return };
            let failure = Some(cut(&failed.error_text, 200)).filter(|text| !text.is_empty());
            into.push(Exchange::Ended { id: failed.request_id.into_owned(), at: failed.timestamp, failure });
        }
        _ => {
            let Ok(finished) = event.parse::<LoadingFinished<'_>>() else { return };
            into.push(Exchange::Ended { id: finished.request_id.into_owned(), at: finished.timestamp, failure: None });
        }
    }
}

fn answer(id: String, response: &Response<'_>) -> Exchange {
    let status = u16::try_from(response.status).unwrap_or_default();
    let retry_after_ms = matches!(status, 429 | 503).then(|| retry_after(response)).flatten().map(millis);
    Exchange::Answered { id, status, retry_after_ms }
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

#[cfg(test)]
mod tests {
    use cuebook_cdp::wire::network::Response;

    use super::retry_after;

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
}
