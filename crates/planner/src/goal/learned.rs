//! Effects of controls in earlier runs.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_grammar::action::{Action, ActionKind};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::{ByRole, Locator, Strategy};
use cuebook_grammar::record::{RecordedTarget, StepRecord, StepResult};
use cuebook_grammar::role::Role;
use cuebook_grammar::text_match::TextPattern;
use serde_json::Value;

/// The most clicks that lead to an address.
const MAX_WAY: usize = 5;
/// The most facts that are kept.
const MAX_FACTS: usize = 20_000;

/// A control, by where it was and what it is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Control {
    place: String,
    role: Role,
    name: String,
}

/// Effects of clicks in earlier runs: the addresses they led to, and the conditions that held after them.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    leads: BTreeMap<Control, BTreeSet<String>>,
    holds: BTreeMap<Control, BTreeSet<String>>,
    facts: usize,
}

impl Learned {
    /// Adds the steps of a run, in order. Only clicks that succeeded and are not destructive count. What held after one is
    /// what it was to achieve, and what was stated or waited for before the next input.
    pub fn add(&mut self, steps: &[StepRecord]) {
        let mut last: Option<Control> = None;
        for record in steps {
            let action = &record.action.action;
            if !matches!(action, Action::Assert(_) | Action::WaitFor(_)) {
                last = control(record);
            }
            let Some(control) = last.clone().filter(|_| self.facts < MAX_FACTS) else { continue };
            if let Some(url) = record.effects.as_ref().and_then(|effects| effects.url_after.as_deref()).map(place) {
                self.facts += usize::from(self.leads.entry(control.clone()).or_default().insert(url));
            }
            let stated = record.post_check.iter().filter(|judged| judged.verdict.holds() && !judged.default);
            let own = action.condition().filter(|_| record.result == StepResult::Ok);
            for condition in stated.filter(|judged| !judged.vacuous).map(|judged| &judged.condition).chain(own) {
                let locator = |target: &TargetRef| match record.candidates.get(target) {
                    Some(RecordedTarget::Declared(locator)) => Some(locator),
                    _ => None,
                };
                if let Some(known) = known(condition, &locator) {
                    self.facts += usize::from(self.holds.entry(control.clone()).or_default().insert(known));
                }
            }
        }
    }

    /// Returns `true` if the condition held after a click on this candidate.
    pub(super) fn achieves(&self, candidate: &Candidate, url: &str, condition: &Condition, targets: &Targets) -> bool {
        let control = control_of(candidate, url);
        let wanted = known(condition, &|target| targets.get(target));
        wanted.is_some_and(|wanted| self.holds.get(&control).is_some_and(|held| held.contains(&wanted)))
    }

    /// Returns the number of clicks from this candidate to an address that fits; `None` if no way of at most five is
    /// known.
    pub(super) fn way(&self, candidate: &Candidate, url: &str, fits: &impl Fn(&str) -> bool) -> Option<usize> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut front: Vec<&str> = self.leads.get(&control_of(candidate, url))?.iter().map(String::as_str).collect();
        for clicks in 1..=MAX_WAY {
            if front.iter().any(|place| fits(place)) {
                return Some(clicks);
            }
            front.retain(|place| seen.insert(place));
            let from = |place: &&str| {
                let of_place = self.leads.iter().filter(move |(control, _)| control.place == **place);
                of_place.flat_map(|(_, leads)| leads.iter().map(String::as_str)).collect::<Vec<_>>()
            };
            front = front.iter().flat_map(from).collect();
        }
        None
    }
}

/// The declared targets of a goal.
pub(super) type Targets = BTreeMap<TargetRef, Locator>;

/// The control that a record clicked, if that may be done again.
fn control(record: &StepRecord) -> Option<Control> {
    let may_repeat = record.result == StepResult::Ok && record.effect_class != EffectClass::Destructive;
    let target = record.action.action.target().filter(|_| record.action.action.kind() == ActionKind::Click)?;
    let left = record.effects.as_ref().and_then(|effects| effects.url_before.as_deref());
    let place = place(left.unwrap_or(&record.url));
    match record.candidates.get(target).filter(|_| may_repeat)? {
        RecordedTarget::Observed(candidate) => {
            Some(Control { place, role: candidate.role, name: candidate.name.clone() })
        }
        RecordedTarget::Declared(locator) => match &locator.strategy {
            Strategy::Role(ByRole { role, name: Some(TextPattern::Literal(name)), .. }) => {
                Some(Control { place, role: *role, name: name.to_string() })
            }
            _ => None,
        },
    }
}

fn control_of(candidate: &Candidate, url: &str) -> Control {
    Control { place: place(url), role: candidate.role, name: candidate.name.clone() }
}

/// A URL without query and fragment.
fn place(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// A condition with its targets' locators in place of their names, as text; `None` for what is about no declared target,
/// nor about the page as a whole.
fn known<'l>(condition: &Condition, locator: &impl Fn(&TargetRef) -> Option<&'l Locator>) -> Option<String> {
    let targets = condition.targets();
    let located: Option<Vec<Value>> =
        targets.iter().map(|target| serde_json::to_value(locator(target)?).ok()).collect();
    let mut plain = condition.clone();
    let unnamed = TargetRef::new("it").ok()?;
    plain.retarget(&|_| unnamed.clone());
    Some(format!("{} {}", serde_json::to_string(&plain).ok()?, Value::from(located?)))
}
