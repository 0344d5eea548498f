//! Requests that steps of a run caused and that change something, whatever became of their steps.
//!
//! Invariant: what a page requests by itself, without a step, belongs to no step, and neither do later requests to the
//! same address.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

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
    /// A script sends it (`fetch`, `XMLHttpRequest`), or a form does in place of the page.
    pub is_call: bool,
    /// Facts to record about the request.
    pub fact: &'a RequestFact,
}

/// The kind of a step, as far as requests can come of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Doing {
    /// It opens a page: what a page sends while it loads is its own.
    Opens,
    /// It may send input that changes something; the step in words, such as `click button "Save"`.
    Acts(String),
    /// It waits, reads or moves the view: what is sent meanwhile belongs to the step that acted before.
    Looks,
}

/// A step that acts or acted.
#[derive(Clone, Debug)]
struct Cause {
    /// Its place among the steps of the tab.
    step: u64,
    by: String,
    ended: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Open {
    document: String,
    step: u64,
    by: String,
    fact: RequestFact,
}

/// A request that was refused, or failed.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Facts about the request.
    pub fact: RequestFact,
    step: u64,
    by: String,
    /// It was answered once its step had ended.
    is_late: bool,
    /// A record has it.
    is_told: bool,
}

impl Refused {
    /// Such as ``POST /orders answered 500; `click button "Buy"` sent it, and states nothing that shows it was expected``.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { fact, by, .. } = self;
        if self.is_late {
            return format!("after its step had ended, {}", fact.in_words());
        }
        format!("{}; `{by}` sent it, and states nothing that shows it was expected", fact.in_words())
    }
}

/// The open and the refused requests of a tab, by the step that caused them.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The steps that have begun.
    steps: u64,
    /// The step that acts, or acted last.
    cause: Option<Cause>,
    /// The one before it, for the case that this one sends no input.
    former: Option<Cause>,
    /// How many were refused when the step began, or began to wait for the answers of the step before.
    known: usize,
    waits: bool,
    open: BTreeMap<String, Open>,
    refused: Vec<Refused>,
    /// Addresses that the page requests by itself.
    own: BTreeSet<String>,
}

impl Requests {
    /// A step begins: what is sent from here on is judged by what it is `doing`.
    pub fn begin(&mut self, doing: Doing) {
        self.steps = self.steps.saturating_add(1);
        if !std::mem::take(&mut self.waits) {
            self.known = self.refused.len();
        }
        match doing {
            Doing::Opens => self.cause = None,
            Doing::Acts(by) => self.former = self.cause.replace(Cause { step: self.steps, by, ended: None }),
            Doing::Looks => {}
        }
    }

    /// A step waits for what an earlier one requested, before it begins: what is refused until then was not known when
    /// it was planned.
    pub fn await_answers(&mut self) {
        self.known = self.refused.len();
        self.waits = true;
    }

    /// The step ends. `acted`: it sent input. `shows`: a condition that it stated came true, so what was refused before
    /// is known and was reckoned with: up to now by a step that looks, up to its beginning by one that acts, with its
    /// own.
    pub fn end(&mut self, now: Instant, acted: bool, shows: bool) {
        let acting = self.acting();
        let is_acting = acting.is_some();
        if is_acting && !acted {
            self.cause = self.former.take();
        } else if let Some(cause) = &mut self.cause {
            cause.ended.get_or_insert(now);
        }
        if shows {
            let known = if is_acting { self.known } else { self.refused.len() };
            self.refused.drain(..known.min(self.refused.len()));
            self.refused.retain(|one| acting != Some(one.step));
        }
    }

    /// The step that acts now.
    fn acting(&self) -> Option<u64> {
        self.cause.as_ref().filter(|cause| cause.ended.is_none()).map(|cause| cause.step)
    }

    /// Records a request as it leaves. If no step caused it, its address counts as one that the page requests
    /// by itself; otherwise a call that may change something stays open until [`Self::ended`].
    pub fn sent(&mut self, request: &Leaving<'_>, now: Instant) {
        let is_soon = |ended| now.saturating_duration_since(ended) < CAUSED;
        let Some(Cause { step, by, .. }) = self.cause.as_ref().filter(|cause| cause.ended.is_none_or(is_soon)) else {
            if self.own.len() < MOST {
                self.own.insert(request.address.to_owned());
            }
            return;
        };
        let is_kept = request.fact.changes() && request.is_call && !self.own.contains(request.address);
        if is_kept && self.open.len() < MOST {
            let (document, by, fact) = (request.document.to_owned(), by.clone(), request.fact.clone());
            let open = Open { document, step: *step, by, fact };
            self.open.insert(request.id.to_owned(), open);
        }
    }

