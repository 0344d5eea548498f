//! The requests of a tab, and the errors that the browser logs: a fold over what the wire reports of them.
//!
//! Pure: nothing here waits, and time comes with the events. Beyond its step, a request that changes something is
//! remembered until it is answered: it belongs to the run ([`Requests`]).
//!
//! Invariants:
//! - Conditions are judged on requests that began after the input.
//! - Requests to an address that the page kept requesting between steps are polling: they are not waited for and are no
//!   effect.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use cuebook_grammar::facts::RequestFact;
use cuebook_grammar::ledger::requests::{Doing, Leaving, Requests};
use cuebook_grammar::render::cut;
use serde::{Deserialize, Serialize};

use crate::activity::LONGEST;

const MAX_REQUESTS: usize = 200;
const MAX_ERRORS: usize = 10;
/// The most open requests that are kept.
const MAX_OPEN: usize = 4_000;
/// The most addresses that are counted between two steps.
const MAX_ADDRESSES: usize = 500;
/// An address that was requested this often between two steps is polled.
const POLLED: u32 = 3;
/// A request from before the step that is open for this long is a stream.
const STREAM: Duration = Duration::from_secs(2);
/// How long a page gets to react to an answer.
const REACTION: Duration = Duration::from_millis(150);
/// How long it gets to show an answer that was read to its end.
const SHOWING: Duration = Duration::from_millis(50);

/// One report of the wire about a request, or an error that the browser logged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "exchange", rename_all = "camelCase")]
pub(crate) enum Exchange {
    /// A request leaves. A redirect is answered before, by its own report.
    Sent {
        id: String,
        document: String,
        frame: Option<String>,
        /// The kind of resource, as the protocol names it.
        resource: String,
        method: String,
        url: String,
        /// Seconds of the browser's monotonic clock.
        at: f64,
    },
    Answered {
        id: String,
        status: u16,
        retry_after_ms: Option<u64>,
    },
    Ended {
        id: String,
        at: f64,
        failure: Option<String>,
    },
    /// An error, in the browser's words.
    Logged(String),
    /// Reports were dropped: how the open requests ended is unknown now.
    Lost,
}

/// The traffic of one tab, from the first step on it to the end of the executor.
#[derive(Debug)]
pub(crate) struct Traffic {
    main_frame: String,
    /// Requests since the input.
    requests: Vec<SentRequest>,
    /// Documents that began since the input.
    documents: BTreeSet<String>,
    errors: Vec<String>,
    /// Requests that have not ended, by id, without streams and pings; at most `MAX_OPEN`.
    open: HashMap<String, Open>,
    /// Requests by address since the last step.
    asked: BTreeMap<String, u32>,
    polled: BTreeSet<String>,
    /// Requests of the steps before this one that are not answered, and when one was last answered.
    former: BTreeMap<String, Former>,
    former_answered: Option<Instant>,
    last_activity: Instant,
    idle: Option<bool>,
    pub(crate) run: Requests,
}

/// A request since the input.
#[derive(Debug)]
struct SentRequest {
    fact: RequestFact,
    is_polling: bool,
    /// A document, or requested by a script of a document from before the input. The resources of a new document say
    /// nothing about the step that led to it, nor does a missing picture.
    is_of_step: bool,
    /// The document of the tab itself.
    is_main: bool,
    /// When its answer began to arrive, or it failed.
    answered: Option<Instant>,
    /// When its answer was read to its end.
    read: Option<Instant>,
}

#[derive(Debug)]
struct Open {
    since: Instant,
    /// Seconds of the browser's monotonic clock.
    sent: f64,
    /// Its index in the list; `None` if it began before the input.
    position: Option<usize>,
    is_polling: bool,
}

/// A request of an earlier step.
#[derive(Debug)]
struct Former {
    since: Instant,
    changes: bool,
}

impl Traffic {
    /// Of a tab whose main frame has this id.
    pub(crate) fn new(main_frame: &str, now: Instant) -> Self {
        Self {
            main_frame: main_frame.to_owned(),
            requests: Vec::new(),
            documents: BTreeSet::new(),
            errors: Vec::new(),
            open: HashMap::new(),
            asked: BTreeMap::new(),
            polled: BTreeSet::new(),
            former: BTreeMap::new(),
            former_answered: None,
            last_activity: now,
            idle: None,
            run: Requests::default(),
        }
    }

    /// A step will begin: from here on, requests by address are counted anew.
    pub(crate) fn count_anew(&mut self) {
        self.asked.clear();
    }

