//! The ladder: the next deterministic repair, by the cause of the failure and the attempt.
//!
//! Invariants:
//! - Pure: the same failure on the same observation gets the same repair.
//! - A step that sent input is repeated only if it is idempotent, or if the server refused its page and said when to ask
//!   again. Text is typed again only where the field is known to hold what it held before.
//! - A destructive step never gets another target.
//! - A target that was found by its position and then moved is not looked up again: another element may have the
//!   position.

use cuebook_grammar::action::{self, Action, Click, SetValue};
use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::Sample;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::id::{CandidateId, TargetRef};
use cuebook_grammar::locator::Strategy;
use cuebook_grammar::observation::{Challenge, Observation, Scope};
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
const DISMISS: (Rung, Way) = (Rung::Dismiss, dismiss);
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

/// Names of controls that only close their own dialog or banner.
const CLOSES: &[&str] = &[
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
    "skip for now",
    "got it",
    "hide",
    "schließen",
    "fermer",
    "cerrar",
    "chiudi",
    "cancel",
];

/// Words for what a control closes that is only in the way. Others name what belongs to the page: a ticket, an alert.
const COVERS: &[&str] = &[
    "ad",
    "advertisement",
    "announcement",
    "banner",
    "cookies",
    "dialog",
    "hint",
    "intro",
    "introduction",
    "lightbox",
    "menu",
    "modal",
    "newsletter",
    "notice",
    "notification",
    "onboarding",
    "overlay",
    "panel",
    "popover",
    "popup",
    "pop-up",
    "promo",
    "promotion",
    "sidebar",
    "tip",
    "tips",
    "toast",
    "tooltip",
    "tour",
    "tutorial",
    "window",
    "×",
];
/// Words of such names that say nothing themselves.
const FILLERS: [&str; 4] = ["a", "cookie", "the", "this"];

/// Names of controls that refuse cookies. Elsewhere they may refuse an offer or a request, so they count only on a page
/// that asks about cookies.
const REFUSE: &[&str] = &[
    "reject all",
    "reject all cookies",
    "decline",
    "decline all",
    "refuse",
    "refuse all",
    "deny",
    "deny all",
    "reject cookies",
    "decline cookies",
    "only necessary",
    "necessary only",
    "necessary cookies only",
    "only necessary cookies",
    "essential only",
    "continue without accepting",
    "alle ablehnen",
    "ablehnen",
    "tout refuser",
    "rechazar todo",
    "rifiuta tutto",
];

fn refuses_cookies(case: &RepairCase<'_>, candidate: &Candidate, observation: &Observation) -> bool {
    let name = candidate.name.trim().to_lowercase();
    let by = case.failure.facts.blocker.as_deref().unwrap_or_default().to_lowercase();
    let asks = observation.sketch.challenge == Some(Challenge::CookieWall)
        || ["cookie", "consent", "gdpr"].iter().any(|word| by.contains(word));
    asks && REFUSE.contains(&name.as_str())
}

/// Clicks the one control that closes what covers the target: the dialog's or the banner's own.
fn dismiss(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
    if holds_input(case, observation) {
        return None;
    }
    let target = case.step.main_target().and_then(|(_, bound)| bound.candidate()).map(|candidate| candidate.id);
    let closers: Vec<(&Candidate, usize)> = observation
        .candidates
        .iter()
        .filter(|candidate| Some(candidate.id) != target && may_dismiss(candidate))
        .filter(|candidate| is_of_cover(case, candidate, observation))
        .filter_map(|candidate| {
            // A question about cookies is refused before anything else is closed, and never agreed to.
            let refuses = refuses_cookies(case, candidate, observation).then_some(0);
            let cover = case.failure.facts.blocker.as_deref().unwrap_or_default();
            let rank = refuses.or_else(|| dismiss_rank(&candidate.name, cover).map(|rank| rank + 1))?;
            Some((candidate, rank))
        })
        .collect();
    let best = closers.iter().map(|(_, rank)| *rank).min()?;
    let mut best_ones = closers.iter().filter(|(_, rank)| *rank == best);
    match (best_ones.next(), best_ones.next()) {
        (Some((only, _)), None) => Some(Repair::Insert(vec![click(only.id)])),
        _ => None,
    }
}

