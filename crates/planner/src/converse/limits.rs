//! Budgets of tokens and time, for one call and for all calls of a planner.

use std::time::Duration;

use cuebook_grammar::deadline::millis;

/// What calls may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most tokens of one answer. A plan's computed bound applies where it is lower.
    pub output_tokens: u32,
    /// The most tokens, read and written, of all calls of the planner.
    pub run_tokens: u64,
    /// The most time for one plan: retries, waits and the reformulation included.
    pub plan_time: Duration,
    /// The most time for all plans of the planner.
    pub run_time: Duration,
    /// How long a server may take until its first byte: a local one may load its model first.
    pub first_byte: Duration,
    /// How long a server may say nothing in the midst of an answer.
    pub stall: Duration,
    /// How often a request is sent again after a fault of the server.
    pub retries: u32,
    /// The wait before the first retry, where the server names none; doubled for each further one.
    pub first_wait: Duration,
    /// The longest wait of one's own choosing.
    pub longest_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_tokens: 4_096,
            run_tokens: 2_000_000,
            plan_time: Duration::from_secs(120),
            run_time: Duration::from_secs(1_800),
            first_byte: Duration::from_secs(90),
            stall: Duration::from_secs(30),
            retries: 3,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(20),
        }
    }
}

/// Which budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// [`Limits::run_tokens`].
    RunTokens,
    /// [`Limits::run_time`], in milliseconds.
    RunTime,
}

impl Budget {
    /// The budget in words, with its unit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RunTokens => "tokens for planning",
            Self::RunTime => "milliseconds of planning",
        }
    }
}

/// What was used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) tokens: u64,
    pub(super) time: Duration,
    /// Whether the engine ever answered: one that did and is gone is restarting, one that never did is not there.
    pub(super) has_answered: bool,
}

impl Spent {
    /// The budget that is used up, what was used of it, and what it was.
    pub(super) fn exhausted(&self, limits: &Limits) -> Option<(Budget, u64, u64)> {
        if self.tokens >= limits.run_tokens {
            return Some((Budget::RunTokens, self.tokens, limits.run_tokens));
        }
        (self.time >= limits.run_time).then(|| (Budget::RunTime, millis(self.time), millis(limits.run_time)))
    }
}

/// The wait before retry number `retry`, from 0, where the server names none.
pub(super) fn back_off(limits: &Limits, retry: u32) -> Duration {
    let factor = 2_u32.saturating_pow(retry.min(16));
    limits.first_wait.saturating_mul(factor).min(limits.longest_wait)
}

/// Tokens of a text, where the server does not count: four bytes each, as English and JSON have it.
pub(super) const fn estimated_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
