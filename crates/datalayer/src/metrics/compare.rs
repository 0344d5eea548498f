//! Metrics against those of a baseline.

use serde::Serialize;

use super::summary::Summary;

/// A rate that is worse than that of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Regression {
    /// The rate, as the summary names it.
    pub rate: &'static str,
    /// The rate in the baseline, from 0 to 1.
    pub baseline: f64,
    /// The rate at present; absent if nothing was counted.
    pub now: Option<f64>,
}

impl Summary {
    /// The rates that fell by more than `tolerance`, from 0 to 1. What the baseline has not counted is not compared; what it
    /// has and this one has not is a regression, except for recoveries: without failures there are none.
    #[must_use]
    pub fn regressions(&self, baseline: &Self, tolerance: f64) -> Vec<Regression> {
        let needs_no_repair = self.repairs.steps > 0 && self.repairs.needed == 0;
        self.rates()
            .into_iter()
            .zip(baseline.rates())
            .filter(|((rate, _), _)| !(needs_no_repair && *rate == "repairs.recoveryRate"))
            .filter_map(|((rate, now), (_, before))| Some(Regression { rate, baseline: before?, now }))
            .filter(|one| one.now.is_none_or(|now| now < one.baseline - tolerance))
            .collect()
    }
}
