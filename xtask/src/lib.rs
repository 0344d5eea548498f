//! Code that chores and measurements share: running other programs, finding Chrome, the built-in site as a child
//! process.

#![expect(clippy::print_stdout, reason = "a chore reports to the terminal that started it")]

pub mod chrome;
pub mod commands;
pub mod site;
