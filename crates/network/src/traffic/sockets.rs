//! WebSockets: what went over each. Chrome holds none of them; it reports them to the sessions of tabs, workers included.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use cuebook_cdp::{Browser, Delivery, Domain, Page, RawEvent};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::seam::{ExchangeTimes, HttpReply, HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

use super::{CAPACITY, each_tab, now_ms};

/// Messages of one socket that are kept; those beyond are counted.
const MESSAGES: usize = 10_000;
/// Characters of all of them.
const CHARACTERS: usize = 8 << 20;

/// A socket as an exchange: its response is what went over it, as JSON.
pub(super) type SocketExchange = (HttpRequest, HttpReply, ExchangeTimes);

/// The sockets that are open, by request.
#[derive(Clone)]
pub(super) struct Sockets {
    open: Arc<Mutex<HashMap<String, Socket>>>,
    ended: mpsc::Sender<SocketExchange>,
}

struct Socket {
    url: String,
    ts_ms: u64,
    messages: Vec<Message>,
    characters: usize,
    omitted: u64,
}

/// As `_webSocketMessages` of HAR has it.
#[derive(Serialize)]
struct Message {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Wall-clock time, in seconds since 1970.
    time: f64,
    opcode: u8,
    /// Base64 unless the opcode is 1.
    data: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    request_id: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Framed {
    request_id: String,
    response: Frame,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    opcode: u8,
    payload_data: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Closed {
    request_id: String,
}

impl Sockets {
    /// Those that end come out of the receiver.
    pub(super) fn new() -> (Self, mpsc::Receiver<SocketExchange>) {
        let (ended, receiver) = mpsc::channel(CAPACITY);
        (Self { open: Arc::default(), ended }, receiver)
    }

    /// Listens to all tabs, present and future, until it is dropped.
    pub(super) async fn watch(self, browser: Arc<Browser>) {
        each_tab(browser, |page| self.clone().watch_tab(page)).await;
    }

    async fn watch_tab(self, page: Page) {
        const EVENTS: [&str; 4] = [
            "Network.webSocketCreated",
            "Network.webSocketFrameSent",
            "Network.webSocketFrameReceived",
            "Network.webSocketClosed",
        ];
        let mut queue = page.session_events(&EVENTS, CAPACITY);
        let _enabled = page.require(Domain::Network);
        while let Some(delivery) = queue.next().await {
            match delivery {
                // An event that does not read is one that a later Chrome spells differently.
                Delivery::Event(event) => drop(self.note(&event)),
                Delivery::Lagged(missed) => tracing::warn!(missed, "messages of WebSockets were not recorded"),
            }
        }
    }

    fn note(&self, event: &RawEvent) -> Option<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let kind = match event.method() {
            "Network.webSocketCreated" => {
                let Created { request_id, url } = event.parse().ok()?;
                let socket = Socket { url, ts_ms: millis(now), messages: Vec::new(), characters: 0, omitted: 0 };
                self.lock().insert(request_id, socket);
                return Some(());
            }
            "Network.webSocketClosed" => {
                let Closed { request_id } = event.parse().ok()?;
                let socket = self.lock().remove(&request_id)?;
                return self.ended.try_send(socket.ended()).ok();
            }
            "Network.webSocketFrameSent" => "send",
            _ => "receive",
        };
        let Framed { request_id, response: Frame { opcode, payload_data: data } } = event.parse().ok()?;
        let mut open = self.lock();
        let socket = open.get_mut(&request_id)?;
        if socket.messages.len() >= MESSAGES || socket.characters + data.len() > CHARACTERS {
            socket.omitted += 1;
            return None;
        }
        socket.characters += data.len();
        socket.messages.push(Message { kind, time: now.as_secs_f64(), opcode, data });
        Some(())
    }

    /// Ends the sockets that are still open, and returns their messages.
    pub(super) fn rest(&self) -> Vec<SocketExchange> {
        self.lock().drain().map(|(_, socket)| socket.ended()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Socket>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Socket {
    fn ended(self) -> SocketExchange {
        let request = HttpRequest {
            method: "GET".to_owned(),
            url: self.url,
            headers: Vec::new(),
            body: Vec::new(),
            resource_type: "WebSocket".to_owned(),
        };
        let body = json!({ "messages": self.messages, "omitted": self.omitted }).to_string().into_bytes();
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let times = ExchangeTimes { requested_ms: Some(self.ts_ms), responded_ms: self.ts_ms, ended_ms: now_ms() };
        (request, Ok(HttpResponse { status: 101, headers, body: Some(body) }), times)
    }
}
