//! Judges a recorded run again: the same conditions, the same facts, the same code, no browser.
//!
//! Invariant: pure. The judge decides nothing itself; [`Judged::judge`] does.

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::outcome::Judged;
use cuebook_grammar::record::{StepRecord, StepResult};
use cuebook_grammar::verdict::Verdict;

use crate::log::Run;

/// What came of judging a run again.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Judgement {
    /// How many conditions were judged.
    pub judged: u64,
    /// Where the second verdict is another one, in the order of the log.
    pub differences: Vec<Difference>,
}

impl Judgement {
    /// Whether every verdict was the same.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Before or after the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// A precondition.
    Pre,
    /// A postcondition.
    Post,
}

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The step's position in order of execution.
    pub step_index: u32,
    /// Its attempt.
    pub attempt: u32,
    /// What does not fit.
    pub what: Mismatch,
}

/// What does not fit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The facts give another verdict than the one recorded.
    Verdict {
        /// Which list it is in.
        side: Side,
        /// Its position there, from 0.
        position: usize,
        /// The condition.
        condition: Box<Condition>,
        /// The verdict in the record.
        recorded: Verdict,
        /// The verdict now.
        judged: Verdict,
    },
    /// A condition held before the action and the record denies it, or the other way round.
    Vacuous {
        /// Its position among the postconditions, from 0.
        position: usize,
        /// The condition.
        condition: Box<Condition>,
        /// Whether it held before, by the record.
        recorded: bool,
    },
    /// The record calls the step ok, and a condition that it stated does not hold.
    Result {
        /// Which list it is in.
        side: Side,
        /// Its position there, from 0.
        position: usize,
        /// The verdict in the record.
        recorded: Verdict,
    },
}

/// Judges every condition of every committed step again. Costs about as much as it did at run time: a few
/// comparisons a sample, a compiled pattern where there is one.
///
/// A list of conditions without facts is judged on no facts, so that only Unknown fits it.
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
