//! Binding: one step against the observation at the moment when it is about to run.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::action::{Action, TargetNeed};
use crate::candidate::Candidate;
use crate::condition::{self, Condition};
use crate::effect::EffectClass;
use crate::id::TargetRef;
use crate::locator::Locator;
use crate::observation::Observation;
use crate::plan::check::{Plan, StatedCondition};
use crate::plan::draft::Author;
use crate::plan::support::support_violation;
use crate::plan::violation::{Violation, ViolationCode, Violations};
use crate::policy::{Consent, Policy};
use crate::risk::{self, RiskClass};
use crate::step::Step;

/// Thing that a target of a step is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundTarget {
    /// A candidate of the observation: its identity is verified again before it is acted on.
    Observed(Box<Candidate>),
    /// A declared locator: resolves when the step is reached, and must be unique.
    Declared(Locator),
}

impl BoundTarget {
    /// The candidate, if it was observed.
    #[must_use]
    pub fn candidate(&self) -> Option<&Candidate> {
        match self {
            Self::Observed(candidate) => Some(candidate),
            Self::Declared(_) => None,
        }
    }
}

/// A step that may be executed now. Only [`Plan::bind`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundStep {
    plan_index: usize,
    step: Step,
    post: Vec<StatedCondition>,
    targets: BTreeMap<TargetRef, BoundTarget>,
    risk: RiskClass,
    origin: String,
    consent: Consent,
    author: Author,
    policy: Policy,
    /// Message of the dialog that it accepts.
    dialog: Option<String>,
}

impl BoundStep {
    /// 0-based position in its plan.
    #[must_use]
    pub const fn plan_index(&self) -> usize {
        self.plan_index
    }
    /// The step to execute; if a model planned it, keys name the focused candidate that they activate.
    #[must_use]
    pub const fn step(&self) -> &Step {
        &self.step
    }
    /// The action of the step.
    #[must_use]
    pub const fn action(&self) -> &Action {
        &self.step.action
    }
    /// The postconditions, defaults included.
    #[must_use]
    pub fn post(&self) -> &[StatedCondition] {
        &self.post
    }
    /// Every target that the step names, and what it is bound to.
    #[must_use]
    pub const fn targets(&self) -> &BTreeMap<TargetRef, BoundTarget> {
        &self.targets
    }
    /// The action's main target.
    #[must_use]
    pub fn main_target(&self) -> Option<(&TargetRef, &BoundTarget)> {
        self.step.action.target().and_then(|target| self.targets.get_key_value(target))
    }
    /// Its risk, judged by what was observed. Declared targets are judged again when they are resolved.
    #[must_use]
    pub const fn risk(&self) -> RiskClass {
        self.risk
    }
    /// The cost of repeating it.
    #[must_use]
    pub fn effect(&self) -> EffectClass {
        let own = self.policy.effect_of(&self.step.action);
        if matches!(self.step.action, Action::Call(_)) { own } else { own.max(self.risk.effect()) }
    }
    /// The origin that it acts on.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }
    /// The message of the dialog that it accepts, as it was when the step was bound.
    #[must_use]
    pub fn dialog(&self) -> Option<&str> {
        self.dialog.as_deref()
    }
    /// The consent that it needs before it runs.
    #[must_use]
    pub const fn consent(&self) -> &Consent {
        &self.consent
    }
    /// The policy that it was bound under.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }
    /// Returns `true` if input that names no target may reach a frame, by its origin and its URL. An operator's may.
    #[must_use]
    pub fn may_act_in(&self, origin: &str, url: &str) -> bool {
        let judged = if url.starts_with("file:") {
            self.policy.navigation(url).map(drop)
        } else {
            self.policy.acting_in(origin)
        };
        self.author == Author::Operator || judged.is_ok()
    }
    /// Returns the author of the plan.
    #[must_use]
    pub const fn author(&self) -> Author {
        self.author
    }
    /// The step's own time limit. What a `waitFor` states is the limit of its condition; observing the page and
    /// reporting may need up to a second more.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        const LOOKING: Duration = Duration::from_secs(1);
        let looking = if matches!(self.step.action, Action::WaitFor(_)) { LOOKING } else { Duration::ZERO };
        self.step.timeout_ms.map(|stated| stated.duration() + looking)
    }
}

impl Plan {
    /// Returns `true` if a step names a candidate by its observed id.
    #[must_use]
    pub fn names_observed(&self, step: &Step) -> bool {
        step.targets().iter().any(|name| !self.candidates.contains_key(*name))
    }

    /// Returns `true` if the step at `index` must be bound to a current observation: it names a candidate, or its keys
    /// go to whatever has the focus.
    #[must_use]
    pub fn needs_observation(&self, index: usize) -> bool {
        let is_judged = |step: &Step| self.author != Author::Operator && risk::needs_page(&step.action);
        self.steps.get(index).is_some_and(|checked| self.names_observed(&checked.step) || is_judged(&checked.step))
    }

