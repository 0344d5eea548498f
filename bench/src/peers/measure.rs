//! Measures of a side for one batch, and batches taken together.
//!
//! A side prints `{"<metric>": {"median", "min", "max", "n"}, …}`, times in milliseconds and memory in MiB.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Program that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Cuebook,
    Playwright,
    AgentBrowser,
}

impl Side {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cuebook => "cuebook",
            Self::Playwright => "playwright-core",
            Self::AgentBrowser => "agent-browser",
        }
    }
}

/// One metric, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) rounds: u64,
}

impl Spread {
    /// The spread of one number a round.
    pub(super) fn of(samples: Vec<f64>) -> Self {
        Self {
            least: samples.iter().copied().fold(f64::INFINITY, f64::min),
            most: samples.iter().copied().fold(0.0, f64::max),
            rounds: u64::try_from(samples.len()).unwrap_or(u64::MAX),
            median: median(samples),
        }
    }

    /// A number that is the same in every round, such as a length.
    #[expect(clippy::cast_precision_loss, reason = "a length is far below 2^52")]
    pub(super) const fn once(number: usize) -> Self {
        let number = number as f64;
        Self { median: number, least: number, most: number, rounds: 1 }
    }
}

/// Metrics of one side by name: times in milliseconds, memory in MiB.
pub(super) type Metrics = BTreeMap<String, Spread>;

/// Reads what a side printed.
///
/// # Errors
/// If it is no object of metrics, or one of them lacks a number.
pub(super) fn read(printed: &str) -> Result<Metrics> {
    let document: Value = serde_json::from_str(printed).context("expected a JSON document")?;
    let metrics = document.as_object().context("expected an object of metrics")?;
    ensure!(!metrics.is_empty(), "there are no metrics");
    metrics
        .iter()
        .map(|(name, spread)| {
            let number = |key: &str| {
                spread[key].as_f64().filter(|n| n.is_finite()).with_context(|| format!("{name} has no number {key}"))
            };
            let rounds = spread["n"].as_u64().with_context(|| format!("{name} has no count n"))?;
            let spread = Spread { median: number("median")?, least: number("min")?, most: number("max")?, rounds };
            Ok((name.clone(), spread))
        })
        .collect()
}

/// Takes the batches of each side together: the median of their medians, the extremes of all rounds.
pub(super) fn merge<S: Copy + Ord>(batches: &[(S, Metrics)]) -> BTreeMap<S, Metrics> {
    let mut grouped: BTreeMap<S, BTreeMap<&str, Vec<Spread>>> = BTreeMap::new();
    for (side, metrics) in batches {
        for (name, spread) in metrics {
            grouped.entry(*side).or_default().entry(name).or_default().push(*spread);
        }
    }
    grouped
        .into_iter()
        .map(|(side, metrics)| {
            let merged = metrics.into_iter().map(|(name, spreads)| (name.to_owned(), together(&spreads))).collect();
            (side, merged)
        })
        .collect()
}

fn together(spreads: &[Spread]) -> Spread {
    Spread {
        median: median(spreads.iter().map(|spread| spread.median).collect()),
        least: spreads.iter().map(|spread| spread.least).fold(f64::INFINITY, f64::min),
        most: spreads.iter().map(|spread| spread.most).fold(0.0, f64::max),
        rounds: spreads.iter().map(|spread| spread.rounds).sum(),
    }
}

/// The middle; of an even number of values the mean of the middle two; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let at = |index: usize| values.get(index).copied().unwrap_or(0.0);
    if values.len() % 2 == 1 { at(middle) } else { f64::midpoint(at(middle.saturating_sub(1)), at(middle)) }
}

#[cfg(test)]
mod tests {
    use super::{Metrics, Side, Spread, merge, read};

    fn one(median: f64) -> Metrics {
        let spread = Spread { median, least: median - 1.0, most: median + 1.0, rounds: 10 };
        Metrics::from([("click".to_owned(), spread)])
    }

    #[test]
    fn batches_of_a_side_are_taken_together_by_their_medians() {
        let batches = [
            (Side::Cuebook, one(30.0)),
            (Side::Playwright, one(50.0)),
            (Side::Cuebook, one(10.0)),
            (Side::Cuebook, one(90.0)),
        ];
        let merged = merge(&batches);
        let expected = Spread { median: 30.0, least: 9.0, most: 91.0, rounds: 30 };
        assert_eq!(merged[&Side::Cuebook]["click"], expected);
        assert_eq!(merged[&Side::Playwright]["click"].rounds, 10);
    }

    #[test]
    fn an_even_number_of_batches_has_a_mean_in_its_middle() {
        let merged = merge(&[(Side::Cuebook, one(10.0)), (Side::Cuebook, one(20.0))]);
        assert!((merged[&Side::Cuebook]["click"].median - 15.0).abs() < f64::EPSILON);
    }

    #[test]
    fn what_is_no_measurement_is_an_error() {
        let good = r#"{"click": {"median": 3.5, "min": 3, "max": 4, "n": 2}}"#;
        assert_eq!(read(good).unwrap()["click"], Spread { median: 3.5, least: 3.0, most: 4.0, rounds: 2 });
        for bad in ["", "[]", "{}", r#"{"click": 3}"#, r#"{"click": {"median": null, "min": 3, "max": 4, "n": 2}}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
