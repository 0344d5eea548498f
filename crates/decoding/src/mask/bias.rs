//! The bias of costs: what is dangerous, or failed before, is less likely, and never forbidden by it.
//!
//! ψ of the beginning of a step is the mean of exp(−λ·cost) over the steps that it may still become. The bias of a token
//! is the change of ln ψ that it causes, so the biases of the tokens that spell a verb and its target add up to the same
//! sum however a tokenizer cuts them.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::risk::RiskClass;

use super::line_scan::AnyScan;
use crate::opening::Openings;
use crate::scan::OpenStep;
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

/// Cost of each failure of a step, in addition to [`weight`].
const FAILURE: f64 = 0.5;

/// Weighs tokens by the cost of the steps that they lead to: their risk, and how often the same has failed.
pub(super) struct Bias<'s> {
    pub(super) spec: &'s GrammarSpec,
    pub(super) openings: &'s Openings<'s>,
    /// How much costs weigh; 0 for not at all.
    pub(super) lambda: f64,
}

impl Bias<'_> {
    /// Returns the change of ln ψ that a token causes after `scan`, over the rest of the open step and over the step
    /// that it begins.
    pub(super) fn of(&self, scan: &AnyScan, token: &[u8]) -> f64 {
        let mut scan = scan.clone();
        let mut before = scan.step().map(|step| self.ln_psi(step));
        let mut bias = 0.0;
        for byte in token {
            if let Some(step) = scan.take(*byte) {
                bias += self.ln_psi(&step) - before.take().unwrap_or_else(|| self.ln_psi(&step.unread()));
            }
        }
        if let Some(step) = scan.step() {
            bias += self.ln_psi(step) - before.unwrap_or_else(|| self.ln_psi(&step.unread()));
        }
        bias
    }

    fn ln_psi(&self, step: &OpenStep) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for opening in self.openings.possible(step) {
            let Some(kind) = ActionKind::ALL.iter().find(|kind| kind.meta().name == opening.verb) else { continue };
            let cost = |id: Option<CandidateId>| {
                weight(self.spec.risk(*kind, id)) + FAILURE * f64::from(self.spec.failures(*kind, id))
            };
            let value = |id: Option<CandidateId>| (-self.lambda * cost(id)).exp();
            sum += if opening.targets.is_empty() {
                value(None)
            } else {
                let of_targets: f64 = opening.targets.iter().map(|target| value(CandidateId::parse(target))).sum();
                // Targets are a few hundred: exact as a float.
                of_targets / opening.targets.len() as f64
            };
            count += 1.0;
        }
        if count > 0.0 { (sum / count).ln() } else { 0.0 }
    }
}
