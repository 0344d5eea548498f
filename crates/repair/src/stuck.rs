//! Stuck detection: the same action on the same page, again and again, alone or in a cycle.

use std::collections::VecDeque;

use cuebook_grammar::seam::Stuck;

/// Remembers what was done where, for a while.
#[derive(Debug, Default)]
pub struct StuckDetector {
    past: VecDeque<(String, String)>,
}

const WINDOW: usize = 24;
const HINT: usize = 3;
const WARNING: usize = 4;
const STOP: usize = 6;

impl StuckDetector {
    /// Notes an action on a page, both by a fingerprint, and says how often this very pair came up lately.
    ///
    /// Repetition and cycles of any length are one thing here: a pair that keeps coming back.
    pub fn note(&mut self, page: &str, action: &str) -> Stuck {
        let pair = (page.to_owned(), action.to_owned());
        let times = 1 + self.past.iter().filter(|past| **past == pair).count();
        self.past.push_back(pair);
        if self.past.len() > WINDOW {
            self.past.pop_front();
        }
        match times {
            t if t >= STOP => Stuck::Stop,
            t if t >= WARNING => Stuck::Warning,
            t if t >= HINT => Stuck::Hint,
            _ => Stuck::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_two_escalates_to_stop() {
        let mut detector = StuckDetector::default();
        let mut tiers = Vec::new();
        for _ in 0..6 {
            tiers.push(detector.note("page", "click a"));
            detector.note("page", "click b");
        }
        assert_eq!(tiers, [Stuck::No, Stuck::No, Stuck::Hint, Stuck::Warning, Stuck::Warning, Stuck::Stop]);
    }

    #[test]
    fn the_same_action_on_other_pages_is_progress() {
        let mut detector = StuckDetector::default();
        let tiers = (0..10).map(|page| detector.note(&page.to_string(), "click next"));
        assert!(tiers.into_iter().all(|tier| tier == Stuck::No));
    }
}
