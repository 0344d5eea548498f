//! The risk bias: what is dangerous is less likely, and never forbidden by it.
//!
//! ψ of a beginning is the mean of exp(−λ·risk) over the steps that are still possible. A token's bias is the
//! change of ln ψ that it brings, so that over the tokens of a verb and its target the biases add up to what
//! the whole choice weighs, however a tokenizer cuts it.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::risk::RiskClass;

use crate::recognize::{OpenStep, Recognizer};
use crate::spec::GrammarSpec;

/// How much a class of risk weighs, from 0 to 1.
const fn weight(class: RiskClass) -> f64 {
    match class {
        RiskClass::Read | RiskClass::Write => 0.0,
        RiskClass::Credential => 0.3,
        RiskClass::Send => 0.6,
        RiskClass::Money => 0.8,
        RiskClass::Destructive => 1.0,
    }
}

/// ln ψ where a recognizer stands; none outside of steps.
pub(super) fn ln_psi(recognizer: &Recognizer<'_>, spec: &GrammarSpec, lambda: f64) -> Option<f64> {
    let steps = recognizer.open_steps();
    let mut sum = 0.0;
    let mut count = 0.0;
    for OpenStep { verb, targets, .. } in &steps {
        let Some(kind) = ActionKind::ALL.iter().find(|kind| kind.meta().name == *verb) else { continue };
        let value = |id: Option<CandidateId>| (-lambda * weight(spec.risk(*kind, id))).exp();
        if targets.is_empty() {
            sum += value(None);
        } else {
            let of_targets: f64 = targets.iter().map(|target| value(CandidateId::parse(target))).sum();
            // Targets are few hundred: exact as a float.
            sum += of_targets / targets.len() as f64;
        }
        count += 1.0;
    }
    (count > 0.0).then(|| (sum / count).ln())
}

/// Where a decode stands among the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// Which step of the list; none for the last step.
    pub(super) place: Option<u32>,
    /// Whether its verb or its target is being chosen.
    pub(super) is_choosing: bool,
}

/// Where a recognizer stands; none outside of steps.
pub(super) fn standing(recognizer: &Recognizer<'_>) -> Option<Standing> {
    let steps = recognizer.open_steps();
    let place = steps.first()?.place;
    Some(Standing { place, is_choosing: steps.iter().any(|step| step.is_choosing) })
}