    /// A request was answered, or failed.
    pub fn ended(&mut self, id: &str, end: impl FnOnce(&mut RequestFact)) {
        let Some(Open { step, by, mut fact, .. }) = self.open.remove(id) else { return };
        end(&mut fact);
        if !fact.is_problem() {
            // The page tried again by itself, or a later step did, which knew of it.
            let is_same = |one: &RequestFact| (&one.method, one.path()) == (&fact.method, fact.path());
            self.refused.retain(|one| !is_same(&one.fact) || (one.is_late && one.step != step));
        }
        // What the page itself cancelled, or left with its document, was refused by nobody.
        let is_cancelled =
            fact.failure.as_deref().is_some_and(|why| why.contains("ERR_ABORTED") || why.contains("ERR_BLOCKED"));
        let is_late = self.acting() != Some(step);
        if fact.is_problem() && !is_cancelled && self.refused.len() < MOST_REFUSED {
            self.refused.push(Refused { fact, step, by, is_late, is_told: !is_late });
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

    /// Those that were refused, and that no condition which a step stated has shown to be expected.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The refused ones that no record has yet.
    pub fn take_late(&mut self) -> Vec<RequestFact> {
        let late = self.refused.iter_mut().filter(|one| !one.is_told);
        late.map(|one| {
            one.is_told = true;
            one.fact.clone()
        })
        .collect()
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

    fn acts(by: &str) -> Doing {
        Doing::Acts(by.to_owned())
    }

    #[test]
    fn a_refusal_belongs_to_the_step_that_sent_it_whatever_runs_by_then() {
        let now = Instant::now();
        // What the later step is, whether it sent input and stated what came true, and what speaks against the end.
        let cases = [
            (acts("click b"), true, false, 1),
            (acts("click b"), false, false, 1),
            (acts("click b"), true, true, 1),
            (Doing::Looks, false, false, 1),
            (Doing::Looks, false, true, 0),
            (Doing::Opens, true, false, 1),
        ];
        for (doing, acted, shows, against) in cases {
            let mut requests = Requests::default();
            requests.begin(acts("click a"));
            send(&mut requests, "1", "POST", now);
            requests.end(now, true, false);
            requests.begin(doing.clone());
            send(&mut requests, "2", "PUT", now);
            requests.ended("1", |fact| fact.status = Some(500));
            requests.end(now, acted, shows);
            assert_eq!(requests.refused().len(), against, "{doing:?}");
            let open = requests.open();
            let sent_by = match doing {
                Doing::Acts(_) => Some("click b"),
                Doing::Looks => Some("click a"),
                Doing::Opens => None,
            };
            assert_eq!(open.is_some(), sent_by.is_some(), "{doing:?}");
            assert!(sent_by.is_none_or(|by| open.unwrap_or_default().contains(by)), "{doing:?}");
            // A step that acts and states its own condition reckons with what was refused before it began.
            requests.begin(acts("click c"));
            requests.end(now, true, true);
            assert_eq!(requests.refused().len(), 0, "{doing:?}");
        }
    }

    #[test]
    fn a_step_that_states_nothing_does_not_answer_for_what_it_was_refused() {
        let now = Instant::now();
        // Whether it states what came true, how its page's second try ends, and what speaks against the end.
        for (shows, again, against) in [(true, None, 0), (false, None, 1), (false, Some(503), 2), (false, Some(200), 0)]
        {
            let mut requests = Requests::default();
            requests.begin(acts("click a"));
            send(&mut requests, "1", "POST", now);
            requests.ended("1", |fact| fact.status = Some(500));
            if again.is_some() {
                send(&mut requests, "2", "POST", now);
                requests.ended("2", |fact| fact.status = again);
            }
            requests.end(now, true, shows);
            assert_eq!(requests.refused().len(), against, "{shows} {again:?}");
            assert_eq!(requests.take_late(), [], "its own record has it");
            requests.begin(acts("click again"));
            send(&mut requests, "3", "POST", now);
            requests.ended("3", |fact| fact.status = Some(201));
            assert_eq!(requests.refused().len(), 0, "a later step made up for it");
        }
        let mut requests = Requests::default();
        requests.begin(acts("click a"));
        send(&mut requests, "1", "POST", now);
        requests.end(now, true, true);
        requests.await_answers();
        requests.ended("1", |fact| fact.status = Some(500));
        requests.begin(acts("click b"));
        requests.end(now, true, true);
        assert_eq!(requests.refused().len(), 1, "nobody knew of it when the second step was due");
    }

    #[test]
    fn a_change_refused_after_its_step_is_told_once_and_counts_against_an_end() {
        let now = Instant::now();
        let mut requests = Requests::default();
        requests.begin(acts("click button \"Buy\""));
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
        assert_eq!(requests.refused().len(), 0);
    }

    #[test]
    fn what_a_page_sends_by_itself_belongs_to_no_step() {
        let now = Instant::now();
        let mut requests = Requests::default();
        send(&mut requests, "1", "POST", now);
        requests.begin(acts("click"));
        send(&mut requests, "2", "POST", now);
        assert_eq!(requests.open(), None, "it did so before");
        let mut requests = Requests::default();
        requests.begin(acts("click"));
        requests.end(now, true, false);
        send(&mut requests, "1", "POST", now + CAUSED);
        assert_eq!(requests.open(), None, "long after the step");
        requests.begin(acts("click"));
        send(&mut requests, "2", "PUT", now);
        requests.keep(|document| document != "d");
        assert_eq!(requests.open(), None, "its document is gone");
    }
}
