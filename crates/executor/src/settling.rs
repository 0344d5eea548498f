//! How long a step waits for what it awaits. Pure: it is told the time, and says what to wait for next.

use std::time::{Duration, Instant};

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::EventFacts;
use cuebook_grammar::verdict::Verdict;

use crate::seen::Seen;

/// How often questions are asked that the script cannot watch by itself.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// How often the network is checked, where the step depends on it.
pub(crate) const BEAT: Duration = Duration::from_millis(20);
/// How long the page has for its first answer to the input, before it is looked at ahead.
const FIRST_ANSWER: Duration = Duration::from_millis(50);
/// How long a page has to show what its control holds, before a step ends without having seen it.
const SHOWING: Duration = Duration::from_millis(500);
/// How long no request may be in flight.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// A condition that is awaited.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    pub(crate) condition: Condition,
    /// The check added it.
    pub(crate) is_default: bool,
    pub(crate) until: Instant,
    /// The time that starts again with a new document; `None` where the condition states its limit.
    pub(crate) span: Option<Duration>,
    pub(crate) held_at: Option<u32>,
    /// It must still hold when the page has answered the input.
    pub(crate) lasts: bool,
    /// Since when it has held without interruption.
    pub(crate) since: Option<Instant>,
    /// It is about a choice that its control may show in no way that can be read, and that was not seen last.
    pub(crate) is_unknown: bool,
}

impl Awaited {
    /// A postcondition, to be awaited until `until`; `span` as in the field.
    pub(crate) fn new(condition: Condition, is_default: bool, until: Instant, span: Option<Duration>) -> Self {
        let lasts = is_default && condition.target().is_some();
        Self { condition, is_default, until, span, held_at: None, lasts, since: None, is_unknown: false }
    }

    /// Returns `true` if the step's own condition can end with the page's answer to the input.
    const fn awaits_answer(&self) -> bool {
        self.lasts && (self.held_at.is_some() || self.is_unknown)
    }

    /// Until when to wait for it; `None` if there is no need to. `quiet`: since when the requests of the step are
    /// answered. `answer`: whether the page has answered the input. `shown_by`: when it would show what it can show.
    fn due(
        &self,
        now: Instant,
        until: Instant,
        quiet: Option<Instant>,
        answer: ResponseState,
        shown_by: Instant,
    ) -> Option<Instant> {
        let quiet = quiet.filter(|_| answer == ResponseState::Given).map_or(until, |quiet| quiet.min(until));
        let due = match (self.held_at, self.since) {
            (Some(_), _) if !self.lasts => return None,
            (Some(_), Some(_)) => quiet,
            (None, _) if self.lasts && self.is_unknown => quiet.max(shown_by).min(until),
            _ => until,
        };
        (now < due).then_some(due)
    }
}

/// Progress of the page's answer to the input: its own listeners have run, and it has drawn the result. Later changes
/// are found by the ledger of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseState {
    Awaited,
    Asked,
    Given,
}

/// When the step ends at the latest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) until: Instant,
    /// A while before that, so that a failure can be reported.
    pub(crate) answer_by: Instant,
}

/// The next thing to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// For anything that arrives, until then at most.
    Anything(Instant),
    /// For the document that the tab navigates to, until then at most.
    Document(Instant),
    /// For the first answers of the watched frames: nothing is awaited, but they belong to the step.
    Answers,
    /// For nothing more: the step has settled, or its time is up.
    Done,
}

/// The end of a step, while it waits.
#[derive(Debug)]
pub(crate) struct Settling {
    begun: Instant,
    /// Until when the requests of a step without a stated condition are waited for.
    lingers_by: Instant,
    lingers: bool,
    /// Frames that have not answered for the first time.
    first_round: usize,
    answer: ResponseState,
    watches_network: bool,
    pause: Pause,
}

/// A time at which the page may be looked at for the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pause {
    /// The page still answers the input.
    None,
    /// The page has had time to answer, and conditions are open: mostly, a server is waited for.
    Open,
    /// All conditions hold, and have to last.
    Lasting,
}

