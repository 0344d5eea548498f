//! Turns a clause into steps on a page.
//!
//! Invariants:
//! - Pure. Steps name only candidates of the observed page.
//! - A clause is served completely or not at all: one word that is not understood makes it [`Served::NotUnderstood`].

use cuebook_grammar::action::{
    AcceptDialog, Action, Direction, DragTo, Hover, MouseButton, Navigate, Nothing, OnTarget, Press, Scroll,
    SearchPage, SwitchTab, Upload, WaitForIdle,
};
use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::role::Role;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::{ClickCount, Count, Millis, ShortText};

use crate::engine::lexical::choices::{choose, toggle};
use crate::engine::lexical::fields::{Value, enter, give, value};
use crate::engine::lexical::lexicon::{Verb, key};
use crate::engine::lexical::login::login;
use crate::engine::lexical::page::{Page, PhraseMatch, is_button, is_field, is_pressed, is_text_field, same};
use crate::engine::lexical::phrase::Phrase;
use crate::engine::lexical::read::Clause;
use crate::engine::lexical::served::{Past, Served, click_on, clicked};
use crate::engine::lexical::text::{Kind, Span, Token, is_connecting, words};

/// Serves the one candidate that a phrase names.
fn with_one<'a>(
    page: &Page<'a>,
    phrase: &Phrase,
    fits: &dyn Fn(&Candidate) -> bool,
    serve: impl FnOnce(&'a Candidate) -> Served,
) -> Served {
    match page.find(phrase, fits) {
        PhraseMatch::One(candidate) => serve(candidate),
        PhraseMatch::Several(several) => Served::several(&phrase.raw, &several),
        PhraseMatch::Nothing(_) if phrase.is_broken || phrase.raw.is_empty() => Served::NotUnderstood,
        PhraseMatch::Nothing(nearest) => Served::missing(&phrase.raw, &nearest),
    }
}

/// Turns a clause into steps on the page; `next` is the clause that follows it.
pub(crate) fn serve(page: &Page<'_>, clause: &Clause<'_>, past: &Past, next: Option<&Clause<'_>>) -> Served {
    let body = clause.body;
    let phrase = Phrase::of(body);
    let anything = |_: &Candidate| true;
    let on = |action: fn(OnTarget) -> Action| {
        move |candidate: &Candidate| {
            Served::Steps(vec![Step::from(action(OnTarget { target_ref: candidate.id.into() }))])
        }
    };
    // The name of a control comes first, whatever else the words may mean: `Log in with Google`.
    let called = |candidate: &Candidate| is_pressed(candidate) && same(clause.whole.raw(), &candidate.name);
    if !matches!(clause.verb, Verb::Click | Verb::Press | Verb::Verify)
        && page.observation.dialog.is_none()
        && let [only] = page.all(called)[..]
        && !only.ambiguous
    {
        return click(only, clause);
    }
    match clause.verb {
        Verb::Login => login(page, body, past),
        Verb::Enter | Verb::Set => enter(page, clause.verb, body),
        Verb::Clear => with_one(page, &phrase, &is_text_field, on(Action::Clear)),
        Verb::Choose => choose(page, body),
        Verb::Check | Verb::Uncheck => toggle(page, body, clause.verb == Verb::Check),
        Verb::Click | Verb::DoubleClick | Verb::RightClick => pressed(page, &phrase, clause),
        Verb::Press => press(page, &phrase, clause, past),
        Verb::Open => open(page, body, &phrase, clause),
        Verb::Search => search(page, body, next),
        Verb::Hover => with_one(page, &phrase, &anything, |candidate| {
            let target_ref = candidate.id.into();
            Served::Leaves(vec![Step::from(Action::Hover(Hover { target_ref, position: None }))])
        }),
        Verb::Focus => with_one(page, &phrase, &anything, on(Action::Focus)),
        Verb::Drag => drag(page, body),
        Verb::Upload => upload(page, body),
        Verb::Scroll => scroll(page, body),
        Verb::Wait | Verb::Verify => look(clause, past),
        Verb::Accept | Verb::Dismiss if means_dialog(clause) => dialog(page, clause),
        Verb::SwitchTo => switch_to(page, &phrase, clause),
        Verb::Back | Verb::Forward | Verb::Reload if phrase.said.iter().all(|said| said.word == "page") => {
            let nothing = Nothing {};
            Served::Leaves(vec![Step::from(match clause.verb {
                Verb::Back => Action::GoBack(nothing),
                Verb::Forward => Action::GoForward(nothing),
                _ => Action::Reload(nothing),
            })])
        }
        Verb::Back | Verb::Forward | Verb::Reload => Served::NotUnderstood,
        Verb::Accept | Verb::Dismiss | Verb::Control | Verb::Name => by_name(page, clause, past),
    }
}

