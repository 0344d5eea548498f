//! Promises of the wire, tested against the real Chrome that is found on the PATH.
//!
//! Each test has its own small browser. Every wait has a deadline; none measures time.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test that calls them")]

mod faults;
mod frames;
mod goto;
mod half_open;
mod lab;
mod life;
mod pages;
mod sharing;
mod worlds;
