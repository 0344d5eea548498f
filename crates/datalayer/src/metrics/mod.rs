//! Metrics of runs: how valid plans are, how often preconditions hold at the first try, how repairs go, how long
//! postconditions take, and what a success costs.
//!
//! Invariant: pure. A [`Collector`] takes the entries of one log after another, and holds no entry: its memory is bounded,
//! however many runs it takes.

mod alerts;
mod collect;
mod compare;
mod group;
mod prometheus;
mod summary;

pub use alerts::{Alert, AlertState, BadRules, BadState, Limit, Pending, Rules, RunFacts};
pub use collect::Collector;
pub use compare::{Regression, Tolerance};
pub use group::By;
pub use prometheus::to_prometheus;
pub use summary::{
    Cost, FailedRun, FailedStep, Measure, Mixed, ModelUse, Plans, Postconditions, Preconditions, Quantiles, Rate,
    Repairs, RunLine, Runs, Slow, Steps, Summary, Verb,
};
