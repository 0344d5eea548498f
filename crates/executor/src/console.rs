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
use cuebook_cdp::wire::console::ConsoleReport;
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
    let report: ConsoleReport<'_> = event.parse().ok()?;
    if report.level() != "error" {
        return None;
    }
    let (text, at) = (report.text(MOST_CHARACTERS), report.place(MOST_CHARACTERS));
    serde_json::to_value(ScriptError { text, at }).ok()
}
