//! Token estimates, and which candidates are kept when not all fit.
//!
//! Invariant: the most useful are kept: controls in view, then what else is in view, then what is off view,
//! then what is covered; the order of reading decides among equals.

use crate::candidate::{Candidate, ControlKind, Placement};

/// About how many tokens a model's tokenizer makes of a text. An estimate by classes of characters, without a
/// vocabulary: within a quarter of `o200k_base` on observations (the page modeler's tests hold it there).
/// Costs one pass.
#[must_use]
pub fn estimate_tokens(text: &str) -> usize {
    // In hundredths of a token.
    let mut total = 0_usize;
    let mut class = Class::Space;
    let mut run = 0_usize;
    for c in text.chars() {
        let next = Class::of(c);
        // An upper-case letter after a lower-case one begins a word.
        if next == class || (class == Class::Upper && next == Class::Lower) {
            run += 1;
        } else {
            total += class.cost(run);
            run = 1;
        }
        class = next;
    }
    (total + class.cost(run)).div_ceil(100)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Break,
    Lower,
    Upper,
    Digit,
    Mark,
    Alphabet,
    Ideograph,
    Symbol,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            ' ' => Self::Space,
            '\n' => Self::Break,
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            c if c.is_ascii() => Self::Mark,
            '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
                Self::Ideograph
            }
            c if c.is_alphanumeric() => Self::Alphabet,
            _ => Self::Symbol,
        }
    }

    /// The cost of a run of characters of one class, in hundredths of a token.
    const fn cost(self, run: usize) -> usize {
        match self {
            // A space belongs to the word after it; several make one token.
            Self::Space => {
                if run > 1 {
                    60
                } else {
                    0
                }
            }
            Self::Break => 50 * run,
            Self::Lower | Self::Upper => {
                if run <= 8 {
                    100 + 12 * run.saturating_sub(5)
                } else {
                    run * 18
                }
            }
            Self::Digit => 100 * run.div_ceil(3),
            Self::Mark => 45 + 40 * run,
            Self::Alphabet => 60 + 28 * run,
            Self::Ideograph => 85 * run,
            Self::Symbol => 130 * run,
        }
    }
}

/// The rank of a candidate when not all fit: the lower, the more useful.
pub(super) fn rank(candidate: &Candidate) -> usize {
    let covered = candidate.occlusion.as_ref().is_some_and(|o| o.ratio >= 1.0);
    match (candidate.placement, covered) {
        (Placement::InView, false) if candidate.control != ControlKind::Plain => 0,
        (Placement::InView, false) => 1,
        (Placement::OffView, false) => 2,
        (_, true) => 3,
    }
}

/// Which candidates are kept within `room` tokens, given what each costs.
pub(super) fn kept(candidates: &[Candidate], costs: &[usize], mut room: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|index| candidates.get(*index).map_or(usize::MAX, rank));
    let mut kept = vec![false; candidates.len()];
    for index in order {
        let Some(cost) = costs.get(index).copied() else { continue };
        if cost > room {
            break;
        }
        room -= cost;
        if let Some(slot) = kept.get_mut(index) {
            *slot = true;
        }
    }
    kept
}

/// Returns the text that `write` makes of the largest room that keeps it within `budget` tokens: at first `room` for
/// the candidates, and less where the text beside them (frames, marks, contexts) takes more than was set aside.
pub(super) fn within(budget: usize, mut room: usize, write: impl Fn(usize) -> String) -> String {
    loop {
        let out = write(room);
        if budget == usize::MAX || room == 0 {
            return out;
        }
        let over = estimate_tokens(&out).saturating_sub(budget);
        if over == 0 {
            return out;
        }
        room = room.saturating_sub(over.max(room / 32).max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_grows_with_words_digits_and_scripts() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("Save"), 1);
        assert!(estimate_tokens("Save all") < estimate_tokens("Save all of them"));
        assert_eq!(estimate_tokens("123456"), 2);
        assert!(estimate_tokens("李雷李雷") >= 3);
    }
}