    /// A step begins, or still waits for what came before it: the requests so far do not belong to it.
    pub(crate) fn settle(&mut self, now: Instant) {
        let often = self.asked.iter().filter(|(_, times)| **times >= POLLED).map(|(address, _)| address.clone());
        self.polled.extend(often);
        while self.polled.len() > MAX_ADDRESSES {
            self.polled.pop_first();
        }
        // A document that was read to its end has replaced what it was to replace.
        let pending = self.of_step().filter(|sent| !sent.is_main || sent.read.is_none());
        self.former_answered = pending.filter_map(|sent| sent.answered).max().max(self.former_answered);
        for (id, open) in &self.open {
            let sent = open.position.and_then(|position| self.requests.get(position));
            if let Some(sent) = sent.filter(|sent| sent.is_of_step && !sent.is_polling && sent.answered.is_none()) {
                let former = Former { since: open.since, changes: sent.fact.changes() };
                self.former.insert(id.clone(), former);
            }
        }
        self.reset(now);
    }

    /// Until when to wait for what earlier steps requested, and for what the page makes of it: at most `span` from when it
    /// was sent. `None`: there is nothing to wait for. `reads`: requests that change nothing count, too.
    pub(crate) fn former_until(&self, reads: bool, span: Duration, now: Instant) -> Option<Instant> {
        let open = self.former.values().filter(|one| reads || one.changes).map(|one| one.since + span);
        let shown = self.former_answered.map(|answered| answered + REACTION);
        open.chain(shown).filter(|until| *until > now).max()
    }

    /// From now on, requests belong to the step; see [`Requests::begin`].
    pub(crate) fn begin(&mut self, doing: Doing, now: Instant) {
        self.reset(now);
        self.run.begin(doing);
    }

    fn reset(&mut self, now: Instant) {
        self.requests.clear();
        self.documents.clear();
        self.errors.clear();
        self.open.values_mut().for_each(|open| open.position = None);
        self.last_activity = now;
        self.idle = None;
    }

    /// All requests since the input.
    pub(crate) fn facts(&self) -> Vec<RequestFact> {
        self.requests.iter().map(|sent| sent.fact.clone()).collect()
    }

    /// Those that are not polling.
    pub(crate) fn effects(&self) -> Vec<RequestFact> {
        self.requests.iter().filter(|sent| !sent.is_polling).map(|sent| sent.fact.clone()).collect()
    }

    /// Requests of the step that failed or were answered with an error.
    pub(crate) fn problems(&self) -> Vec<RequestFact> {
        self.of_step().map(|sent| &sent.fact).filter(|fact| fact.is_problem()).cloned().collect()
    }

    /// The documents that the step requested in the tab itself, in order.
    pub(crate) fn documents(&self) -> Vec<RequestFact> {
        self.requests.iter().filter(|sent| sent.is_main).map(|sent| sent.fact.clone()).collect()
    }

    /// Since when every request of the step is answered and the page had time to react; in the future or `None` while
    /// that is not so.
    pub(crate) fn settled_at(&self, begun: Instant) -> Option<Instant> {
        let is_open = self.of_step().any(|sent| sent.answered.is_none());
        let answered = self.of_step().filter_map(|sent| sent.answered).max();
        (!is_open).then(|| answered.map_or(begun, |answered| answered + REACTION))
    }

    /// Like `settled_at`, for a step that has shown an effect: sooner, once every answer was read to its end.
    pub(crate) fn shown_at(&self, begun: Instant) -> Option<Instant> {
        let settled = self.settled_at(begun)?;
        let is_read = self.of_step().all(|sent| sent.read.is_some());
        let read = self.of_step().filter_map(|sent| sent.read).max().filter(|_| is_read);
        Some(read.map_or(settled, |read| settled.min(read + SHOWING)))
    }

    /// A request of the step that is not answered: one that changes something, if there is one.
    pub(crate) fn unanswered(&self) -> Option<RequestFact> {
        let mut open = self.of_step().filter(|sent| sent.answered.is_none()).map(|sent| &sent.fact);
        let first = open.next()?;
        Some(std::iter::once(first).chain(open).find(|fact| fact.changes()).unwrap_or(first).clone())
    }

    /// Errors that the browser reported since the input.
    pub(crate) fn errors(&self) -> &[String] {
        &self.errors
    }

    pub(crate) fn idle_fact(&self) -> Option<bool> {
        self.idle
    }

    /// Tells whether no request was open for `quiet`; if so, the step is marked idle.
    pub(crate) fn is_quiet(&mut self, quiet: Duration, now: Instant) -> bool {
        let is_busy = self.open.values().any(|open| {
            let lasts = now.saturating_duration_since(open.since);
            !open.is_polling && (open.position.is_some() || lasts < STREAM)
        });
        let is_quiet = !is_busy && now.saturating_duration_since(self.last_activity) >= quiet;
        if is_quiet {
            self.idle = Some(true);
        }
        is_quiet
    }

    fn of_step(&self) -> impl Iterator<Item = &SentRequest> {
        self.requests.iter().filter(|sent| sent.is_of_step && !sent.is_polling)
    }