impl Settling {
    /// Of a step that awaits these. `lingers`: it states no condition; its requests are waited for until `lingers_by`.
    pub(crate) fn new(awaited: &[Awaited], frames: usize, lingers: bool, lingers_by: Instant, now: Instant) -> Self {
        let watches_network = awaited.iter().any(|one| needs_network(&one.condition));
        Self {
            begun: now,
            lingers_by,
            lingers,
            first_round: frames,
            answer: ResponseState::Awaited,
            watches_network,
            pause: Pause::None,
        }
    }

    /// Judges what is known now. `events`: what there is besides samples.
    pub(crate) fn weigh(&self, seen: &mut Seen<'_>, awaited: &mut [Awaited], events: &EventFacts, now: Instant) {
        if self.first_round == 0 && !seen.gathered.has_samples() {
            let at = seen.at_ms(now);
            seen.gathered.push(at);
        }
        weigh(seen, awaited, events, now);
    }

    /// The page is to be asked now for its answer to the input: a default condition holds that has to last.
    pub(crate) fn wants_answer(&self, awaited: &[Awaited]) -> bool {
        self.answer == ResponseState::Awaited && awaited.iter().any(Awaited::awaits_answer)
    }

    /// The page was asked for its answer; `can_answer`: its document is watched.
    pub(crate) const fn asked(&mut self, can_answer: bool) {
        self.answer = if can_answer { ResponseState::Asked } else { ResponseState::Given };
    }

    /// The page has answered the input.
    pub(crate) const fn answered(&mut self) {
        self.answer = ResponseState::Given;
    }

    /// A watched frame has told what changed.
    pub(crate) const fn told(&mut self) {
        self.first_round = self.first_round.saturating_sub(1);
    }

    /// The frames that have not answered are not waited for.
    pub(crate) const fn give_up(&mut self) {
        self.first_round = 0;
    }

    /// All watched frames have answered.
    pub(crate) const fn is_told(&self) -> bool {
        self.first_round == 0
    }

    /// Returns `true` once for each time at which the page may be looked at for the next step. A page that is being left is
    /// not.
    pub(crate) fn pauses(&mut self, seen: &Seen<'_>, awaited: &[Awaited], now: Instant) -> bool {
        let pause = if !self.is_told() || seen.activity.leaving.is_some() {
            Pause::None
        } else if awaited.iter().all(|one| one.held_at.is_some()) {
            Pause::Lasting
        } else if now >= self.begun + FIRST_ANSWER {
            Pause::Open
        } else {
            Pause::None
        };
        let is_news = pause > self.pause;
        self.pause = self.pause.max(pause);
        is_news
    }

    /// Time that does not count passed.
    pub(crate) fn pass_over(&mut self, span: Duration, awaited: &mut [Awaited]) {
        self.lingers_by += span;
        awaited.iter_mut().for_each(|one| one.until += span);
    }

    /// Network quiet counts only once the document has been read to its end.
    pub(crate) fn wants_quiet(&self, seen: &Seen<'_>, awaited: &[Awaited]) -> bool {
        self.watches_network && wants_quiet(seen, awaited)
    }

    /// Says for what to wait, and until when.
    pub(crate) fn next(&self, seen: &Seen<'_>, awaited: &[Awaited], now: Instant, bounds: Bounds) -> Next {
        let quiet = seen.traffic.settled_at(self.begun);
        let shown_by = self.begun + SHOWING;
        let due = awaited
            .iter()
            .filter_map(|one| one.due(now, until_of(seen, one, quiet, bounds), quiet, self.answer, shown_by));
        let due = due.min();
        let due = due.or_else(|| {
            // Without a stated condition, the requests of the step are waited for, too.
            let shown = seen.traffic.shown_at(self.begun);
            let by = shown.map_or(self.lingers_by, |shown| shown.min(self.lingers_by));
            self.lingers.then_some(by).filter(|by| now < *by)
        });
        if let Some(due) = due {
            let nap = if self.watches_network || self.lingers || quiet.is_none() { BEAT } else { TICK };
            return Next::Anything(due.min(now + nap));
        }
        match leaves_by(seen, bounds).filter(|by| now < *by) {
            Some(by) => Next::Document(by),
            None if self.is_told() || now >= bounds.until => Next::Done,
            None => Next::Answers,
        }
    }
}

