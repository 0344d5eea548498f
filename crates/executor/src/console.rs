//! Errors of a page's scripts: what they write to the console as an error, assertions that fail, and what nothing catches.
//!
//! The protocol reports all that a page writes to its console or nothing, so a page pays about 0.1 ms for each call of its
//! console, and nothing otherwise. Workers are not covered.
//!
//! Invariants:
//! - What comes off the wire is shortened before it is queued: a page can write many and long messages.
//! - The browser keeps no object of the page for us beyond the next step.

use std::time::{Duration, Instant};

use cuebook_cdp::protocol::js_protocol::runtime::ReleaseObjectGroupParams;
use cuebook_cdp::wire::Str;
use cuebook_cdp::wire::remote::{ExceptionDetails, RemoteObject, StackTrace};
use cuebook_cdp::{Delivery, Domain, DomainGuard, EventQueue, Page, RawEvent};
use cuebook_grammar::render::cut;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const METHODS: [&str; 2] = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown"];
/// Errors that wait between two looks; those beyond are not reported.
const CAPACITY: usize = 64;
const MAX_ERRORS: usize = 10;
/// More than a record holds, so that a secret is whole when it is searched for.
const MOST_CHARACTERS: usize = 2_000;

/// The errors of the scripts of one tab.
pub(crate) struct Console {
    page: Page,
    queue: EventQueue,
    _domain: DomainGuard,
    errors: Vec<ScriptError>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ScriptError {
    pub(crate) text: String,
    /// Where, such as `http://shop.test/app.js:12`; empty if unknown.
    pub(crate) at: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reported<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    args: Vec<RemoteObject<'a>>,
    #[serde(borrow)]
    stack_trace: Option<StackTrace<'a>>,
    #[serde(borrow)]
    exception_details: Option<ExceptionDetails<'a>>,
}

impl Console {
    /// Listens from now on.
    pub(crate) fn watch(page: &Page) -> Self {
        Self {
            queue: page.shortened_events(&METHODS, CAPACITY, shortened),
            _domain: page.require(Domain::Runtime),
            page: page.clone(),
            errors: Vec::new(),
        }
    }

    /// A step begins: gives back the objects that the page wrote to its console.
    pub(crate) fn settle(&self) {
        let soon = Instant::now() + Duration::from_secs(1);
        for session in self.page.sessions() {
            drop(session.request(ReleaseObjectGroupParams::new("console"), soon));
        }
    }

    /// From now on, errors belong to the step.
    pub(crate) fn begin(&mut self) {
        self.drain();
        self.errors.clear();
    }

    /// The first ten of the step.
    pub(crate) fn errors(&mut self) -> Vec<ScriptError> {
        self.drain();
        self.errors.clone()
    }

    fn drain(&mut self) {
        while let Some(delivery) = self.queue.try_next() {
            let Delivery::Event(event) = delivery else { continue };
            if self.errors.len() < MAX_ERRORS {
                self.errors.extend(event.parse::<ScriptError>());
            }
        }
    }
}

impl ScriptError {
    /// At most 300 characters, of which the place is kept.
    pub(crate) fn in_words(&self, redacted: impl Fn(&str) -> String) -> String {
        let at = if self.at.is_empty() { String::new() } else { format!(" ({})", cut(&redacted(&self.at), 120)) };
        cut(&redacted(&self.text), 300 - at.chars().count()) + &at
    }
}

fn shortened(event: &RawEvent) -> Option<Value> {
    let reported: Reported<'_> = event.parse().ok()?;
    let (text, at) = match reported.exception_details {
        Some(thrown) => {
            let what = thrown.exception.as_ref().map_or_else(String::new, |thrown| format!(" {}", text_of(thrown)));
            let at = || place(&thrown.url, thrown.line_number);
            (format!("{}{what}", thrown.text), thrown.stack_trace.as_ref().and_then(top).unwrap_or_else(at))
        }
        None => {
            let title = match &*reported.kind.0 {
                "error" => None,
                "assert" => Some("Assertion failed:".to_owned()),
                _ => return None,
            };
            let words: Vec<String> = title.into_iter().chain(reported.args.iter().take(20).map(text_of)).collect();
            (words.join(" "), reported.stack_trace.as_ref().and_then(top).unwrap_or_default())
        }
    };
    serde_json::to_value(ScriptError { text: cut(&text, MOST_CHARACTERS), at }).ok()
}

fn top(trace: &StackTrace<'_>) -> Option<String> {
    trace.call_frames.first().map(|frame| place(&frame.url, frame.line_number))
}

/// Queries may hold values of a session.
fn place(url: &str, line: u32) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    if url.is_empty() { String::new() } else { format!("{}:{}", cut(url, MOST_CHARACTERS), line.saturating_add(1)) }
}

/// A value as the console shows it, an error without its stack.
fn text_of(object: &RemoteObject<'_>) -> String {
    let value = object.value.map(|json| serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().to_owned()));
    let described = || object.description.as_ref().and_then(|text| text.split("\n    at ").next()).map(str::to_owned);
    cut(&value.or_else(described).unwrap_or_else(|| object.kind.to_string()), MOST_CHARACTERS)
}
