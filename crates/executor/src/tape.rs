//! The tape that a step is recorded on: lines of JSON with their moments. What they say is in `trace.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Takes the lines of a trace: JSON, one object each.
#[derive(Clone)]
pub struct TraceSink(Arc<dyn Fn(String) + Send + Sync>);

/// Writes the trace of one step, each line with its time since the step began.
#[derive(Debug)]
pub(crate) struct Tape {
    began: Instant,
    sink: TraceSink,
}

/// One line, and its moment after the beginning of the step.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry<L> {
    pub(crate) at: Duration,
    pub(crate) line: L,
}

impl TraceSink {
    /// Has each line handed over.
    pub fn new(take: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

impl fmt::Debug for TraceSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSink").finish_non_exhaustive()
    }
}

impl Tape {
    pub(crate) const fn new(sink: TraceSink, began: Instant) -> Self {
        Self { began, sink }
    }

    pub(crate) fn write(&self, line: impl Serialize, at: Instant) {
        if let Ok(text) = serde_json::to_string(&Entry { at: self.after(at), line }) {
            (self.sink.0)(text);
        }
    }

    /// How long after the beginning of the step a moment is.
    pub(crate) fn after(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.began)
    }
}
