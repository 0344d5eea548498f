//! Decisions about requests, for the caller to join to steps.
//!
//! Invariant: the queue is bounded. A decision that does not fit leaves a gap in the sequence: allowed requests are
//! dropped before denied ones, and the oldest first.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use cuebook_grammar::outcome::DeniedRequest;
use cuebook_grammar::policy::{Opening, Rule};
use cuebook_grammar::seam::{Denials, UnreachedServer};

/// Decisions that are kept until they are taken.
const CAPACITY: usize = 4_096;

/// Decision about a request, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Connected, because this part of the policy opens its origin.
    Allowed(Opening),
    /// Denied by this rule of the policy.
    Denied(Rule),
    /// Denied because there is no policy (yet).
    Closed,
    /// Denied: a name that Chrome contacts by itself, and that the operator did not name.
    BrowserInternal,
    /// Allowed, but the server was not reached.
    Unreachable(Unreached),
}

/// Why a server was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unreached {
    /// The name has no address.
    UnknownHost,
    /// Nothing accepts connections there.
    Refused,
    /// No route leads there.
    NoRoute,
    /// Nothing answered in time.
    TimedOut,
}

impl Unreached {
    /// The error that the browser reports where it connects by itself.
    #[must_use]
    pub const fn net_error(self) -> &'static str {
        match self {
            Self::UnknownHost => "net::ERR_NAME_NOT_RESOLVED",
            Self::Refused => "net::ERR_CONNECTION_REFUSED",
            Self::NoRoute => "net::ERR_ADDRESS_UNREACHABLE",
            Self::TimedOut => "net::ERR_CONNECTION_TIMED_OUT",
        }
    }

    /// Of an error of connecting.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::NoRoute,
        }
    }
}

impl Verdict {
    /// Returns `true` if nothing was sent because it must not be.
    #[must_use]
    pub const fn is_denial(self) -> bool {
        matches!(self, Self::Denied(_) | Self::Closed | Self::BrowserInternal)
    }

    /// The rule as a stable word: that of the policy, or `closed`, `browserInternal`, `unreachable`.
    #[must_use]
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Allowed(opening) => opening.as_str(),
            Self::Denied(rule) => rule.as_str(),
            Self::Closed => "closed",
            Self::BrowserInternal => "browserInternal",
            Self::Unreachable(_) => "unreachable",
        }
    }
}

/// Verdict on one request, with the parts of the request that a report needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The port of the listener, which stands for the run.
    pub listener: u16,
    /// Position among the decisions of this listener, from 0. A gap means that decisions did not fit.
    pub sequence: u64,
    /// When it was made.
    pub time: SystemTime,
    /// The method; `CONNECT` for a tunnel. At most 20 characters.
    pub method: String,
    /// The host in its canonical form, IPv6 in brackets, at most 255 characters; empty if the request names none.
    pub host: String,
    /// The port; 0 if the request names none.
    pub port: u16,
    /// Verdict on the request.
    pub verdict: Verdict,
}

/// The decisions of one listener.
#[derive(Debug, Default)]
pub struct Decisions(Mutex<DecisionQueue>);

#[derive(Debug, Default)]
struct DecisionQueue {
    queue: VecDeque<Decision>,
    sequence: u64,
    dropped: u64,
}

impl Decisions {
    /// Takes what was decided since the last call, oldest first.
    #[must_use]
    pub fn take(&self) -> Vec<Decision> {
        self.lock().queue.drain(..).collect()
    }