/// Judges the newest sample.
pub(crate) fn weigh(seen: &mut Seen<'_>, awaited: &mut [Awaited], events: &EventFacts, now: Instant) {
    let orders = awaited.iter().any(|one| follows(&one.condition));
    let latest = if orders { seen.gathered.so_far(events) } else { seen.gathered.latest(events) };
    let at = latest.samples.last().map_or(0, |sample| sample.at_ms);
    let now_ms = seen.at_ms(now);
    let mut pins = false;
    for one in awaited.iter_mut().filter(|one| one.held_at.is_none() || one.lasts) {
        let verdict = seen.gathered.judge(&one.condition, one.is_default, &latest);
        let holds = verdict == Verdict::Holds;
        one.is_unknown = verdict == Verdict::Unknown && matches!(one.condition, Condition::SelectedValues(_));
        one.since = one.since.filter(|_| holds).or_else(|| holds.then_some(now));
        if holds && one.held_at.is_none() {
            // Network events make no sample.
            one.held_at = Some(if needs_network(&one.condition) { now_ms } else { at });
            pins = true;
        }
    }
    if pins {
        seen.gathered.pin_last();
    }
}

/// Network quiet is to be looked for: something is awaited, and it is not there yet.
pub(crate) fn wants_quiet(seen: &Seen<'_>, awaited: &[Awaited]) -> bool {
    awaited.iter().any(|one| one.held_at.is_none()) && seen.traffic.idle_fact().is_none()
}

/// Until when to wait for the document that the tab navigates to: the server's time is not a postcondition's.
pub(crate) fn leaves_by(seen: &Seen<'_>, bounds: Bounds) -> Option<Instant> {
    seen.activity.leaving.map(|_| bounds.answer_by)
}

/// When the time of a condition is over. It stops while the step navigates, and starts again with the new document; and
/// while a request of the step, or a frame that it loads, is not answered, or the page has not had time to react to
/// the answer (`quiet`).
fn until_of(seen: &Seen<'_>, one: &Awaited, quiet: Option<Instant>, bounds: Bounds) -> Instant {
    let Some(span) = one.span else { return one.until };
    let mut until = one.until;
    if one.held_at.is_none() && !matches!(one.condition, Condition::AnyEffect(_)) {
        if is_of_download(&one.condition) && seen.is_downloading() {
            return bounds.answer_by;
        }
        until = until.max(quiet.map_or(bounds.answer_by, |quiet| quiet.min(bounds.answer_by)));
    }
    let on_new = seen.activity.document_at.map(|at| (at + span).min(bounds.answer_by));
    until.max(leaves_by(seen, bounds).or(on_new).unwrap_or(until))
}

fn is_of_download(condition: &Condition) -> bool {
    let mut is = false;
    condition.visit(&mut |part| is |= matches!(part, Condition::DownloadCompleted(_)));
    is
}

/// A condition that is about the order of things needs all samples.
fn follows(condition: &Condition) -> bool {
    let mut follows = false;
    condition.visit(&mut |part| follows |= matches!(part, Condition::Becomes(_) | Condition::Changed(_)));
    follows
}