fn click(candidate: &Candidate, clause: &Clause<'_>) -> Served {
    let button = (clause.verb == Verb::RightClick).then_some(MouseButton::Right);
    let count = (clause.verb == Verb::DoubleClick).then(|| ClickCount::clamped(2));
    Served::Leaves(vec![clicked(candidate, button, count); clause.times])
}

/// Clicks a named candidate. A control to press takes precedence over a field of the same name.
fn pressed(page: &Page<'_>, phrase: &Phrase, clause: &Clause<'_>) -> Served {
    if let PhraseMatch::One(candidate) = page.find(phrase, &is_pressed) {
        return click(candidate, clause);
    }
    if let PhraseMatch::Several(several) = page.find(phrase, &is_pressed) {
        return Served::several(&phrase.raw, &several);
    }
    with_one(page, phrase, &|_| true, |candidate| click(candidate, clause))
}

/// `press`: a control, else a key.
fn press(page: &Page<'_>, phrase: &Phrase, clause: &Clause<'_>, past: &Past) -> Served {
    let words: Vec<&str> = clause.body.trimmed(&["the", "key"]).tokens.iter().map(|token| token.lower()).collect();
    match (key(&words.join(" ")), page.find(phrase, &is_pressed)) {
        (Some(keys), PhraseMatch::Nothing(nearest)) if nearest.is_empty() => {
            Served::Leaves(vec![keyed(past.field(page), &keys); clause.times])
        }
        _ => pressed(page, phrase, clause),
    }
}

fn keyed(target: Option<&Candidate>, keys: &str) -> Step {
    let target_ref = target.map(|candidate| TargetRef::from(candidate.id));
    Step::from(Action::Press(Press { target_ref, keys: ShortText::cut(keys) }))
}

/// A clause that may be the name of a control: `save`, `delete john@example.com`.
fn by_name(page: &Page<'_>, clause: &Clause<'_>, past: &Past) -> Served {
    let phrase = Phrase::of(clause.whole);
    match page.find(&phrase, &is_pressed) {
        PhraseMatch::One(candidate) => return click(candidate, clause),
        PhraseMatch::Several(several) => return Served::several(&phrase.raw, &several),
        PhraseMatch::Nothing(_) => {}
    }
    let object = Phrase::of(clause.body);
    if clause.whole.starts_with("submit") && object.is_bare() && object.said.iter().all(|said| said.word == "form") {
        return submit(page, clause, past);
    }
    let entry = |token: &Token| token.is_mark(":") || token.is_mark("=");
    if clause.verb == Verb::Name && clause.whole.position(entry).is_some() {
        return enter(page, Verb::Set, clause.whole);
    }
    match page.find(&phrase, &is_pressed) {
        PhraseMatch::Nothing(nearest) if clause.verb == Verb::Control => Served::missing(&phrase.raw, &nearest),
        _ => Served::NotUnderstood,
    }
}

/// The one button of the form that was filled in last.
fn submit(page: &Page<'_>, clause: &Clause<'_>, past: &Past) -> Served {
    let form = past.field(page).and_then(|field| field.form.clone());
    let in_form = |candidate: &Candidate| is_button(candidate) && (form.is_none() || candidate.form == form);
    match page.all(in_form)[..] {
        [only] if !only.ambiguous && page.is_whole() => click(only, clause),
        ref several => Served::missing("submit", several.get(..5).unwrap_or(several)),
    }
}

/// `open`, `go to`: a URL or path, else a control.
fn open(page: &Page<'_>, body: Span<'_>, phrase: &Phrase, clause: &Clause<'_>) -> Served {
    let place = body.tokens.last().map(|token| token.text.as_str()).filter(|text| {
        let lead = ["the", "page", "url", "address"];
        let is_place = text.starts_with('/') || text.contains("://");
        is_place && body.cut(0, body.len() - 1).tokens.iter().all(|token| token.is_any(&lead))
    });
    let Some(place) = place else { return pressed(page, phrase, clause) };
    let base = url::Url::parse(&page.observation.url);
    let url = match &base {
        Ok(base) => base.join(place),
        Err(_) => url::Url::parse(place),
    };
    match url {
        Ok(url) => Served::Leaves(vec![Step::from(Action::Navigate(Navigate::to(url.as_str())))]),
        Err(error) => Served::Cannot(format!("{place} is not a URL: {error}")),
    }
}