    /// How many decisions did not fit, since the listener was opened.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    pub(crate) fn push(&self, listener: u16, method: &str, host: &str, port: u16, verdict: Verdict) {
        let mut kept = self.lock();
        let sequence = kept.sequence;
        kept.sequence += 1;
        if kept.queue.len() >= CAPACITY {
            kept.dropped += 1;
            let allowed = kept.queue.iter().position(|one| !one.verdict.is_denial());
            kept.queue.remove(allowed.unwrap_or(0));
        }
        let method = method.chars().take(20).collect();
        let host = host.chars().take(255).collect();
        kept.queue.push_back(Decision { listener, sequence, time: SystemTime::now(), method, host, port, verdict });
    }

    fn lock(&self) -> MutexGuard<'_, DecisionQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Denials for Decisions {
    fn position(&self) -> u64 {
        self.lock().sequence
    }

    fn since(&self, position: u64) -> Vec<DeniedRequest> {
        let kept = self.lock();
        let since = kept.queue.iter().filter(|one| one.sequence >= position && one.verdict.is_denial());
        since.map(Decision::denied).collect()
    }

    fn unreached(&self, position: u64) -> Vec<UnreachedServer> {
        let kept = self.lock();
        let of = |one: &Decision| match one.verdict {
            Verdict::Unreachable(why) => {
                Some(UnreachedServer { host: one.host.clone(), port: one.port, error: why.net_error() })
            }
            _ => None,
        };
        kept.queue.iter().filter(|one| one.sequence >= position).filter_map(of).collect()
    }
}

impl Decision {
    fn denied(&self) -> DeniedRequest {
        let since = self.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        DeniedRequest {
            listener: self.listener,
            sequence: self.sequence,
            ts_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            method: self.method.clone(),
            host: self.host.clone(),
            port: self.port,
            rule: self.verdict.rule().to_owned(),
            url: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_leaves_a_gap() {
        let decisions = Decisions::default();
        decisions.push(1, "GET", "denied.test", 80, Verdict::Closed);
        for _ in 0..CAPACITY + 2 {
            decisions.push(1, "GET", "a.test", 80, Verdict::Allowed(Opening::Default));
        }
        let kept = decisions.take();
        assert_eq!((kept.len(), decisions.dropped()), (CAPACITY, 3));
        assert_eq!((kept[0].host.as_str(), kept[1].sequence), ("denied.test", 4), "the oldest that was allowed goes");
        decisions.push(1, &"X".repeat(99), &"a".repeat(999), 80, Verdict::Closed);
        let [last] = &decisions.take()[..] else { panic!("expected one decision") };
        assert_eq!((last.sequence, last.method.len(), last.host.len()), (CAPACITY as u64 + 3, 20, 255));
    }

    #[test]
    fn servers_that_were_not_reached_have_the_error_of_the_browser() {
        let decisions = Decisions::default();
        decisions.push(1, "CONNECT", "nobody.test", 443, Verdict::Unreachable(Unreached::UnknownHost));
        let refused = Unreached::of(&io::ErrorKind::ConnectionRefused.into());
        decisions.push(1, "GET", "127.0.0.1", 9, Verdict::Unreachable(refused));
        assert!(decisions.since(0).is_empty(), "these are no denials");
        let seen: Vec<_> = decisions.unreached(0).into_iter().map(|one| (one.host, one.port, one.error)).collect();
        assert_eq!(
            seen,
            [
                ("nobody.test".to_owned(), 443, "net::ERR_NAME_NOT_RESOLVED"),
                ("127.0.0.1".to_owned(), 9, "net::ERR_CONNECTION_REFUSED"),
            ]
        );
        assert_eq!(decisions.unreached(1).len(), 1);
    }

    #[test]
    fn denials_are_read_from_a_position_on() {
        let decisions = Decisions::default();
        decisions.push(1, "GET", "before.test", 80, Verdict::Closed);
        let position = decisions.position();
        decisions.push(1, "GET", "open.test", 80, Verdict::Allowed(Opening::Start));
        decisions.push(1, "CONNECT", "evil.test", 443, Verdict::Denied(Rule::Origin));
        let [denied] = &decisions.since(position)[..] else { panic!("expected one denial") };
        assert_eq!((denied.sequence, denied.host.as_str(), denied.port), (2, "evil.test", 443));
        assert_eq!((denied.method.as_str(), denied.rule.as_str(), &denied.url), ("CONNECT", "origin", &None));
        assert_eq!(decisions.take().len(), 3, "reading them takes nothing");
    }
}
