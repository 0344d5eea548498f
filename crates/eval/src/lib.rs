//! Measures any agent on suites of tasks: each episode is a task with a seed, judged by the application and never by the
//! agent's own report.
//!
//! ```no_run
//! use cuebook_eval::{Options, Quiet, Subjects, Suite, run};
//!
//! # async fn measure<S: Subjects>(agents: &S) -> Result<(), Box<dyn std::error::Error>> {
//! let suite = Suite::built_in("site")?;
//! let results = run(agents, &[suite], &Options::default(), &Quiet).await?;
//! println!("{:.1} % solved", 100.0 * results.summary().totals.rate);
//! # Ok(())
//! # }
//! ```
//!
//! Costs what the agents cost; a result is some 500 bytes. The feature `queue` lets several machines share the episodes
//! through an object store.
//!
//! Invariants:
//! - An episode has exactly one result, whatever its agent does: an agent that breaks or hangs fails its episode only.
//! - The agent sees the instruction and the page. What judges it is asked before it begins and after it ended.
//! - A success that the oracle denies is counted as silently wrong, and never as a failure that was reported.

mod calibration;
mod compare;
mod episode;
mod error;
mod goal;
mod ledger;
mod markdown;
mod miniwob;
mod oracle;
mod paths;
mod plot;
mod process;
#[cfg(feature = "queue")]
mod queue;
mod runner;
mod stage;
mod statistics;
mod subject;
mod suite;
mod summary;

pub use calibration::{Calibration, ConfidenceBin, Threshold};
pub use compare::{Change, Comparison};
pub use episode::{Episode, EpisodeKey, EpisodeResult, Outcome, StatedStep};
pub use error::{BoxError, EvalError};
pub use oracle::{Oracle, Script};
#[cfg(feature = "queue")]
pub use queue::Queue;
pub use runner::{Options, Progress, Quiet, run};
pub use statistics::{Interval, paired, wilson};
pub use subject::{Assignment, Subject, Subjects};
pub use suite::{Server, Suite, Task};
pub use summary::{EvalResults, Summary, TaskSummary, Totals};
