//! What the log and the judge promise, on files and under fire.

mod kill;
mod log;
mod sample;
