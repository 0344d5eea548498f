//! Files that Playwright opens and runs.

mod code;
mod spec;
mod trace;

pub(crate) use spec::test;
pub(crate) use trace::trace;
