//! The typed action grammar: values, their pure semantics, their schemas, policy, and the seam traits.
//!
//! Everything that the layers of Cuebook exchange is defined here. A plan, an observation, a verdict or a step record
//! is a plain value with one JSON form, which can be judged without a browser, a model or a clock.
//!
//! Absent on purpose: I/O, clocks, tokio, the wire to the browser, and any knowledge of browsers.

mod schema;

pub mod wire;

pub mod calendar;
pub mod deadline;
pub mod geometry;
pub mod id;
pub mod role;
pub mod secret;
pub mod shared;
pub mod text_match;
mod undo;
pub mod verdict;

pub mod act;
pub mod action;
pub mod arguments;
pub mod condition;
mod construct;
mod describe;
pub mod effect;
pub mod entry;
pub mod facts;
pub mod filling;
pub mod ledger;
pub mod locator;
pub mod redaction;
pub mod step;

pub mod candidate;
pub mod find;
pub mod observation;

pub mod plan;
pub mod policy;
pub mod profile;
pub mod risk;

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
#[cfg(feature = "arbitrary")]
mod generate;
#[cfg(feature = "arbitrary")]
pub mod sample;

mod handled;
pub mod outcome;
pub mod planner_input;
pub mod planning;
pub mod record;
pub mod render;
pub mod report;
pub mod seam;
pub mod vision;

pub use handled::Delivery;
pub use schema::{Document, schema_of};
