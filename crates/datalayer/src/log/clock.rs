//! When the steps of a run began, for what is recorded beside its log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Steps that are remembered: a response may come long after the step that asked for it.
const STEPS: usize = 1_000;

/// When the steps of a run began. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct StepClock(Arc<Mutex<VecDeque<(u64, u32)>>>);

impl StepClock {
    pub(crate) fn begun(&self, ts_ms: u64, step_index: u32) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() == STEPS {
            steps.pop_front();
        }
        steps.push_back((ts_ms, step_index));
    }

    /// Index of the step that had begun last at a time in milliseconds since 1970; `None` before the first.
    #[must_use]
    pub fn step_at(&self, ts_ms: u64) -> Option<u32> {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.iter().rfind(|(began, _)| *began <= ts_ms).map(|(_, index)| *index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_belongs_to_the_step_that_began_last() {
        let clock = StepClock::default();
        assert_eq!(clock.step_at(5), None);
        for index in 0..1_200_u32 {
            clock.begun(u64::from(index) * 10 + 10, index);
        }
        assert_eq!(clock.step_at(11_995), Some(1_198));
        assert_eq!(clock.step_at(u64::MAX), Some(1_199));
        assert_eq!((clock.step_at(2_015), clock.step_at(15)), (Some(200), None), "the oldest are forgotten");
    }
}
