//! Samples by metric, and their summary.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// One metric over all rounds, in its own unit.
#[derive(Serialize)]
pub(super) struct Spread {
    median: f64,
    min: f64,
    max: f64,
    n: usize,
}

/// Samples of the measured rounds by name of the metric, each in the metric's own unit.
#[derive(Default)]
pub(super) struct Samples(BTreeMap<&'static str, Vec<f64>>);

impl Samples {
    /// Adds a time, in milliseconds. Round 0 warms up and does not count.
    pub(super) fn time(&mut self, metric: &'static str, round: u32, took: Duration) {
        if round > 0 {
            self.put(metric, took.as_secs_f64() * 1_000.0);
        }
    }

    /// Adds a sample in the unit of its metric. Unlike `time`, it counts every round.
    pub(super) fn put(&mut self, metric: &'static str, number: f64) {
        self.0.entry(metric).or_default().push(number);
    }

    /// The summary of every metric.
    pub(super) fn spreads(self) -> BTreeMap<&'static str, Spread> {
        self.0.into_iter().map(|(metric, samples)| (metric, spread(samples))).collect()
    }
}

fn spread(mut samples: Vec<f64>) -> Spread {
    samples.sort_by(f64::total_cmp);
    Spread {
        median: samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN),
        min: samples.first().copied().unwrap_or(f64::NAN),
        max: samples.last().copied().unwrap_or(f64::NAN),
        n: samples.len(),
    }
}

/// Peak memory of this process in MiB. `None` if the system does not report it.
#[cfg(target_os = "linux")]
pub(super) fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

#[cfg(not(target_os = "linux"))]
pub(super) const fn peak_memory() -> Option<f64> {
    None
}