    /// Takes in a report.
    pub(crate) fn on(&mut self, exchange: Exchange, now: Instant) {
        match exchange {
            Exchange::Sent { id, document, frame, resource, method, url, at } => {
                let address = address(&method, &url);
                let is_polling = self.polled.contains(&address);
                let is_document = resource == "Document" && id == document;
                let is_main = is_document && frame.as_ref() == Some(&self.main_frame);
                if is_document {
                    self.documents.insert(document.clone());
                    // Another document: the polling of the former one does not count.
                    self.asked.clear();
                }
                let is_of_step = is_document
                    || matches!(&*resource, "XHR" | "Fetch" | "Script") && !self.documents.contains(&document);
                if !is_polling {
                    self.last_activity = now;
                }
                let url = cut(url.split('#').next().unwrap_or(""), LONGEST);
                let method = cut(&method, 20);
                let fact =
                    RequestFact { method, url, status: None, failure: None, retry_after_ms: None, duration_ms: None };
                if !is_polling {
                    let is_call = is_main || matches!(&*resource, "XHR" | "Fetch");
                    // What a form sends belongs to no document that is there yet.
                    let from = if is_main { "" } else { &document };
                    let leaving = Leaving { id: &id, document: from, address: &address, is_call, fact: &fact };
                    self.run.sent(&leaving, now);
                }
                if self.asked.len() < MAX_ADDRESSES || self.asked.contains_key(&address) {
                    let times = self.asked.entry(address).or_default();
                    *times = times.saturating_add(1);
                }
                let position = (self.requests.len() < MAX_REQUESTS).then(|| {
                    self.requests.push(SentRequest {
                        fact,
                        is_polling,
                        is_of_step,
                        is_main,
                        answered: None,
                        read: None,
                    });
                    self.requests.len() - 1
                });
                // Streams stay open: they are no sign of work.
                if !matches!(&*resource, "WebSocket" | "EventSource" | "Ping") && self.open.len() < MAX_OPEN {
                    self.open.insert(id, Open { since: now, sent: at, position, is_polling });
                }
            }
            Exchange::Answered { id, status, retry_after_ms } => {
                let position = self.open.get(&id).and_then(|open| open.position);
                self.former_ended(&id, now);
                if status >= 400 || (200..300).contains(&status) {
                    self.run.ended(&id, |request| request.status = Some(status));
                }
                self.ended(position, now, |request| {
                    request.status = Some(status);
                    request.retry_after_ms = retry_after_ms;
                });
            }
            Exchange::Ended { id, at, failure } => {
                self.former_ended(&id, now);
                let Some(open) = self.open.remove(&id) else { return };
                if !open.is_polling {
                    self.last_activity = now;
                }
                let took = Duration::try_from_secs_f64(at - open.sent).ok();
                self.run.ended(&id, |request| request.failure.clone_from(&failure));
                if let Some(sent) = open.position.and_then(|position| self.requests.get_mut(position)) {
                    // Chrome reports the end up to 50 ms late.
                    let read = took.and_then(|took| open.since.checked_add(took));
                    sent.read = Some(read.map_or(now, |read| now.min(read)));
                }
                self.ended(open.position, now, |request| {
                    request.failure = failure;
                    request.duration_ms = took.and_then(|took| u32::try_from(took.as_millis()).ok());
                });
            }
            Exchange::Logged(text) => {
                if self.errors.len() < MAX_ERRORS {
                    self.errors.push(text);
                }
            }
            Exchange::Lost => {
                self.open.clear();
                self.former.clear();
                self.requests.iter_mut().for_each(|sent| sent.answered = sent.answered.or(Some(now)));
                self.last_activity = now;
            }
        }
    }

    fn former_ended(&mut self, id: &str, now: Instant) {
        if self.former.remove(id).is_some() {
            self.former_answered = Some(now);
        }
    }

    fn ended(&mut self, position: Option<usize>, now: Instant, end: impl FnOnce(&mut RequestFact)) {
        let Some(sent) = position.and_then(|position| self.requests.get_mut(position)) else { return };
        end(&mut sent.fact);
        sent.answered.get_or_insert(now);
    }
}

