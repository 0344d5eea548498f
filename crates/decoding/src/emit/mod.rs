//! Emitters: one intermediate form, many dialects.
//!
//! Each reports what its dialect could not express ([`Loss`]) and how near it comes to the dialect's limits
//! ([`LimitUse`]). [`emit_within`] makes a grammar smaller in documented steps until it fits.

mod cfg;
mod emission;
mod gbnf;
mod json_cfg;
pub mod json_schema;
mod lark;
mod line_cfg;
mod measure;
mod merge;
mod print;
mod providers;
mod schema_writer;
mod share;
mod within;
mod write;

pub use emission::{Body, Emission, LimitUse, Loss, Target};
pub use within::{Degraded, emit_within};
pub use write::{emit, emit_tool, line_lark};
