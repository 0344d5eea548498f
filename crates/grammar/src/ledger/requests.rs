//! Requests that steps of a run caused and that change something, whatever became of their steps.
//!
//! Invariant: what a page requests by itself, without a step, belongs to no step, and neither do later requests to the
//! same address.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::facts::RequestFact;

/// A request belongs to a step that ended at most this long before it.
const CAUSED: Duration = Duration::from_secs(2);
/// The most addresses, and open requests, that are kept.
const MOST: usize = 500;
/// The most refused requests that are kept.
const MOST_REFUSED: usize = 10;

/// A request that leaves.
#[derive(Clone, Debug)]
pub struct Leaving<'a> {
    /// Its id on the wire.
    pub id: &'a str,
    /// The document that sends it; empty for workers.
    pub document: &'a str,
    /// Its method and URL, without what differs each time.
    pub address: &'a str,
    /// A script sends it (`fetch`, `XMLHttpRequest`).
    pub is_call: bool,
    /// What is recorded of it.
    pub fact: &'a RequestFact,
}

#[derive(Clone, Debug)]
struct Open {
    document: String,
    by: String,
    fact: RequestFact,
}

/// The open and the refused requests of a tab, by the step that caused them.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The step that acts or acted last, in words, and when it ended.
    by: Option<(String, Option<Instant>)>,
    open: BTreeMap<String, Open>,
    /// Refused once their steps had ended; and how many of them a record has.
    refused: Vec<RequestFact>,
    told: usize,
    /// Addresses that the page requests by itself.
    own: BTreeSet<String>,
}

impl Requests {
    /// A step may send input from here on; `by` is the step in words. `None` for one that opens a page: what a page sends
    /// while it loads is its own.
    pub fn begin(&mut self, by: Option<String>) {
        self.by = by.map(|by| (by, None));
    }

    /// The step ends. `acted`: it sent input. `shows`: a condition that it stated came true, so what was refused before it
    /// is known and was reckoned with.
    pub fn end(&mut self, now: Instant, acted: bool, shows: bool) {
        match &mut self.by {
            Some((_, ended @ None)) if acted => *ended = Some(now),
            Some((_, None)) => self.by = None,
            _ => {}
        }
        if shows {
            self.refused.clear();
            self.told = 0;
        }
    }

    /// A request leaves.
    pub fn sent(&mut self, request: &Leaving<'_>, now: Instant) {
        let cause = self
            .by
            .as_ref()
            .filter(|(_, ended)| ended.is_none_or(|ended| now.saturating_duration_since(ended) < CAUSED));
        let Some((by, _)) = cause else {
            if self.own.len() < MOST {
                self.own.insert(request.address.to_owned());
            }
            return;
        };
        let is_kept = request.fact.changes() && request.is_call && !self.own.contains(request.address);
        if is_kept && self.open.len() < MOST {
            let open = Open { document: request.document.to_owned(), by: by.clone(), fact: request.fact.clone() };
            self.open.insert(request.id.to_owned(), open);
        }
    }

    /// A request was answered, or failed.
    pub fn ended(&mut self, id: &str, end: impl FnOnce(&mut RequestFact)) {
        let Some(Open { mut fact, .. }) = self.open.remove(id) else { return };
        end(&mut fact);
        // What the page itself cancelled, or left with its document, was refused by nobody.
        let is_cancelled =
            fact.failure.as_deref().is_some_and(|why| why.contains("ERR_ABORTED") || why.contains("ERR_BLOCKED"));
        let is_late = self.by.as_ref().is_some_and(|(_, ended)| ended.is_some());
        if is_late && fact.is_problem() && !is_cancelled && self.refused.len() < MOST_REFUSED {
            self.refused.push(fact);
        }
    }

    /// These documents are gone, and with them their requests, which Chrome does not always report.
    pub fn keep(&mut self, is_there: impl Fn(&str) -> bool) {
        self.open.retain(|_, open| open.document.is_empty() || is_there(&open.document));
    }

    /// The first that is open, such as ``POST /orders, which `click button "Buy"` sent, has no answer yet``.
    ///
    /// ```
    /// use cuebook_grammar::ledger::requests::Requests;
    ///
    /// assert_eq!(Requests::default().open(), None);
    /// ```
    #[must_use]
    pub fn open(&self) -> Option<String> {
        let open = self.open.values().next()?;
        Some(format!("{} {}, which `{}` sent, has no answer yet", open.fact.method, open.fact.path(), open.by))
    }

    /// Those that were refused once their steps had ended.
    #[must_use]
    pub fn refused(&self) -> &[RequestFact] {
        &self.refused
    }

    /// The refused ones that no record has yet.
    pub fn take_late(&mut self) -> Vec<RequestFact> {
        let late = self.refused.get(self.told..).unwrap_or_default().to_vec();
        self.told = self.refused.len();
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(method: &str) -> RequestFact {
        RequestFact {
            method: method.to_owned(),
            url: "http://a.test/orders".to_owned(),
            status: None,
            failure: None,
            retry_after_ms: None,
            duration_ms: None,
        }
    }

    fn send(requests: &mut Requests, id: &str, method: &str, now: Instant) {
        let (fact, address) = (fact(method), format!("{method} /orders"));
        requests.sent(&Leaving { id, document: "d", address: &address, is_call: true, fact: &fact }, now);
    }

    #[test]
    fn a_change_that_is_refused_after_its_step_is_told_once_and_speaks_against_the_end() {
        let now = Instant::now();
        let mut requests = Requests::default();
        requests.begin(Some("click button \"Buy\"".to_owned()));
        send(&mut requests, "1", "POST", now);
        send(&mut requests, "2", "GET", now);
        requests.end(now, true, false);
        let open = requests.open().unwrap();
        assert_eq!(open, "POST /orders, which `click button \"Buy\"` sent, has no answer yet");
        requests.ended("1", |fact| fact.status = Some(500));
        assert_eq!(requests.open(), None, "reading changes nothing");
        assert_eq!(requests.take_late().len(), 1);
        assert_eq!(requests.take_late(), []);
        assert_eq!(requests.refused().len(), 1);
        requests.end(now, true, true);
        assert_eq!(requests.refused(), []);
    }

    #[test]
    fn what_a_page_sends_by_itself_belongs_to_no_step() {
        let now = Instant::now();
        let mut requests = Requests::default();
        send(&mut requests, "1", "POST", now);
        requests.begin(Some("click".to_owned()));
        send(&mut requests, "2", "POST", now);
        assert_eq!(requests.open(), None, "it did so before");
        let mut requests = Requests::default();
        requests.begin(Some("click".to_owned()));
        requests.end(now, true, false);
        send(&mut requests, "1", "POST", now + CAUSED);
        assert_eq!(requests.open(), None, "long after the step");
        requests.begin(Some("click".to_owned()));
        send(&mut requests, "2", "PUT", now);
        requests.keep(|document| document != "d");
        assert_eq!(requests.open(), None, "its document is gone");
    }
}
