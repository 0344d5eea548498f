//! Goals stated as conditions: what is to hold in the end, in place of a task in words.
//!
//! [`GoalPlanner`] works without a model. It states every condition on the live page, and for the first that does not hold
//! it searches a step: the one that a condition is the effect of, such as `setValue` of a value; then what
//! [`Learned`] says that a control did before; then, of the controls in view, links to a matching address and those
//! that are called as the condition says. What did not help on a page is not tried there again.
//!
//! Invariants:
//! - The same page, history and knowledge get the same plan. It ends: each page and step is tried once, [`MAX_TRIES`] in all.
//! - The goal is the operator's: its targets are declared. What the search finds on the page is a model's, and needs the
//!   consent that a model's step needs; what is risky is never tried on a guess.
//! - The run ends well only after every condition has been asserted on the page.

mod learned;
mod proposals;
mod ranked;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use cuebook_grammar::condition::Condition;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::{self, ReadError, ShortText};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use learned::Learned;
pub use ranked::Ranked;

use proposals::Proposal;

/// Upper bound of the steps that are tried.
pub const MAX_TRIES: usize = 30;

/// Upper bound of the conditions of a goal.
const MAX_CONDITIONS: usize = 20;

/// Conditions that are to hold in the end. As JSON: `{"goal": [{"kind": "urlMatches", "pattern": "/cart$"}]}`, with
/// `candidates` as in a plan for the targets that conditions name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The conditions, all of which are to hold at the same time.
    #[serde(rename = "goal")]
    pub conditions: Vec<Condition>,
    /// The targets of the conditions.
    #[serde(default)]
    pub candidates: BTreeMap<TargetRef, Locator>,
}

impl Goal {
    /// Reads a goal.
    ///
    /// ```
    /// use cuebook_planner::goal::Goal;
    ///
    /// let goal = Goal::read(r#"{ "goal": [{ "kind": "urlMatches", "pattern": "/cart$" }] }"#)?;
    /// assert_eq!(goal.in_words(), r#"the URL to match "/cart$""#);
    /// # Ok::<(), cuebook_grammar::wire::ReadError>(())
    /// ```
    ///
    /// # Errors
    /// [`ReadError`] with the place of what does not fit: no JSON, an unknown member, no condition or more than twenty, a
    /// target that is not declared.
    pub fn read(json: &str) -> Result<Self, ReadError> {
        let goal: Self = wire::read(wire::parse(json)?)?;
        let count = goal.conditions.len();
        if count == 0 || count > MAX_CONDITIONS {
            let message = format!("a goal has 1 to {MAX_CONDITIONS} conditions, not {count}");
            return Err(ReadError::new(message).under("goal"));
        }
        for (index, condition) in goal.conditions.iter().enumerate() {
            condition.validate().map_err(|error| ReadError::new(error.to_string()).under(index).under("goal"))?;
            let mut is_of_step = false;
            condition.visit(&mut |condition| is_of_step |= is_of_a_step(condition));
            if is_of_step {
                let message = "the condition is about what a step does, not about a page";
                return Err(ReadError::new(message.to_owned()).under(index).under("goal"));
            }
            if let Some(target) = condition.targets().into_iter().find(|target| !goal.candidates.contains_key(*target))
            {
                let message = format!("{target} is not among the `candidates`");
                return Err(ReadError::new(message).under(index).under("goal"));
            }
        }
        Ok(goal)
    }

    /// Returns the conditions in words: the task of the run, for its log.
    #[must_use]
    pub fn in_words(&self) -> String {
        self.conditions.iter().map(|condition| self.words_of(condition)).collect::<Vec<_>>().join(", and ")
    }

    fn words_of(&self, condition: &Condition) -> String {
        condition.in_words_naming(&|target| {
            self.candidates.get(target).map_or_else(|| target.to_string(), Locator::to_string)
        })
    }

    /// The plan that states every condition, and ends the run if all hold.
    fn check(&self, before: Vec<Step>) -> PlanDraft {
        let assert = |condition: &Condition| step(json!({ "type": "assert", "condition": condition }));
        let asserts = self.conditions.iter().filter_map(assert);
        let steps = before.into_iter().chain(asserts).chain(step(json!({ "type": "finish" }))).collect();
        PlanDraft { candidates: self.candidates.clone(), ..PlanDraft::of(Author::Operator, steps) }
    }
}

