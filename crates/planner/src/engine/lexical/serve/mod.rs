//! Serving a clause on a page: which steps do what it asks for.
//!
//! Invariant: pure; what is proposed names candidates of the page at hand only.

mod choices;
mod conclude;
mod controls;
mod fields;
mod getting;
mod login;
mod reading;

use cuebook_grammar::action::{
    Action, CloseTab, DragTo, Hover, Navigate, Nothing, OnTarget, Press, Scroll, SwitchTab, Upload,
};
use cuebook_grammar::action::{Direction, WaitForIdle};
use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::wire::{Count, Millis, ShortText};

pub(super) use getting::GETTING;

use super::clause::{Act, Awaited, Place};
use super::grounding::{Found, Hit};
use super::page::{Page, Proposed, Served, free, is_button, is_control, missing, on};
use super::phrase::Phrase;

/// Serves the clause of the page.
pub(super) fn serve(page: &Page<'_>, policy: &Policy) -> Served {
    match &page.clause.act {
        Act::Click { target, clicks } => controls::click(page, target, *clicks),
        Act::Press { keys, target } => press(page, keys, target),
        Act::Do { verb, object } => controls::named(page, verb, object.as_ref()),
        Act::Enter { entries, manner } => fields::enter(page, entries, *manner),
        Act::Choose { items, from } => choices::choose(page, items, from.as_ref()),
        Act::Toggle { items, except, wanted, only } => {
            choices::toggle(page, items.as_ref(), except.as_ref(), *wanted, *only)
        }
        Act::Login { user, password, rest } => login::login(page, user.as_ref(), password.as_ref(), rest),
        Act::Search { what, field, submits } => fields::search(page, what, field.as_ref(), *submits),
        Act::Hover(phrase) => {
            let found = page.find(phrase, &|_| true, &is_control);
            page.with_one(phrase, found, |hit| {
                let action = Action::Hover(Hover { target_ref: TargetRef::from(hit.candidate.id), position: None });
                Served::Steps(vec![Proposed { leaves: true, ..on(action, hit) }])
            })
        }
        Act::Focus(phrase) => fields::on_field(page, phrase, |target| Action::Focus(OnTarget { target_ref: target })),
        Act::Clear(phrase) => fields::on_field(page, phrase, |target| Action::Clear(OnTarget { target_ref: target })),
        Act::Scroll { direction, to } => scroll(page, *direction, to.as_ref()),
        Act::Wait(awaited) => wait(page, awaited),
        Act::Go(Place::Url(url)) => navigate(page, url, policy),
        Act::Go(Place::Thing(phrase)) => controls::go(page, phrase),
        Act::Back => Served::Steps(vec![left(Action::GoBack(Nothing {}))]),
        Act::Forward => Served::Steps(vec![left(Action::GoForward(Nothing {}))]),
        Act::Reload => Served::Steps(vec![left(Action::Reload(Nothing {}))]),
        Act::Read { what, question } => reading::read(page, what, question),
        Act::Verify { what, absent } => reading::verify(page, what, *absent),
        Act::AcceptDialog { text } => controls::accept(page, text.as_deref()),
        Act::DismissDialog => controls::dismiss(page),
        Act::SwitchTo(phrase) => switch_to(page, phrase),
        Act::CloseTab => Served::Steps(vec![left(Action::CloseTab(CloseTab { tab: None }))]),
        Act::Drag { what, to } => drag(page, what, to),
        Act::Upload { files, field } => upload(page, files, field.as_ref()),
        Act::Conclude { verb } => conclude::conclude(page, verb),
        Act::Nothing => Served::Done,
        Act::Unknown => Served::Cannot(format!(
            "expected an instruction that can be read without a model, saw {:?}",
            page.clause.source
        )),
    }
}

fn left(action: Action) -> Proposed {
    Proposed { leaves: true, ..free(action) }
}

fn press(page: &Page<'_>, keys: &str, target: &Phrase) -> Served {
    // A button of that name is what is meant if there is one: `press Next`, `press Enter`.
    let name = Phrase::named(&target.raw);
    if let Found::Several(hits) = page.find(&name, &is_button, &is_button)
        && hits.iter().all(|hit| hit.score >= 0.95)
    {
        return page.ask(target, &hits);
    }
    if let Found::One(hit) = page.find(&name, &is_button, &is_button)
        && hit.score >= 0.95
        && !hit.candidate.ambiguous
    {
        return Served::Steps(vec![page.click(hit)]);
    }
    let target = page.last.filter(|_| keys != "Escape");
    let action =
        Action::Press(Press { target_ref: target.map(|last| TargetRef::from(last.id)), keys: ShortText::cut(keys) });
    let proposed = match target {
        Some(candidate) => on(action, Hit { candidate, score: 1.0, confidence: 0.9 }),
        None => free(action),
    };
    Served::Steps(vec![Proposed { leaves: keys == "Enter", ..proposed }])
}

