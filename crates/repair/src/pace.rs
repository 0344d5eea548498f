//! How fast a run may be, in all and on an origin: token buckets, and what servers ask for with `Retry-After`.
//!
//! Steps are limited, not requests: of what goes through TLS, nobody below the page sees single requests. A step counts on
//! the origin that it opens, or else on that of the page.
//!
//! Invariants: pure but for the time, which is an argument; the number of origins is bounded.

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, Owner};
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::outcome::{Cause, EffectRecord, Stage, StepFailure};
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::policy::{Rate, Rule};
use url::Url;

/// Origins that are remembered; the one that was used longest ago goes first.
const MAX_ORIGINS: usize = 1_000;
/// The part of a minute's steps that may follow at once.
const BURST: f64 = 1.0 / 6.0;

/// The steps of a run so far, and the origins that they counted on.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    total: Bucket,
    origins: BTreeMap<String, Origin>,
}

/// Steps that were taken and not yet earned back by the time that passed.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    owed: f64,
    /// When that was true; `None` while nothing is owed.
    at: Option<Instant>,
}

impl Bucket {
    /// How long to wait before the next step, and what is owed once it is taken.
    fn next(self, per_minute: NonZeroU16, now: Instant) -> (Duration, Self) {
        let a_second = f64::from(per_minute.get()) / 60.0;
        let burst = (f64::from(per_minute.get()) * BURST).floor().max(1.0);
        let earned = self.at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64() * a_second);
        let owed = (self.owed - earned).max(0.0) + 1.0;
        // More than a burst is owed: wait until that is earned.
        (Duration::from_secs_f64((owed - burst).max(0.0) / a_second), Self { owed, at: Some(now) })
    }
}

#[derive(Debug)]
struct Origin {
    bucket: Bucket,
    /// When it was used last.
    at: Instant,
    /// A status by which the server asked to wait, and until when.
    held: Option<(u16, Instant)>,
}

/// The origin that a step counts on: of what it requests, or else of the page. `None` if it only reads, or if the page
/// has no origin.
pub(crate) fn origin_of(bound: &BoundStep, page: &str) -> Option<String> {
    let url = match bound.action() {
        Action::Navigate(navigate) => navigate.url.as_str(),
        Action::Fetch(fetch) => fetch.url.as_str(),
        Action::GoBack(_) | Action::GoForward(_) | Action::Reload(_) => page,
        action if action.kind().meta().owner != Owner::Executor => return None,
        _ if bound.effect() == EffectClass::ReadOnly => return None,
        _ => page,
    };
    origin(url)
}

fn origin(url: &str) -> Option<String> {
    let origin = Url::parse(url).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

impl Pace {
    /// Takes a step on `origin`. Returns how long to wait before it; or its failure, in which case nothing is taken, if
    /// that is more than `left`.
    pub(crate) fn take(
        &mut self,
        origin: &str,
        rate: Rate,
        now: Instant,
        left: Duration,
    ) -> Result<Duration, Box<StepFailure>> {
        let known = self.origins.get(origin);
        let asked = known.and_then(|known| known.held).filter(|(_, until)| *until > now);
        if let Some((status, until)) = asked
            && until - now > left
        {
            return Err(held(origin, status, until - now, left));
        }
        let asked = asked.map_or(Duration::ZERO, |(_, until)| until - now);
        let of_origin = known.map_or_else(Bucket::default, |known| known.bucket);
        let of_origin = rate.steps_per_minute.map(|most| (most, of_origin.next(most, now)));
        let total = rate.total_steps_per_minute.map(|most| (most, self.total.next(most, now)));
        let mut wait = asked;
        for (next, place) in [(of_origin, format!("on {origin}")), (total, "in a run".to_owned())] {
            let Some((most, (early, _))) = next else { continue };
            if early > left {
                return Err(too_fast(&place, most, early, left));
            }
            wait = wait.max(early);
        }
        if let Some((_, (_, bucket))) = of_origin {
            let known = self.remember(origin, now);
            (known.bucket, known.at) = (bucket, now);
        }
        if let Some((_, (_, bucket))) = total {
            self.total = bucket;
        }
        Ok(wait)
    }

    /// Remembers what servers asked for in answers to a step's requests.
    pub(crate) fn note(&mut self, effects: Option<&EffectRecord>, now: Instant) {
        for request in effects.map_or(&[][..], |effects| &effects.requests) {
            let (Some(status), Some(wait), Some(origin)) =
                (request.status, request.retry_after_ms, origin(&request.url))
            else {
                continue;
            };
            let Some(until) = now.checked_add(Duration::from_millis(wait)) else { continue };
            let known = self.remember(&origin, now);
            known.held = known.held.max(Some((status, until)));
        }
    }

    /// The entry of `origin`; a new one owes nothing.
    fn remember(&mut self, origin: &str, now: Instant) -> &mut Origin {
        if self.origins.len() >= MAX_ORIGINS && !self.origins.contains_key(origin) {
            let oldest = self.origins.iter().min_by_key(|(_, known)| known.at).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| self.origins.remove(&oldest));
        }
        self.origins.entry(origin.to_owned()).or_insert(Origin { bucket: Bucket::default(), at: now, held: None })
    }
}

