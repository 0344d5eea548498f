//! Options, radio buttons, check boxes.

use std::collections::BTreeMap;

use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::role::Role;

use crate::engine::lexical::fields::{self, option_of, turned};
use crate::engine::lexical::page::{Page, PhraseMatch};
use crate::engine::lexical::phrase::{Amount, Phrase, WordKind};
use crate::engine::lexical::served::{Served, click_on};
use crate::engine::lexical::text::Span;

/// An item of a list.
enum Item<'a> {
    Option(&'a Candidate, String),
    Control(&'a Candidate),
}

/// The parts of a list: `A, B and C`.
fn items(span: Span<'_>) -> Vec<Span<'_>> {
    let mut out = Vec::new();
    let mut start = 0;
    for at in 0..=span.len() {
        if span.get(at).is_none_or(|token| token.is_separator()) {
            if at > start {
                out.push(span.cut(start, at));
            }
            start = at + 1;
        }
    }
    out
}

/// Selects options: `Large`, `A, B from the list`, `Yes for Public profile`.
pub(crate) fn choose(page: &Page<'_>, body: Span<'_>) -> Served {
    if body.len() == 1 && body.starts_with("nothing") {
        return Served::Steps(Vec::new());
    }
    if body.is_empty() || body.is_broken() {
        return Served::NotUnderstood;
    }
    let first = match chosen(page, &[body], None) {
        Ok(served) => return served,
        Err(served) => served,
    };
    let lists = |candidate: &Candidate| candidate.supports(Capability::Options);
    let from =
        |at: &usize| body.get(*at).is_some_and(|token| token.is_any(&["from", "in", "for", "as", "under", "of"]));
    let mut second = None;
    for at in (1..body.len().saturating_sub(1)).rev().filter(from) {
        let list = Phrase::of(body.from(at + 1));
        let all = page.find_all(&list, &lists);
        let what = body.cut(0, at);
        // `the list` is any list that has the option; a named list is only that one.
        let list = Some((&list, &all[..]));
        match chosen(page, &[what], list).or_else(|_| chosen(page, &items(what), list)) {
            Ok(served) => return served,
            Err(served) if !all.is_empty() => second = Some(served),
            Err(_) => {}
        }
    }
    if second.is_none() {
        match chosen(page, &items(body), None) {
            Ok(served) => return served,
            Err(served) if matches!(served, Served::Which { .. }) => second = Some(served),
            Err(_) => {}
        }
        // `size Small`: a list and one of its options.
        for at in (1..body.len()).rev() {
            let list = Phrase::of(body.cut(0, at));
            if !list.is_bare()
                && let PhraseMatch::One(list) = page.find(&list, &lists)
                && option_of(list, body.from(at).raw()).is_some()
            {
                return steps([Item::Option(list, body.from(at).raw().to_owned())]).unwrap_or_else(Served::Ask);
            }
        }
    }
    second.unwrap_or(first)
}

/// The steps for all items of a list; `Err` if one of them fails.
fn chosen(page: &Page<'_>, items: &[Span<'_>], list: Option<(&Phrase, &[&Candidate])>) -> Result<Served, Served> {
    let mut all = Vec::new();
    for item in items {
        all.push(one(page, *item, list)?);
    }
    steps(all).map_err(Served::Ask)
}

fn one<'a>(page: &Page<'a>, item: Span<'_>, list: Option<(&Phrase, &[&'a Candidate])>) -> Result<Item<'a>, Served> {
    let phrase = Phrase::of(item);
    let of_list = |candidate: &Candidate| match list {
        Some((phrase, named)) => {
            (phrase.is_bare() && phrase.ordinal.is_none()) || named.iter().any(|named| named.id == candidate.id)
        }
        None => true,
    };
    let text = phrase.quoted.first().filter(|_| phrase.quoted.len() == 1).unwrap_or(&phrase.raw);
    // `the option UTC`
    let said = phrase.said.iter().filter(|said| said.kind != WordKind::Role).map(|said| said.word.as_str());
    let bare = said.collect::<Vec<_>>().join(" ");
    let lists = page.all(|candidate| candidate.supports(Capability::Options) && of_list(candidate));
    let mut found: Vec<Item<'a>> = Vec::new();
    for candidate in &lists {
        let by_place = phrase.ordinal.filter(|_| phrase.is_bare() && list.is_some()).and_then(|ordinal| {
            let labels: Vec<&str> = candidate.options.iter().map(|option| option.label.as_str()).collect();
            ordinal.pick(&labels)
        });
        let called = || [text, &bare].into_iter().find(|text| option_of(candidate, text).is_some());
        if let Some(label) = by_place.or_else(|| called().map(String::as_str)) {
            found.push(Item::Option(candidate, label.to_owned()));
        }
    }
    // A list whose options are visible only when it is open.
    if let ([only], Some((named, _))) = (&lists[..], list)
        && !named.is_bare()
        && only.options.is_empty()
        && found.is_empty()
    {
        return Ok(Item::Option(only, text.clone()));
    }
    let choosable = |candidate: &Candidate| {
        let role = candidate.role;
        candidate.supports(Capability::CheckOn)
            || matches!(role, Role::Option | Role::MenuItem | Role::TreeItem | Role::Tab)
    };
    // `Yes for Public profile`: the name after `for` is the context of the button.
    let in_group = match list {
        Some((group, _)) if !group.is_bare() => Phrase::named(&format!("{text} {}", group.raw)),
        _ => phrase.clone(),
    };
    match page.find(&in_group, &choosable) {
        PhraseMatch::One(control) => found.push(Item::Control(control)),
        PhraseMatch::Several(several) => found.extend(several.into_iter().map(Item::Control)),
        PhraseMatch::Nothing(nearest) if found.is_empty() => {
            return Err(match (&lists[..], list) {
                ([only], Some(_)) => fields::choose(only, &[text]).err().map_or(Served::NotUnderstood, Served::Ask),
                _ => Served::missing(&phrase.raw, &nearest),
            });
        }
        PhraseMatch::Nothing(_) => {}
    }
    if let Some(at) = found.iter().position(|item| page.chosen == Some(candidate_of(item).id)) {
        return Ok(found.swap_remove(at));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(Served::several(&phrase.raw, &found.iter().map(candidate_of).collect::<Vec<_>>())),
    }
}

