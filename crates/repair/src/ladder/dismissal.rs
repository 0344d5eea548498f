//! The repair that clears what covers a target: the one control that closes only that is clicked.
//!
//! Invariants:
//! - A control is known by its name alone: by words for closing, and by words for what is only in the way.
//! - Nothing is agreed to, and no cover that holds what somebody entered is closed.
//! - Of several that would do, none is guessed.

use cuebook_grammar::action::{Action, Click};
use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::id::{CandidateId, TargetRef};
use cuebook_grammar::observation::{Challenge, Observation};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{Repair, RepairCase};
use cuebook_grammar::step::Step;

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
pub(super) fn dismiss(case: &RepairCase<'_>, observation: &Observation) -> Option<Repair> {
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
