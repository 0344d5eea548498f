//! Promises of the executor, tested against real Chrome and the smallest pages that show them.
//!
//! Each test has its own small browser. Every wait has a deadline; none measures time.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test that calls them")]

mod lab;

mod actionability;
mod choosing;
mod clicking;
mod clobbering;
mod conditions;
mod deadlines;
mod dialogs;
mod dialogs_and_tabs;
mod downloads;
mod dragging;
mod effects;
mod entering;
mod evaluating;
mod extracting;
mod frames;
mod guards;
mod keeping;
mod navigation;
mod pointing;
mod races;
mod reading;
mod searching;
mod secrets;
mod selecting;
mod stages;
mod tabs;
mod targets;
mod traffic;
mod uploads;
mod watching;