    /// Binds the step at `index` to `observation`. Steps that use only declared locators, or none, bind to
    /// any observation.
    ///
    /// # Errors
    /// Every [`Violation`]: a target that is gone, one that lost its support or became ambiguous, or an
    /// origin that the policy does not allow. `index` beyond the plan is one too.
    pub fn bind(&self, index: usize, observation: &Observation) -> Result<BoundStep, Violations> {
        let path = format!("/steps/{index}");
        let Some(checked) = self.steps.get(index) else {
            let message = format!("there is no step {index}: the plan has {} (steps count from 0)", self.steps.len());
            return Err(vec![Violation::new(ViolationCode::InvalidArgument, path, message)].into());
        };
        let mut step = checked.step.clone();
        let mut targets = BTreeMap::new();
        let mut violations = Vec::new();
        if self.author != Author::Operator && risk::follows_focus(&step.action) {
            violations.extend(name_focused(&mut step.action, observation, &path));
        }
        let mut names: Vec<&TargetRef> = step.targets();
        names.extend(checked.post.iter().flat_map(|stated| stated.condition.targets()));
        if let Action::ScrollUntil(search) = &step.action
            && let (Some(name), Some(locator)) = (search.sought(), search.text_locator())
        {
            targets.insert(name, BoundTarget::Declared(locator));
        }
        for name in names {
            if targets.contains_key(name) {
                continue;
            }
            if let Some(locator) = self.candidates.get(name) {
                targets.insert(name.clone(), BoundTarget::Declared(locator.clone()));
                continue;
            }
            match name.candidate_id().and_then(|id| observation.candidate(id)) {
                Some(candidate) if !candidate.ambiguous => {
                    targets.insert(name.clone(), BoundTarget::Observed(Box::new(candidate.clone())));
                }
                Some(candidate) => {
                    let message = format!("the target is ambiguous: {}", candidate.title());
                    violations.push(Violation::new(ViolationCode::AmbiguousTarget, &path, message));
                }
                None => {
                    let message = format!("{name} is not in the current observation; observe again");
                    violations.push(Violation::new(ViolationCode::UnknownTarget, &path, message));
                }
            }
        }
        let main = step.action.target().and_then(|target| targets.get(target)).and_then(BoundTarget::candidate);
        let need = match step.action.kind().meta().target {
            TargetNeed::None => None,
            TargetNeed::Optional(need) | TargetNeed::Required(need) => Some(need),
        };
        if let Some((code, message)) =
            main.zip(need).and_then(|(candidate, need)| support_violation(&step.action, candidate, need, observation))
        {
            violations.push(Violation::new(code, &path, message));
        }
        let origin = main
            .and_then(|candidate| observation.origin_of(candidate))
            .map_or_else(|| origin_of_url(&observation.url), str::to_owned);
        if self.author != Author::Operator
            && let Some(Err(denied)) = main.map(|candidate| match observation.origin_of(candidate) {
                Some(_) => self.policy.acting_on(candidate, observation),
                None => self.policy.acting_in(&origin),
            })
        {
            let mut violation = Violation::new(ViolationCode::PolicyBlocked, &path, denied.message);
            violation.rule = Some(denied.rule.as_str().to_owned());
            violations.push(violation);
        }
        if !violations.is_empty() {
            return Err(violations.into());
        }
        let named = step.action.targets().into_iter().filter_map(|target| targets.get(target)?.candidate());
        let risk = match &step.action {
            Action::Call(_) => RiskClass::from(self.policy.effect_of(&step.action)),
            _ => risk::of(&step.action, &named.collect::<Vec<_>>(), observation),
        };
        let author = if self.amended.contains(&index) { Author::Controller } else { self.author };
        let origin = match &step.action {
            Action::Fetch(fetch) => origin_of_url(&fetch.url),
            _ => origin,
        };
        let mut post = checked.post.clone();
        if main.is_some_and(|field| risk::submits(&step.action, field)) {
            // What was typed is sent, and the field may be gone.
            let any_effect = Condition::AnyEffect(condition::Nothing {});
            post.iter_mut().filter(|stated| stated.is_default).for_each(|stated| stated.condition = any_effect.clone());
        }
        let accepted = observation.dialog.as_ref().filter(|_| matches!(step.action, Action::AcceptDialog(_)));
        let dialog = accepted.map(|dialog| dialog.message.clone());
        let consent = self.policy.consent_to(&step.action, risk, &origin, author, self.policy.estimate(&step));
        Ok(BoundStep {
            policy: self.policy.clone(),
            plan_index: index,
            step,
            post,
            targets,
            risk,
            origin,
            consent,
            author,
            dialog,
        })
    }
}

/// Names what the keys of an action activate, so that it is judged, and verified as every target is.
fn name_focused(action: &mut Action, observation: &Observation, path: &str) -> Option<Violation> {
    let focused: Vec<&Candidate> = observation.candidates.iter().filter(|candidate| candidate.states.focused).collect();
    let Action::Press(press) = action else { return None };
    match focused.as_slice() {
        [] => {}
        [one] => press.target_ref = Some(one.id.into()),
        [first, second, ..] => {
            let message =
                format!("{} and {} both have the focus; name the target of the keys", first.title(), second.title());
            return Some(Violation::new(ViolationCode::AmbiguousTarget, path, message));
        }
    }
    None
}

fn origin_of_url(url: &str) -> String {
    url::Url::parse(url).map_or_else(|_| "null".to_owned(), |url| url.origin().ascii_serialization())
}
