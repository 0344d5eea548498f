//! Choosing: options, check boxes, radio buttons, and lists of them.

use cuebook_grammar::action::{Action, OnTarget, OptionChoice, OptionChoices, Select};
use cuebook_grammar::candidate::{Candidate, Capability, ControlKind};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::role::Role;
use cuebook_grammar::text_match::collapse_white_space;
use cuebook_grammar::wire::ShortText;

use super::super::clause::{Items, Wanted};
use super::super::grounding::{Found, Hit, Weights, confidence, score, text_fit};
use super::super::lexicon::Ordinal;
use super::super::page::{
    Page, Proposed, Served, choose_option, is_clickable, is_control, is_on, label_of, missing, on, option_of,
};
use super::super::phrase::Phrase;

/// How much better what is chosen by its nature is than what is merely clicked.
const CHOSEN_BY_NATURE: f64 = 0.03;

/// One way to choose an item.
#[derive(Clone)]
struct Choice<'a> {
    candidate: &'a Candidate,
    /// The option of a `select`.
    option: Option<usize>,
    score: f64,
}

/// Words that stand for a list without naming it.
fn is_general(phrase: &Phrase) -> bool {
    const GENERAL: &[&str] = &[
        "list",
        "dropdown",
        "menu",
        "select",
        "option",
        "options",
        "box",
        "scroll",
        "selection",
        "available",
        "following",
        "choice",
        "page",
        "form",
        "above",
        "below",
        "picker",
        "here",
    ];
    phrase.head.iter().chain(&phrase.context).all(|word| GENERAL.contains(&word.as_str()))
}

/// Chooses each item: an option where one is called so, a box, a radio button, or what else bears the name.
pub(super) fn choose(page: &Page<'_>, items: &Items, from: Option<&Phrase>) -> Served {
    let mut steps: Vec<Proposed> = Vec::new();
    let mut several: Option<(&Candidate, Vec<usize>)> = None;
    let groups = grouped(items, &|text| {
        let shown = page.views.iter().map(|view| view.candidate);
        shown
            .flat_map(|candidate| {
                std::iter::once(&candidate.name).chain(candidate.options.iter().map(|option| &option.label))
            })
            .map(|name| text_fit(text, &collapse_white_space(name)))
            .fold(0.0, f64::max)
    });
    if groups.is_empty() {
        return Served::Cannot(format!("expected something to choose in {:?}, saw none", page.clause.source));
    }
    let is_list = groups.len() > 1;
    for text in groups {
        let choices = best_choices(page, &text, from);
        let best = choices.iter().map(|choice| choice.score).fold(0.0, f64::max);
        let equal: Vec<&Choice<'_>> = choices.iter().filter(|choice| best - choice.score <= Weights::TIE).collect();
        let next = choices.iter().map(|c| c.score).filter(|score| best - score > Weights::TIE).fold(0.0, f64::max);
        let chosen = match &equal[..] {
            [] => match custom(page, &text, from) {
                Some(served) => {
                    match served {
                        Served::Steps(more) => steps.extend(more),
                        Served::Done => {}
                        other => return other,
                    }
                    continue;
                }
                None => return nothing_to_choose(page, &text, from),
            },
            [only] => *only,
            twins => {
                let hits: Vec<Hit<'_>> = twins
                    .iter()
                    .map(|twin| Hit { candidate: twin.candidate, score: twin.score, confidence: 0.3 })
                    .collect();
                let answer = page.progress.answers.last().and_then(|answer| {
                    let ids: Vec<_> = hits.iter().map(|hit| hit.candidate.id).collect();
                    match page.find(&Phrase::named(answer), &|candidate| ids.contains(&candidate.id), &|_| false) {
                        Found::One(hit) => twins.iter().find(|twin| twin.candidate.id == hit.candidate.id),
                        _ => None,
                    }
                });
                match answer {
                    Some(twin) => *twin,
                    None => return page.ask(&Phrase { raw: text.clone(), ..Phrase::named(&text) }, &hits),
                }
            }
        };
        let candidate = chosen.candidate;
        let hit = Hit { candidate, score: chosen.score, confidence: confidence(chosen.score, next) };
        if candidate.ambiguous {
            return page.ask(&Phrase::named(&text), &[hit]);
        }
        match chosen.option {
            Some(option) if is_list && candidate.states.multiselectable => match &mut several {
                Some((same, options)) if same.id == candidate.id => options.push(option),
                _ => several = Some((candidate, vec![option])),
            },
            Some(option) => {
                let is_chosen = candidate.options.get(option).is_some_and(|option| option.selected);
                let only = candidate.options.iter().filter(|option| option.selected).count() == 1;
                // A closed list shows its first option as chosen before anybody chose it: choose it all the same.
                if is_chosen && only && page.is_done_on(candidate) {
                    continue;
                }
                match choose_option(hit, &label_of(candidate, option)) {
                    Ok(step) => steps.push(step),
                    Err(reason) => return Served::Cannot(reason),
                }
            }
            None => steps.extend(turn_on(page, hit)),
        }
    }
    if let Some((candidate, options)) = several {
        let choices =
            options.iter().map(|&index| OptionChoice::Text(ShortText::cut(&label_of(candidate, index)))).collect();
        let option = OptionChoices { choices, is_list: true };
        let hit = Hit { candidate, score: 1.0, confidence: 0.9 };
        steps.insert(0, on(Action::Select(Select { target_ref: TargetRef::from(candidate.id), option }), hit));
    }
    if steps.is_empty() { Served::Done } else { Served::Steps(steps) }
}

