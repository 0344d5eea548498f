//! The ladder: which deterministic repair comes next, by the cause of the failure and the attempt.
//!
//! Invariants:
//! - Pure: the same failure on the same observation gets the same answer.
//! - A step that sent input is run again only if running it twice is the same as running it once.
//! - A destructive step is never given another target.

use cuebook_grammar::action::{self, Action, Click, SetValue};
use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::{CandidateId, TargetRef};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::plan::{BoundTarget, ViolationCode};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{Repair, RepairBudget, RepairCase, RepairPolicy};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::Millis;

/// The deterministic rungs that need no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ladder;

impl RepairPolicy for Ladder {
    fn next(&mut self, case: &RepairCase<'_>, observation: &Observation, budget: &RepairBudget) -> Repair {
        let last = if budget.can_replan { Repair::Replan } else { Repair::Abandon };
        if budget.step_attempts_left == 0 || budget.run_repairs_left == 0 {
            return last;
        }
        let repeatable = case.step.effect() <= EffectClass::Idempotent;
        if case.failure.evidence.input_sent && !repeatable && !is_text_entry(case) {
            return last;
        }
        rung(case, observation).unwrap_or(last)
    }
}

fn rung(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    let settle = || Repair::Insert(vec![settle_step()]);
    match (case.failure.cause, case.attempt) {
        (Cause::TargetStale | Cause::TargetNotFound, 0) => retarget(case, observation).or_else(|| Some(settle())),
        (Cause::TargetStale | Cause::TargetNotFound, 1) => Some(Repair::Reobserve(Scope::Full)),
        (Cause::TargetStale | Cause::TargetNotFound, 2) => retarget(case, observation),
        (Cause::TargetAmbiguous, 0) => retarget(case, observation),
        (Cause::NotInView | Cause::NotVisible, 0) => scroll_to_target(case).or_else(|| Some(settle())),
        (Cause::NotInView | Cause::NotVisible, 1) => Some(settle()),
        (Cause::NotInView | Cause::NotVisible, 2) => dismiss(case, observation),
        (Cause::NotStable | Cause::NotEnabled | Cause::NotEditable, 0 | 1) => Some(settle()),
        (Cause::Covered, 0 | 1) => dismiss(case, observation).or_else(|| (case.attempt == 0).then(settle)),
        (Cause::PreconditionFailed, 0) => scroll_to_target(case).or_else(|| Some(settle())),
        (Cause::PreconditionFailed, 1) => dismiss(case, observation).or_else(|| Some(settle())),
        (Cause::PostconditionFailed, 0 | 1) if is_text_entry(case) => enter_again(case),
        (Cause::PostconditionFailed | Cause::EffectUnknown, 0) if !case.failure.evidence.input_sent => Some(settle()),
        _ => None,
    }
}

fn settle_step() -> Step {
    let mut step = Step::from(Action::WaitForIdle(action::WaitForIdle { quiet_ms: Some(Millis::clamped(300)) }));
    step.timeout_ms = Some(Millis::clamped(3_000));
    step
}

fn is_text_entry(case: &RepairCase<'_>) -> bool {
    matches!(case.step.action(), Action::Type(_) | Action::SetValue(_) | Action::Clear(_))
}

/// Another candidate that is the same thing: by fingerprint, or by the locator's role and name.
fn retarget(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    if case.step.effect() == EffectClass::Destructive {
        return None;
    }
    let (name, bound) = case.step.main_target()?;
    let BoundTarget::Observed(candidate) = bound else { return None };
    let to = observation.rebind(&candidate.fingerprint).ok()?;
    (to.id != candidate.id).then(|| Repair::Retarget { from: name.clone(), to: to.id })
}

fn scroll_to_target(case: &RepairCase<'_>) -> Option<Repair> {
    // A declared locator is scrolled to by the executor itself; a repair may not name it.
    let (_, bound) = case.step.main_target()?;
    let candidate = bound.candidate()?;
    let scroll = action::Scroll {
        target_ref: Some(TargetRef::from(candidate.id)),
        direction: None,
        delta_y: None,
        delta_x: None,
    };
    Some(Repair::Insert(vec![Step::from(Action::Scroll(scroll)), settle_step()]))
}

