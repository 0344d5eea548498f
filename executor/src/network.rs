//! Requests of the tab, while a condition asks for them.
//!
//! The Network domain is enabled for the length of one step only, so requests that began earlier are not
//! seen; quiet also needs the document to have been read to its end.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cuebook_cdp::{Delivery, Domain, DomainGuard, EventQueue, Page, RawEvent};
use cuebook_grammar::facts::RequestFact;
use serde::Deserialize;

use crate::run::cut;

const METHODS: [&str; 4] =
    ["Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFinished", "Network.loadingFailed"];
const CAPACITY: usize = 20_000;
const MAX_REQUESTS: usize = 200;

/// Requests since the step began.
pub(crate) struct Network {
    queue: EventQueue,
    _domain: DomainGuard,
    requests: Vec<RequestFact>,
    /// Requests under way, and where they stand in the list.
    open: HashMap<String, Option<usize>>,
    last_activity: Instant,
    idle: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WillBeSent {
    request_id: String,
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

impl Network {
    pub(crate) fn watch(page: &Page) -> Self {
        let queue = page.session_events(&METHODS, CAPACITY);
        Self {
            queue,
            _domain: page.require(Domain::Network),
            requests: Vec::new(),
            open: HashMap::new(),
            last_activity: Instant::now(),
            idle: None,
        }
    }

    pub(crate) fn facts(&self) -> Vec<RequestFact> {
        self.requests.clone()
    }

    pub(crate) fn idle_fact(&self) -> Option<bool> {
        self.idle
    }

    /// Takes in what came since; cheap where nothing did.
    pub(crate) fn drain(&mut self) {
        while let Some(delivery) = self.queue.try_next() {
            match delivery {
                Delivery::Event(event) => self.take(&event),
                Delivery::Lagged(_) => self.last_activity = Instant::now(),
            }
        }
    }

    /// From now on quiet counts: what was before the input does not.
    pub(crate) fn begin(&mut self) {
        self.drain();
        self.requests.clear();
        self.open.values_mut().for_each(|position| *position = None);
        self.last_activity = Instant::now();
        self.idle = None;
    }

    /// Marks quiet if there was no request for `quiet`; tells whether there was.
    pub(crate) fn is_quiet(&mut self, quiet: Duration) -> bool {
        self.drain();
        let is_quiet = self.open.is_empty() && self.last_activity.elapsed() >= quiet;
        if is_quiet {
            self.idle = Some(true);
        }
        is_quiet
    }

    fn take(&mut self, event: &RawEvent) {
        match event.method() {
            "Network.requestWillBeSent" => {
                let Ok(sent) = event.parse::<WillBeSent>() else { return };
                if let Some(response) = sent.redirect_response {
                    self.answered(&sent.request_id, response.status);
                }
                if sent.request.url.starts_with("data:") {
                    return;
                }
                self.last_activity = Instant::now();
                let position = (self.requests.len() < MAX_REQUESTS).then(|| {
                    let url = sent.request.url.split('#').next().unwrap_or("");
                    self.requests.push(RequestFact {
                        method: sent.request.method.chars().take(20).collect(),
                        url: cut(url),
                        status: None,
                        failure: None,
                    });
                    self.requests.len() - 1
                });
                // Streams stay open for good: they are no sign of work.
                if !matches!(sent.kind.as_str(), "WebSocket" | "EventSource") {
                    self.open.insert(sent.request_id, position);
                }
            }
            "Network.responseReceived" => {
                let Ok(received) = event.parse::<Received>() else { return };
                self.answered(&received.request_id, received.response.status);
            }
            _ => {
                let Ok(ended) = event.parse::<Ended>() else { return };
                let Some(position) = self.open.remove(&ended.request_id) else { return };
                self.last_activity = Instant::now();
                if let Some(text) = ended.error_text
                    && let Some(request) = position.and_then(|position| self.requests.get_mut(position))
                {
                    request.failure = Some(text.chars().take(200).collect());
                }
            }
        }
    }

    fn answered(&mut self, id: &str, status: u16) {
        let position = self.open.get(id).copied().flatten();
        if let Some(request) = position.and_then(|position| self.requests.get_mut(position)) {
            request.status = Some(status);
        }
    }
}