fn scroll(page: &Page<'_>, direction: Option<Direction>, to: Option<&Phrase>) -> Served {
    if let Some(phrase) = to {
        let container = direction.is_some();
        let found = page.find(phrase, &|_| true, &is_control);
        return page.with_one(phrase, found, |hit| {
            let scroll = Scroll {
                target_ref: Some(TargetRef::from(hit.candidate.id)),
                direction: direction.filter(|_| container),
                delta_y: None,
                delta_x: None,
            };
            Served::Steps(vec![on(Action::Scroll(scroll), hit)])
        });
    }
    let direction = direction.unwrap_or(Direction::Down);
    Served::Steps(vec![left(scroll_page(direction))])
}

/// Scrolls the page.
pub(super) const fn scroll_page(direction: Direction) -> Action {
    Action::Scroll(Scroll { target_ref: None, direction: Some(direction), delta_y: None, delta_x: None })
}

/// Waits for so many quiet milliseconds.
pub(super) fn quiet(millis: u32) -> Action {
    Action::WaitForIdle(WaitForIdle { quiet_ms: Some(Millis::clamped(millis)) })
}

fn wait(page: &Page<'_>, awaited: &Awaited) -> Served {
    match awaited {
        Awaited::Quiet => Served::Steps(vec![left(quiet(500))]),
        Awaited::Span(millis) => Served::Steps(vec![left(quiet(*millis))]),
        Awaited::Appears(text) => reading::await_text(page, text, true),
        Awaited::Goes(text) => reading::await_text(page, text, false),
    }
}

/// The absolute form of a URL as an instruction writes it.
fn absolute(url: &str, here: &str) -> String {
    if !url.starts_with('/') {
        return url.to_owned();
    }
    let Some((scheme, rest)) = here.split_once("://") else { return url.to_owned() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{url}")
}

fn navigate(page: &Page<'_>, url: &str, policy: &Policy) -> Served {
    let url = absolute(url, &page.observation.url);
    match policy.navigation(&url) {
        Ok(_) => Served::Steps(vec![left(Action::Navigate(Navigate::to(&url)))]),
        Err(denied) => Served::Cannot(format!("expected a URL that the policy allows: {}", denied.message)),
    }
}

fn switch_to(page: &Page<'_>, phrase: &Phrase) -> Served {
    let found = page.find(phrase, &is_control, &|candidate| candidate.role == cuebook_grammar::role::Role::Tab);
    if let Found::Nothing(_) = found {
        let tabs = &page.observation.tabs;
        let by_title: Vec<usize> = tabs
            .iter()
            .enumerate()
            .filter(|(_, tab)| {
                !phrase.head.is_empty() && {
                    let title = super::text::words(&tab.title);
                    phrase.head.iter().all(|word| title.contains(word))
                }
            })
            .map(|(index, _)| index)
            .collect();
        let indexes: Vec<usize> = (0..tabs.len()).collect();
        let others: Vec<usize> =
            indexes.iter().copied().filter(|&index| tabs.get(index).is_some_and(|tab| !tab.current)).collect();
        let chosen = match (&by_title[..], phrase.ordinal, &others[..]) {
            ([only], _, _) => Some(*only),
            (_, Some(ordinal), _) => ordinal.pick(&indexes),
            (_, None, [only]) if phrase.is_bare() || phrase.head == ["other"] || phrase.head == ["new"] => Some(*only),
            _ => None,
        };
        if let Some(tab) = chosen.and_then(|index| u32::try_from(index).ok()) {
            return Served::Steps(vec![left(Action::SwitchTab(SwitchTab { tab: Count::clamped(tab) }))]);
        }
    }
    controls::go(page, phrase)
}

fn drag(page: &Page<'_>, what: &Phrase, to: &Phrase) -> Served {
    let anything = |_: &Candidate| true;
    let from = match page.find(what, &anything, &anything) {
        Found::One(hit) if !hit.candidate.ambiguous => hit,
        found => return page.with_one(what, found, |_| Served::Done),
    };
    let found = page.find(to, &|candidate| candidate.id != from.candidate.id, &anything);
    page.with_one(to, found, |end| {
        let action = Action::DragTo(DragTo {
            target_ref: TargetRef::from(from.candidate.id),
            to: TargetRef::from(end.candidate.id),
            duration_ms: None,
            position: None,
            to_position: None,
        });
        let confidence = from.confidence.min(end.confidence);
        Served::Steps(vec![Proposed { confidence, leaves: true, ..on(action, from) }])
    })
}

fn upload(page: &Page<'_>, files: &[String], field: Option<&Phrase>) -> Served {
    let takes_files = |candidate: &Candidate| candidate.supports(Capability::Files);
    let all = page.all(&takes_files);
    let nothing = Phrase::default();
    let phrase = field.unwrap_or(&nothing);
    let found = match &all[..] {
        [] => return missing(field.unwrap_or(&Phrase::named("file field")), &[]),
        [only] => Found::One(Hit { candidate: only, score: 0.9, confidence: 0.9 }),
        several if phrase.is_bare() => {
            Found::Several(several.iter().map(|&candidate| Hit { candidate, score: 0.5, confidence: 0.3 }).collect())
        }
        _ => page.find(phrase, &takes_files, &|_| false),
    };
    page.with_one(phrase, found, |hit| {
        let action = Action::Upload(Upload {
            target_ref: TargetRef::from(hit.candidate.id),
            files: files.iter().map(|file| ShortText::cut(file)).collect(),
        });
        Served::Steps(vec![on(action, hit)])
    })
}
