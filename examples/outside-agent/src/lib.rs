//! The parts of an agent, built from the language `cuebook-grammar` alone.
//!
//! It shows how to implement every seam. The swap tests replace each live layer, one at a time, by one of these parts. The
//! world is a shop of three pages in memory: [`Shop`]. [`FakeModeler`] observes it, [`FakeExecutor`] acts on it, and
//! [`FakePlanner`] knows the way through it. Clones of a part share its state, so a test can inspect it later:
//!
//! ```
//! use outside_agent::{FakeExecutor, FakeLog, FakeModeler, FakePlanner, FakeRepair, FakeSecrets, Shop};
//!
//! let shop = Shop::new();
//! let (modeler, executor) = (FakeModeler::of(&shop), FakeExecutor::on(&shop, FakeSecrets::of_the_shop()));
//! let (planner, repair, log) = (FakePlanner::default(), FakeRepair::default(), FakeLog::default());
//! // Pass them to a controller, then inspect the shop and the log.
//! # let _ = (modeler, executor, planner, repair, log);
//! assert_eq!(shop.orders(), 0);
//! ```
//!
//! Invariants:
//! - No browser, no network, no file, no runtime: futures are ready at once. Only deadlines read the clock.
//! - Verdicts come from `Condition::evaluate` and `Locator::select`, as in every other implementation.

mod acting;
mod deciding;
mod keeping;
mod looking;
mod planning;
mod shop;

pub use acting::{FakeExecutor, FakeHandler};
pub use deciding::{FakeConfirm, FakeRedactor, FakeRepair, FakeSecrets};
pub use keeping::{FakeArtifacts, FakeLog, FakeTape, LogEntry};
pub use looking::FakeModeler;
pub use planning::{FakeMemory, FakePlanner};
pub use shop::{PASSWORD, PASSWORD_REF, Place, Shop, Thing, USER};

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An error of a part: the caller broke a rule of the seam.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FakeError {
    /// The tab is not that of the shop.
    OtherPage {
        /// Id of the tab that was asked for.
        seen: String,
    },
    /// An entry of the log is out of order.
    OutOfOrder {
        /// Entry that may come next, in words.
        expected: &'static str,
    },
}

impl fmt::Display for FakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPage { seen } => write!(f, "expected the shop's tab, saw `{}`", seen.escape_debug()),
            Self::OutOfOrder { expected } => write!(f, "expected {expected}, saw another entry"),
        }
    }
}

impl std::error::Error for FakeError {}

/// State that a part shares with its clones.
#[derive(Debug, Default)]
struct Shared<T>(Arc<Mutex<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
