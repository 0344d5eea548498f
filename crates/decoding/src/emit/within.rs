//! Makes a grammar smaller in documented steps until it fits its dialect.

use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::Policy;
use serde::Serialize;

use super::emission::{Emission, Target};
use super::write::emit;
use crate::caps::Caps;
use crate::spec::{GrammarSpec, any_page, specialise_with};

/// Reduction that made a grammar fit its dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Degraded {
    /// No reduction: the grammar fits as it is.
    #[default]
    Nothing,
    /// Only this many candidates are offered, the most useful first.
    Candidates(usize),
    /// One step at a time, among this many candidates.
    SingleStep(usize),
    /// It does not fit at all: the schema belongs into the prompt, and `check` decides.
    InPrompt,
}

/// Specialises and writes; over a limit of the dialect it offers fewer candidates, then a single step, and
/// says so.
#[must_use]
pub fn emit_within(
    target: Target,
    observation: &Observation,
    policy: &Policy,
    caps: &Caps,
) -> (GrammarSpec, Emission, Degraded) {
    let attempt = |caps: &Caps| {
        let spec = specialise_with(observation, policy, caps);
        let emission = match target {
            // The same tools on every page, so that a cache of them holds.
            Target::Anthropic => emit(target, &any_page(observation, policy, caps)),
            _ => emit(target, spec.document()),
        };
        (spec, emission)
    };
    let (spec, emission) = attempt(caps);
    if emission.is_within_limits() {
        return (spec, emission, Degraded::Nothing);
    }
    let offered = spec.offered().len();
    let sizes = [100, 60, 40, 20, 10].into_iter().filter(|size| *size < offered);
    let smaller: Vec<(usize, u32)> =
        sizes.map(|size| (size, caps.steps)).chain([(40.min(offered), 1), (10.min(offered), 1)]).collect();
    for (candidates, steps) in smaller {
        let (spec, emission) = attempt(&Caps { candidates, steps, ..caps.clone() });
        if emission.is_within_limits() {
            let degraded = if steps == 1 { Degraded::SingleStep(candidates) } else { Degraded::Candidates(candidates) };
            return (spec, emission, degraded);
        }
    }
    (spec, emission, Degraded::InPrompt)
}
