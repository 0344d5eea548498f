//! Suites of test cases: the file, the recordings beside it, and the results.

mod file;
mod junit;
mod recordings;
mod results;

pub(crate) use file::{Case, Context, Suite};
pub(crate) use junit::junit;
pub(crate) use recordings::Recordings;
pub(crate) use results::{CaseResult, How, Results, Status};
