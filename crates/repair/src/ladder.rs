//! The ladder: the next deterministic repair, by the cause of the failure and the attempt.
//!
//! Invariants:
//! - Pure: the same failure on the same observation gets the same repair.
//! - A step that sent input is repeated only if it is idempotent, or if the server refused its page and said when to ask
//!   again. Text is typed again only where the field is known to hold what it held before.
//! - A destructive step never gets another target.
//! - A target that was found by its position and then moved is not looked up again: another element may have the
//!   position.

mod dismissal;

use cuebook_grammar::action::{self, Action, SetValue};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::Sample;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::locator::Strategy;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::plan::{BoundTarget, ViolationCode};
use cuebook_grammar::risk::{RiskClass, of_click};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{Repair, RepairBudget, RepairCase, RepairPolicy};
use cuebook_grammar::step::Step;
use cuebook_grammar::text_match::TextPattern;
use cuebook_grammar::wire::Millis;

use crate::rungs::{Rung, Rungs};

/// The deterministic rungs that need no model.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    rungs: Rungs,
    last: Option<Rung>,
}

impl Ladder {
    /// With these rungs only.
    #[must_use]
    pub const fn with(rungs: Rungs) -> Self {
        Self { rungs, last: None }
    }

    /// Returns `true` if this rung may be used.
    pub(crate) fn allows(&self, rung: Rung) -> bool {
        self.rungs.allow(rung)
    }
}

impl RepairPolicy for Ladder {
    fn next(&mut self, case: &RepairCase<'_>, observation: &Observation, budget: &RepairBudget) -> Repair {
        let may_replan = budget.can_replan && self.rungs.allow(Rung::Replan);
        let last = if may_replan { (Some(Rung::Replan), Repair::Replan) } else { (None, Repair::Abandon) };
        let has_budget = budget.step_attempts_left > 0 && budget.run_repairs_left > 0;
        let is_repeatable = match case.step.action() {
            // What arrived of it would stand there twice.
            Action::Type(_) => is_as_before(case),
            // Nothing was moved.
            Action::DragTo(_) => is_idle(case),
            _ => case.step.effect() <= EffectClass::Idempotent || is_text_entry(case),
        };
        let may_repeat = !case.failure.evidence.input_sent || is_repeatable || is_asked_to_wait(case);
        let found = if has_budget && may_repeat { self.rung(case, observation) } else { None };
        let (rung, repair) = found.map_or(last, |(rung, repair)| (Some(rung), repair));
        self.last = rung;
        repair
    }

    fn rung(&self) -> Option<&'static str> {
        self.last.map(Rung::name)
    }
}

