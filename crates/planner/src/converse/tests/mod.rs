//! The loop, over an engine in memory.

mod beams;
mod cutting;
mod fake;
mod retrying;
mod rules;
