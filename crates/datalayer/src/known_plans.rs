//! Plans of earlier runs that worked, by the pages that they were for.
//!
//! Invariants:
//! - A plan counts only if its run succeeded and each of its steps did, at the first attempt, with an effect that was seen.
//!   One with a destructive step, or with a step that is not about the page's own controls, never does.
//! - What a page said cannot get in. The task is the operator's. A step keeps its verb and its target; a text that it
//!   enters, chooses or opens must be in the task; conditions, explanations and answers are left out.
//! - A plan is offered only on the origin that it ran on, on a page that is like the one that it was for, and only if each
//!   of its targets is found there. Its steps name the targets as that page's observation does.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use cuebook_grammar::action::{Action, OptionChoice};
use cuebook_grammar::candidate::Fingerprint;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{RecordedTarget, RunResult, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::seam::{Exemplar, PlanMemory, Redactor};
use cuebook_grammar::secret::MASK;
use cuebook_grammar::step::Step;
use sha2::{Digest as _, Sha256};

use crate::artifact::ArtifactStore;
use crate::error::DataError;
use crate::log::{Observations, Run};
use crate::replay::origin;
use crate::run_dir::RunDir;

/// Pages less alike than this are other pages. Those that have nothing in common are at about 0.
const ALIKE: f64 = 0.5;

/// The most plans that are kept: of more, those that were added last.
const MAX_PLANS: usize = 2_000;

/// Plans of earlier runs that worked.
///
/// Memory: a few hundred bytes a step. A query costs a comparison of 64 bits for each plan of the origin, and the search
/// for the targets of those that are alike.
#[derive(Clone, Default)]
pub struct KnownPlans {
    plans: Vec<RememberedPlan>,
    redactor: Option<Arc<dyn Redactor>>,
}

#[derive(Clone, Debug)]
struct RememberedPlan {
    origin: String,
    page: SimHash,
    task: String,
    steps: Vec<KnownStep>,
}

/// A step, and by what its targets are found again.
type KnownStep = (Step, Vec<(TargetRef, Fingerprint)>);

impl fmt::Debug for KnownPlans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownPlans").field("plans", &self.plans).finish_non_exhaustive()
    }
}

impl KnownPlans {
    /// Offers no plan with a text that `redactor` would remove.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Arc<dyn Redactor>) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Adds the plans of a run: none unless it ended, and well. The last to be added comes first where pages are equally
    /// alike. Blocks; costs one pass over the log, and reads the
    /// observation of each plan.
    ///
    /// # Errors
    /// [`DataError`] if the log or an observation cannot be read.
    pub fn add(&mut self, dir: &RunDir) -> Result<(), DataError> {
        let run = Run::read(&dir.log_path())?;
        let has_worked = run.end.as_ref().is_some_and(|end| end.result == RunResult::Ok);
        let Some(task) = run.header.as_ref().and_then(|header| header.task.as_deref()).filter(|_| has_worked) else {
            return Ok(());
        };
        let mut pages = Observations::new(&run.observations, ArtifactStore::new(dir, None));
        let planned: Vec<&StepRecord> = run.steps.iter().filter(|step| step.origin != StepOrigin::Start).collect();
        for records in planned.chunk_by(|step, next| continues(step, next)) {
            let Some(steps) = steps(records, task).filter(|steps| !steps.is_empty()) else { continue };
            let page = records.iter().find_map(|step| step.observation).map(|id| pages.read(id)).transpose()?.flatten();
            let Some((page, origin)) = page.and_then(|page| Some((SimHash::of(&page)?, origin(&page.url)?))) else {
                continue;
            };
            self.plans.retain(|known| {
                (&known.origin, &known.page, &known.task, &known.steps) != (&origin, &page, &task.to_owned(), &steps)
            });
            self.plans.push(RememberedPlan { origin, page, task: task.to_owned(), steps });
        }
        let surplus = self.plans.len().saturating_sub(MAX_PLANS);
        self.plans.drain(..surplus);
        Ok(())
    }

