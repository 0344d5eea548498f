//! Delta debugging: which parts of something are enough to show what the whole shows.
//!
//! Ever smaller runs of neighbouring parts are left out, as in Zeller's ddmin, of which only the complements are tried:
//! the parts of a failure are seldom neighbours. Whoever asks tries the candidates, so nothing here waits.

use std::collections::BTreeSet;

/// The search. Ask for a [`candidate`](Self::candidate), try it, [`judge`](Self::judge) it, until there is none.
///
/// In the end no single part can be left out any more. That takes at most some n²/2 + 2n candidates for n parts, and some
/// 3·log n if all can be left out but one. None is tried twice.
#[derive(Clone, Debug)]
pub struct Reduction {
    kept: Vec<usize>,
    /// Number of parts that are left out at once; 0 at the end.
    chunk: usize,
    /// The first of them, as a position in `kept`.
    at: usize,
    /// `true` if something was left out since the first part was tried.
    was_reduced: bool,
    /// Candidates that are not enough.
    refused: BTreeSet<Vec<usize>>,
}

impl Reduction {
    /// A search among this many parts, which are known to be enough.
    #[must_use]
    pub fn of(parts: usize) -> Self {
        Self { kept: (0..parts).collect(), chunk: parts, at: 0, was_reduced: false, refused: BTreeSet::new() }
    }

    /// The smallest known parts that are enough, ascending.
    #[must_use]
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Returns the candidate to try next, ascending; `None` at the end.
    #[must_use]
    pub fn candidate(&self) -> Option<Vec<usize>> {
        let is_left_out = |position: usize| (self.at..self.at + self.chunk).contains(&position);
        let rest = self.kept.iter().enumerate().filter(|(position, _)| !is_left_out(*position));
        (self.chunk > 0).then(|| rest.map(|(_, part)| *part).collect())
    }

    /// Records the verdict on the candidate: `true` if it is enough.
    pub fn judge(&mut self, is_enough: bool) {
        let Some(candidate) = self.candidate() else { return };
        if is_enough {
            (self.kept, self.was_reduced) = (candidate, true);
        } else {
            self.refused.insert(candidate);
            self.at += self.chunk;
        }
        self.go_on();
        while self.candidate().is_some_and(|candidate| self.refused.contains(&candidate)) {
            self.at += self.chunk;
            self.go_on();
        }
    }

    /// To smaller runs of parts, after the last one; and through single ones until none of them can be left out.
    fn go_on(&mut self) {
        if self.at >= self.kept.len() {
            self.chunk = match self.chunk {
                1 if !self.was_reduced => 0,
                1 => 1,
                more => more / 2,
            }
            .min(self.kept.len());
            (self.at, self.was_reduced) = (0, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reduced(parts: usize, mut is_enough: impl FnMut(&[usize]) -> bool) -> (Vec<usize>, usize) {
        let mut reduction = Reduction::of(parts);
        let (mut tried, mut known) = (0, BTreeSet::new());
        while let Some(candidate) = reduction.candidate() {
            assert!(known.insert(candidate.clone()), "{candidate:?} is tried once");
            assert!(candidate.len() < reduction.kept().len(), "each candidate is smaller");
            reduction.judge(is_enough(&candidate));
            tried += 1;
        }
        (reduction.kept().to_vec(), tried)
    }

    #[test]
    fn all_can_be_left_out_at_once_or_nothing_at_all() {
        assert_eq!(reduced(0, |_| panic!("there is nothing to try")), (vec![], 0));
        assert_eq!(reduced(64, |_| true), (vec![], 1));
        assert_eq!(reduced(3, |_| false).0, [0, 1, 2]);
        assert!(reduced(1_000, |parts| parts.contains(&613)).1 <= 30);
    }

    proptest! {
        #[test]
        fn what_is_needed_is_what_is_left(parts in 1_usize..80, needed in prop::collection::btree_set(0_usize..80, 0..8)) {
            let needed: BTreeSet<usize> = needed.into_iter().filter(|part| *part < parts).collect();
            let (kept, _) = reduced(parts, |parts| needed.iter().all(|part| parts.contains(part)));
            prop_assert_eq!(kept, needed.into_iter().collect::<Vec<_>>());
        }

        /// Parts may need and hinder one another in any way.
        #[test]
        fn no_part_of_what_is_left_can_be_left_out(parts in 1_usize..24, seed: u64) {
            let is_enough = |kept: &[usize]| {
                let bits: u64 = kept.iter().map(|part| 1 << part).sum();
                kept.len() == parts || (bits ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0
            };
            let (kept, tried) = reduced(parts, is_enough);
            prop_assert!(is_enough(&kept));
            for left_out in &kept {
                let rest: Vec<usize> = kept.iter().copied().filter(|part| part != left_out).collect();
                prop_assert!(!is_enough(&rest), "{:?} without {}", kept, left_out);
            }
            prop_assert!(tried <= parts * parts / 2 + 4 * parts + 2, "{} candidates for {} parts", tried, parts);
        }
    }
}