/// Returns `true` if a condition is about events since a step began.
const fn is_of_a_step(condition: &Condition) -> bool {
    use Condition as C;
    matches!(
        condition,
        C::UrlChanges(_)
            | C::NewTab(_)
            | C::RequestObserved(_)
            | C::DialogOpened(_)
            | C::DownloadStarted(_)
            | C::DownloadCompleted(_)
            | C::Appears(_)
            | C::Disappears(_)
            | C::Changed(_)
            | C::AnyEffect(_)
    )
}

/// A step from its JSON; `None` if it is none of the language, such as one with a secret.
fn step(json: serde_json::Value) -> Option<Step> {
    wire::read(json).ok()
}

/// Plans for a goal.
#[derive(Clone, Debug)]
pub struct GoalPlanner {
    goal: Goal,
    learned: Learned,
}

/// Proposals that were tried, and the pages on which they were.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    tried: BTreeSet<String>,
    /// The number of steps in the last plan that come before the conditions; `None` if it states none.
    before: Option<usize>,
    /// The condition that the last plan is about.
    aim: usize,
}

impl Memory {
    /// The condition that did not hold when it was stated last, or that a step was for which failed, or of which nothing was
    /// seen.
    fn failed(&self, request: &PlanRequest<'_>) -> Option<usize> {
        let is_guess = self.before.is_none();
        let last = request.history.last().filter(|last| last.failure.is_some() || (is_guess && last.no_effect))?;
        let at = usize::try_from(last.planned?.step).ok()?;
        Some(self.before.and_then(|before| at.checked_sub(before)).unwrap_or(self.aim))
    }
}

impl GoalPlanner {
    /// A planner for this goal.
    #[must_use]
    pub fn new(goal: Goal) -> Self {
        Self { goal, learned: Learned::default() }
    }

    /// Returns the planner with the effects of controls in earlier runs.
    #[must_use]
    pub fn knowing(self, learned: Learned) -> Self {
        Self { learned, ..self }
    }

    /// Returns the steps that may be done next, best first, without those tried on this page; and all that were tried.
    fn next(&self, request: &PlanRequest<'_>) -> Next {
        let memory: Memory = request.state.and_then(|state| Memory::deserialize(state).ok()).unwrap_or_default();
        let failed = memory.failed(request).and_then(|aim| Some((aim, self.goal.conditions.get(aim)?)));
        let Some((aim, condition)) = failed else { return Next::Check(memory) };
        let page = request.observation;
        let mut proposals = proposals::of(&self.goal, condition, page, request.policy, &self.learned);
        proposals.retain(|proposal| !memory.tried.contains(&proposal.key(page)));
        let tried = memory.tried.len();
        if proposals.is_empty() || tried >= MAX_TRIES {
            return Next::Fail(format!(
                "expected {}, which does not hold, and nothing more is known that may change it ({tried} steps were tried)",
                self.goal.words_of(condition)
            ));
        }
        Next::Try(Memory { aim, ..memory }, proposals)
    }

    fn reply(&self, request: &PlanRequest<'_>, next: Next, choice: usize) -> PlanReply {
        let (draft, memory) = match next {
            Next::Check(memory) => (self.goal.check(Vec::new()), Memory { before: Some(0), ..memory }),
            Next::Fail(why) => {
                let fail = step(json!({ "type": "fail", "reason": ShortText::cut(&why) }));
                (PlanDraft::of(Author::Operator, fail.into_iter().collect()), Memory::default())
            }
            Next::Try(mut memory, mut proposals) => {
                let chosen = proposals.swap_remove(choice.min(proposals.len() - 1));
                memory.tried.insert(chosen.key(request.observation));
                memory.before = chosen.is_of_goal().then_some(1);
                (chosen.draft(&self.goal), memory)
            }
        };
        PlanReply { state: serde_json::to_value(memory).ok(), ..PlanReply::of(draft) }
    }
}

enum Next {
    /// State the conditions, to see which of them hold.
    Check(Memory),
    /// Try one of these: at least one.
    Try(Memory, Vec<Proposal>),
    /// Give up for this reason: nothing is left to try.
    Fail(String),
}

impl Planner for GoalPlanner {
    type Error = Infallible;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        _: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, Infallible> {
        Ok(self.reply(request, self.next(request), 0))
    }
}
