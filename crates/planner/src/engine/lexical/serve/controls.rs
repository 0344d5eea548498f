//! Clicking: buttons, links, tabs, and controls that are called by the verb itself.

use cuebook_grammar::action::{AcceptDialog, Action, Nothing};
use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::role::Role;
use cuebook_grammar::wire::ShortText;

use super::super::clause::{Clicks, Manner, Value};
use super::super::grounding::Sought;
use super::super::grounding::{Found, Hit, Weights, confidence, scored};
use super::super::page::{
    Page, Served, choose_option, free, give, is_button, is_clickable, is_control, is_open_entry, leads, missing,
    option_of,
};
use super::super::phrase::{Amount, Phrase};
use super::super::text::{Span, tokens, words};

/// Clicks what a phrase means.
pub(super) fn click(page: &Page<'_>, target: &Phrase, clicks: Clicks) -> Served {
    if target.amount != Amount::One {
        let sought = Sought { fits: &is_clickable, usual: &is_control, answers: &[] };
        let hits = scored(page.views, target, &sought);
        let best = hits.iter().map(|&(_, score)| score).fold(0.0, f64::max);
        let alike: Vec<&Candidate> = hits
            .into_iter()
            .filter(|&(candidate, score)| best - score <= 0.06 && !candidate.ambiguous && !page.is_done_on(candidate))
            .map(|(candidate, _)| candidate)
            .collect();
        if best > 0.0 {
            let steps = alike.into_iter().map(|candidate| {
                page.click_as(Hit { candidate, score: best, confidence: confidence(best, 0.5) }, clicks)
            });
            let steps: Vec<_> = steps.collect();
            return if steps.is_empty() { Served::Done } else { Served::Steps(steps) };
        }
    }
    match page.find(target, &|_| true, &is_control) {
        Found::Nothing(near) => {
            // `click Cancel to leave`: what stands after `to` may be a purpose.
            if let Some((before, _)) = target.raw.split_once(" to ")
                && let found @ Found::One(_) = page.find(&spoken(before), &|_| true, &is_control)
            {
                return page.with_one(target, found, |hit| Served::Steps(vec![page.click_as(hit, clicks)]));
            }
            // An option of a closed `select` is no candidate: choosing it is what clicking it means.
            let items = super::super::clause::Items { parts: vec![(0, target.name.len())], raw: target.name.clone() };
            match super::choices::choose(page, &items, None) {
                chosen @ (Served::Steps(_) | Served::Done) => chosen,
                _ => missing(target, &near),
            }
        }
        found => page.with_one(target, found, |hit| Served::Steps(vec![page.click_as(hit, clicks)])),
    }
}

/// The phrase of a text.
fn spoken(text: &str) -> Phrase {
    let all = tokens(text);
    Phrase::of(Span::new(text, &all))
}

/// Goes where a phrase says, through what is on the page.
pub(super) fn go(page: &Page<'_>, phrase: &Phrase) -> Served {
    let usual = |candidate: &Candidate| leads(candidate);
    // `the menu File`, `the Orders tab`, `the cart`.
    let found = page.find(phrase, &is_clickable, &usual);
    match found {
        Found::Nothing(near) if phrase.is_bare() => missing(phrase, &near),
        Found::Nothing(near) => {
            let here = words(&page.observation.title);
            let is_here = !phrase.head.is_empty()
                && phrase.head.iter().all(|word| here.contains(word))
                && page.progress.ways.iter().any(|way| way.label.is_empty());
            if is_here { Served::Done } else { missing(phrase, &near) }
        }
        found => page.with_one(phrase, found, |hit| Served::Steps(vec![page.click(hit)])),
    }
}

/// Verbs after which a form is sent.
const SUBMITTING: &[&str] = &[
    "submit", "send", "order", "save", "continue", "proceed", "confirm", "apply", "finish", "login", "register",
    "signup", "search", "buy", "pay", "checkout", "purchase", "place", "complete",
];
/// Verbs that the thing itself stands for: a details button is expanded by clicking it.
const OPENING: &[&str] =
    &["view", "show", "expand", "collapse", "hide", "sort", "close", "start", "filter", "download", "like", "share"];