fn nothing_to_choose(page: &Page<'_>, text: &str, from: Option<&Phrase>) -> Served {
    let phrase = Phrase::named(text);
    let near = match page.find(
        &phrase,
        &|candidate| candidate.control == ControlKind::Select || is_control(candidate),
        &is_control,
    ) {
        Found::Nothing(near) => near,
        _ => Vec::new(),
    };
    let has_options = |candidate: &Candidate| !candidate.options.is_empty();
    let lists = page.all(&has_options);
    let list = match (from.filter(|from| !is_general(from)), from, &lists[..]) {
        (Some(from), _, _) => match page.find(from, &has_options, &|_| false) {
            Found::One(hit) => Some(hit.candidate),
            _ => None,
        },
        (None, Some(_), [only]) => Some(*only),
        _ => None,
    };
    if let Some(list) = list {
        let known: Vec<&str> = list.options.iter().take(8).map(|option| option.label.as_str()).collect();
        return Served::Cannot(format!("expected an option {text:?} of {}, saw {}", list.title(), known.join(", ")));
    }
    missing(&phrase, &near)
}

/// A list that shows its options only once it is open.
fn custom<'a>(page: &Page<'a>, text: &str, from: Option<&Phrase>) -> Option<Served> {
    let is_custom = |candidate: &Candidate| {
        candidate.supports(Capability::Options)
            && candidate.options.is_empty()
            && candidate.control != ControlKind::Select
    };
    let all = page.all(&is_custom);
    let hit = match from.filter(|from| !is_general(from)) {
        Some(from) => match page.find(from, &is_custom, &|_| true) {
            Found::One(hit) => hit,
            _ => return None,
        },
        None => match all[..] {
            [only] => Hit { candidate: only, score: 0.6, confidence: 0.5 },
            _ => return None,
        },
    };
    if hit.candidate.ambiguous {
        return None;
    }
    if hit.candidate.value.as_ref().and_then(|value| value.clear()) == Some(text) {
        return Some(Served::Done);
    }
    Some(match choose_option(hit, text) {
        Ok(step) => Served::Steps(vec![step]),
        Err(reason) => Served::Cannot(reason),
    })
}

