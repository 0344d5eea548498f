//! Work that blocks a thread, under a deadline.
//!
//! Invariant: what cannot be undone starts before the deadline or not at all. A thread cannot be cancelled, so the
//! waiting task and the working thread agree through a [`Gate`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use cuebook_grammar::Delivery;
use cuebook_grammar::outcome::Cause;

use crate::done::{ActionResult, Failed, refused};

/// How long work that has passed its gate may outlast the deadline.
const GRACE: Duration = Duration::from_millis(500);

/// Open until the deadline. Work passes it before it acts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<AtomicU8>);

impl Gate {
    const OPEN: u8 = 0;
    const PASSED: u8 = 1;
    const SHUT: u8 = 2;

    /// Must be called before anything that cannot be undone.
    ///
    /// # Errors
    /// The step was already reported as late: the work must not act.
    pub(crate) fn pass(&self) -> ActionResult<()> {
        match self.0.compare_exchange(Self::OPEN, Self::PASSED, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) | Err(Self::PASSED) => Ok(()),
            Err(_) => Err(Failed::late(Delivery::NotSent)),
        }
    }

    /// Closes the gate. Returns whether nothing has passed it.
    fn shut(&self) -> bool {
        self.0.compare_exchange(Self::OPEN, Self::SHUT, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Runs `work` on a blocking thread until the deadline, or [`GRACE`] longer if it has passed its gate.
pub(crate) async fn blocking(
    until: Instant,
    work: impl FnOnce(&Gate) -> ActionResult + Send + 'static,
) -> ActionResult {
    let gate = Gate::default();
    let held = gate.clone();
    let mut working = tokio::task::spawn_blocking(move || work(&held));
    let ended = match tokio::time::timeout_at(until.into(), &mut working).await {
        Ok(ended) => ended,
        Err(_) if gate.shut() => return Err(Failed::late(Delivery::NotSent)),
        Err(_) => match tokio::time::timeout(GRACE, working).await {
            Ok(ended) => ended,
            Err(_) => return Err(Failed::late(Delivery::Unknown)),
        },
    };
    let panicked = |_| refused(Delivery::Unknown, Cause::Unsupported, "the thread of this action panicked");
    ended.unwrap_or_else(panicked)
}