/// Returns `true` if a control is part of the cover over the target: it lies in the cover's box with nothing over it.
/// Where that box is not known, it is a control of a dialog, or of a wall that asks about cookies.
fn is_of_cover(case: &RepairCase<'_>, candidate: &Candidate, observation: &Observation) -> bool {
    if let Some(cover) = &case.failure.facts.cover {
        return candidate.frame == 0
            && candidate.rect.is_some_and(|rect| rect.share_within(cover) > 0.5)
            && candidate.occlusion.is_none();
    }
    let path = &candidate.fingerprint.path;
    let is_dialog = path.split(['>', ' ', '/']).any(|part| part.contains("dialog"));
    is_dialog || observation.sketch.challenge == Some(Challenge::CookieWall)
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

fn dismiss_rank(name: &str, cover: &str) -> Option<usize> {
    let name = name.trim().to_lowercase();
    // What it is called, and not its id and class.
    let cover = cover.split('"').nth(1).unwrap_or_default().to_lowercase();
    let is_of_cover =
        |word: &str| COVERS.contains(&word) || cover.split(|c: char| !c.is_alphanumeric()).any(|it| it == word);
    let exact = CLOSES.iter().position(|word| name == *word);
    exact.or_else(|| {
        let starts = CLOSES.iter().position(|word| {
            let what = name.strip_prefix(word).filter(|what| word.len() > 1 && what.starts_with(' '));
            let mut words =
                what.unwrap_or_default().split_whitespace().filter(|word| !FILLERS.contains(word)).peekable();
            words.peek().is_some() && words.all(is_of_cover)
        });
        starts.map(|position| CLOSES.len() + position)
    })
}

/// Returns `true` if a field of the cover holds something: what was entered there would be thrown away. Fields that it
/// covers are in its box, too.
fn holds_input(case: &RepairCase<'_>, observation: &Observation) -> bool {
    let Some(cover) = &case.failure.facts.cover else { return false };
    observation.candidates.iter().any(|candidate| {
        matches!(candidate.role, Role::TextBox | Role::SearchBox | Role::SpinButton)
            && candidate.frame == 0
            && candidate.occlusion.is_none()
            && candidate.rect.is_some_and(|rect| rect.share_within(cover) > 0.5)
            && candidate.value.as_ref().is_some_and(|value| value.clear() != Some(""))
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
mod tests {
    use super::*;
    use cuebook_grammar::candidate::Occlusion;
    use cuebook_grammar::condition::Condition;
    use cuebook_grammar::id::PageId;
    use cuebook_grammar::observation::Pane;
    use cuebook_grammar::outcome::{Judged, Stage, StepFailure};
    use cuebook_grammar::plan::{Author, BoundStep, PlanDraft};
    use cuebook_grammar::policy::Policy;
    use cuebook_grammar::secret::FactText;
    use cuebook_grammar::verdict::Verdict;
    use serde_json::{Value, json};

    fn page(candidates: &[(&str, &str, &str)]) -> Observation {
        let mut page = Observation::blank(PageId::new("tab"), "https://shop.test/");
        let all: Vec<Value> = candidates
            .iter()
            .map(|(id, role, name)| {
                let control = if *role == "textbox" { "text" } else { "plain" };
                json!({ "id": id, "role": role, "name": name, "control": control,
                        "box": { "x": 10.0, "y": 10.0, "width": 80.0, "height": 30.0 },
                        "fingerprint": { "role": role, "name": name, "path": "main" } })
            })
            .collect();
        page.candidates = serde_json::from_value(Value::Array(all)).unwrap();
        page
    }

    fn bound(page: &Observation, step: Value) -> BoundStep {
        let draft = PlanDraft::read_value(json!({ "version": "1.0", "steps": [step] }), Author::Operator).unwrap();
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        draft.check(page, &policy).unwrap().bind(0, page).unwrap()
    }

    fn next(step: &BoundStep, cause: Cause, input_sent: bool, attempt: u32, page: &Observation) -> Repair {
        let mut failure = StepFailure::new(Stage::Act, cause, "test");
        failure.evidence.input_sent = input_sent;
        let all = Rect { x: 0.0, y: 0.0, width: 1_280.0, height: 720.0 };
        failure.facts.cover = (cause == Cause::Covered).then_some(all);
        let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
        Ladder::default().next(&RepairCase { step, failure: &failure, attempt }, page, &budget)
    }

    #[test]
    fn a_cover_is_closed_by_its_own_control_if_there_is_one() {
        let page = page(&[("c1", "button", "Continue"), ("c2", "button", "Close"), ("c3", "link", "Closed orders")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
        let Repair::Insert(steps) = next(&step, Cause::Covered, false, 0, &page) else {
            panic!("expected an insertion")
        };
        assert_eq!(steps[0].action.target().map(ToString::to_string).as_deref(), Some("c2"));
    }

    #[test]
    fn what_closes_something_else_is_not_pressed() {
        let mut page = page(&[("c1", "button", "Continue"), ("c2", "button", "Close")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
        page.candidates[1].rect = Some(Rect { x: 10.0, y: 800.0, width: 80.0, height: 30.0 });
        assert_eq!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon, "it lies beside the cover");
        page.candidates[1].rect = Some(Rect { x: 10.0, y: 10.0, width: 80.0, height: 30.0 });
        page.candidates[1].occlusion = Some(Occlusion { ratio: 0.2, by: "div".to_owned() });
        assert_eq!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon, "it is covered itself");
        page.candidates[1].occlusion = None;
        assert_ne!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon);
        assert_eq!(next(&step, Cause::NotVisible, false, 2, &page), Repair::Abandon, "it is of no dialog");
    }

    #[test]
    fn a_control_that_names_a_thing_of_the_page_closes_no_cover() {
        for (name, closes) in [
            ("Close", true),
            ("Close this dialog", true),
            ("Skip tour", true),
            ("Dismiss notification ×", true),
            ("Close spring sale", true),
            ("Close ticket", false),
            ("Close this", false),
            ("Cancel ride", false),
            ("Hide post", false),
        ] {
            let mut page = page(&[("c1", "button", "Send"), ("c2", "button", name), ("c3", "textbox", "Reply")]);
            let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
            let repair = |page: &Observation| {
                let mut failure = StepFailure::new(Stage::Act, Cause::Covered, "test");
                failure.facts.cover = Some(Rect { x: 0.0, y: 0.0, width: 1_280.0, height: 720.0 });
                failure.facts.blocker = Some("dialog \"Spring sale\"".to_owned());
                let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
                let case = RepairCase { step: &step, failure: &failure, attempt: 1 };
                Ladder::default().next(&case, page, &budget) != Repair::Abandon
            };
            assert_eq!(repair(&page), closes, "{name}");
            page.candidates[2].value = Some(FactText::Clear("half a reply".to_owned()));
            assert!(!repair(&page), "{name}: what was entered would be lost");
            page.candidates[2].occlusion = Some(Occlusion { ratio: 1.0, by: "dialog".to_owned() });
            assert_eq!(repair(&page), closes, "{name}: the field is below it");
        }
    }

    #[test]
    fn signs_that_mean_something_are_part_of_a_name() {
        for (one, other) in [("Log in", "LOG-IN!"), ("Save", "Save \u{2192}"), ("E-mail:", "e-mail"), ("a – b", "A, b")]
        {
            assert_eq!(plain(one), plain(other), "{one}");
        }
        for (one, other) in [("Rate +1", "Rate -1"), ("Pro+", "Pro"), ("C++", "C"), ("5 %", "5 €"), ("-1", "1")] {
            assert_ne!(plain(one), plain(other), "{one}");
        }
    }

    #[test]
    fn another_locator_of_an_observed_target_finds_it_again() {
        let before = page(&[("c1", "button", "Save")]);
        let step = bound(&before, json!({ "type": "click", "targetRef": "c1" }));
        let retarget = |after: &Observation| next(&step, Cause::TargetStale, false, 2, after);
        let from = step.action().target().unwrap().clone();
        let found = Repair::Retarget { from, to: CandidateId(7) };
        let mut after = page(&[("c7", "button", "SAVE \u{2192}")]);
        after.candidates[0].fingerprint.path = "somewhere else entirely".to_owned();
        assert_eq!(retarget(&after), found);
        after.candidates[0].fingerprint.context = Some("row: bob".to_owned());
        assert_eq!(retarget(&after), Repair::Abandon, "it is in a row");
        assert_eq!(retarget(&page(&[("c7", "button", "Save as")])), Repair::Abandon);
        assert_eq!(retarget(&page(&[("c7", "button", "SAVE!"), ("c8", "button", "SAVE?")])), Repair::Abandon);
        let only = |rungs: &[Rung], after: &Observation| {
            let failure = StepFailure::new(Stage::Resolve, Cause::TargetStale, "test");
            let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
            let case = RepairCase { step: &step, failure: &failure, attempt: 2 };
            Ladder::with(Rungs::only(rungs)).next(&case, after, &budget)
        };
        let mut renamed = page(&[("c7", "button", "SAVE \u{2192}")]);
        renamed.candidates[0].fingerprint.path = "somewhere else entirely".to_owned();
        assert_eq!(only(&[Rung::Locators], &renamed), found);
        assert_eq!(only(&[Rung::Wait, Rung::Candidates, Rung::Frames], &renamed), Repair::Abandon);
    }

    #[test]
    fn what_does_the_same_stands_in_for_a_target_that_is_gone() {
        let link = |id: &str, name: &str, to: &str| {
            let mut page = page(&[(id, "link", name)]);
            page.candidates[0].destination = Some(to.to_owned());
            page.candidates[0].fingerprint.path = format!("path of {id}");
            page
        };
        let step =
            bound(&link("c1", "Orders", "https://shop.test/orders"), json!({ "type": "click", "targetRef": "c1" }));
        let from = step.action().target().unwrap().clone();
        let found = Repair::Retarget { from, to: CandidateId(7) };
        let after = |to: &str| next(&step, Cause::TargetStale, false, 2, &link("c7", "Invoices", to));
        assert_eq!(after("https://shop.test/orders"), found);
        assert_eq!(after("https://shop.test/orders/all"), Repair::Abandon);
    }

    #[test]
    fn what_has_no_name_is_found_again_in_its_box_and_nothing_else_is() {
        let icon = |id: &str, name: &str| {
            let mut page = page(&[(id, "button", name)]);
            page.candidates[0].fingerprint.path = format!("path of {id}");
            let test_id = Some(format!("test id of {id}"));
            page.candidates[0].test_id.clone_from(&test_id);
            page.candidates[0].fingerprint.test_id = test_id;
            page
        };
        let step = bound(&icon("c1", ""), json!({ "type": "click", "targetRef": "c1" }));
        let from = step.action().target().unwrap().clone();
        let retarget = |after: &Observation| next(&step, Cause::TargetStale, false, 2, after);
        assert_eq!(retarget(&icon("c7", "")), Repair::Retarget { from, to: CandidateId(7) });
        assert_eq!(retarget(&icon("c7", "Save")), Repair::Abandon, "it has a name");
        let changed = |change: &dyn Fn(&mut Candidate)| {
            let mut after = icon("c7", "");
            change(&mut after.candidates[0]);
            after
        };
        let elsewhere = Rect { x: 60.0, y: 10.0, width: 80.0, height: 30.0 };
        let larger = Rect { x: 0.0, y: 0.0, width: 400.0, height: 300.0 };
        for (change, why) in [
            (&(|it: &mut Candidate| it.rect = Some(elsewhere)) as &dyn Fn(&mut Candidate), "it lies beside it"),
            (&|it: &mut Candidate| it.rect = Some(larger), "it is larger"),
            (&|it: &mut Candidate| it.role = Role::Link, "its role is another"),
            (&|it: &mut Candidate| it.fingerprint.context = Some("row: bob".to_owned()), "it is in a row"),
            (&|it: &mut Candidate| it.activation.icon = Some("trash".to_owned()), "its risk is higher"),
        ] {
            assert_eq!(retarget(&changed(change)), Repair::Abandon, "{why}");
        }
        let named = bound(&icon("c1", "Save"), json!({ "type": "click", "targetRef": "c1" }));
        assert_eq!(next(&named, Cause::TargetStale, false, 2, &icon("c7", "")), Repair::Abandon, "its name is gone");
    }

    #[test]
    fn of_two_controls_that_close_none_is_guessed() {
        let page = page(&[("c1", "button", "Continue"), ("c2", "button", "Close"), ("c3", "button", "Close")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
        assert_eq!(next(&step, Cause::Covered, false, 1, &page), Repair::Abandon);
    }

    #[test]
    fn a_rerendered_target_is_found_again_unless_the_step_is_destructive() {
        let (before, after) = (page(&[("c1", "button", "Save")]), page(&[("c7", "button", "Save")]));
        let step = bound(&before, json!({ "type": "click", "targetRef": "c1" }));
        let to = CandidateId(7);
        let from = step.action().target().unwrap().clone();
        assert_eq!(next(&step, Cause::TargetStale, false, 0, &after), Repair::Retarget { from, to });

        let (before, after) = (page(&[("c1", "button", "Delete")]), page(&[("c7", "button", "Delete")]));
        let step = bound(&before, json!({ "type": "click", "targetRef": "c1" }));
        assert!(!matches!(next(&step, Cause::TargetStale, false, 0, &after), Repair::Retarget { .. }));
    }

    #[test]
    fn a_position_that_moved_is_not_looked_up_again() {
        let page = page(&[]);
        let on = |nth: Value| {
            let draft = json!({
                "version": "1.0",
                "candidates": { "it": { "strategy": "css", "selector": "li button", "nth": nth } },
                "steps": [{ "type": "click", "targetRef": "it" }]
            });
            let policy = Policy::default().starting_at("https://shop.test/").unwrap();
            let draft = PlanDraft::read_value(draft, Author::Operator).unwrap();
            draft.check(&page, &policy).unwrap().bind(0, &page).unwrap()
        };
        for cause in [Cause::TargetStale, Cause::NotStable] {
            assert_eq!(next(&on(json!(1)), cause, false, 0, &page), Repair::Abandon, "{cause:?}");
            assert_ne!(next(&on(Value::Null), cause, false, 0, &page), Repair::Abandon, "{cause:?}");
        }
        assert_ne!(next(&on(json!(1)), Cause::TargetNotFound, false, 0, &page), Repair::Abandon);
    }

    #[test]
    fn a_click_that_was_sent_is_never_repeated() {
        let page = page(&[("c1", "button", "Save"), ("c2", "button", "Close")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c1", "post": [{ "kind": "urlChanges" }] }));
        for cause in [Cause::PostconditionFailed, Cause::EffectUnknown, Cause::Covered, Cause::TargetStale] {
            assert_eq!(next(&step, cause, true, 0, &page), Repair::Abandon, "{cause:?}");
        }
    }

    #[test]
    fn text_that_did_not_arrive_is_cleared_and_typed_slowly() {
        let page = page(&[("c1", "textbox", "Name")]);
        let step = bound(&page, json!({ "type": "type", "targetRef": "c1", "text": "Ann" }));
        let Repair::Rewrite { before, step } = after_entry(&step, "", "", &page) else {
            panic!("expected another way to enter it")
        };
        assert!(matches!(before[..], [Step { action: Action::Clear(_), .. }]));
        assert!(matches!(step.action, Action::Type(ref typed) if typed.delay_ms.is_some()));
    }

    #[test]
    fn a_declared_field_is_typed_into_slowly_before_its_value_is_set() {
        let page = page(&[]);
        let draft = json!({
            "version": "1.0",
            "candidates": { "name": { "strategy": "byLabel", "text": "Name" } },
            "steps": [{ "type": "type", "targetRef": "name", "text": "Ann" }]
        });
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        let plan = PlanDraft::read_value(draft, Author::Operator).unwrap().check(&page, &policy).unwrap();
        let step = plan.bind(0, &page).unwrap();
        let Repair::Rewrite { before, step } = after_entry(&step, "", "", &page) else {
            panic!("expected another way to enter it")
        };
        assert!(matches!(step.action, Action::Type(ref typed) if typed.delay_ms.is_some()));
        let repair = plan.repaired_by(before, &page).unwrap();
        assert_eq!(repair.bind(0, &page).unwrap().author(), Author::Controller, "no consent that the plan had");
    }

    fn declared(page: &Observation, more: Value) -> BoundStep {
        let mut step = json!({ "type": "click", "targetRef": "row" });
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let draft = json!({
            "version": "1.0",
            "candidates": { "row": { "strategy": "text", "text": "Row 80" } },
            "steps": [step]
        });
        let policy = Policy::default().starting_at("https://shop.test/").unwrap();
        PlanDraft::read_value(draft, Author::Operator).unwrap().check(page, &policy).unwrap().bind(0, page).unwrap()
    }

    fn search_of(repair: &Repair) -> Option<&action::ScrollUntil> {
        let Repair::Insert(steps) = repair else { return None };
        let Action::ScrollUntil(search) = &steps.first()?.action else { return None };
        assert!(steps[0].timeout_ms.is_some());
        Some(search)
    }

    #[test]
    fn what_is_not_rendered_yet_is_scrolled_for_to_the_end_of_the_page() {
        let mut page = page(&[]);
        (page.viewport.height, page.viewport.page_height) = (600.0, 2_000.0);
        let step = declared(&page, json!({}));
        let after = |attempt, page: &Observation| next(&step, Cause::TargetNotFound, false, attempt, page);
        let repair = after(0, &page);
        let target = search_of(&repair).and_then(|search| search.target_ref.as_ref());
        assert_eq!(target.map(ToString::to_string).as_deref(), Some("row"));
        assert!(search_of(&after(1, &page)).is_some(), "nothing was scrolled yet");
        page.viewport.scroll_y = 700.0;
        assert!(search_of(&after(0, &page)).is_some());
        assert_eq!(after(1, &page), Repair::Reobserve(Scope::Full), "it was searched as long as there was time");
        page.viewport.scroll_y = 1_400.0;
        let Repair::Insert(steps) = after(0, &page) else { panic!("expected a wait") };
        assert!(matches!(steps[0].action, Action::WaitForIdle(_)), "the end of the page");
        page.panes = vec![Pane { container: "div#list".to_owned(), below: 300, ..Pane::default() }];
        assert!(search_of(&after(0, &page)).is_some(), "a pane has more");
        let own = bound(&page, json!({ "type": "scrollUntil", "text": "Row 80" }));
        assert_eq!(next(&own, Cause::TargetNotFound, true, 0, &page), Repair::Abandon, "it looked itself");
    }

    #[test]
    fn a_precondition_that_does_not_hold_yet_is_scrolled_for() {
        let mut page = page(&[]);
        (page.viewport.height, page.viewport.page_height) = (600.0, 2_000.0);
        let pre = json!([{ "kind": "titleMatches", "pattern": "shop" }, { "kind": "exists", "target": "row" }]);
        let step = declared(&page, json!({ "pre": pre }));
        let judged = |condition: &Condition, verdict| Judged {
            condition: condition.clone(),
            verdict,
            vacuous: false,
            default: false,
            latency_ms: None,
        };
        let mut failure = StepFailure::new(Stage::Precondition, Cause::PreconditionFailed, "test");
        let stated = &step.step().pre;
        failure.evidence.pre = vec![judged(&stated[0], Verdict::Holds), judged(&stated[1], Verdict::Fails)];
        let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
        let case = RepairCase { step: &step, failure: &failure, attempt: 1 };
        let repair = Ladder::default().next(&case, &page, &budget);
        assert_eq!(search_of(&repair).and_then(|search| search.condition.as_ref()), Some(&stated[1]));
    }

    #[test]
    fn only_a_question_about_cookies_is_refused() {
        let mut page =
            page(&[("c1", "button", "Continue"), ("c2", "button", "Accept all"), ("c3", "button", "Reject all")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
        let Repair::Insert(steps) = next(&step, Cause::Covered, false, 0, &page) else { panic!("expected a wait") };
        assert!(matches!(steps[0].action, Action::WaitForIdle(_)), "an offer could be declined");
        page.sketch.challenge = Some(Challenge::CookieWall);
        let Repair::Insert(steps) = next(&step, Cause::Covered, false, 0, &page) else { panic!("expected a click") };
        assert_eq!(steps[0].action.target().map(ToString::to_string).as_deref(), Some("c3"));
    }

    #[test]
    fn text_that_arrived_in_part_is_not_typed_again() {
        let page = page(&[("c1", "textbox", "Price")]);
        let step = bound(&page, json!({ "type": "type", "targetRef": "c1", "text": "25" }));
        for cause in [Cause::TargetStale, Cause::NotEditable, Cause::DeadlineExceeded, Cause::PostconditionFailed] {
            assert_eq!(next(&step, cause, true, 0, &page), Repair::Abandon, "{cause:?}: it would stand there twice");
        }
        let set = bound(&page, json!({ "type": "setValue", "targetRef": "c1", "value": "25" }));
        assert_ne!(next(&set, Cause::NotEditable, true, 0, &page), Repair::Abandon, "a whole value replaces");
    }

    #[test]
    fn a_control_that_stays_off_is_waited_for_once_more() {
        let page = page(&[("c1", "textbox", "Customer number")]);
        let step = bound(&page, json!({ "type": "setValue", "targetRef": "c1", "value": "7" }));
        for cause in [Cause::NotEnabled, Cause::NotEditable] {
            let Repair::Insert(steps) = next(&step, cause, false, 0, &page) else { panic!("expected a wait") };
            assert!(matches!(steps[0].action, Action::WaitForIdle(_)));
            assert_eq!(next(&step, cause, false, 1, &page), Repair::Abandon, "{cause:?}");
        }
    }

    #[test]
    fn a_lost_value_is_entered_before_the_step_that_found_it_missing() {
        let page = page(&[("c1", "textbox", "City"), ("c2", "button", "Save")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c2" }));
        let again = Action::SetValue(SetValue::to(CandidateId(1), "Paris"));
        let mut failure = StepFailure::new(Stage::Precondition, Cause::InputLost, "test");
        let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
        let next = |failure: &StepFailure| {
            Ladder::default().next(&RepairCase { step: &step, failure, attempt: 0 }, &page, &budget)
        };
        assert_eq!(next(&failure), Repair::Abandon, "nobody knows how");
        failure.facts.again = Some(Box::new(again.clone()));
        assert_eq!(next(&failure), Repair::Insert(vec![Step::from(again)]));
    }

    #[test]
    fn a_drag_that_nothing_came_of_is_made_once_more_and_slowly() {
        let page = page(&[("c1", "button", "Move Sand"), ("c2", "button", "Move Box")]);
        let step = bound(&page, json!({ "type": "dragTo", "targetRef": "c1", "to": "c2" }));
        let mut failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, "test");
        failure.evidence.input_sent = true;
        let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
        let next = |failure: &StepFailure| {
            Ladder::default().next(&RepairCase { step: &step, failure, attempt: 0 }, &page, &budget)
        };
        assert_eq!(next(&failure), Repair::Abandon, "it is not known whether something was moved");
        let mut facts = cuebook_grammar::facts::Facts::default();
        facts.events.any_effect = Some(false);
        failure.facts.conditions = Some(facts);
        let Repair::Rewrite { step, .. } = next(&failure) else { panic!("expected a slow drag") };
        assert!(matches!(step.action, Action::DragTo(ref drag) if drag.duration_ms.is_some()));
    }

    #[test]
    fn text_that_the_field_transformed_is_not_entered_again() {
        let page = page(&[("c1", "textbox", "Notes")]);
        let step = bound(&page, json!({ "type": "type", "targetRef": "c1", "text": "## Notes" }));
        assert_eq!(after_entry(&step, "", "Notes", &page), Repair::Abandon);
        assert_eq!(next(&step, Cause::PostconditionFailed, true, 0, &page), Repair::Abandon);
    }

    /// Returns the repair after text that left the field with another value than it had.
    fn after_entry(step: &BoundStep, before: &str, now: &str, page: &Observation) -> Repair {
        let target = step.action().target().unwrap().to_string();
        let sample = |value: &str| {
            json!({ "atMs": 0, "url": "https://shop.test/", "title": "", "targets": {
                target.as_str(): { "matches": 1, "element": { "role": "textbox", "tag": "div", "value": value } } } })
        };
        let facts = json!({ "before": sample(before), "samples": [sample(now)] });
        let mut failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, "test");
        failure.evidence.input_sent = true;
        failure.facts.conditions = Some(serde_json::from_value(facts).unwrap());
        let budget = RepairBudget { step_attempts_left: 3, run_repairs_left: 3, can_replan: false };
        Ladder::default().next(&RepairCase { step, failure: &failure, attempt: 0 }, page, &budget)
    }

    #[test]
    fn without_a_budget_there_is_nothing_to_try() {
        let page = page(&[("c1", "button", "Save")]);
        let step = bound(&page, json!({ "type": "click", "targetRef": "c1" }));
        let failure = StepFailure::new(Stage::Act, Cause::NotStable, "test");
        let case = RepairCase { step: &step, failure: &failure, attempt: 0 };
        let mut budget = RepairBudget { step_attempts_left: 0, run_repairs_left: 3, can_replan: true };
        assert_eq!(Ladder::default().next(&case, &page, &budget), Repair::Replan);
        budget.can_replan = false;
        assert_eq!(Ladder::default().next(&case, &page, &budget), Repair::Abandon);
    }
}
