//! The console and the requests of an agent's tabs, for whoever looks for the cause of what a page does.
//!
//! Invariants:
//! - What comes off the wire is shortened before it is queued, and everything that is kept has an upper bound.
//! - Secrets that the agent knows, headers that hold credentials, and tokens that servers hand out are redacted in all
//!   that is returned, by the rules of recorded traffic.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_cdp::protocol::browser_protocol::network::{GetRequestPostDataParams, GetResponseBodyParams};
use cuebook_cdp::wire::console::ConsoleReport;
use cuebook_cdp::wire::network::{LoadingFailed, LoadingFinished, RequestWillBeSent, Response, ResponseReceived};
use cuebook_cdp::{
    Browser, BrowserEvent, Call, Delivery, Domain, DomainGuard, EventQueue, Page, RawEvent, RawReply, Session, TargetId,
};
use cuebook_datalayer::traffic::{Tokens, holds_credentials};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::render::cut;
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::secret::MASK;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

const METHODS: [&str; 7] = [
    "Runtime.consoleAPICalled",
    "Runtime.exceptionThrown",
    "Log.entryAdded",
    "Network.requestWillBeSent",
    "Network.responseReceived",
    "Network.loadingFinished",
    "Network.loadingFailed",
];
/// Reports that wait until somebody looks; of more, the rest is not kept.
const CAPACITY: usize = 4_000;
/// Messages, and requests, that are kept.
const KEPT: usize = 1_000;
/// The longest text that is kept, in characters.
const TEXT: usize = 2_000;
/// The most characters of a header value, and of all headers of a request, that are kept.
const HEADER: (usize, usize) = (1_000, 6_000);
/// The longest body that is returned, in characters.
const BODY: usize = 100_000;
/// Time limit for reading a body.
const READING: Duration = Duration::from_secs(10);

/// A message of a page's console, or an error that nothing caught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConsoleMessage {
    /// The level: `error`, `warning`, `info`, `log`, `debug`.
    pub level: String,
    /// Its text, at most 2,000 characters.
    pub text: String,
    /// The place in a script, such as `http://shop.test/app.js:12`; empty if it is unknown.
    pub at: String,
    /// Target id of the tab.
    pub page: String,
}

/// A request of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PageRequest {
    /// Its number in the journal, from 1.
    pub index: u64,
    /// Target id of the tab.
    pub page: String,
    /// The method, such as `GET`.
    pub method: String,
    /// The URL, at most 2,000 characters.
    pub url: String,
    /// The kind of resource, such as `Document` or `Fetch`.
    pub kind: String,
    /// Status of the response; absent before it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// Media type of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Why it failed, such as `net::ERR_CONNECTION_REFUSED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Milliseconds from the request to the end of the response; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// A request with its headers and bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PageRequestDetails {
    /// The request in short.
    #[serde(flatten)]
    pub entry: PageRequest,
    /// Headers of the request. Those with credentials are redacted.
    pub request_headers: Map<String, Value>,
    /// Headers of the response. Those with credentials are redacted.
    pub response_headers: Map<String, Value>,
    /// Body of the request, at most 100,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    /// Body of the response, at most 100,000 characters; absent where the browser has none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
}

/// A report of the wire, shortened.
#[derive(Serialize, Deserialize)]
enum Noted {
    Said {
        level: String,
        text: String,
        at: String,
    },
    Sent {
        id: String,
        method: String,
        url: String,
        kind: String,
        headers: Map<String, Value>,
        has_body: bool,
        at: f64,
        redirected: Option<(i64, String, Map<String, Value>)>,
    },
    Answered {
        id: String,
        status: i64,
        media_type: String,
        headers: Map<String, Value>,
    },
    Ended {
        id: String,
        at: f64,
        failure: Option<String>,
    },
}

/// Console and requests of the tabs of a browser context, from its beginning.
pub(crate) struct Journal {
    tabs: Arc<Mutex<Vec<Watched>>>,
    kept: Mutex<Kept>,
    redactor: Arc<dyn Redactor>,
    tokens: Tokens,
    following: JoinHandle<()>,
}

struct Watched {
    page: Page,
    queue: EventQueue,
    _domains: [DomainGuard; 3],
}

#[derive(Default)]
struct Kept {
    messages: VecDeque<ConsoleMessage>,
    requests: VecDeque<Known>,
    /// The numbers of open requests, by tab and their name on the wire.
    open: HashMap<(TargetId, String), u64>,
    count: u64,
    missed: u64,
}

