//! How long to wait before a retry: one table for every loop that polls a page until a time.

use std::time::Duration;

/// Milliseconds before the second try, the third, and so on; the last value repeats. Most pages are ready within two
/// frames; others are not polled more often than they can handle.
const RESTS: [u64; 4] = [20, 40, 60, 60];

/// How often something was tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tries(usize);

impl Tries {
    /// The time to wait before the next try.
    pub(crate) fn rest(&mut self) -> Duration {
        let last = RESTS.len().saturating_sub(1);
        let rest = RESTS.get(self.0.min(last)).copied().unwrap_or_default();
        self.0 = self.0.saturating_add(1);
        Duration::from_millis(rest)
    }
}