fn candidate_of<'a>(item: &Item<'a>) -> &'a Candidate {
    match item {
        Item::Option(candidate, _) | Item::Control(candidate) => candidate,
    }
}

fn steps<'a>(items: impl IntoIterator<Item = Item<'a>>) -> Result<Served, String> {
    let mut by_list: BTreeMap<CandidateId, (&Candidate, Vec<String>)> = BTreeMap::new();
    let mut steps = Vec::new();
    let mut leaves = false;
    for item in items {
        match item {
            Item::Option(list, text) => by_list.entry(list.id).or_insert((list, Vec::new())).1.push(text),
            Item::Control(control) if control.supports(Capability::CheckOn) => steps.extend(turned(control, true)),
            Item::Control(control) => {
                leaves = true;
                steps.push(click_on(control));
            }
        }
    }
    for (list, texts) in by_list.into_values() {
        if texts.len() > 1 && !list.states.multiselectable {
            return Err(format!("{} takes one option: {} or {}?", list.title(), texts[0], texts[1]));
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        steps.push(fields::choose(list, &texts)?);
    }
    if leaves && steps.len() > 1 {
        return Err("several things that open or close others: which one first?".to_owned());
    }
    Ok(if leaves { Served::Leaves(steps) } else { Served::Steps(steps) })
}

/// Checks or unchecks boxes: `A and B`, `all`, `everything except C`.
pub(crate) fn toggle(page: &Page<'_>, body: Span<'_>, on: bool) -> Served {
    let capability = if on { Capability::CheckOn } else { Capability::CheckOff };
    let fits = |candidate: &Candidate| candidate.supports(capability);
    let except = body.position(|token| token.is_any(&["except", "but"])).unwrap_or(body.len());
    let (main, rest) = (body.cut(0, except), body.from(except + 1));
    if main.is_empty() || body.is_broken() {
        return Served::NotUnderstood;
    }
    let all = Phrase::of(main);
    let means_all = (all.amount == Amount::All && all.is_bare()) || same_word(main, &["everything", "all"]);
    let named = |span: Span<'_>| -> Result<Vec<CandidateId>, Served> {
        let whole = Phrase::of(span);
        if let PhraseMatch::One(only) = page.find(&whole, &fits) {
            return Ok(vec![only.id]);
        }
        let mut out = Vec::new();
        for item in items(span) {
            let phrase = Phrase::of(item);
            match page.find(&phrase, &fits) {
                PhraseMatch::One(only) => out.push(only.id),
                PhraseMatch::Several(several) => return Err(Served::several(&phrase.raw, &several)),
                PhraseMatch::Nothing(nearest) => return Err(Served::missing(&phrase.raw, &nearest)),
            }
        }
        Ok(out)
    };
    let targets = match (means_all, except < body.len()) {
        (true, false) => Ok(page.all(fits).iter().map(|candidate| candidate.id).collect()),
        (true, true) => named(rest).map(|left_out| {
            let kept = page.all(|candidate| fits(candidate) && !left_out.contains(&candidate.id));
            kept.iter().map(|candidate| candidate.id).collect()
        }),
        (false, false) => named(main),
        (false, true) => return Served::NotUnderstood,
    };
    match targets {
        Ok(targets) if means_all && (targets.is_empty() || !page.is_whole()) => {
            Served::Ask(format!("{:?} is more than can be seen of the page: which of them?", all.raw))
        }
        Ok(targets) => {
            let candidates = targets.into_iter().filter_map(|id: CandidateId| page.observation.candidate(id));
            Served::Steps(candidates.filter_map(|candidate| turned(candidate, on)).collect())
        }
        Err(served) => served,
    }
}

fn same_word(span: Span<'_>, words: &[&str]) -> bool {
    matches!(span.tokens, [only] if only.is_any(words))
}