/// A control that is called by the verb: `delete`, `save changes`, `edit invoice 7`.
pub(super) fn named(page: &Page<'_>, verb: &str, object: Option<&Phrase>) -> Served {
    let verb_phrase = Phrase::named(verb);
    let submits = words(verb).iter().any(|word| SUBMITTING.contains(&word.as_str()));
    let Some(object) = object.filter(|object| !object.raw.is_empty()) else {
        return submit(page, &verb_phrase, submits);
    };
    if let Some(served) = super::getting::get(page, verb, object) {
        return served;
    }
    let generic = ["it", "form", "this", "that", "the form", "order", "page", "changes", "all"];
    let whole =
        Phrase { role: object.role, ordinal: object.ordinal, ..Phrase::named(&format!("{verb} {}", object.raw)) };
    let said = object.head.iter().chain(&object.context).chain(&object.hints).cloned().collect();
    let of_object = Phrase {
        raw: whole.raw.clone(),
        context: said,
        role: object.role,
        ordinal: object.ordinal,
        ..verb_phrase.clone()
    };
    let mut tries = vec![(whole, 1.0), (of_object, 0.98)];
    if OPENING.contains(&verb) {
        tries.push((object.clone(), 0.95));
    }
    // `remove the pen from the cart`: the place that holds everything tells nothing apart.
    let holder = ["cart", "list", "wishlist", "page", "table", "grid", "inbox", "order"];
    let is_held = !object.context.is_empty() && object.context.iter().all(|word| holder.contains(&word.as_str()));
    if is_held && !object.head.is_empty() {
        let raw = format!("{verb} {}", object.name);
        tries.push((Phrase { raw, context: object.head.clone(), ..verb_phrase.clone() }, 0.93));
    }
    // `place the order`: the button may be called `Order`.
    if object.raw.starts_with("place ") {
        tries.push((verb_phrase.clone(), 0.9));
    }
    // `proceed to checkout`.
    let goes_on = ["proceed", "continue", "advance", "return"].contains(&verb);
    if let Some(end) = object.raw.strip_prefix("to ").filter(|_| goes_on) {
        tries.push((spoken(end), 0.95));
    }
    if ["sort", "order", "filter", "group", "arrange"].contains(&verb)
        && let Some(served) = arrange(page, &verb_phrase, object)
    {
        return served;
    }
    let mut best: Option<(Found<'_>, f64, Phrase)> = None;
    for (phrase, factor) in tries {
        let found = page.find(&phrase, &is_clickable, &is_control);
        let score = match &found {
            Found::One(hit) => hit.score * factor,
            Found::Several(hits) => hits.first().map_or(0.0, |hit| hit.score * factor),
            Found::Nothing(_) => continue,
        };
        if best.as_ref().is_none_or(|&(_, best, _)| score > best) {
            best = Some((found, score, phrase));
        }
    }
    match best {
        Some((found, _, _)) => page.with_one(object, found, |hit| {
            let states = &hit.candidate.states;
            let is_so = (verb == "expand" && states.expanded == Some(true))
                || (verb == "collapse" && states.expanded == Some(false));
            if is_so {
                return Served::Done;
            }
            // `agree to the terms`: what is agreed to by a box is checked.
            if ["agree", "accept", "allow"].contains(&verb) && hit.candidate.supports(Capability::CheckOn) {
                let step = super::choices::turn_on(page, hit);
                return step.map_or(Served::Done, |step| Served::Steps(vec![step]));
            }
            Served::Steps(vec![page.click(hit)])
        }),
        None if object.raw.starts_with("as ") || object.raw.contains(',') && object.raw.starts_with("with ") => {
            with_values(page, &verb_phrase, object)
        }
        None if object.raw.starts_with("with ") => with_value(page, &verb_phrase, object),
        None if object.is_bare() || generic.contains(&object.raw.to_lowercase().as_str()) => {
            submit(page, &verb_phrase, submits)
        }
        None => {
            let phrase = Phrase {
                head: verb_phrase.head.iter().chain(&object.head).chain(&object.context).cloned().collect(),
                ..Phrase::named(&format!("{verb} {}", object.raw))
            };
            match page.find(&phrase, &is_clickable, &is_control) {
                Found::Nothing(near) => missing(&phrase, &near),
                found => page.with_one(object, found, |hit| Served::Steps(vec![page.click(hit)])),
            }
        }
    }
}

/// `subscribe with a@b.c`: the value goes into the field of the form whose button is called by the verb.
fn with_value(page: &Page<'_>, verb: &Phrase, object: &Phrase) -> Served {
    let text = object.raw.strip_prefix("with ").unwrap_or_default().trim();
    page.with_one(verb, page.find(verb, &is_button, &is_button), |button| {
        let form = &button.candidate.form;
        let fields = page.all(&|candidate| {
            is_open_entry(candidate)
                && !candidate.is_sensitive()
                && candidate.form == *form
                && candidate.context == button.candidate.context
        });
        let [field] = fields[..] else { return missing(object, &fields) };
        if field.ambiguous {
            return page.ask(object, &[Hit { candidate: field, ..button }]);
        }
        let hit = Hit { candidate: field, score: 0.8, confidence: 0.8 };
        let typed =
            if page.is_done_on(field) { Ok(None) } else { give(hit, &Value::Text(text.to_owned()), Manner::Enter) };
        match typed {
            Ok(step) => Served::Steps(step.into_iter().chain(std::iter::once(page.click(button))).collect()),
            Err(reason) => Served::Cannot(reason),
        }
    })
}

/// `pay as Bob, b@x.org`: each value goes into the one field of the button's form that its shape fits.
fn with_values(page: &Page<'_>, verb: &Phrase, object: &Phrase) -> Served {
    let said = object.raw.trim_start_matches("as ").trim_start_matches("with ");
    page.with_one(verb, page.find(verb, &is_button, &is_button), |button| {
        let mut taken: Vec<&Candidate> = Vec::new();
        let mut steps = Vec::new();
        for text in said.split(',').map(|part| part.trim().trim_start_matches("and ").trim()) {
            if text.is_empty() {
                continue;
            }
            let kinds = kinds_of(text);
            let fields = page.all(&|candidate| {
                is_open_entry(candidate)
                    && !candidate.is_sensitive()
                    && candidate.form == button.candidate.form
                    && !taken.iter().any(|other| other.id == candidate.id)
                    && words(&candidate.name).iter().any(|word| kinds.contains(&word.as_str()))
            });
            let [field] = fields[..] else { return missing(&Phrase::named(text), &fields) };
            if field.ambiguous {
                return page.ask(object, &[Hit { candidate: field, ..button }]);
            }
            taken.push(field);
            let hit = Hit { candidate: field, score: 0.7, confidence: 0.7 };
            match give(hit, &Value::Text(text.to_owned()), Manner::Enter) {
                Ok(step) => steps.extend(step.filter(|_| !page.is_done_on(field))),
                Err(reason) => return Served::Cannot(reason),
            }
        }
        steps.push(page.click(button));
        Served::Steps(steps)
    })
}

/// The words by which fields for such a value are called.
fn kinds_of(text: &str) -> &'static [&'static str] {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_number = text.chars().all(|c| c.is_ascii_digit() || c == ' ' || c == '-' || c == '+');
    if text.contains('@') && !text.contains(' ') {
        &["email", "mail", "e-mail"]
    } else if super::super::dates::iso(text).is_some() || (digits == 8 && text.matches('-').count() == 2) {
        &["date", "day", "birthday"]
    } else if is_number && (12..=19).contains(&digits) {
        &["card"]
    } else if is_number {
        &["phone", "telephone", "mobile", "number", "amount"]
    } else {
        &["name"]
    }
}

