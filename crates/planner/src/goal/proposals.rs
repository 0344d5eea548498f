//! The steps that may make a condition hold.

use std::collections::BTreeSet;

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::risk::{self, RiskClass};
use cuebook_grammar::role::Role;
use cuebook_grammar::step::Step;
use serde_json::{Value, json};

use super::learned::Learned;
use super::{Goal, step};

/// The most proposals at once.
const MOST: usize = 8;
/// Shorter words say nothing.
const WORD: usize = 3;

/// A step that may make a condition hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Proposal {
    pub(super) step: Step,
    /// Whose step it is: the operator's where the goal itself says it, else a model's.
    author: Author,
    /// Description of the step, for the memory of the steps that were tried.
    about: String,
}

impl Proposal {
    /// Returns a key that is equal for equal steps on a page in the same state.
    pub(super) fn key(&self, page: &Observation) -> String {
        format!("{} {}", page.fingerprint, self.about)
    }

    /// Returns `true` if the goal itself states the step.
    pub(super) fn is_of_goal(&self) -> bool {
        self.author == Author::Operator
    }

    /// Returns a plan of the step. A step that the goal itself states is checked at once; after a guess the page is
    /// observed first.
    pub(super) fn draft(self, goal: &Goal) -> PlanDraft {
        match self.author {
            Author::Operator => goal.check(vec![self.step]),
            author => PlanDraft::of(author, vec![self.step]),
        }
    }
}

/// Returns the proposals that may make `condition` hold on `page`, best first.
pub(super) fn of(
    goal: &Goal,
    condition: &Condition,
    page: &Observation,
    policy: &Policy,
    learned: &Learned,
) -> Vec<Proposal> {
    let direct = direct(condition).into_iter().map(|step| {
        let about = serde_json::to_string(&step).unwrap_or_default();
        Proposal { step, author: Author::Operator, about }
    });
    let wanted = ConditionTerms::of(goal, condition);
    let mut ranked: Vec<(u32, usize, &Candidate)> = Vec::new();
    for (index, candidate) in page.candidates.iter().enumerate() {
        let may_click = matches!(candidate.role, Role::Button | Role::Link | Role::Tab | Role::MenuItem)
            && !candidate.ambiguous
            && !candidate.states.disabled
            && policy.acting_on(candidate, page).is_ok();
        if !may_click {
            continue;
        }
        let is_known = learned.achieves(candidate, &page.url, condition, &goal.candidates);
        let way = learned.way(candidate, &page.url, &|url| wanted.is_at(url));
        let leads = candidate.destination.as_deref().is_some_and(|url| wanted.is_at(url));
        // What is guessed by its words must be harmless; what was seen to help needs the consent that it always needs.
        let is_harmless = matches!(risk::of_click(candidate), RiskClass::Read | RiskClass::Write);
        let words = if is_harmless { wanted.words_of(candidate) } else { 0 };
        let late = if is_harmless { 0 } else { 500 };
        let rank = late
            + match (is_known, way, leads) {
                (true, ..) => 0,
                (_, _, true) => 1,
                (_, Some(clicks), _) => 2 + u32::try_from(clicks).unwrap_or(u32::MAX - 2),
                _ if words > 0 => 1_000 - u32::try_from(words).unwrap_or(999).min(900),
                _ => continue,
            };
        ranked.push((rank, index, candidate));
    }
    ranked.sort_by_key(|(rank, index, _)| (*rank, *index));
    let clicks = ranked.into_iter().filter_map(|(_, _, candidate)| {
        let step = step(json!({ "type": "click", "targetRef": candidate.id.to_string() }))?;
        let about =
            format!("{} {} {}", candidate.role, candidate.name, candidate.context.as_deref().unwrap_or_default());
        Some(Proposal { step, author: Author::Model, about })
    });
    direct.chain(clicks).take(MOST).collect()
}

/// The step whose own effect the condition is.
fn direct(condition: &Condition) -> Option<Step> {
    let stated = serde_json::to_value(condition).ok()?;
    let target = condition.target().map(TargetRef::as_str);
    let done = match condition {
        Condition::ValueEquals(_) => json!({ "type": "setValue", "targetRef": target, "value": stated.get("value") }),
        Condition::Checked(_) => {
            let is_on = stated.get("checked").and_then(Value::as_bool).unwrap_or(true);
            json!({ "type": if is_on { "check" } else { "uncheck" }, "targetRef": target })
        }
        Condition::SelectedValues(_) => {
            json!({ "type": "select", "targetRef": target, "option": stated.get("values") })
        }
        Condition::Focused(_) => json!({ "type": "focus", "targetRef": target }),
        Condition::InViewport(_) => json!({ "type": "scroll", "targetRef": target }),
        Condition::AllOf(group) => return group.conditions.iter().find_map(direct),
        _ => return None,
    };
    step(done).map(|step| Step { post: vec![condition.clone()], ..step })
}

/// The addresses and words that a condition names.
struct ConditionTerms<'c> {
    condition: &'c Condition,
    words: BTreeSet<String>,
}

impl<'c> ConditionTerms<'c> {
    fn of(goal: &Goal, condition: &'c Condition) -> Self {
        let locators = condition.targets().into_iter().filter_map(|target| goal.candidates.get(target));
        let mut texts: Vec<Value> =
            locators.filter_map(|locator: &Locator| serde_json::to_value(locator).ok()).collect();
        texts.extend(serde_json::to_value(condition));
        let mut words = BTreeSet::new();
        for text in &texts {
            collect(text, &mut words);
        }
        Self { condition, words }
    }

    /// Returns `true` if the condition is about the address, and this one fits.
    fn is_at(&self, url: &str) -> bool {
        let mut is_at = false;
        self.condition.visit(&mut |condition| {
            is_at |= match condition {
                Condition::UrlMatches(by) => by.pattern.is_match(url) == Some(true),
                _ => false,
            };
        });
        is_at
    }

    /// How many of its words a candidate is called by.
    fn words_of(&self, candidate: &Candidate) -> usize {
        words(&candidate.name).filter(|word| self.words.contains(word)).count()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| part.chars().count() >= WORD);
    parts.map(str::to_lowercase)
}

/// The words of all texts in a document, but for those by which it is made.
fn collect(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => into.extend(words(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(members) => {
            let said =
                members.iter().filter(|(name, _)| !matches!(name.as_str(), "kind" | "strategy" | "role" | "target"));
            said.for_each(|(_, value)| collect(value, into));
        }
        _ => {}
    }
}
