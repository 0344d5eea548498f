//! The engine's tests: sentences by kind, each on a small page of its own, and the loop over them.

pub(crate) mod fixture;

mod choosing;
mod clicking;
mod looping;
mod properties;
mod reading;
mod shopping;
mod typing;
mod wild;
