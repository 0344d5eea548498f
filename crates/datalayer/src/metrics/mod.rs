//! Metrics of runs: how valid plans are, how often preconditions hold at the first try, how repairs go, how long
//! postconditions take, and what a success costs.
//!
//! Invariant: pure. A [`Collector`] takes the entries of one log after another, and holds no entry: its memory is bounded,
//! however many runs it takes.

mod collect;
mod compare;
mod prometheus;
mod summary;

pub use collect::Collector;
pub use compare::Regression;
pub use summary::{
    Cost, FailedRun, FailedStep, Mixed, ModelUse, Plans, Postconditions, Preconditions, Quantiles, Repairs, RunLine,
    Runs, Slow, Summary, Verb,
};
