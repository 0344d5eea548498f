//! Changes between two observations of one tab.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::id::{CandidateId, ObservationId};

use super::Observation;

/// Changes since the previous observation, by candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Delta {
    /// The observation that this one is compared with.
    pub since: ObservationId,
    /// Candidates that are new.
    pub came: Vec<CandidateId>,
    /// Candidates that are gone.
    pub went: Vec<CandidateId>,
    /// Candidates that are the same but look different.
    pub changed: Vec<CandidateId>,
}

impl Observation {
    /// Candidates that came, went, or look different since `former`; a mere change of place does not count.
    #[must_use]
    pub fn changes_since(&self, former: &Self) -> Delta {
        if self.candidates.is_same(&former.candidates) {
            return Delta { since: former.id, ..Delta::default() };
        }
        let old: HashMap<_, _> = former.candidates.iter().map(|c| (c.id, c)).collect();
        let new: HashMap<_, _> = self.candidates.iter().map(|c| (c.id, c)).collect();
        let is_changed = |c: &&Candidate| old.get(&c.id).is_some_and(|before| looks_different(before, c));
        Delta {
            since: former.id,
            came: self.candidates.iter().map(|c| c.id).filter(|id| !old.contains_key(id)).collect(),
            went: former.candidates.iter().map(|c| c.id).filter(|id| !new.contains_key(id)).collect(),
            changed: self.candidates.iter().filter(is_changed).map(|c| c.id).collect(),
        }
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