/// Types into the search field of the page and submits it.
fn search(page: &Page<'_>, body: Span<'_>, next: Option<&Clause<'_>>) -> Served {
    let body = if body.get(0).is_some_and(|token| token.is("for")) { body.from(1) } else { body };
    let into = (1..body.len()).find(|&at| body.get(at).is_some_and(|token| token.is_any(&["in", "into", "using"])));
    let (what, field) = match into {
        Some(at) => (body.cut(0, at), Some(Phrase::of(body.from(at + 1)))),
        None => (body, None),
    };
    // A longer text is probably a task, not a query.
    const MAX_WORDS: usize = 3;
    let is_plain = what.len() <= MAX_WORDS && !what.tokens.iter().any(|token| is_connecting(token.lower()));
    let Some(text) = value(what).filter(|_| is_plain) else { return Served::NotUnderstood };
    let searches = |candidate: &Candidate| {
        let names = [Some(&candidate.name), candidate.placeholder.as_ref(), candidate.label.as_ref()];
        let says = |text: &&String| words(text).iter().any(|word| matches!(word.as_str(), "search" | "find"));
        is_text_field(candidate)
            && (candidate.role == Role::SearchBox || names.into_iter().flatten().any(|text| says(&text)))
    };
    let found = match &field {
        Some(field) => page.find(field, &|candidate| is_text_field(candidate)),
        None => PhraseMatch::Several(page.all(searches)),
    };
    let field = match found {
        PhraseMatch::One(field) => field,
        PhraseMatch::Several(several) => match several[..] {
            [only] => only,
            [] => return Served::missing("a search field", &[]),
            _ => return Served::several("the search field", &several),
        },
        PhraseMatch::Nothing(nearest) => return Served::missing("the search field", &nearest),
    };
    let mut steps = match give(field, &text, Verb::Enter) {
        Ok(step) => step.into_iter().collect::<Vec<_>>(),
        Err(why) => return Served::Ask(why),
    };
    // `search for hats and press Enter`: the next clause submits it.
    let sends = |token: &Token| token.is_any(&["enter", "return", "search", "go", "find"]);
    if next.is_some_and(|next| next.verb == Verb::Search || next.body.tokens.first().is_some_and(sends)) {
        return Served::Steps(steps);
    }
    let sends =
        |candidate: &Candidate| is_button(candidate) && candidate.form.is_some() && candidate.form == field.form;
    steps.push(match page.all(sends)[..] {
        [only] if !only.ambiguous => click_on(only),
        _ => keyed(Some(field), "Enter"),
    });
    Served::Leaves(steps)
}

fn drag(page: &Page<'_>, body: Span<'_>) -> Served {
    let Some(at) = body.position(|token| token.is_any(&["to", "onto", "into"])) else { return Served::NotUnderstood };
    let (what, to) = (Phrase::of(body.cut(0, at)), Phrase::of(body.from(at + 1)));
    with_one(page, &what, &|_| true, |from| {
        with_one(page, &to, &|candidate| candidate.id != from.id, |to| {
            let (target_ref, to) = (from.id.into(), to.id.into());
            let drag = DragTo { target_ref, to, position: None, to_position: None, duration_ms: None };
            Served::Leaves(vec![Step::from(Action::DragTo(drag))])
        })
    })
}

fn upload(page: &Page<'_>, body: Span<'_>) -> Served {
    let at = body.position(|token| token.is_any(&["to", "into", "in", "as"])).unwrap_or(body.len());
    let Some(Value::Text(file)) = value(body.cut(0, at)).filter(|_| at == 1) else { return Served::NotUnderstood };
    let takes_files = |candidate: &Candidate| candidate.supports(Capability::Files);
    let upload = |candidate: &Candidate| {
        let upload = Upload { target_ref: candidate.id.into(), files: vec![ShortText::cut(&file)] };
        Served::Steps(vec![Step::from(Action::Upload(upload))])
    };
    match page.all(takes_files)[..] {
        [only] if at == body.len() => upload(only),
        ref several if at == body.len() && !several.is_empty() => Served::several("the file field", several),
        _ => with_one(page, &Phrase::of(body.from(at + 1)), &takes_files, upload),
    }
}

fn scroll(page: &Page<'_>, body: Span<'_>) -> Served {
    let words: Vec<&str> = body.tokens.iter().map(|token| token.lower()).collect();
    let direction = match words.join(" ").trim_start_matches("to the ").trim_end_matches(" of the page") {
        "" | "down" | "the page" | "down the page" => Some(Direction::Down),
        "up" => Some(Direction::Up),
        "top" => Some(Direction::Top),
        "bottom" | "end" => Some(Direction::Bottom),
        _ => None,
    };
    let scrolled = |target_ref, direction| {
        Served::Leaves(vec![Step::from(Action::Scroll(Scroll {
            target_ref,
            direction,
            delta_y: None,
            delta_x: None,
            point: None,
        }))])
    };
    match direction {
        Some(direction) => scrolled(None, Some(direction)),
        None if body.starts_with("to") => {
            with_one(page, &Phrase::of(body.from(1)), &|_| true, |target| scrolled(Some(target.id.into()), None))
        }
        None => Served::NotUnderstood,
    }
}

