//! Statistics of proportions from few trials.

use serde::Serialize;

/// The two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A confidence interval of a proportion, at 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end, from 0.
    pub low: f64,
    /// Its upper end, to 1.
    pub high: f64,
}

/// The interval of Wilson's score, which is sound for few trials and for proportions near 0 and 1. All of [0, 1] without
/// trials. Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference" (1927).
///
/// ```
/// let interval = cuebook_eval::wilson(97, 100);
/// assert!((interval.low - 0.9155).abs() < 1e-3 && (interval.high - 0.9897).abs() < 1e-3);
/// ```
#[must_use]
pub fn wilson(successes: u64, trials: u64) -> Interval {
    if trials == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, p) = (float(trials), float(successes.min(trials)) / float(trials));
    let square = Z * Z;
    let centre = p + square / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    Interval { low: ((centre - spread) / scale).max(0.0), high: ((centre + spread) / scale).min(1.0) }
}

/// The probability of a difference at least as large between two agents that are equally good, from the episodes that
/// only one of them solved: the exact two-sided test of `McNemar`. 1 if there are none.
///
/// ```
/// assert!(cuebook_eval::paired(0, 6) < 0.05 && cuebook_eval::paired(3, 4) > 0.9);
/// ```
#[must_use]
pub fn paired(only_first: u64, only_second: u64) -> f64 {
    let (trials, few) = (only_first + only_second, only_first.min(only_second));
    // The binomial distribution of trials with a fair coin, from its logarithms: 2^-1000 is no f64.
    let mut log_term = -float(trials) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=few {
        tail += log_term.exp();
        log_term += (float(trials - k) / float(k + 1)).ln();
    }
    (2.0 * tail).min(1.0)
}

/// The value below which a share of the sorted values lies, by the nearest rank. 0 of none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * float(sorted.len() as u64)).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the slice, or clamped")]
    let index = (rank as usize).saturating_sub(1);
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "counts of episodes are far below 2^52")]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_its_proportion_and_shrinks() {
        for (successes, trials) in [(0, 1), (1, 1), (5, 10), (0, 10), (999, 1_000)] {
            let (few, many) = (wilson(successes, trials), wilson(successes * 100, trials * 100));
            let share = float(successes) / float(trials);
            assert!(few.low <= share && share <= few.high, "{successes} of {trials}: {few:?}");
            assert!(many.high - many.low < few.high - few.low);
        }
        assert!(wilson(0, 10).high > 0.2, "ten failures do not show that nothing is ever solved");
    }

    #[test]
    fn the_paired_test_is_exact() {
        // 2 · (1 + 10) / 2^10
        assert!((paired(1, 9) - 22.0 / 1024.0).abs() < 1e-12);
        assert!((paired(0, 0) - 1.0).abs() < 1e-12 && (paired(5, 5) - 1.0).abs() < 1e-12);
        assert!(paired(0, 5_000) < 1e-300 && paired(2_400, 2_600) < 0.01);
        assert!((paired(2, 7) - paired(7, 2)).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_values() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert!((quantile(&sorted, 0.5) - 50.0).abs() < 1e-9 && (quantile(&sorted, 0.99) - 99.0).abs() < 1e-9);
        assert!((quantile(&[7.0], 0.01) - 7.0).abs() < 1e-9 && quantile(&[], 0.5).abs() < 1e-9);
    }
}