struct Known {
    entry: PageRequest,
    id: String,
    session: Session,
    began: f64,
    has_body: bool,
    request_headers: Map<String, Value>,
    response_headers: Map<String, Value>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Watched {
    fn new(page: &Page) -> Self {
        Self {
            queue: page.shortened_events(&METHODS, CAPACITY, shortened),
            _domains: [Domain::Network, Domain::Log, Domain::Runtime].map(|domain| page.require(domain)),
            page: page.clone(),
        }
    }
}

impl Journal {
    /// Follows the tabs of the context of `page` from now on.
    pub(crate) fn of(browser: &Browser, page: &Page, redactor: Arc<dyn Redactor>) -> Self {
        let mut events = browser.events();
        let tabs = Arc::new(Mutex::new(vec![Watched::new(page)]));
        let (followed, of) = (tabs.clone(), page.clone());
        let following = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if let BrowserEvent::PageOpened { page, .. } = event
                    && page.is_beside(&of)
                {
                    followed.lock().unwrap_or_else(PoisonError::into_inner).push(Watched::new(&page));
                }
            }
        });
        Self { tabs, kept: Mutex::default(), redactor, tokens: Tokens::default(), following }
    }

    /// All that was kept, with what came meanwhile.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tabs = self.tabs.lock().unwrap_or_else(PoisonError::into_inner);
        for watched in tabs.iter_mut() {
            while let Some(delivery) = watched.queue.try_next() {
                match delivery {
                    Delivery::Event(event) => kept.note(&event, &watched.page),
                    Delivery::Lagged(missed) => kept.missed = kept.missed.saturating_add(missed),
                }
            }
        }
        tabs.retain(|watched| !watched.page.closed());
        kept
    }

    pub(crate) fn messages(&self) -> (Vec<ConsoleMessage>, u64) {
        let kept = self.kept();
        let redacted = kept.messages.iter().map(|message| ConsoleMessage {
            text: self.redactor.redact(&message.text).into_owned(),
            at: self.redactor.redact(&message.at).into_owned(),
            ..message.clone()
        });
        (redacted.collect(), kept.missed)
    }

    pub(crate) fn requests(&self) -> (Vec<PageRequest>, u64) {
        let kept = self.kept();
        (kept.requests.iter().map(|known| self.redacted(&known.entry)).collect(), kept.missed)
    }

    fn redacted(&self, entry: &PageRequest) -> PageRequest {
        PageRequest { url: self.hidden(&entry.url), ..entry.clone() }
    }

    pub(crate) async fn details(&self, index: u64) -> Option<PageRequestDetails> {
        let (entry, id, session, has_body, sent, came) = {
            let kept = self.kept();
            let known = kept.requests.iter().find(|known| known.entry.index == index)?;
            let headers = (known.request_headers.clone(), known.response_headers.clone());
            (known.entry.clone(), known.id.clone(), known.session.clone(), known.has_body, headers.0, headers.1)
        };
        let until = Instant::now() + READING;
        let request_body = match has_body {
            true => body_of(session.request(GetRequestPostDataParams::new(id.clone()), until)).await,
            false => None,
        };
        let response_body = body_of(session.request(GetResponseBodyParams::new(id), until)).await;
        let handed_out: Vec<(String, String)> =
            came.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
        let media_type = entry.media_type.clone().unwrap_or_default();
        self.tokens.learn(&handed_out, &media_type, response_body.as_deref().unwrap_or_default().as_bytes());
        let shown = |body: Option<String>| body.map(|body| cut(&self.hidden(&body), BODY));
        let headers = |of: Map<String, Value>| of.into_iter().map(|(name, value)| self.header(name, &value)).collect();
        Some(PageRequestDetails {
            entry: self.redacted(&entry),
            request_headers: headers(sent),
            response_headers: headers(came),
            request_body: shown(request_body),
            response_body: shown(response_body),
        })
    }

    /// A text without secrets, and without what servers hand out to recognise a client.
    fn hidden(&self, text: &str) -> String {
        self.tokens.replaced(&self.redactor.redact(text))
    }

    fn header(&self, name: String, value: &Value) -> (String, Value) {
        let is_hidden = holds_credentials(&name) || name.eq_ignore_ascii_case("set-cookie");
        let value = if is_hidden { MASK.to_owned() } else { self.hidden(value.as_str().unwrap_or_default()) };
        (name, Value::String(value))
    }
}

impl Kept {
    fn note(&mut self, event: &RawEvent, page: &Page) {
        let Ok(noted) = event.parse::<Noted>() else { return };
        let target = page.target_id();
        match noted {
            Noted::Said { level, text, at } => {
                let page = target.to_string();
                bounded(&mut self.messages, ConsoleMessage { level, text, at, page });
            }
            Noted::Sent { id, method, url, kind, headers, has_body, at, redirected } => {
                if let Some((status, media_type, headers)) = redirected {
                    self.answered(target, &id, status, media_type, headers);
                    self.ended(target, &id, at, None);
                }
                self.count = self.count.saturating_add(1);
                let entry = PageRequest {
                    index: self.count,
                    page: target.to_string(),
                    method,
                    url,
                    kind,
                    status: None,
                    media_type: None,
                    failure: None,
                    took_ms: None,
                };
                self.open.insert((target.clone(), id.clone()), self.count);
                let known = Known {
                    entry,
                    id,
                    session: event.session().clone(),
                    began: at,
                    has_body,
                    request_headers: headers,
                    response_headers: Map::new(),
                };
                if let Some(gone) = bounded(&mut self.requests, known) {
                    self.open.retain(|_, index| *index != gone.entry.index);
                }
            }
            Noted::Answered { id, status, media_type, headers } => {
                self.answered(target, &id, status, media_type, headers);
            }
            Noted::Ended { id, at, failure } => self.ended(target, &id, at, failure),
        }
    }

