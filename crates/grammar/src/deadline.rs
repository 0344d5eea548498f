//! The point in time after which nothing may happen any more.

use std::time::{Duration, Instant};

/// A deadline is a value: it reads no clock, its caller brings the time.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use cuebook_grammar::deadline::Deadline;
///
/// let now = Instant::now();
/// let deadline = Deadline::after(now, Duration::from_secs(10)).within(now, Duration::from_secs(2));
/// assert_eq!(deadline.remaining(now), Duration::from_secs(2));
/// assert!(deadline.has_passed(now + Duration::from_secs(3)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The point `after` from `now`; a span that the platform cannot represent is cut at one day.
    #[must_use]
    pub fn after(now: Instant, after: Duration) -> Self {
        Self(now.checked_add(after).unwrap_or_else(|| now + Duration::from_secs(86_400)))
    }

    /// A point that a timer uses.
    #[must_use]
    pub const fn at(point: Instant) -> Self {
        Self(point)
    }

    /// Returns the time left at `now`; zero once the deadline has passed.
    #[must_use]
    pub fn remaining(self, now: Instant) -> Duration {
        self.0.saturating_duration_since(now)
    }

    /// Returns `true` if the deadline has passed at `now`.
    #[must_use]
    pub fn has_passed(self, now: Instant) -> bool {
        now >= self.0
    }

    /// The earlier of this deadline and the point `span` from `now`.
    #[must_use]
    pub fn within(self, now: Instant, span: Duration) -> Self {
        self.min(Self::after(now, span))
    }

    /// The point itself, for a timer.
    #[must_use]
    pub const fn instant(self) -> Instant {
        self.0
    }
}

/// A duration as wire integers carry it: whole milliseconds, at most `u64::MAX`.
#[must_use]
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
