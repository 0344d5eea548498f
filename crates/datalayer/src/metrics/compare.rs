//! Metrics against those of a baseline.

use serde::Serialize;

use super::summary::{Measure, Rate, Summary};

/// Counts below which time-outs and latencies are not judged.
const ENOUGH: u64 = 20;
/// Milliseconds below which no latency counts as slower: timers are no finer.
const NOISE_MS: f64 = 10.0;

/// How much worse than the baseline a rate may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// For shares: the difference, from 0 to 1.
    pub share: f64,
    /// For latencies: how many times the one of the baseline.
    pub factor: f64,
}

impl Default for Tolerance {
    /// Two percentage points, and one and a half times.
    fn default() -> Self {
        Self { share: 0.02, factor: 1.5 }
    }
}

/// A rate that is worse than that of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Regression {
    /// The rate, as the summary names it.
    pub rate: &'static str,
    /// Its unit, and which direction is worse.
    pub measure: Measure,
    /// The rate in the baseline: a share from 0 to 1, or milliseconds.
    pub baseline: f64,
    /// The rate at present; absent if nothing was counted.
    pub now: Option<f64>,
}

impl Summary {
    /// The rates that are worse by more than `tolerance`. What the baseline has not counted is not compared; what it
    /// has and this one has not is a regression, except for recoveries: without failures there are none. Time-outs and
    /// latencies are compared if both have counted at least 20, and a latency is worse by at least 10 ms.
    #[must_use]
    pub fn regressions(&self, baseline: &Self, tolerance: Tolerance) -> Vec<Regression> {
        let needs_no_repair = self.repairs.steps > 0 && self.repairs.needed == 0;
        self.rates()
            .into_iter()
            .zip(baseline.rates())
            .filter(|(now, _)| !(needs_no_repair && now.name == "repairs.recoveryRate"))
            .filter(|(now, before)| now.measure == Measure::Successes || now.count.min(before.count) >= ENOUGH)
            .filter_map(|(Rate { name: rate, measure, value: now, .. }, before)| {
                Some(Regression { rate, measure, baseline: before.value?, now })
            })
            .filter(|one| {
                one.now.is_none_or(|now| match one.measure {
                    Measure::Successes => now < one.baseline - tolerance.share,
                    Measure::Failures => now > one.baseline + tolerance.share,
                    Measure::Milliseconds => now > one.baseline * tolerance.factor && now >= one.baseline + NOISE_MS,
                })
            })
            .collect()
    }
}
