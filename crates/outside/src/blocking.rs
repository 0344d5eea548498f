//! Work that blocks a thread, under a deadline.
//!
//! Invariant: what cannot be taken back begins before the deadline or not at all. Who waits and who works agree on
//! that through a [`Gate`], because a thread cannot be cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use cuebook_grammar::Delivery;
use cuebook_grammar::outcome::Cause;

use crate::done::{Done, Failed, refused};

/// How long after the deadline the end of what has begun is awaited.
const GRACE: Duration = Duration::from_millis(500);

/// Open until the deadline; passed by work that is about to act.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<AtomicU8>);

impl Gate {
    const OPEN: u8 = 0;
    const PASSED: u8 = 1;
    const SHUT: u8 = 2;

    /// Called before each thing that cannot be taken back.
    ///
    /// # Errors
    /// If the step was reported as late already: nothing may be done any more.
    pub(crate) fn pass(&self) -> Done<()> {
        match self.0.compare_exchange(Self::OPEN, Self::PASSED, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) | Err(Self::PASSED) => Ok(()),
            Err(_) => Err(Failed::late(Delivery::NotSent)),
        }
    }

    /// Lets nothing pass from here on. Whether nothing has.
    fn shut(&self) -> bool {
        self.0.compare_exchange(Self::OPEN, Self::SHUT, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Runs what blocks, until the deadline; a little longer if it has passed its gate.
pub(crate) async fn blocking(until: Instant, work: impl FnOnce(&Gate) -> Done + Send + 'static) -> Done {
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
    let panicked = |_| refused(Delivery::Unknown, Cause::Unsupported, "the thread that carried this out panicked");
    ended.unwrap_or_else(panicked)
}