    /// Returns the number of known plans.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.plans.len()
    }

    /// Returns `true` if no plan is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Returns `true` if no part of the plan is a known secret at present. The texts of its steps are in its task.
    fn may_show(&self, known: &RememberedPlan) -> bool {
        self.redactor.as_ref().is_none_or(|redactor| redactor.redact(&known.task) == known.task)
    }
}

impl PlanMemory for KnownPlans {
    type Error = Infallible;

    async fn nearest(&self, observation: &Observation, k: usize) -> Result<Vec<Exemplar>, Infallible> {
        let Some((page, origin)) = SimHash::of(observation).zip(origin(&observation.url)) else {
            return Ok(Vec::new());
        };
        let of_origin = self.plans.iter().rev().filter(|known| known.origin == origin);
        let mut alike: Vec<(&RememberedPlan, f64)> =
            of_origin.map(|known| (known, known.page.likeness(page))).collect();
        alike.retain(|(known, likeness)| *likeness >= ALIKE && self.may_show(known));
        // Stable: of pages that are equally alike, the last run's comes first.
        alike.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let mut nearest: Vec<Exemplar> = Vec::new();
        for (known, likeness) in alike {
            let Some(steps) = known.on(observation) else { continue };
            if !nearest.iter().any(|other| other.task == known.task && other.steps == steps) {
                nearest.push(Exemplar { task: known.task.clone(), steps, likeness });
            }
            if nearest.len() >= k {
                break;
            }
        }
        Ok(nearest)
    }
}

impl RememberedPlan {
    /// The steps with the ids of a page; `None` if it lacks a target, or has it twice.
    fn on(&self, page: &Observation) -> Option<Vec<Step>> {
        let on_page = |(step, targets): &KnownStep| {
            let found: Option<Vec<(&TargetRef, TargetRef)>> = targets
                .iter()
                .map(|(former, print)| Some((former, TargetRef::from(page.rebind(print).ok()?.id))))
                .collect();
            let found = found?;
            let mut step = step.clone();
            step.retarget(&|former| {
                found.iter().find(|(known, _)| *known == former).map_or_else(|| former.clone(), |(_, now)| now.clone())
            });
            Some(step)
        };
        self.steps.iter().map(on_page).collect()
    }
}

/// Returns `true` if `next` is a step of the plan that `step` is of.
fn continues(step: &StepRecord, next: &StepRecord) -> bool {
    step.planning == next.planning && step.plan_id == next.plan_id && step.plan_index <= next.plan_index
}

/// The steps of a plan without what a page may have said; `None` if the plan is not to be remembered.
fn steps(records: &[&StepRecord], task: &str) -> Option<Vec<KnownStep>> {
    let mut steps = Vec::new();
    for record in records {
        let has_worked = record.result == StepResult::Ok && record.origin == StepOrigin::Plan && record.attempt <= 1;
        if !has_worked || record.no_observed_effect || record.effect_class == EffectClass::Destructive {
            return None;
        }
        let action = match of_task(&record.action.action, task) {
            Retain::Yes => record.action.action.clone(),
            Retain::LeftOut => continue,
            Retain::Plan => return None,
        };
        let print = |target: &TargetRef| match record.candidates.get(target)? {
            RecordedTarget::Observed(candidate) => Some((target.clone(), candidate.fingerprint.clone())),
            RecordedTarget::Declared(_) => None,
        };
        let targets: Option<Vec<_>> = action.targets().into_iter().map(print).collect();
        steps.push((Step::from(action), targets?));
    }
    Some(steps)
}

/// Consequence of a step for the remembered plan that it belongs to.
enum Retain {
    /// The step is kept.
    Yes,
    /// It says nothing about how the task is done.
    LeftOut,
    /// The whole plan is dropped.
    Plan,
}