/// A request without the parts that differ each time.
fn address(method: &str, url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let path = url.get(..end).unwrap_or(url);
    format!("{method} {}", cut(path, 300))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(id: &str, resource: &str, url: &str) -> Exchange {
        Exchange::Sent {
            id: id.to_owned(),
            document: "doc".to_owned(),
            frame: Some("main".to_owned()),
            resource: resource.to_owned(),
            method: "GET".to_owned(),
            url: url.to_owned(),
            at: 1.0,
        }
    }

    fn answered(id: &str, status: u16) -> Exchange {
        Exchange::Answered { id: id.to_owned(), status, retry_after_ms: None }
    }

    #[test]
    fn an_address_leaves_out_what_differs_each_time() {
        assert_eq!(address("GET", "https://a.test/poll?t=1#x"), "GET https://a.test/poll");
        assert_eq!(address("GET", "https://a.test/poll?t=2"), address("GET", "https://a.test/poll"));
        assert_ne!(address("POST", "https://a.test/poll"), address("GET", "https://a.test/poll"));
    }

    #[test]
    fn a_step_settles_a_while_after_the_last_answer_and_never_before_it() {
        let now = Instant::now();
        let mut traffic = Traffic::new("main", now);
        traffic.begin(Doing::Acts("click".to_owned()), now);
        assert_eq!(traffic.settled_at(now), Some(now), "nothing was sent");
        traffic.on(sent("1", "Fetch", "http://a.test/save"), now);
        traffic.on(sent("2", "Image", "http://a.test/a.png"), now);
        assert_eq!(traffic.settled_at(now), None);
        let later = now + Duration::from_millis(40);
        traffic.on(answered("1", 200), later);
        assert_eq!(traffic.settled_at(now), Some(later + REACTION), "a picture is not waited for");
        assert_eq!(traffic.unanswered(), None);
        assert_eq!(traffic.shown_at(now), Some(later + REACTION), "its body may be under way");
        traffic.on(Exchange::Ended { id: "1".to_owned(), at: 1.045, failure: None }, later + SHOWING);
        let read = now + Duration::from_millis(45);
        let shown = traffic.shown_at(now).unwrap();
        assert!(shown.duration_since(read).abs_diff(SHOWING) < Duration::from_millis(1), "a report may come late");
    }

    #[test]
    fn what_an_earlier_step_requested_is_awaited_for_a_while() {
        let now = Instant::now();
        let (span, later) = (Duration::from_secs(3), now + Duration::from_millis(40));
        let mut traffic = Traffic::new("main", now);
        traffic.begin(Doing::Acts("click".to_owned()), now);
        traffic.on(sent("1", "Fetch", "http://a.test/rows"), now);
        traffic.on(sent("2", "Image", "http://a.test/a.png"), now);
        traffic.settle(later);
        assert_eq!(traffic.former_until(true, span, later), Some(now + span));
        assert_eq!(traffic.former_until(false, span, later), None, "it reads");
        assert_eq!(traffic.former_until(true, span, now + span), None, "a stream, perhaps");
        traffic.settle(later);
        assert_eq!(traffic.former_until(true, span, later), Some(now + span), "a step that looks came between");
        traffic.on(answered("1", 200), later);
        assert_eq!(traffic.former_until(true, span, later), Some(later + REACTION));
        assert_eq!(traffic.former_until(true, span, later + REACTION), None);
    }

    #[test]
    fn a_document_is_awaited_until_it_is_read() {
        let now = Instant::now();
        let span = Duration::from_secs(3);
        for (end, awaited) in [(None, Some(now + REACTION)), (Some(1.001), None)] {
            let mut traffic = Traffic::new("main", now);
            traffic.begin(Doing::Acts("navigate".to_owned()), now);
            traffic.on(sent("doc", "Document", "http://a.test/"), now);
            traffic.on(answered("doc", 200), now);
            if let Some(at) = end {
                traffic.on(Exchange::Ended { id: "doc".to_owned(), at, failure: None }, now);
            }
            traffic.settle(now);
            assert_eq!(traffic.former_until(true, span, now), awaited);
        }
    }

    #[test]
    fn what_a_page_polls_is_no_effect_and_does_not_keep_it_busy() {
        let now = Instant::now();
        let mut traffic = Traffic::new("main", now);
        traffic.count_anew();
        for id in ["1", "2", "3"] {
            traffic.on(sent(id, "Fetch", "http://a.test/poll?t=9"), now);
            traffic.on(Exchange::Ended { id: id.to_owned(), at: 2.0, failure: None }, now);
        }
        traffic.settle(now);
        traffic.begin(Doing::Opens, now);
        traffic.on(sent("4", "Fetch", "http://a.test/poll?t=10"), now);
        assert_eq!(traffic.effects(), []);
        assert_eq!(traffic.facts().len(), 1);
        let later = now + Duration::from_secs(1);
        assert!(traffic.is_quiet(Duration::from_millis(500), later));
        assert_eq!(traffic.idle_fact(), Some(true));
    }

    #[test]
    fn reports_that_were_lost_leave_nothing_open() {
        let now = Instant::now();
        let mut traffic = Traffic::new("main", now);
        traffic.begin(Doing::Opens, now);
        traffic.on(sent("1", "XHR", "http://a.test/slow"), now);
        assert!(traffic.unanswered().is_some());
        traffic.on(Exchange::Lost, now);
        assert_eq!(traffic.unanswered(), None);
    }
}
