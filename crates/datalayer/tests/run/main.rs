//! Tests of the promises of the log and the judge, on files and under fire.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod golden;
mod kill;
mod log;
mod sample;
