//! The loop.
//!
//! Invariants:
//! - A step sends input only after the log holds its intent; success is reported only after the log holds its
//!   record. The first error of the log ends the run.
//! - Every iteration of the loop spends a budget, so the loop ends.
//! - An interrupted step stays open in the log: nothing is claimed about it.

mod ahead;
mod attempt;
mod challenge;
mod consent;
mod drafts;
mod end;
mod filling;
mod layers;
mod look;
mod mending;
mod open;
mod plans;
mod proof;
mod run;
mod steps;

pub use layers::{Layers, NoPlanner, Seams};
pub use open::OpenRun;
pub use run::Controller;

#[cfg(test)]
mod tests;