/// Searches for a text before it counts as absent.
const MAX_LOOKS: u32 = 4;

/// `wait until "Done" appears`, `verify that "Error" is not shown`: a quoted text and whether it is on the page.
fn look(clause: &Clause<'_>, past: &Past) -> Served {
    let body = clause.body;
    let waits = clause.verb == Verb::Wait;
    let idle = || Step::from(Action::WaitForIdle(WaitForIdle { quiet_ms: Some(Millis::clamped(500)) }));
    let says = |words: &[&str]| body.tokens.iter().all(|token| token.is_any(words));
    if waits && (body.is_empty() || says(&["for", "the", "page", "to", "load", "a", "moment", "loading"])) {
        return Served::Leaves(vec![idle()]);
    }
    let quoted: Vec<_> = body.tokens.iter().filter(|token| token.kind == Kind::Quoted).collect();
    const AROUND: &[&str] = &["that", "the", "text", "is", "are", "appears", "shown", "visible", "displayed", "there"];
    const NEGATIVE: &[&str] = &["not", "isn't", "no", "longer", "gone", "disappears"];
    let known = |token: &Token| {
        token.kind == Kind::Quoted || token.is_any(AROUND) || token.is_any(NEGATIVE) || token.is("until")
    };
    let ([text], true) = (&quoted[..], body.tokens.iter().all(known)) else { return Served::NotUnderstood };
    let wanted = !body.tokens.iter().any(|token| token.is_any(NEGATIVE));
    let ask =
        || Step::from(Action::SearchPage(SearchPage { query: ShortText::cut(&text.text), regex: None, context: None }));
    match past.seen {
        Some(seen) if seen == wanted => Served::Steps(Vec::new()),
        Some(_) if waits && past.looks < MAX_LOOKS => Served::OnTheWay(vec![idle(), ask()]),
        Some(true) => Served::Cannot(format!("{:?} is on the page", text.text)),
        Some(false) => Served::Cannot(format!("{:?} is not on the page", text.text)),
        None => Served::OnTheWay(vec![ask()]),
    }
}

/// Returns `true` if a clause answers a dialog of the browser.
pub(crate) fn means_dialog(clause: &Clause<'_>) -> bool {
    const WORDS: &[&str] = &["the", "dialog", "alert", "prompt", "confirmation", "box", "popup", "question", "it"];
    matches!(clause.verb, Verb::Accept | Verb::Dismiss)
        && (clause.whole.starts_with("answer") || clause.body.tokens.iter().all(|token| token.is_any(WORDS)))
}

fn dialog(page: &Page<'_>, clause: &Clause<'_>) -> Served {
    if page.observation.dialog.is_none() {
        return Served::Cannot("no dialog is open".to_owned());
    }
    if clause.verb == Verb::Dismiss {
        return Served::Leaves(vec![Step::from(Action::DismissDialog(Nothing {}))]);
    }
    let body = clause.body.trimmed(&["with", "the", "dialog", "prompt", "question"]);
    let text = match value(body) {
        Some(Value::Text(text)) if clause.whole.starts_with("answer") && !text.is_empty() => {
            Some(ShortText::cut(&text))
        }
        _ if clause.whole.starts_with("answer") => return Served::NotUnderstood,
        _ => None,
    };
    Served::Leaves(vec![Step::from(Action::AcceptDialog(AcceptDialog { text }))])
}

/// `switch to the Orders tab`: a tab of the page, or one of the browser.
fn switch_to(page: &Page<'_>, phrase: &Phrase, clause: &Clause<'_>) -> Served {
    let is_tab = |candidate: &Candidate| candidate.role == Role::Tab;
    if let PhraseMatch::One(tab) = page.find(phrase, &is_tab) {
        return click(tab, clause);
    }
    let name = phrase.quoted.first().cloned().unwrap_or_else(|| {
        let said = phrase.said.iter().filter(|said| said.kind != crate::engine::lexical::phrase::WordKind::Role);
        said.map(|said| said.word.as_str()).collect::<Vec<_>>().join(" ")
    });
    let tabs = page.observation.tabs.iter().enumerate().filter(|(_, tab)| same(&name, &tab.title));
    match tabs.map(|(at, _)| at).collect::<Vec<_>>()[..] {
        [at] => {
            let tab = Count::clamped(u32::try_from(at).unwrap_or(u32::MAX));
            Served::Leaves(vec![Step::from(Action::SwitchTab(SwitchTab { tab }))])
        }
        _ => with_one(page, phrase, &|candidate| is_tab(candidate) || is_field(candidate), |tab| click(tab, clause)),
    }
}
