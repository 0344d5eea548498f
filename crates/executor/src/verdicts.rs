//! From verdicts to an outcome: pure.

use cuebook_grammar::outcome::{Cause, Judged};
use cuebook_grammar::verdict::Verdict;

/// The ruling of a step's judged postconditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// The step succeeded: no condition fails, and no stated one is unknown.
    Done {
        /// No effect of it was observed.
        unseen: bool,
    },
    /// It failed: the cause, and the index of the condition.
    Failed(Cause, usize),
}

/// A stated condition that fails, or a default one, fails the step; a stated one that is unknown leaves
/// its effect unknown; a default one that is unknown passes. Failing outranks not knowing.
pub(crate) fn rule(judged: &[Judged]) -> Ruling {
    let position = |wanted: &dyn Fn(&Judged) -> bool| judged.iter().position(wanted);
    if let Some(index) = position(&|one| one.verdict == Verdict::Fails) {
        return Ruling::Failed(Cause::PostconditionFailed, index);
    }
    if let Some(index) = position(&|one| one.verdict == Verdict::Unknown && !one.default) {
        return Ruling::Failed(Cause::EffectUnknown, index);
    }
    Ruling::Done { unseen: judged.iter().any(|one| one.verdict == Verdict::Unknown) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebook_grammar::condition::{Condition, Nothing};

    fn judged(verdict: Verdict, is_default: bool) -> Judged {
        Judged {
            condition: Condition::AnyEffect(Nothing {}),
            verdict,
            vacuous: false,
            default: is_default,
            latency_ms: None,
        }
    }

    #[test]
    fn verdicts_become_outcomes_as_the_semantics_say() {
        use Verdict::{Fails, Holds, Unknown};
        let cases = [
            (vec![], Ruling::Done { unseen: false }),
            (vec![(Holds, false), (Holds, true)], Ruling::Done { unseen: false }),
            (vec![(Holds, false), (Fails, false)], Ruling::Failed(Cause::PostconditionFailed, 1)),
            (vec![(Unknown, false), (Fails, false)], Ruling::Failed(Cause::PostconditionFailed, 1)),
            (vec![(Unknown, false)], Ruling::Failed(Cause::EffectUnknown, 0)),
            (vec![(Unknown, true)], Ruling::Done { unseen: true }),
            (vec![(Fails, true)], Ruling::Failed(Cause::PostconditionFailed, 0)),
        ];
        for (verdicts, expected) in cases {
            let all: Vec<Judged> = verdicts.iter().map(|(verdict, is_default)| judged(*verdict, *is_default)).collect();
            assert_eq!(rule(&all), expected, "{verdicts:?}");
        }
    }
}
