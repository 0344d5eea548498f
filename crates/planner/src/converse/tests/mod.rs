//! The loop, over an engine in memory.

mod cutting;
mod fake;
mod retrying;
mod rules;