    fn open(&mut self, page: &TargetId, id: &str) -> Option<&mut Known> {
        let index = *self.open.get(&(page.clone(), id.to_owned()))?;
        self.requests.iter_mut().rev().find(|known| known.entry.index == index)
    }

    fn answered(&mut self, page: &TargetId, id: &str, status: i64, media_type: String, headers: Map<String, Value>) {
        if let Some(known) = self.open(page, id) {
            known.entry.status = Some(status);
            known.entry.media_type = Some(media_type).filter(|it| !it.is_empty());
            known.response_headers = headers;
        }
    }

    fn ended(&mut self, page: &TargetId, id: &str, at: f64, failure: Option<String>) {
        if let Some(known) = self.open(page, id) {
            known.entry.failure = failure;
            known.entry.took_ms = Duration::try_from_secs_f64(at - known.began).ok().map(millis);
        }
        self.open.remove(&(page.clone(), id.to_owned()));
    }
}

/// The body that a command gives, as text; `None` where the browser has none any more.
async fn body_of(call: Call<RawReply>) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        #[serde(alias = "postData")]
        body: String,
        #[serde(default)]
        base64_encoded: bool,
    }
    let Body { body, base64_encoded } = call.await.ok()?.parse().ok()?;
    if !base64_encoded {
        return Some(body);
    }
    Some(String::from_utf8_lossy(&STANDARD.decode(body).ok()?).into_owned())
}

/// Adds to a list of at most [`KEPT`] entries, and returns the one that goes for it.
fn bounded<T>(list: &mut VecDeque<T>, entry: T) -> Option<T> {
    list.push_back(entry);
    if list.len() > KEPT { list.pop_front() } else { None }
}

#[derive(Deserialize)]
struct Logged {
    entry: LogEntry,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LogEntry {
    level: String,
    text: String,
    url: String,
    line_number: Option<u32>,
}

/// Runs where messages are read.
fn shortened(event: &RawEvent) -> Option<Value> {
    serde_json::to_value(noted(event)?).ok()
}

fn noted(event: &RawEvent) -> Option<Noted> {
    match event.method() {
        "Network.requestWillBeSent" => {
            let sent: RequestWillBeSent<'_> = event.parse().ok()?;
            if sent.request.url.starts_with("data:") {
                return None;
            }
            let of_answer =
                |answer: &Response<'_>| (answer.status, cut(&answer.mime_type, 100), headers(answer.headers));
            Some(Noted::Sent {
                id: sent.request_id.into_owned(),
                method: cut(&sent.request.method, 40),
                url: cut(&sent.request.url, TEXT),
                kind: cut(&sent.kind, 40),
                headers: headers(sent.request.headers),
                has_body: sent.request.has_post_data,
                at: sent.timestamp,
                redirected: sent.redirect_response.as_ref().map(of_answer),
            })
        }
        "Network.responseReceived" => {
            let answer: ResponseReceived<'_> = event.parse().ok()?;
            Some(Noted::Answered {
                id: answer.request_id.into_owned(),
                status: answer.response.status,
                media_type: cut(&answer.response.mime_type, 100),
                headers: headers(answer.response.headers),
            })
        }
        "Network.loadingFinished" => {
            let ended: LoadingFinished<'_> = event.parse().ok()?;
            Some(Noted::Ended { id: ended.request_id.into_owned(), at: ended.timestamp, failure: None })
        }
        "Network.loadingFailed" => {
            let ended: LoadingFailed<'_> = event.parse().ok()?;
            let failure = Some(cut(&ended.error_text, 200));
            Some(Noted::Ended { id: ended.request_id.into_owned(), at: ended.timestamp, failure })
        }
        "Log.entryAdded" => {
            let Logged { entry } = event.parse().ok()?;
            let url = cut(entry.url.split(['?', '#']).next().unwrap_or_default(), TEXT);
            let at = entry.line_number.map_or(url.clone(), |line| format!("{url}:{}", line.saturating_add(1)));
            let level = if entry.level == "verbose" { "debug".to_owned() } else { cut(&entry.level, 20) };
            Some(Noted::Said { level, text: cut(&entry.text, TEXT), at })
        }
        _ => {
            let report: ConsoleReport<'_> = event.parse().ok()?;
            let (level, text, at) = (report.level().to_owned(), report.text(TEXT), report.place(TEXT));
            Some(Noted::Said { level, text, at })
        }
    }
}

fn headers(raw: Option<&RawValue>) -> Map<String, Value> {
    let headers: Map<String, Value> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let (longest, mut room) = HEADER;
    let kept = headers.into_iter().map_while(|(name, value)| {
        let value = cut(value.as_str().unwrap_or_default(), longest);
        room = room.checked_sub(name.len() + value.len())?;
        Some((name, Value::String(value)))
    });
    kept.collect()
}
