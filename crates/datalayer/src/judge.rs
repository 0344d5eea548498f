//! Judges a recorded run again: the same conditions, facts and code, without a browser.
//!
//! Invariant: pure. All verdicts are those of [`Judged::judge`].

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::outcome::Judged;
use cuebook_grammar::record::{StepRecord, StepResult};
use cuebook_grammar::verdict::Verdict;

use crate::log::Run;

/// The result of judging a run again.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Judgement {
    /// The number of conditions.
    pub judged: u64,
    /// The differences from the record, in the order of the log.
    pub differences: Vec<Difference>,
}

impl Judgement {
    /// Returns `true` if there are no differences.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Before or after the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// A precondition, judged before the action.
    Pre,
    /// A postcondition, judged after the action.
    Post,
}

/// One difference from the record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// 0-based position of the step in order of execution.
    pub step_index: u32,
    /// 1-based attempt of the step.
    pub attempt: u32,
    /// The kind of difference.
    pub what: Mismatch,
}

/// A kind of difference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The verdict on the recorded facts is not the recorded one.
    Verdict {
        /// The list of the condition.
        side: Side,
        /// 0-based position in the list.
        position: usize,
        /// The condition that was judged again.
        condition: Box<Condition>,
        /// The verdict in the record.
        recorded: Verdict,
        /// The verdict that judging again gives.
        judged: Verdict,
    },
    /// The flag that says if the condition held before the action differs.
    Vacuous {
        /// 0-based position among the postconditions.
        position: usize,
        /// The postcondition whose flag differs.
        condition: Box<Condition>,
        /// `true` if it held before the action, in the record.
        recorded: bool,
    },
    /// The record has the result ok, but a stated condition does not hold.
    Result {
        /// The list of the condition.
        side: Side,
        /// 0-based position in the list.
        position: usize,
        /// The verdict in the record.
        recorded: Verdict,
    },
}

/// Judges every condition of every committed step again. Costs as much as at run time: a few comparisons per sample, and
/// the compilation of patterns.
///
/// Conditions without recorded facts are judged on no facts, so that only [`Verdict::Unknown`] agrees.
#[must_use]
pub fn judge(run: &Run) -> Judgement {
    let mut judgement = Judgement::default();
    for record in &run.steps {
        side(record, Side::Pre, &record.pre_check, record.pre_facts.as_ref(), &mut judgement);
        side(record, Side::Post, &record.post_check, record.post_facts.as_ref(), &mut judgement);
    }
    judgement
}

fn side(record: &StepRecord, side: Side, conditions: &[Judged], facts: Option<&Facts>, judgement: &mut Judgement) {
    let none = Facts::default();
    let facts = facts.unwrap_or(&none);
    for (position, recorded) in conditions.iter().enumerate() {
        judgement.judged += 1;
        let mut differs = |what| {
            judgement.differences.push(Difference { step_index: record.step_index, attempt: record.attempt, what });
        };
        let condition = || Box::new(recorded.condition.clone());
        let judged = recorded.judge(facts);
        if judged != recorded.verdict {
            let recorded = recorded.verdict;
            differs(Mismatch::Verdict { side, position, condition: condition(), recorded, judged });
        }
        if side == Side::Post && recorded.condition.was_vacuous(facts) != recorded.vacuous {
            differs(Mismatch::Vacuous { position, condition: condition(), recorded: recorded.vacuous });
        }
        if record.result == StepResult::Ok && !recorded.default && !recorded.verdict.holds() {
            differs(Mismatch::Result { side, position, recorded: recorded.verdict });
        }
    }
}
