//! The controller: one budgeted loop of sense, plan, check, act and verify over the seams, and the ladder of
//! deterministic repairs.
//!
//! The controller owns the run: the current tab, the observation that plans are bound to, the budgets and the
//! log. It knows every layer by its seam only. What it inserts to repair a step is itself a plan: it passes the
//! same check, the same policy, the same executor and the same log.
//!
//! Absent on purpose: selectors, prompts, the wire, and any second way to act.

mod again;
pub mod budget;
mod calls;
mod change;
pub mod controller;
mod goal;

pub mod ladder;
mod lineage;
mod pace;
mod read_texts;
pub mod recall;
mod recording;
pub mod request;
mod rungs;
mod state;
pub mod stuck;
mod task_words;

pub use budget::Budgets;
pub use controller::{Controller, Layers, NoPlanner, OpenRun, Seams};
pub use ladder::Ladder;
pub use recall::Recall;
pub use recording::{now_ms, record_of};
pub use request::{Interrupt, Listener, RunEvent, RunRequest, Sight, Work};
pub use rungs::{Rung, Rungs, UnknownRung};