/// Words on a control that only takes its own dialog or banner away.
const DISMISS: &[&str] = &[
    "close",
    "dismiss",
    "×",
    "✕",
    "✖",
    "x",
    "no thanks",
    "no, thanks",
    "not now",
    "maybe later",
    "later",
    "skip",
    "got it",
    "hide",
    "schließen",
    "fermer",
    "cerrar",
    "chiudi",
    "cancel",
];

/// Clicks the one control that closes what covers the target: the dialog's or the banner's own.
fn dismiss(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    let target = case.step.main_target().and_then(|(_, bound)| bound.candidate()).map(|candidate| candidate.id);
    let closers: Vec<(&Candidate, usize)> = observation
        .candidates
        .iter()
        .filter(|candidate| Some(candidate.id) != target && may_dismiss(candidate))
        .filter_map(|candidate| dismiss_rank(&candidate.name).map(|rank| (candidate, rank)))
        .collect();
    let best = closers.iter().map(|(_, rank)| *rank).min()?;
    let mut best_ones = closers.iter().filter(|(_, rank)| *rank == best);
    match (best_ones.next(), best_ones.next()) {
        (Some((only, _)), None) => Some(Repair::Insert(vec![click(only.id)])),
        _ => None,
    }
}

fn may_dismiss(candidate: &Candidate) -> bool {
    let in_reach = candidate.placement == Placement::InView
        && !candidate.ambiguous
        && candidate.occlusion.as_ref().is_none_or(|occlusion| occlusion.ratio < 0.5);
    // A link that leads elsewhere leaves the page instead of clearing it.
    let stays = candidate.destination.as_deref().is_none_or(|url| url.ends_with('#') || url.starts_with("javascript:"));
    in_reach
        && stays
        && !candidate.states.disabled
        && matches!(candidate.role, Role::Button | Role::Link | Role::Generic)
}

fn dismiss_rank(name: &str) -> Option<usize> {
    let name = name.trim().to_lowercase();
    let exact = DISMISS.iter().position(|word| name == *word);
    exact.or_else(|| {
        let starts = DISMISS.iter().position(|word| word.len() > 1 && name.starts_with(&format!("{word} ")));
        starts.map(|position| DISMISS.len() + position)
    })
}

fn click(target: CandidateId) -> Step {
    Step::from(Action::Click(Click {
        target_ref: TargetRef::from(target),
        button: None,
        count: None,
        modifiers: None,
        position: None,
        dry_run: None,
    }))
}

/// First the value whole, then key by key and slowly after clearing.
fn enter_again(case: &RepairCase<'_>) -> Option<Repair> {
    let target_ref = case.step.action().target()?.clone();
    let mut step = case.step.step().clone();
    let clear = Step::from(Action::Clear(action::OnTarget { target_ref: target_ref.clone() }));
    match (&mut step.action, case.attempt) {
        // What was typed is what the field must hold: typing again would double it.
        (Action::Type(typed), 0) => {
            typed.delay_ms = Some(Millis::clamped(50));
            let step = Box::new(step);
            let declared = matches!(case.step.main_target(), Some((_, BoundTarget::Declared(_))));
            if declared {
                // A repair may not name a declared target in a step of its own; setting clears by itself.
                return set_instead(case);
            }
            Some(Repair::Rewrite { before: vec![clear], step })
        }
        (Action::Type(_), _) => set_instead(case),
        _ => None,
    }
}

fn set_instead(case: &RepairCase<'_>) -> Option<Repair> {
    let Action::Type(typed) = case.step.action() else { return None };
    let mut step = case.step.step().clone();
    step.action = Action::SetValue(SetValue {
        target_ref: typed.target_ref.clone(),
        value: typed.text.clone(),
        credential_ref: typed.credential_ref.clone(),
    });
    Some(Repair::Rewrite { before: Vec::new(), step: Box::new(step) })
}

/// The cause that a violation found while binding stands for.
#[must_use]
pub(crate) const fn cause_of(code: ViolationCode) -> Cause {
    match code {
        ViolationCode::UnknownTarget => Cause::TargetStale,
        ViolationCode::AmbiguousTarget => Cause::TargetAmbiguous,
        ViolationCode::PolicyBlocked => Cause::PolicyBlocked,
        _ => Cause::InvalidArgument,
    }
}
