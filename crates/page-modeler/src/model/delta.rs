//! Changes between two observations of one tab.

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::observation::{Delta, Observation};
use std::collections::HashMap;

/// Candidates that came, went, or look different; a mere change of place does not count.
#[must_use]
pub fn delta(before: &Observation, now: &[Candidate]) -> Delta {
    let old: HashMap<_, _> = before.candidates.iter().map(|c| (c.id, c)).collect();
    let new: HashMap<_, _> = now.iter().map(|c| (c.id, c)).collect();
    Delta {
        since: before.id,
        came: now.iter().map(|c| c.id).filter(|id| !old.contains_key(id)).collect(),
        went: before.candidates.iter().map(|c| c.id).filter(|id| !new.contains_key(id)).collect(),
        changed: now
            .iter()
            .filter(|c| old.get(&c.id).is_some_and(|before| looks_different(before, c)))
            .map(|c| c.id)
            .collect(),
    }
}

fn looks_different(a: &Candidate, b: &Candidate) -> bool {
    let covered = |c: &Candidate| c.occlusion.as_ref().map(|o| o.by.clone());
    // The same words from another source are no difference.
    a.name_source == b.name_source && (a.role, &a.name) != (b.role, &b.name)
        || a.states != b.states
        || a.value != b.value
        || a.options != b.options
        || a.description != b.description
        || a.destination != b.destination
        || a.context != b.context
        || covered(a) != covered(b)
}