/// Function by which a rung makes a repair of a failure; `None` if it has none.
type Way = fn(&RepairCase<'_>, &Observation) -> Option<Repair>;

impl Ladder {
    /// The first rung that has something for this failure, of those that come at this attempt.
    fn rung(&self, case: &RepairCase<'_>, observation: &Observation) -> Option<(Rung, Repair)> {
        let ways = ways(case);
        let allowed = ways.iter().filter(|(rung, _)| self.rungs.allow(*rung));
        allowed.filter_map(|(rung, way)| Some((*rung, way(case, observation)?))).next()
    }
}

const SETTLE: (Rung, Way) = (Rung::Wait, |_, _| Some(Repair::Insert(vec![settle_step()])));
const SCROLL_ON: (Rung, Way) = (Rung::Scroll, scroll_on_for_target);
const SCROLL_FOR: (Rung, Way) = (Rung::Scroll, scroll_on_for_precondition);
const SCROLL_TO: (Rung, Way) = (Rung::Scroll, |case, _| scroll_to_target(case));
const FOLLOW: (Rung, Way) = (Rung::Fingerprint, retarget);
const LOCATORS: (Rung, Way) = (Rung::Locators, by_other_locators);
const ALTERNATIVE: (Rung, Way) = (Rung::Candidates, alternative);
const IN_PLACE: (Rung, Way) = (Rung::Box, in_place);
const DISMISS: (Rung, Way) = (Rung::Dismiss, dismissal::dismiss);
const FRAMES: (Rung, Way) = (Rung::Frames, |_, _| Some(Repair::Reobserve(Scope::Full)));
/// A value that the page dropped is entered once more, before the step that found it missing.
const REENTER: (Rung, Way) = (Rung::Retype, |case, _| {
    let again = case.failure.facts.again.as_deref().cloned()?;
    Some(Repair::Insert(vec![Step::from(again)]))
});
/// A drag that nothing came of is made slowly: some pages want a hold before it moves, and take a quick one for scrolling.
const HOLD: (Rung, Way) = (Rung::Wait, |case, _| {
    let mut step = case.step.step().clone();
    let Action::DragTo(drag) = &mut step.action else { return None };
    drag.duration_ms = Some(Millis::clamped(4_000));
    Some(Repair::Rewrite { before: Vec::new(), step: Box::new(step) })
});
const RETYPE: (Rung, Way) = (Rung::Retype, |case, _| enter_again(case));

/// The rungs for a failure at an attempt, in order.
fn ways(case: &RepairCase<'_>) -> Vec<(Rung, Way)> {
    let attempt = case.attempt;
    match (case.failure.cause, attempt) {
        (Cause::TargetStale | Cause::NotStable, _) if is_by_position(case) => vec![],
        // It looked to the end already, and waited there.
        (Cause::TargetNotFound | Cause::TargetStale, _) if matches!(case.step.action(), Action::ScrollUntil(_)) => {
            vec![FOLLOW, LOCATORS]
        }
        // What a list has not rendered yet. An observed target was there once, so it is looked for first.
        (Cause::TargetNotFound | Cause::TargetStale, 0..=2) if is_declared(case) => match (case.failure.cause, attempt)
        {
            (Cause::TargetNotFound, 0) => vec![LOCATORS, SCROLL_ON, SETTLE],
            (Cause::TargetNotFound, _) => vec![LOCATORS, SCROLL_ON, FRAMES],
            (_, 0) => vec![SETTLE],
            _ => vec![LOCATORS, FRAMES],
        },
        // Where waiting is not allowed, what moved out of view is looked for at once.
        (Cause::TargetStale | Cause::TargetNotFound, 0) => vec![FOLLOW, SETTLE, LOCATORS, ALTERNATIVE, FRAMES],
        (Cause::TargetStale | Cause::TargetNotFound, 1) => vec![FRAMES, FOLLOW, LOCATORS, ALTERNATIVE, IN_PLACE],
        (Cause::TargetStale | Cause::TargetNotFound, _) => vec![FOLLOW, LOCATORS, ALTERNATIVE, IN_PLACE],
        (Cause::TargetAmbiguous, 0) => vec![FOLLOW],
        (Cause::NotInView | Cause::NotVisible, 0) => vec![SCROLL_TO, SETTLE],
        (Cause::NotInView | Cause::NotVisible, 1) => vec![SETTLE, DISMISS],
        (Cause::NotInView | Cause::NotVisible, 2) => vec![DISMISS],
        (Cause::NotStable, 0 | 1) => vec![SETTLE],
        // The step has waited as long as it may: it does so once more after the page was idle.
        (Cause::NotEnabled | Cause::NotEditable, 0) => vec![SETTLE],
        (Cause::Covered, 0) => vec![DISMISS, SETTLE],
        (Cause::Covered, _) => vec![DISMISS],
        (Cause::PreconditionFailed, 0) => vec![SCROLL_TO, SETTLE],
        (Cause::PreconditionFailed, 1) if is_declared(case) => vec![DISMISS, SCROLL_FOR, SETTLE],
        (Cause::PreconditionFailed, 2) if is_declared(case) => vec![DISMISS],
        (Cause::PreconditionFailed, 1) => vec![DISMISS, SETTLE],
        (Cause::InputLost, _) => vec![REENTER],
        (Cause::PostconditionFailed, 0) if is_idle(case) => vec![HOLD],
        (Cause::PostconditionFailed, 0 | 1) if is_text_entry(case) && is_as_before(case) => vec![RETYPE],
        // The controller waits as long as the server asks for, before the step runs again.
        (_, 0) if is_asked_to_wait(case) => vec![(Rung::Wait, |_, _| Some(Repair::Reobserve(Scope::View)))],
        (Cause::PostconditionFailed | Cause::EffectUnknown, 0) if !case.failure.evidence.input_sent => vec![SETTLE],
        _ => vec![],
    }
}

fn is_by_position(case: &RepairCase<'_>) -> bool {
    matches!(case.step.main_target(), Some((_, BoundTarget::Declared(locator))) if locator.turns_on_position())
}

fn is_declared(case: &RepairCase<'_>) -> bool {
    matches!(case.step.main_target(), Some((_, BoundTarget::Declared(_))))
}

/// Returns two flags: the page or a pane has more below what it shows, and one of them was scrolled.
fn scroll_state(observation: &Observation) -> (bool, bool) {
    let view = &observation.viewport;
    let has_more = view.scroll_y + view.height + 1.0 < view.page_height;
    let panes = &observation.panes;
    (
        has_more || panes.iter().any(|pane| pane.below > 1),
        view.scroll_y > 1.0 || panes.iter().any(|pane| pane.above > 1),
    )
}

/// Scrolls on until a declared target is there. One search goes to the end, so another one follows it only where it had
/// nothing to scroll.
fn scroll_on_for_target(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    let (name, _) = case.step.main_target()?;
    let (has_more, is_scrolled) = scroll_state(observation);
    (has_more && (case.attempt == 0 || !is_scrolled)).then(|| search(action::ScrollUntil::sees(name.clone())))
}

/// Scrolls on until the precondition holds that did not.
fn scroll_on_for_precondition(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    let failed = case.failure.evidence.pre.iter().position(|judged| !judged.verdict.holds())?;
    let condition = case.step.step().pre.get(failed)?.clone();
    scroll_state(observation).0.then(|| search(action::ScrollUntil::holds(condition)))
}

/// Pages that load as they are scrolled need longer than a step has by default.
fn search(until: action::ScrollUntil) -> Repair {
    let mut step = Step::from(Action::ScrollUntil(until));
    step.timeout_ms = Some(Millis::clamped(30_000));
    Repair::Insert(vec![step])
}

fn settle_step() -> Step {
    let mut step = Step::from(Action::WaitForIdle(action::WaitForIdle { quiet_ms: Some(Millis::clamped(300)) }));
    step.timeout_ms = Some(Millis::clamped(3_000));
    step
}

/// Returns `true` if the server refused a page, and asked for the request to be sent again later.
fn is_asked_to_wait(case: &RepairCase<'_>) -> bool {
    let opens = case.failure.cause == Cause::HttpError && matches!(case.step.action(), Action::Navigate(_));
    let status = case.failure.facts.status;
    let effects = case.failure.evidence.effects.as_ref().filter(|_| opens);
    let mut requests = effects.iter().flat_map(|effects| &effects.requests);
    requests.any(|request| request.status == status && request.retry_after_ms.is_some())
}

/// Returns `true` if a drag had no effect at all, and nothing was sent.
fn is_idle(case: &RepairCase<'_>) -> bool {
    matches!(case.step.action(), Action::DragTo(drag) if drag.duration_ms.is_none())
        && case.failure.evidence.effects.as_ref().is_none_or(|effects| effects.requests.is_empty())
        && case.failure.facts.conditions.as_ref().is_some_and(|facts| facts.events.any_effect != Some(true))
}

fn is_text_entry(case: &RepairCase<'_>) -> bool {
    matches!(case.step.action(), Action::Type(_) | Action::SetValue(_) | Action::Clear(_))
}

/// Returns `true` if the field holds the value that it held before, and nothing else came of the text: an editor that made
/// something else of it would make a mess of it a second time, and a field that takes codes or scans would send them again.
fn is_as_before(case: &RepairCase<'_>) -> bool {
    let (Some(target), Some(facts)) = (case.step.action().target(), &case.failure.facts.conditions) else {
        return false;
    };
    let effects = case.failure.evidence.effects.as_ref();
    let requests = effects.iter().flat_map(|effects| &effects.requests).chain(&facts.events.requests);
    let has_sent = { requests }.any(|request| !["GET", "HEAD"].contains(&&*request.method));
    if has_sent || effects.is_some_and(|effects| effects.mutations.added + effects.mutations.texts > 0) {
        return false;
    }
    let value = |sample: &Sample| {
        sample
            .targets
            .get(target)
            .and_then(|seen| seen.element.as_ref())
            .map(|element| (element.value.clone(), element.text.clone()))
    };
    match (facts.before.as_ref().and_then(value), facts.samples.last().and_then(value)) {
        (Some(before), Some(now)) => before == now,
        _ => false,
    }
}

/// Another candidate that is the same thing: what is about the same, or has its fingerprint on another page.
fn retarget(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    if case.step.effect() == EffectClass::Destructive {
        return None;
    }
    let (name, bound) = case.step.main_target()?;
    let BoundTarget::Observed(candidate) = bound else { return None };
    let to = observation.follow(candidate).ok()?;
    (to.id != candidate.id).then(|| Repair::Retarget { from: name.clone(), to: to.id })
}

/// A text without case and punctuation: what a person hears of it. Signs that mean something stay, as in `C++`, `-1`, `5 %`.
fn plain(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_minus = |at: usize, sign: char| {
        let follows_word =
            at.checked_sub(1).and_then(|before| letters.get(before)).is_some_and(|it| it.is_alphanumeric());
        matches!(sign, '-' | '−' | '–') && !follows_word && letters.get(at + 1).is_some_and(char::is_ascii_digit)
    };
    let heard = letters.iter().enumerate().map(|(at, &letter)| match letter {
        letter if is_minus(at, letter) => '-',
        letter if letter.is_alphanumeric() || SIGNS.contains(letter) => letter,
        _ => ' ',
    });
    let heard: String = heard.flat_map(char::to_lowercase).collect();
    heard.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Signs that people hear.
const SIGNS: &str = "+%&=<>@#$€£¥°±×÷½¼¾√∞";

fn retarget_to(case: &RepairCase<'_>, observation: &Observation, fits: impl Fn(&Candidate) -> bool) -> Option<Repair> {
    if case.step.effect() == EffectClass::Destructive || case.failure.evidence.input_sent {
        return None;
    }
    let (name, bound) = case.step.main_target()?;
    let mut all = observation.candidates.iter().filter(|candidate| fits(candidate));
    let (only, None) = (all.next()?, all.next()) else { return None };
    let is_another = bound.candidate().is_none_or(|former| former.id != only.id);
    (is_another && !only.ambiguous).then(|| Repair::Retarget { from: name.clone(), to: only.id })
}

/// The one candidate that another locator of the target is about: an observed one's test id, or its label or name but for
/// case and signs in the same context; what a declared locator says, but for case and signs.
fn by_other_locators(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    match case.step.main_target()?.1 {
        BoundTarget::Observed(former) => retarget_to(case, observation, |candidate| {
            let is_alike = candidate.role == former.role
                && candidate.frame == former.frame
                && candidate.fingerprint.context == former.fingerprint.context
                && leads_alike(candidate, former)
                && !means_other(candidate, former);
            let same = |own: &Option<String>, other: &Option<String>| own.is_some() && own == other;
            let is_called = !plain(&former.name).is_empty() && plain(&candidate.name) == plain(&former.name);
            is_alike
                && (same(&candidate.test_id, &former.test_id) || is_called || same(&candidate.label, &former.label))
        }),
        BoundTarget::Declared(locator) => {
            let is_narrowed = locator.within.is_some()
                || locator.has.is_some()
                || locator.has_not.is_some()
                || locator.has_text.is_some()
                || locator.has_not_text.is_some()
                || !locator.frame.is_empty()
                || locator.turns_on_position();
            let Some((TextPattern::Literal(text), _)) = locator.strategy.text() else { return None };
            let wanted = plain(text.as_str());
            if is_narrowed || wanted.is_empty() {
                return None;
            }
            let role = if let Strategy::Role(by) = &locator.strategy { Some(by.role) } else { None };
            retarget_to(case, observation, |candidate| {
                let said = [Some(&candidate.name), candidate.label.as_ref(), candidate.placeholder.as_ref()];
                role.is_none_or(|role| role == candidate.role)
                    && candidate.frame == 0
                    && said.into_iter().flatten().any(|said| plain(said) == wanted)
            })
        }
    }
}

/// Returns `true` if both lead to the same address: links with the same name may be of different things.
fn leads_alike(one: &Candidate, other: &Candidate) -> bool {
    let leads = |it: &Candidate| (it.destination.clone(), it.activation.method.clone(), it.activation.url.clone());
    leads(one) == leads(other)
}

/// Returns `true` if both have exactly the same name in the same document but mean something else: the text around one
/// of them, or around the other, says so.
fn means_other(one: &Candidate, other: &Candidate) -> bool {
    one.name == other.name && one.shares_document(other) && other.about.is_some() && one.about != other.about
}

/// The one candidate that does the same: a link to the same address, the only button that sends the same form.
fn alternative(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    let BoundTarget::Observed(former) = case.step.main_target()?.1 else { return None };
    retarget_to(case, observation, |candidate| {
        let is_alike = candidate.role == former.role
            && candidate.frame == former.frame
            && candidate.fingerprint.context == former.fingerprint.context;
        let leads_there = former.destination.is_some() && candidate.destination == former.destination;
        let sends_it = former.role == Role::Button
            && former.activation.method.is_some()
            && former.activation.url.is_some()
            && (&candidate.activation.method, &candidate.activation.url)
                == (&former.activation.method, &former.activation.url)
            && candidate.form == former.form;
        is_alike && (leads_there || sends_it)
    })
}

/// The one candidate without a name, as the target was, that fills the target's box: of the same role, in the same context,
/// leading to the same place, with no higher risk. What has a name is found by that, or not at all: at the place of a row's
/// button may be that of another row.
fn in_place(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    const SHARE: f64 = 0.8;
    let BoundTarget::Observed(former) = case.step.main_target()?.1 else { return None };
    let rect = former.rect.filter(|_| plain(&former.name).is_empty())?;
    let fills = |other: &Rect| {
        other.contains(rect.center()) && other.share_within(&rect) >= SHARE && rect.share_within(other) >= SHARE
    };
    retarget_to(case, observation, |candidate| {
        plain(&candidate.name).is_empty()
            && candidate.role == former.role
            && candidate.control == former.control
            && candidate.frame == former.frame
            && candidate.fingerprint.context == former.fingerprint.context
            && candidate.occlusion.is_none()
            && candidate.rect.as_ref().is_some_and(fills)
            && leads_alike(candidate, former)
            && of_click(candidate) <= case.step.risk().max(RiskClass::Write)
    })
}

fn scroll_to_target(case: &RepairCase<'_>) -> Option<Repair> {
    let (name, _) = case.step.main_target()?;
    let scroll =
        action::Scroll { target_ref: Some(name.clone()), direction: None, delta_y: None, delta_x: None, point: None };
    let mut scroll = Step::from(Action::Scroll(scroll));
    scroll.timeout_ms = Some(Millis::clamped(3_000));
    Some(Repair::Insert(vec![scroll, settle_step()]))
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
            Some(Repair::Rewrite { before: vec![clear], step: Box::new(step) })
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

#[cfg(test)]
mod tests;
