//! Emitters: one intermediate form, many dialects.
//!
//! Each tells what its dialect could not express ([`Loss`]) and how near it comes to the dialect's limits
//! ([`Usage`]). Provider limits are from their documentation of 2025 and 2026.

mod cfg;
mod ebnf;
mod gbnf;
pub mod json_schema;
mod json_cfg;
mod lark;
mod line_cfg;
mod print;

use crate::decode::ir::Document;

/// Compact JSON in GBNF.
#[must_use]
pub fn gbnf(document: &Document) -> String {
    gbnf::write(&json_cfg::of(document))
}
/// Compact JSON in Lark.
#[must_use]
pub fn lark(document: &Document) -> String {
    lark::write(&json_cfg::of(document))
}
/// Compact JSON in EBNF.
#[must_use]
pub fn ebnf(document: &Document) -> String {
    ebnf::write(&json_cfg::of(document))
}
/// The line form in GBNF.
#[must_use]
pub fn line(document: &Document) -> String {
    gbnf::write(&line_cfg::of(document))
}
/// The line form in Lark.
#[must_use]
pub fn line_lark(document: &Document) -> String {
    lark::write(&line_cfg::of(document))
}
