//! The goal of a run: conditions that its plans say will hold when the task is done.
//!
//! Invariants:
//! - The first plan that states a goal sets it. Later plans only add to it, unless they say why theirs replaces it.
//! - A target is kept as it was observed when the goal was stated: by its id as long as that lives, then by its locator.
//!   A page that shows something else under the same words does not get the id.
//! - A condition that held on the page on which it was stated proves nothing.

use std::collections::BTreeMap;

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::{EventFacts, Facts, Sample, TargetFacts};
use cuebook_grammar::id::{CandidateId, TargetRef};
use cuebook_grammar::locator::Locator;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{EffectRecord, Judged, Late};
use cuebook_grammar::plan::Plan;
use cuebook_grammar::verdict::Verdict;
use cuebook_grammar::wire::ShortText;

use crate::again::{facts_of, is_told};

/// Upper bound of the conditions that a run keeps: what later plans add beyond it is not taken.
pub(crate) const MOST: usize = 40;
/// Upper bound of each kind of event that a run keeps for its goal.
const EVENTS: usize = 500;

/// Element that conditions of the goal name.
#[derive(Clone, Debug, PartialEq)]
struct GoalTarget {
    /// Its id when the goal was stated; `None` for a declared locator.
    id: Option<CandidateId>,
    locator: Option<Locator>,
}

/// A condition of the goal. Its targets have names of their own.
#[derive(Clone, Debug, PartialEq)]
struct GoalCondition {
    condition: Condition,
    /// It held when it was stated.
    is_vacuous: bool,
}

/// The goal of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptGoal {
    conditions: Vec<GoalCondition>,
    targets: BTreeMap<TargetRef, GoalTarget>,
    /// The page on which the goal was stated.
    before: Option<Sample>,
    /// Why it replaced an earlier one.
    reason: Option<ShortText>,
}

/// The goal as conditions that an executor can be asked about.
pub(crate) struct Questions {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) candidates: BTreeMap<TargetRef, Locator>,
    /// The names that targets have in the questions, by their names in the goal.
    names: BTreeMap<TargetRef, TargetRef>,
}

/// The goal at the end of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct JudgedGoal {
    pub(crate) judged: Vec<Judged>,
    pub(crate) facts: Option<Facts>,
    pub(crate) unproven: Option<String>,
}