fn of_task(action: &Action, task: &str) -> Retain {
    let is_of_task = |text: &str| task.contains(text) && !text.contains(MASK);
    let is_kept = match action {
        Action::Click(_) | Action::Check(_) | Action::Uncheck(_) | Action::Clear(_) | Action::Hover(_) => true,
        Action::Focus(_) | Action::DragTo(_) | Action::LongPress(_) | Action::Press(_) | Action::GoBack(_) => true,
        Action::Type(_) | Action::SetValue(_) => match (action.text(), action.credential()) {
            (Some(text), _) => text.clear().is_some_and(is_of_task),
            (None, credential) => credential.is_some(),
        },
        Action::Select(select) => select.option.choices.iter().all(|choice| match choice {
            OptionChoice::Text(text) | OptionChoice::Value(text) | OptionChoice::Label(text) => {
                is_of_task(text.as_str())
            }
            OptionChoice::Index(_) => true,
            OptionChoice::Every(_) => false,
        }),
        Action::Navigate(navigate) => is_of_task(navigate.url.as_str()),
        Action::WaitFor(_) | Action::WaitForIdle(_) | Action::Scroll(_) | Action::Extract(_) => return Retain::LeftOut,
        Action::ScrollUntil(_) | Action::Snapshot(_) | Action::Screenshot(_) => return Retain::LeftOut,
        Action::GetDom(_) => return Retain::LeftOut,
        Action::SearchPage(_) | Action::FindElements(_) | Action::Assert(_) => return Retain::LeftOut,
        Action::Finish(_) => return Retain::LeftOut,
        _ => false,
    };
    if is_kept { Retain::Yes } else { Retain::Plan }
}

/// A hash of a page's controls of which most bits stay when few of them change (Charikar's SimHash).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SimHash(u64);

impl SimHash {
    /// Of the roles, places, test ids and names of the candidates; digits and their number do not count. `None` for a
    /// page without candidates.
    fn of(page: &Observation) -> Option<Self> {
        let mut features = BTreeSet::new();
        for candidate in &page.candidates {
            let print = &candidate.fingerprint;
            let test_id = print.test_id.as_deref().unwrap_or_default();
            features.insert(steady(&format!("{} {} {test_id}", print.role, print.path)));
            features.insert(steady(&format!("{} {}", print.role, print.name)));
        }
        let mut balance = [0_i64; u64::BITS as usize];
        for feature in &features {
            let digest = Sha256::digest(feature.as_bytes());
            let bits = digest.iter().flat_map(|byte| (0..u8::BITS).map(move |bit| byte >> bit & 1 == 1));
            for (balance, is_set) in balance.iter_mut().zip(bits) {
                *balance += if is_set { 1 } else { -1 };
            }
        }
        let hash = balance.iter().fold(0, |hash, balance| hash << 1 | u64::from(*balance > 0));
        (!features.is_empty()).then_some(Self(hash))
    }

    /// From 0, for pages that share no more bits than any two do, to 1.
    fn likeness(self, other: Self) -> f64 {
        let apart = f64::from((self.0 ^ other.0).count_ones());
        (1.0 - 2.0 * apart / f64::from(u64::BITS)).max(0.0)
    }
}

fn steady(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(names: &[&str]) -> Observation {
        cuebook_grammar::sample::page(&names.iter().map(|name| format!("button \"{name}\"\n")).collect::<String>())
    }

    #[test]
    fn pages_are_alike_if_most_of_their_controls_are() {
        let names: Vec<String> = (b'a'..=b'z').map(|letter| format!("{} order 7", char::from(letter))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hash = |names: &[&str]| SimHash::of(&page(names)).unwrap();
        let whole = hash(&names);
        let (most, other) = (hash(names.get(2..).unwrap()), hash(&["search", "home", "help", "terms", "sign in"]));
        assert!(whole.likeness(most) >= ALIKE, "{}", whole.likeness(most));
        assert!(whole.likeness(other) < ALIKE, "{}", whole.likeness(other));
        let later: Vec<String> = names.iter().map(|name| name.replace('7', "4711")).collect();
        assert_eq!(whole, hash(&later.iter().map(String::as_str).collect::<Vec<_>>()));
        assert_eq!(SimHash::of(&page(&[])), None);
    }
}