fn too_fast(place: &str, per_minute: NonZeroU16, wait: Duration, left: Duration) -> Box<StepFailure> {
    let message = format!(
        "expected at most {per_minute} steps a minute {place} (rule rate): the next one may begin in {:.1} s, and the \
         step has {:.1} s",
        wait.as_secs_f64(),
        left.as_secs_f64()
    );
    let mut failure = StepFailure::new(Stage::Bind, Cause::PolicyBlocked, message);
    failure.facts.rule = Some(Rule::Rate);
    Box::new(failure)
}

fn held(origin: &str, status: u16, wait: Duration, left: Duration) -> Box<StepFailure> {
    let message = format!(
        "{origin} answered {status} and asks to wait {:.1} s more (Retry-After), and the step has {:.1} s",
        wait.as_secs_f64(),
        left.as_secs_f64()
    );
    let mut failure = StepFailure::new(Stage::Bind, Cause::HttpError, message);
    failure.facts.status = Some(status);
    Box::new(failure)
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::facts::RequestFact;

    use super::*;

    const A: &str = "https://a.test";
    const LONG: Duration = Duration::from_secs(600);

    fn rate(per_minute: u16) -> Rate {
        Rate { steps_per_minute: NonZeroU16::new(per_minute), ..Rate::default() }
    }

    #[test]
    fn a_burst_follows_at_once_and_then_each_step_waits_its_turn() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        // 60 a minute: one a second, ten at once.
        let mut waits = Vec::new();
        for _ in 0..13 {
            let wait = pace.take(A, rate(60), now, LONG).unwrap();
            waits.push(wait.as_millis());
            now += wait;
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000, 1_000, 1_000]);
        assert_eq!(pace.take("https://b.test", rate(60), now, LONG).unwrap(), Duration::ZERO, "another origin");
        now += Duration::from_secs(60);
        assert_eq!(pace.take(A, rate(60), now, LONG).unwrap(), Duration::ZERO, "a minute later");
        for _ in 0..50 {
            assert_eq!(pace.take(A, Rate::default(), now, LONG).unwrap(), Duration::ZERO, "no limit");
        }
    }

    #[test]
    fn the_rate_of_a_run_holds_over_all_its_origins() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let total = Rate { total_steps_per_minute: NonZeroU16::new(12), ..rate(60) };
        let mut take = |n: u32, left| pace.take(&format!("https://{n}.test"), total, now, left);
        let waits: Vec<_> = (0..4).map(|n| take(n, LONG).unwrap().as_secs()).collect();
        assert_eq!(waits, [0, 0, 5, 10]);
        let failure = take(9, Duration::from_secs(14)).unwrap_err();
        assert_eq!((failure.cause, failure.facts.rule), (Cause::PolicyBlocked, Some(Rule::Rate)));
        assert!(failure.message.contains("12 steps a minute in a run"), "{}", failure.message);
        assert_eq!(take(9, LONG).unwrap().as_secs(), 15, "the refusal took nothing");
    }

    #[test]
    fn a_minute_of_steps_is_no_more_than_the_rate_and_a_burst() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        let mut now = begun;
        let mut count = 0;
        while now - begun < Duration::from_secs(60) {
            now += pace.take(A, rate(30), now, LONG).unwrap();
            count += 1;
        }
        assert!((34..=36).contains(&count), "{count} steps");
    }

    #[test]
    fn a_wait_beyond_the_time_limit_fails_and_takes_nothing() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert_eq!(pace.take(A, rate(6), now, LONG).unwrap(), Duration::ZERO);
        for _ in 0..3 {
            let failure = pace.take(A, rate(6), now, Duration::from_secs(9)).unwrap_err();
            assert_eq!((failure.cause, failure.facts.rule), (Cause::PolicyBlocked, Some(Rule::Rate)));
            assert!(
                failure.message.contains("6 steps a minute on https://a.test") && failure.message.contains("10.0 s")
            );
        }
        assert_eq!(pace.take(A, rate(6), now, Duration::from_secs(10)).unwrap(), Duration::from_secs(10));
    }

    #[test]
    fn an_origin_that_asks_to_wait_is_left_alone_until_then() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let request = |url: &str, wait| RequestFact {
            method: "GET".to_owned(),
            url: url.to_owned(),
            status: Some(429),
            failure: None,
            retry_after_ms: wait,
            duration_ms: None,
        };
        let requests = vec![request("https://a.test/x", Some(5_000)), request("https://b.test/", None)];
        pace.note(Some(&EffectRecord { requests, ..EffectRecord::default() }), now);
        let second = Duration::from_secs(1);
        assert_eq!(pace.take(A, Rate::default(), now + second, LONG).unwrap(), 4 * second);
        assert_eq!(pace.take("https://b.test", Rate::default(), now, LONG).unwrap(), Duration::ZERO);
        let failure = pace.take(A, Rate::default(), now + second, 2 * second).unwrap_err();
        assert_eq!((failure.cause, failure.facts.status), (Cause::HttpError, Some(429)));
        assert_eq!(pace.take(A, Rate::default(), now + 5 * second, second).unwrap(), Duration::ZERO);
    }

    #[test]
    fn the_number_of_origins_is_bounded() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        for index in 0..MAX_ORIGINS + 10 {
            now += Duration::from_millis(1);
            pace.take(&format!("https://{index}.test"), rate(60), now, LONG).unwrap();
        }
        assert!(pace.origins.len() == MAX_ORIGINS && !pace.origins.contains_key("https://0.test"));
    }
}
