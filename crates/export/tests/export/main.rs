//! Exports of runs that are written here, as other software reads them.

#![expect(clippy::unwrap_used, reason = "helpers of tests, too")]

mod formats;
mod hostile;
#[cfg(feature = "remote")]
mod remote;
mod sample;
mod spans;
mod tables;
mod vectors;