/// Every way to choose this, best first.
fn best_choices<'a>(page: &Page<'a>, text: &str, from: Option<&Phrase>) -> Vec<Choice<'a>> {
    let all = super::super::text::tokens(text);
    let phrase = Phrase::of(super::super::text::Span::new(text, &all));
    let specific = from.filter(|from| !is_general(from));
    let mut choices: Vec<Choice<'a>> = Vec::new();
    for view in page.views {
        let candidate = view.candidate;
        // The list that was named must be this one; what stands in a group of that name will do, too.
        let place = match specific {
            Some(from) => score(view, from),
            None => 0.0,
        };
        if !candidate.options.is_empty() {
            if specific.is_some() && place <= 0.0 {
                continue;
            }
            let bonus = CHOSEN_BY_NATURE + if specific.is_some() { Weights::ROLE * place } else { 0.0 };
            if let Some(ordinal) = phrase.ordinal.filter(|_| phrase.head.is_empty()) {
                let indexes: Vec<usize> = (0..candidate.options.len()).collect();
                let picked = ordinal.pick(&indexes);
                choices.extend(picked.map(|option| Choice { candidate, option: Some(option), score: 0.85 + bonus }));
            } else if let Some((option, fit)) = option_of(candidate, text)
                .into_iter()
                .chain(option_of(candidate, &phrase.name))
                .max_by(|a, b| a.1.total_cmp(&b.1))
            {
                choices.push(Choice { candidate, option: Some(option), score: fit + bonus });
            } else if let Some((option, fit)) = field_and_option(candidate, text) {
                choices.push(Choice { candidate, option: Some(option), score: fit });
            }
            continue;
        }
        let is_box = candidate.supports(Capability::CheckOn);
        if !is_clickable(candidate) || !(is_box || is_choosable(candidate)) {
            continue;
        }
        let mut said = phrase.clone();
        if let Some(from) = specific {
            said.context.extend(from.head.iter().chain(&from.context).cloned());
        }
        let whole = Phrase::named(text);
        let fit = score(view, &said).max(if specific.is_none() { score(view, &whole) } else { 0.0 });
        if fit > 0.0 && !(phrase.ordinal.is_some() && phrase.head.is_empty()) {
            let nature =
                if is_box || matches!(candidate.role, Role::Option | Role::Radio) { CHOSEN_BY_NATURE } else { 0.0 };
            let unlike = if is_control(candidate) { 1.0 } else { 0.93 };
            choices.push(Choice { candidate, option: None, score: fit * unlike + nature });
        }
    }
    if phrase.ordinal.is_some() && choices.is_empty() {
        let found = page.find(&phrase, &|candidate| is_clickable(candidate), &is_control);
        if let Found::One(hit) = found {
            choices.push(Choice { candidate: hit.candidate, option: None, score: hit.score });
        }
    }
    choices.sort_by(|a, b| b.score.total_cmp(&a.score));
    // The best stays in front; equals keep the order of the page, for the question that lists them.
    choices
}

/// `size Large`: the list's name and its option in one.
pub(super) fn field_and_option(candidate: &Candidate, text: &str) -> Option<(usize, f64)> {
    let name = super::super::phrase::content(&candidate.name);
    let said = super::super::phrase::content(text);
    if name.is_empty() || said.len() <= name.len() || !name.iter().all(|word| said.contains(word)) {
        return None;
    }
    let rest: Vec<&String> = said.iter().filter(|word| !name.contains(word)).collect();
    let rest = rest.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    option_of(candidate, &rest).map(|(option, fit)| (option, fit * 0.97))
}

fn is_choosable(candidate: &Candidate) -> bool {
    is_control(candidate)
        || matches!(
            candidate.role,
            Role::ListItem | Role::GridCell | Role::Cell | Role::Row | Role::Generic | Role::Img
        )
}

pub(super) fn turn_on(page: &Page<'_>, hit: Hit<'_>) -> Option<Proposed> {
    let candidate = hit.candidate;
    if !candidate.supports(Capability::CheckOn) {
        let is_chosen = candidate.states.selected == Some(true) && candidate.role != Role::Tab;
        return (!is_chosen).then(|| page.click(hit));
    }
    (!is_on(candidate)).then(|| on(Action::Check(OnTarget { target_ref: TargetRef::from(candidate.id) }.into()), hit))
}

/// The parts of a list, joined again where the page knows the joined name: `Bosnia and Herzegovina`.
fn grouped(items: &Items, fit: &dyn Fn(&str) -> f64) -> Vec<String> {
    let count = items.parts.len().min(60);
    let mut out = Vec::new();
    let mut at = 0;
    while at < count {
        let longest = count.min(at + 6);
        let joined = (at + 1..longest).rev().find(|&to| fit(&items.joined(at, to)) >= Weights::SAME_WORDS);
        let to = joined.unwrap_or(at);
        out.push(items.joined(at, to));
        at = to + 1;
    }
    out.retain(|text| !text.is_empty());
    out
}

fn is_box(candidate: &Candidate) -> bool {
    candidate.supports(Capability::CheckOn) && !matches!(candidate.role, Role::Radio | Role::MenuItemRadio)
}