/// `sort by price`: an option of the list that is called by the verb.
fn arrange(page: &Page<'_>, verb: &Phrase, object: &Phrase) -> Option<Served> {
    let by = object.raw.rsplit_once("by ").map_or(object.raw.as_str(), |(_, by)| by);
    let lists = |candidate: &Candidate| !candidate.options.is_empty();
    let Found::One(hit) = page.find(verb, &lists, &|_| false) else { return narrow(page, by) };
    option_of(hit.candidate, by)?;
    let step = choose_option(hit, by).ok()?;
    (!hit.candidate.ambiguous).then(|| Served::Steps(vec![step]))
}

/// `filter by status Paid`: the list that is named has this option; a button of its form applies it.
fn narrow(page: &Page<'_>, by: &str) -> Option<Served> {
    let named = page.all(&|candidate| super::choices::field_and_option(candidate, by).is_some());
    let [list] = named[..] else { return None };
    let (option, score) = super::choices::field_and_option(list, by)?;
    let hit = Hit { candidate: list, score, confidence: 0.85 };
    let step = choose_option(hit, &super::super::page::label_of(list, option)).ok().filter(|_| !list.ambiguous)?;
    let mut steps = if page.is_done_on(list) { Vec::new() } else { vec![step] };
    let of_form = |candidate: &Candidate| is_button(candidate) && list.form.is_some() && candidate.form == list.form;
    if let Found::One(button) = page.find(&Phrase::named("apply"), &of_form, &is_button)
        && !button.candidate.ambiguous
    {
        steps.push(page.click(button));
    }
    Some(if steps.is_empty() { Served::Done } else { Served::Steps(steps) })
}