impl KeptGoal {
    /// Takes what a plan states that was checked on `page`; returns `false` if it states more than is kept.
    pub(crate) fn take(&mut self, plan: &Plan, page: &Observation) -> bool {
        if plan.goal().is_empty() {
            return true;
        }
        // A grammar may require an empty one.
        if let Some(reason) = plan.goal_reason().filter(|reason| !reason.trim().is_empty()) {
            // The run began where it did.
            let before = self.before.take().map(|before| Sample { targets: BTreeMap::new(), ..before });
            *self = Self { before, reason: Some(reason.clone()), ..Self::default() };
        }
        let before = self.before.get_or_insert_with(|| Sample {
            at_ms: 0,
            url: page.url.clone(),
            title: page.title.clone(),
            targets: BTreeMap::new(),
        });
        let now = Sample { url: page.url.clone(), title: page.title.clone(), ..Sample::default() };
        for stated in plan.goal().iter().filter(|stated| !is_about_a_step(stated)) {
            let mut names = BTreeMap::new();
            let mut seen = BTreeMap::new();
            for name in stated.targets() {
                let target = match plan.candidates().get(name) {
                    Some(locator) => GoalTarget { id: None, locator: Some(locator.clone()) },
                    None => {
                        let id = name.candidate_id();
                        let candidate = id.and_then(|id| page.candidate(id));
                        GoalTarget { id, locator: candidate.and_then(|seen| seen.locators.first().cloned()) }
                    }
                };
                let known = self.targets.iter().find(|(_, known)| **known == target).map(|(name, _)| name.clone());
                let Some(own) = known.or_else(|| TargetRef::new(&format!("goal{}", self.targets.len() + 1)).ok())
                else {
                    continue;
                };
                if let Some(facts) = facts_of(name, page) {
                    seen.insert(own.clone(), facts.clone());
                    before.targets.entry(own.clone()).or_insert(facts);
                }
                self.targets.insert(own.clone(), target);
                names.insert(name.clone(), own);
            }
            let mut condition = stated.clone();
            condition.retarget(&|name| names.get(name).unwrap_or(name).clone());
            let facts =
                Facts { before: None, samples: vec![Sample { targets: seen, ..now.clone() }], ..Facts::default() };
            let is_vacuous = is_told(&condition) && condition.evaluate(&facts).holds();
            if self.conditions.iter().any(|kept| kept.condition == condition) {
                continue;
            }
            if self.conditions.len() >= MOST {
                return false;
            }
            self.conditions.push(GoalCondition { condition, is_vacuous });
        }
        true
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns `true` if a condition of it did not hold when it was stated, so that it can show something.
    pub(crate) fn can_prove(&self) -> bool {
        self.conditions.iter().any(|kept| !kept.is_vacuous)
    }

    pub(crate) const fn reason(&self) -> Option<&ShortText> {
        self.reason.as_ref()
    }

    /// The goal as it can be looked up on `page`.
    pub(crate) fn questions(&self, page: &Observation) -> Questions {
        let mut questions = Questions { conditions: Vec::new(), candidates: BTreeMap::new(), names: BTreeMap::new() };
        for (name, target) in &self.targets {
            let lives = target.id.filter(|id| page.candidate(*id).is_some_and(|seen| !seen.ambiguous));
            if let Some(id) = lives {
                questions.names.insert(name.clone(), TargetRef::from(id));
            } else if let Some(locator) = &target.locator {
                questions.names.insert(name.clone(), name.clone());
                questions.candidates.insert(name.clone(), locator.clone());
            }
        }
        let is_known =
            |condition: &Condition| condition.targets().into_iter().all(|target| questions.names.contains_key(target));
        let known = self.conditions.iter().map(|kept| &kept.condition).filter(|condition| is_known(condition));
        questions.conditions = known
            .cloned()
            .map(|mut condition| {
                condition.retarget(&|name| questions.names.get(name).unwrap_or(name).clone());
                condition
            })
            .collect();
        questions
    }

    /// The facts on which the goal is judged. `gathered` is what an executor found for `questions`; without it, only
    /// what `page` shows is known.
    pub(crate) fn facts(
        &self,
        questions: &Questions,
        gathered: Option<&Sample>,
        page: &Observation,
        events: &EventFacts,
    ) -> Facts {
        let fact = |name: &TargetRef| -> Option<TargetFacts> {
            let asked = questions.names.get(name);
            let found = asked.and_then(|asked| gathered?.targets.get(asked).cloned());
            found.or_else(|| facts_of(&self.targets.get(name)?.id?.into(), page))
        };
        let targets = self.targets.keys().filter_map(|name| Some((name.clone(), fact(name)?))).collect();
        let (url, title) = match gathered {
            Some(sample) => (sample.url.clone(), sample.title.clone()),
            None => (page.url.clone(), page.title.clone()),
        };
        let now = Sample { at_ms: 0, url, title, targets };
        Facts { before: self.before.clone(), samples: vec![now], events: events.clone() }
    }

    /// The verdict on each condition.
    pub(crate) fn judge(&self, facts: &Facts) -> Vec<Judged> {
        let judged = self.conditions.iter().map(|kept| Judged {
            condition: kept.condition.clone(),
            verdict: kept.condition.evaluate(facts),
            vacuous: kept.is_vacuous,
            default: false,
            latency_ms: None,
        });
        judged.collect()
    }

    /// The conditions that do not hold, in words; `None` if all holds.
    pub(crate) fn unmet(&self, judged: &[Judged], facts: &Facts) -> Option<String> {
        let unmet: Vec<String> = judged
            .iter()
            .filter(|judged| judged.verdict != Verdict::Holds)
            .map(|judged| {
                let seen = judged.condition.seen_naming(facts, &|name| self.called(name));
                format!("expected {}, saw {seen}", judged.condition.in_words_naming(&|name| self.called(name)))
            })
            .collect();
        let [first, rest @ ..] = &unmet[..] else { return None };
        let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
        Some(format!("the goal does not hold: {first}{more}"))
    }

    fn called(&self, name: &TargetRef) -> String {
        let target = self.targets.get(name);
        let id = target.and_then(|target| target.id).map(|id| id.to_string());
        let locator = target.and_then(|target| target.locator.as_ref()).map(ToString::to_string);
        match (id, locator) {
            (Some(id), Some(locator)) => format!("{id} ({locator})"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => name.to_string(),
        }
    }
}

/// Returns `true` if a condition is about one step, and so says nothing of the end of a run.
fn is_about_a_step(condition: &Condition) -> bool {
    let mut is_about = false;
    condition.visit(&mut |part| {
        is_about |= matches!(part, Condition::AnyEffect(_) | Condition::NetworkIdle(_) | Condition::Becomes(_));
    });
    is_about
}

/// Adds what a step caused.
pub(crate) fn note_effects(caused: &mut EventFacts, effects: Option<&EffectRecord>) {
    let Some(effects) = effects else { return };
    caused.requests.extend(effects.requests.iter().cloned());
    caused.dialogs.extend(effects.dialogs.iter().cloned());
    caused.downloads.extend(effects.downloads.iter().cloned());
    caused.new_tabs.extend(effects.new_tabs.iter().cloned());
    note_late(caused, &effects.late);
}

/// Adds what came once the steps had ended. The latest of each kind are kept.
pub(crate) fn note_late(caused: &mut EventFacts, late: &Late) {
    caused.requests.extend(late.requests.iter().cloned());
    caused.downloads.extend(late.downloads.iter().cloned());
    caused.new_tabs.extend(late.new_tabs.iter().cloned());
    newest(&mut caused.requests);
    newest(&mut caused.dialogs);
    newest(&mut caused.downloads);
    newest(&mut caused.new_tabs);
}

fn newest<T>(list: &mut Vec<T>) {
    list.drain(..list.len().saturating_sub(EVENTS));
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::plan::{Author, PlanDraft};
    use cuebook_grammar::policy::Policy;
    use cuebook_grammar::sample;
    use serde_json::{Value, json};

    use super::*;

    fn plan(goal: &Value, reason: Option<&str>, page: &Observation) -> Plan {
        let plan = json!({ "steps": [{ "type": "finish" }], "goal": goal, "goalReason": reason });
        PlanDraft::read_value(plan, Author::Model).unwrap().check(page, &Policy::default()).unwrap()
    }

    fn verdicts(goal: &KeptGoal, page: &Observation) -> Vec<Verdict> {
        let facts = goal.facts(&goal.questions(page), None, page, &EventFacts::default());
        goal.judge(&facts).iter().map(|judged| judged.verdict).collect()
    }

    fn value(id: &str, value: &str) -> Value {
        json!({ "kind": "valueEquals", "target": id, "value": value })
    }

    #[test]
    fn later_plans_narrow_a_goal_and_replace_it_only_with_a_reason() {
        let page = sample::page("textbox \"User\" value=ann\nbutton \"Save\"");
        let mut goal = KeptGoal::default();
        assert!(goal.take(&plan(&json!([value("c1", "bob")]), None, &page), &page));
        assert!(goal.take(&plan(&json!([value("c1", "ann")]), None, &page), &page), "it is added");
        assert_eq!(verdicts(&goal, &page), [Verdict::Fails, Verdict::Holds]);
        assert!(goal.take(&plan(&json!([]), None, &page), &page));
        assert_eq!(verdicts(&goal, &page).len(), 2, "an empty goal takes nothing away");
        assert!(goal.take(&plan(&json!([value("c1", "ann")]), Some("the name is taken"), &page), &page));
        assert_eq!(verdicts(&goal, &page), [Verdict::Holds]);
        assert_eq!(goal.reason().unwrap().as_str(), "the name is taken");
    }

    #[test]
    fn what_held_when_it_was_stated_proves_nothing() {
        let page = sample::page("textbox \"User\" value=ann");
        let mut goal = KeptGoal::default();
        goal.take(&plan(&json!([value("c1", "ann")]), None, &page), &page);
        assert!(!goal.is_empty() && !goal.can_prove());
        goal.take(&plan(&json!([value("c1", "bob")]), None, &page), &page);
        assert!(goal.can_prove());
    }

    #[test]
    fn a_target_without_locator_that_is_gone_is_not_taken_for_another() {
        let page = sample::page("textbox \"User\" value=ann\nbutton \"Save\"");
        let mut goal = KeptGoal::default();
        goal.take(&plan(&json!([value("c1", "bob")]), None, &page), &page);
        // Another field of the same name and the wanted value, under another id.
        let mut other = sample::page("textbox \"User\" value=bob");
        for candidate in &mut other.candidates {
            candidate.id = CandidateId(9);
            candidate.locators.clear();
        }
        assert_eq!(verdicts(&goal, &other), [Verdict::Fails]);
    }

    #[test]
    fn a_run_keeps_a_bounded_number_of_conditions() {
        let page = sample::page("textbox \"User\" value=ann");
        let mut goal = KeptGoal::default();
        for batch in 0..3 {
            let contains = |n| json!({ "kind": "valueContains", "target": "c1", "value": format!("{batch} {n}") });
            let stated: Vec<Value> = (0..20).map(contains).collect();
            assert_eq!(goal.take(&plan(&json!(stated), None, &page), &page), batch < 2);
        }
        assert_eq!(verdicts(&goal, &page).len(), MOST);
    }
}