/// Turns boxes on or off: those that are named, or all but those that are named.
pub(super) fn toggle(
    page: &Page<'_>,
    items: Option<&Items>,
    except: Option<&Items>,
    wanted: Wanted,
    only: bool,
) -> Served {
    let wants_on = wanted == Wanted::On;
    let takes = |candidate: &Candidate| {
        let needed = if wants_on { Capability::CheckOn } else { Capability::CheckOff };
        candidate.supports(needed) || candidate.states.pressed.is_some()
    };
    let mut kept = Vec::new();
    if let Some(except) = except {
        match named_boxes(page, except, &takes) {
            Ok(hits) => kept = hits,
            Err(served) => return served,
        }
    }
    let is_kept = |candidate: &Candidate| kept.iter().any(|hit: &Hit<'_>| hit.candidate.id == candidate.id);
    let boxes = page
        .all(&|candidate| takes(candidate) && is_box(candidate) && !candidate.ambiguous && !candidate.states.disabled);
    let every: Vec<Hit<'_>> =
        boxes.into_iter().map(|candidate| Hit { candidate, score: 0.9, confidence: 0.9 }).collect();
    let chosen: Vec<Hit<'_>> = match items {
        Some(items) => match named_boxes(page, items, &takes) {
            Ok(hits) => hits,
            Err(served) => return toggle_elsewhere(page, items, served, wants_on),
        },
        None if every.is_empty() => return missing(&Phrase::named("check boxes"), &[]),
        None => every.clone(),
    };
    let mut steps = Vec::new();
    let mut change = |hit: Hit<'_>, to_on: bool| {
        if is_on(hit.candidate) == to_on || page.is_done_on(hit.candidate) {
            return;
        }
        let target = OnTarget { target_ref: TargetRef::from(hit.candidate.id) };
        let by_click = !hit.candidate.supports(if to_on { Capability::CheckOn } else { Capability::CheckOff });
        steps.push(match (by_click, to_on) {
            (true, _) => page.click(hit),
            (false, true) => on(Action::Check(target.into()), hit),
            (false, false) => on(Action::Uncheck(target.into()), hit),
        });
    };
    if only {
        for hit in every {
            if !chosen.iter().any(|chosen| chosen.candidate.id == hit.candidate.id)
                && hit.candidate.supports(Capability::CheckOff)
            {
                change(hit, !wants_on);
            }
        }
    }
    for hit in chosen {
        if !is_kept(hit.candidate) {
            change(hit, wants_on);
        }
    }
    if steps.is_empty() { Served::Done } else { Served::Steps(steps) }
}

/// No box is called so: an option, or a control that is called by the verb, may be what is meant.
fn toggle_elsewhere(page: &Page<'_>, items: &Items, served: Served, wants_on: bool) -> Served {
    let Served::Missing { .. } = served else { return served };
    if !wants_on {
        return served;
    }
    match choose(page, items, None) {
        chosen @ (Served::Steps(_) | Served::Done) => chosen,
        _ => served,
    }
}

/// The boxes that a list names.
fn named_boxes<'a>(page: &Page<'a>, items: &Items, takes: &dyn Fn(&Candidate) -> bool) -> Result<Vec<Hit<'a>>, Served> {
    let fits = |text: &str| {
        page.views
            .iter()
            .filter(|view| takes(view.candidate))
            .map(|view| text_fit(text, &collapse_white_space(&view.candidate.name)))
            .fold(0.0, f64::max)
    };
    let mut hits = Vec::new();
    let boxes = page.all(&|candidate| takes(candidate) && is_box(candidate));
    for text in grouped(items, &fits) {
        let all = super::super::text::tokens(&text);
        let mut phrase = Phrase::of(super::super::text::Span::new(&text, &all));
        if phrase.is_bare() && phrase.ordinal.is_none() {
            // `tick the box`: the only one there is.
            match &boxes[..] {
                [only] if !only.ambiguous => hits.push(Hit { candidate: only, score: 0.9, confidence: 0.9 }),
                [] => return Err(missing(&Phrase::named("check box"), &[])),
                several => {
                    let several: Vec<Hit<'_>> =
                        several.iter().map(|&candidate| Hit { candidate, score: 0.5, confidence: 0.3 }).collect();
                    return Err(page.ask(&phrase, &several));
                }
            }
            continue;
        }
        if let Some(Ordinal::Nth(_) | Ordinal::FromEnd(_)) = phrase.ordinal
            && phrase.is_bare()
        {
            phrase.role = None;
            match phrase.ordinal.and_then(|ordinal| ordinal.pick(&boxes)) {
                Some(candidate) if !candidate.ambiguous => hits.push(Hit { candidate, score: 0.9, confidence: 0.85 }),
                _ => return Err(missing(&phrase, &boxes)),
            }
            continue;
        }
        match page.find(&phrase, takes, &is_control) {
            Found::One(hit) if !hit.candidate.ambiguous => hits.push(hit),
            Found::One(hit) => return Err(page.ask(&phrase, &[hit])),
            Found::Several(twins) => return Err(page.ask(&phrase, &twins)),
            Found::Nothing(near) => return Err(missing(&phrase, &near)),
        }
    }
    Ok(hits)
}
