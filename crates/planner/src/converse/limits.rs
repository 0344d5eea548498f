//! Budgets of tokens and time, per call and for all calls of a planner.

use std::time::Duration;

use cuebook_grammar::deadline::millis;

/// Upper bounds of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tokens of one answer. The computed bound of a plan applies if it is lower.
    pub output_tokens: u32,
    /// Tokens of all calls of the planner, input and output.
    pub run_tokens: u64,
    /// Time for one plan, with retries, waits and the reformulation.
    pub plan_time: Duration,
    /// Time for all plans of the planner.
    pub run_time: Duration,
    /// Time until the first byte. A local server may load its model first.
    pub first_byte: Duration,
    /// Time without a byte within an answer.
    pub stall: Duration,
    /// Drafts of a repair that a model writes, of which the best is taken; at most as many as the request wants, which is 3
    /// in a run. Each costs its tokens.
    pub drafts: usize,
    /// Retries of a request after an error of the server.
    pub retries: u32,
    /// Wait before the first retry if the server states none. It doubles with each retry.
    pub first_wait: Duration,
    /// Upper bound of that wait.
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
            drafts: 1,
            retries: 3,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(20),
        }
    }
}

/// Budget over all calls of a planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Budget {
    /// Counted in tokens; bounded by [`Limits::run_tokens`].
    RunTokens,
    /// Counted in milliseconds; bounded by [`Limits::run_time`].
    RunTime,
}

impl Budget {
    /// The unit and the subject of the budget.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RunTokens => "tokens for planning",
            Self::RunTime => "milliseconds of planning",
        }
    }
}

/// The use so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) tokens: u64,
    pub(super) time: Duration,
    /// `true` if the engine ever answered: one that did is restarting, one that never did does not exist.
    pub(super) has_answered: bool,
}

impl Spent {
    /// The budget that is used up, its use and its upper bound.
    pub(super) fn exhausted(&self, limits: &Limits) -> Option<(Budget, u64, u64)> {
        if self.tokens >= limits.run_tokens {
            return Some((Budget::RunTokens, self.tokens, limits.run_tokens));
        }
        (self.time >= limits.run_time).then(|| (Budget::RunTime, millis(self.time), millis(limits.run_time)))
    }
}

/// The wait before the 0-based `retry` if the server states none.
pub(super) fn back_off(limits: &Limits, retry: u32) -> Duration {
    let factor = 2_u32.saturating_pow(retry.min(16));
    limits.first_wait.saturating_mul(factor).min(limits.longest_wait)
}

/// An estimate for servers that do not count: four bytes per token, as in English and JSON.
pub(super) const fn estimated_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