/// The button of this name: of the form that was changed last if it has one, or the only one there is.
pub(super) fn submit(page: &Page<'_>, verb: &Phrase, submits: bool) -> Served {
    let form = page.last.and_then(|last| last.form.as_deref());
    let in_form = |candidate: &Candidate| form.is_some() && candidate.form.as_deref() == form;
    // Nothing is sent by ticking a box.
    let sends =
        |candidate: &Candidate| is_clickable(candidate) && !(submits && candidate.supports(Capability::CheckOn));
    let of_form = |candidate: &Candidate| sends(candidate) && in_form(candidate);
    let has_button =
        form.is_none() || page.views.iter().any(|view| is_button(view.candidate) && in_form(view.candidate));
    let is_cut = page.observation.truncated.is_some_and(|truncated| truncated.off_view > 0);
    if submits && !has_button && is_cut {
        // The form that was filled in goes on where the view ends.
        return missing(verb, &[]);
    }
    let everywhere = page.find(verb, &is_clickable, &is_button);
    let is_sure = |found: &Found<'_>| matches!(found, Found::One(hit) if !hit.candidate.ambiguous);
    let is_exact = matches!(&everywhere, Found::One(hit) if hit.score >= Weights::SAME_CONTENT);
    let within = page.find(verb, &of_form, &is_button);
    if is_sure(&within) {
        return page.with_one(verb, within, |hit| Served::Steps(vec![page.click(hit)]));
    }
    let only = if submits && !is_exact { sender(page, &of_form) } else { None };
    if let Some(candidate) = only {
        return Served::Steps(vec![page.click(Hit { candidate, score: Weights::CONTAINED, confidence: 0.6 })]);
    }
    match everywhere {
        Found::Nothing(near) => {
            let only = if submits && form.is_none() { sender(page, &is_button) } else { None };
            match only {
                Some(candidate) => {
                    Served::Steps(vec![page.click(Hit { candidate, score: Weights::CONTAINED, confidence: 0.5 })])
                }
                None => missing(verb, &near),
            }
        }
        found => page.with_one(verb, found, |hit| Served::Steps(vec![page.click(hit)])),
    }
}

/// The only button there is, or the only one whose name says that it sends.
fn sender<'a>(page: &Page<'a>, fits: &dyn Fn(&Candidate) -> bool) -> Option<&'a Candidate> {
    let buttons = page.all(&|candidate| is_button(candidate) && fits(candidate) && !candidate.ambiguous);
    let sending =
        |candidate: &&Candidate| words(&candidate.name).iter().any(|word| SUBMITTING.contains(&word.as_str()));
    let senders: Vec<&Candidate> = buttons.iter().copied().filter(sending).collect();
    match (&buttons[..], &senders[..]) {
        ([only], _) | (_, [only]) => Some(*only),
        _ => None,
    }
}

/// Accepts the dialog of the browser, or presses what accepts on the page.
pub(super) fn accept(page: &Page<'_>, text: Option<&str>) -> Served {
    if page.observation.dialog.is_some() {
        return Served::Steps(vec![free(Action::AcceptDialog(AcceptDialog { text: text.map(ShortText::cut) }))]);
    }
    match text {
        // What is typed into a dialog of the browser goes nowhere else.
        Some(_) => missing(&Phrase::named("a dialog to answer"), &[]),
        None => on_page_dialog(page, "accept"),
    }
}

/// Dismisses the dialog of the browser, or presses what dismisses on the page.
pub(super) fn dismiss(page: &Page<'_>) -> Served {
    if page.observation.dialog.is_some() {
        return Served::Steps(vec![free(Action::DismissDialog(Nothing {}))]);
    }
    on_page_dialog(page, "dismiss")
}

fn on_page_dialog(page: &Page<'_>, verb: &str) -> Served {
    let phrase = Phrase::named(verb);
    let in_dialog = |candidate: &Candidate| {
        candidate.context.as_ref().is_some_and(|context| context.to_lowercase().contains("dialog"))
    };
    let is_pressed =
        |candidate: &Candidate| is_clickable(candidate) && matches!(candidate.role, Role::Button | Role::Link);
    match page.find(&phrase, &|candidate| is_pressed(candidate) && in_dialog(candidate), &is_button) {
        Found::Nothing(_) => {}
        found => return page.with_one(&phrase, found, |hit| Served::Steps(vec![page.click(hit)])),
    }
    match page.find(&phrase, &is_pressed, &is_button) {
        Found::Nothing(near) => missing(&Phrase::named("dialog"), &near),
        found => page.with_one(&phrase, found, |hit| Served::Steps(vec![page.click(hit)])),
    }
}
