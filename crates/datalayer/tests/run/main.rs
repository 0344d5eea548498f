//! What the log and the judge promise, on files and under fire.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod golden;
mod kill;
mod log;
mod sample;
