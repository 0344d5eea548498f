//! The specification of a page: everything that may be written about it under one policy.
//!
//! Invariants:
//! - Only unambiguous candidates, in frames where the policy lets a model act, are offered.
//! - Two observations that offer the same candidates have the same specification, with the same hash.
//! - What is left out is counted, never dropped silently.

use std::collections::BTreeMap;

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::risk::{self, RiskClass};

use crate::caps::{Caps, LeftOut};
use crate::ir::Document;
use crate::shapes;

/// A candidate that a step may name.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Id by which a step names it.
    pub id: CandidateId,
    /// The risk of clicking it.
    pub click: RiskClass,
    /// Its role, name and context, for descriptions.
    pub title: String,
}

/// Specification of one page: the grammar of what may be written about it, and what that was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct GrammarSpec {
    document: Document,
    offered: Vec<Offered>,
    left_out: LeftOut,
    caps: Caps,
    hash: String,
    failures: BTreeMap<(ActionKind, Option<CandidateId>), u8>,
}

impl GrammarSpec {
    /// The grammar of a document that offers no candidates.
    pub(crate) fn of(document: Document) -> Self {
        let hash = hash(&document);
        let (caps, left_out) = (Caps::default(), LeftOut::default());
        Self { document, offered: Vec::new(), left_out, caps, hash, failures: BTreeMap::new() }
    }

    /// The grammar of a whole plan.
    #[must_use]
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// The candidates that may be named, in reading order.
    #[must_use]
    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// Returns the counts of what it leaves out.
    #[must_use]
    pub const fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The bounds it was made with.
    #[must_use]
    pub const fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Sixteen hexadecimal digits: the same for the same sentences, for caches of compiled grammars.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// An upper bound of the tokens of a sentence, for any tokenizer that has a token for each byte.
    #[must_use]
    pub fn max_tokens(&self) -> u64 {
        self.document.worst_case()
    }

    /// The risk of `verb` on a candidate. Without a target, the risk that the verb always has.
    #[must_use]
    pub fn risk(&self, verb: ActionKind, target: Option<CandidateId>) -> RiskClass {
        use cuebook_grammar::effect::EffectClass;
        match verb {
            ActionKind::Click | ActionKind::LongPress => target
                .and_then(|id| self.offered.iter().find(|offered| offered.id == id))
                .map_or(RiskClass::Write, |offered| offered.click),
            other => match other.meta().effect {
                EffectClass::ReadOnly => RiskClass::Read,
                EffectClass::Idempotent | EffectClass::Reversible => RiskClass::Write,
                EffectClass::Destructive => RiskClass::Destructive,
            },
        }
    }

    /// Returns the specification with these steps recorded as failed before. They may still be written, and are weighed
    /// down.
    #[must_use]
    pub fn blaming(mut self, failed: impl IntoIterator<Item = (ActionKind, Option<CandidateId>)>) -> Self {
        for step in failed {
            let count = self.failures.entry(step).or_default();
            *count = count.saturating_add(1);
        }
        self
    }

    /// How often `verb` on a candidate has failed.
    #[must_use]
    pub fn failures(&self, verb: ActionKind, target: Option<CandidateId>) -> u8 {
        self.failures.get(&(verb, target)).copied().unwrap_or_default()
    }
}

/// Returns the specification of `observation` under `policy`, within the default bounds.
#[must_use]
pub fn specialise(observation: &Observation, policy: &Policy) -> GrammarSpec {
    specialise_with(observation, policy, &Caps::default())
}

/// As [`specialise`], within the given bounds.
#[must_use]
pub fn specialise_with(observation: &Observation, policy: &Policy, caps: &Caps) -> GrammarSpec {
    let mut left_out = LeftOut::default();
    let mut allowed: BTreeMap<u32, bool> = BTreeMap::new();
    let mut candidates: Vec<(usize, &Candidate)> = Vec::new();
    for (position, candidate) in observation.candidates.iter().enumerate() {
        let may_act =
            *allowed.entry(candidate.frame).or_insert_with(|| policy.acting_on(candidate, observation).is_ok());
        if !may_act {
            left_out.forbidden += 1;
        } else if candidate.ambiguous {
            left_out.ambiguous += 1;
        } else {
            candidates.push((position, candidate));
        }
    }
    // What is at hand comes first when there is not room for all.
    candidates.sort_by_key(|(position, candidate)| {
        (candidate.placement == Placement::OffView, candidate.states.disabled, *position)
    });
    left_out.surplus = candidates.len().saturating_sub(caps.candidates);
    candidates.truncate(caps.candidates);
    candidates.sort_by_key(|(position, _)| *position);
    let candidates: Vec<&Candidate> = candidates.into_iter().map(|(_, candidate)| candidate).collect();

    let ground = shapes::Ground { observation, policy, candidates: &candidates, caps, page: shapes::Page::This };
    let document = shapes::document(&ground, &mut left_out);
    let offered = candidates
        .iter()
        .map(|candidate| Offered { id: candidate.id, click: risk::of_click(candidate), title: candidate.title() })
        .collect();
    let hash = hash(&document);
    GrammarSpec { document, offered, left_out, caps: caps.clone(), hash, failures: BTreeMap::new() }
}

/// Returns the document for a page that has everything: it is equal for every page of a browser under `policy`. Of the
/// observation, only the page size counts.
pub(crate) fn any_page(observation: &Observation, policy: &Policy, caps: &Caps) -> Document {
    let ground = shapes::Ground { observation, policy, candidates: &[], caps, page: shapes::Page::Any };
    shapes::document(&ground, &mut LeftOut::default())
}

fn hash(document: &Document) -> String {
    use sha2::{Digest as _, Sha256};
    let written = super::emit::json_schema::write(document).to_string();
    Sha256::digest(written.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