fn needs_network(condition: &Condition) -> bool {
    let mut needs = false;
    condition.visit(&mut |part| needs |= matches!(part, Condition::NetworkIdle(_) | Condition::RequestObserved(_)));
    needs
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::ledger::downloads::Downloads;
    use cuebook_grammar::ledger::requests::Doing;
    use cuebook_grammar::secret::DigestKey;
    use serde_json::json;

    use super::*;
    use crate::facts::Gathered;
    use crate::seen::Event;
    use crate::traffic::{Exchange, Traffic};

    /// Runs a step that awaits `condition` for 300 ms, and tells what it waits for after each event.
    fn step(condition: &serde_json::Value, events: &[(u64, Event)]) -> Vec<(u64, Next)> {
        let began = Instant::now();
        let moment = |ms| began + Duration::from_millis(ms);
        let (mut traffic, mut downloads) = (Traffic::new("main", began), Downloads::default());
        let gathered = Gathered::new(Vec::new(), DigestKey::new([1; 32]), "http://a.test/".into());
        let mut seen = Seen::new(gathered, &mut traffic, &mut downloads, 0, false, began);
        seen.on(Event::Began, began);
        seen.on(Event::Requests { doing: Doing::Acts("click".into()) }, began);
        seen.on(Event::Input, began);
        let condition = serde_json::from_value(condition.clone()).unwrap();
        let mut awaited = [Awaited::new(condition, false, moment(300), Some(Duration::from_millis(300)))];
        let mut settling = Settling::new(&awaited, 0, false, began, began);
        let bounds = Bounds { until: moment(10_000), answer_by: moment(9_500) };
        settling.answered();
        let next = events.iter().map(|(at, event)| {
            seen.on(event.clone(), moment(*at));
            let events = seen.events();
            settling.weigh(&mut seen, &mut awaited, &events, moment(*at));
            (*at, settling.next(&seen, &awaited, moment(*at), bounds))
        });
        next.collect()
    }

    fn fetched(id: &str) -> Event {
        let exchange = Exchange::Sent {
            id: id.to_owned(),
            document: "doc".to_owned(),
            frame: Some("main".to_owned()),
            resource: "Fetch".to_owned(),
            method: "GET".to_owned(),
            url: "http://a.test/slow".to_owned(),
            at: 1.0,
        };
        Event::Exchange { exchange }
    }

    fn answered(id: &str) -> Event {
        Event::Exchange { exchange: Exchange::Answered { id: id.to_owned(), status: 200, retry_after_ms: None } }
    }

    #[test]
    fn a_condition_is_awaited_until_the_page_could_react_to_the_answer() {
        let titled = json!({"kind": "titleMatches", "pattern": "Done"});
        let asked = || (10, fetched("1"));
        let idle = |at| (at, Event::Frames { frames: Vec::new() });
        let told = step(&titled, &[asked(), idle(2_000), (2_001, answered("1")), idle(2_149), idle(2_160)]);
        let waits: Vec<(u64, bool)> = told.iter().map(|(at, next)| (*at, *next != Next::Done)).collect();
        assert_eq!(waits, [(10, true), (2_000, true), (2_001, true), (2_149, true), (2_160, false)]);
        assert!(step(&titled, &[idle(299)]).iter().all(|(_, next)| *next != Next::Done));
        assert_eq!(step(&titled, &[idle(300)])[0].1, Next::Done, "without a request, its own time counts");
    }

    /// A page is looked at ahead once while a server is waited for, and once more when all holds; never while it is left.
    #[test]
    fn a_page_is_looked_at_ahead_once_for_each_pause() {
        let began = Instant::now();
        let moment = |ms| began + Duration::from_millis(ms);
        let (mut traffic, mut downloads) = (Traffic::new("main", began), Downloads::default());
        let gathered = Gathered::new(Vec::new(), DigestKey::new([1; 32]), "http://a.test/".into());
        let mut seen = Seen::new(gathered, &mut traffic, &mut downloads, 0, false, began);
        let condition = serde_json::from_value(json!({"kind": "titleMatches", "pattern": "Done"})).unwrap();
        let mut awaited = [Awaited::new(condition, false, moment(300), Some(Duration::from_millis(300)))];
        let mut settling = Settling::new(&awaited, 0, false, began, began);
        let told: Vec<bool> = [10, 60, 70].map(|at| settling.pauses(&seen, &awaited, moment(at))).into();
        assert_eq!(told, [false, true, false]);
        awaited[0].held_at = Some(80);
        let told: Vec<bool> = [80, 90].map(|at| settling.pauses(&seen, &awaited, moment(at))).into();
        assert_eq!(told, [true, false]);
        let mut settling = Settling::new(&awaited, 0, false, began, began);
        seen.on(Event::Leaving, moment(5));
        assert!(!settling.pauses(&seen, &awaited, moment(60)));
    }

    #[test]
    fn a_document_that_comes_gives_a_condition_its_time_anew() {
        let titled = json!({"kind": "titleMatches", "pattern": "Done"});
        let arrives = Event::Document { frame: "main".into(), is_main: true, url: "http://a.test/next".into() };
        let idle = |at| (at, Event::Frames { frames: Vec::new() });
        let told = step(&titled, &[(100, Event::Leaving), idle(5_000), (5_001, arrives), idle(5_300), idle(5_302)]);
        let waits: Vec<bool> = told.iter().map(|(_, next)| *next != Next::Done).collect();
        assert_eq!(waits, [true, true, true, true, false]);
    }
}
