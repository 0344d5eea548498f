//! Getting things from a shop: how many, of which sort, and then the button that gets them.
//!
//! Invariant: what was said about a thing is set before its button is pressed, or the clause is not served.

use cuebook_grammar::candidate::{Candidate, Capability};

use super::super::clause::{Manner, Value};
use super::super::grounding::{Found, Hit, score};
use super::super::lexicon::{DETERMINERS, counted};
use super::super::page::{Page, Proposed, Served, choose_option, give, is_button, is_open_entry, missing, option_of};
use super::super::phrase::{Phrase, content};
use super::super::text::{Span, tokens, words};
use super::choices::{field_and_option, turn_on};

/// Verbs that get something which a shop keeps.
pub(in super::super) const GETTING: &[&str] = &["add", "buy", "order", "purchase", "get", "take", "reserve"];

/// What is said about a thing that is to be got.
struct Wish<'s> {
    count: Option<u32>,
    thing: Span<'s>,
    manners: Vec<Span<'s>>,
}

/// `two notebooks in size Large with gift wrap to the cart`, taken apart.
fn wish(all: Span<'_>) -> Wish<'_> {
    let holds = |span: Span<'_>| {
        let place = span.without_leading(DETERMINERS).without_leading(&["shopping"]);
        place.len() == 1 && words(place.raw()).iter().any(|word| word == "cart" || word == "wishlist")
    };
    let end = (1..all.len())
        .find(|&at| all.get(at).is_some_and(|token| token.is_any(&["to", "in", "into"])) && holds(all.from(at + 1)));
    let all = end.map_or(all, |end| all.cut(0, end)).without_leading(DETERMINERS);
    let count = all.first().and_then(|token| counted(&token.lower));
    let span = if count.is_some() { all.from(1) } else { all };
    let span = if span.len() > 2
        && span.get(1).is_some_and(|token| token.is("of"))
        && span
            .first()
            .is_some_and(|token| token.is_any(&["pair", "copy", "copies", "piece", "pieces", "item", "items"]))
    {
        span.from(2)
    } else {
        span
    };
    let cuts: Vec<usize> = (1..span.len())
        .filter(|&at| {
            span.get(at).is_some_and(|token| token.is_any(&["with", "in", "and", "as"]) || token.is_mark(","))
        })
        .collect();
    let thing = span.cut(0, cuts.first().copied().unwrap_or(span.len()));
    let ends = cuts.iter().copied().skip(1).chain(std::iter::once(span.len()));
    let manners = cuts.iter().zip(ends).map(|(&from, to)| span.cut(from + 1, to).without_leading(DETERMINERS));
    let manners = manners.filter(|span| !span.trimmed().is_empty()).collect();
    Wish { count, thing, manners }
}

/// Gets what was wished for; nothing if no button here gets it.
pub(super) fn get(page: &Page<'_>, verb: &str, object: &Phrase) -> Option<Served> {
    if !GETTING.contains(&verb) {
        return None;
    }
    let all = tokens(&object.raw);
    let wish = wish(Span::new(&object.raw, &all));
    let plain = wish.count.is_none() && wish.manners.is_empty();
    let thing = content(wish.thing.raw());
    if thing.is_empty() || (plain && verb == "add") {
        return None;
    }
    let mut tried = vec![verb];
    tried.extend(["add", "buy", "order"].into_iter().filter(|other| *other != verb));
    let button = tried.into_iter().find_map(|verb| {
        // All of it is the raw text: a button that is called by the verb alone need not be the thing's.
        let raw = format!("{verb} {}", wish.thing.raw());
        let phrase = Phrase { raw, context: thing.clone(), ..Phrase::named(verb) };
        match page.find(&phrase, &is_button, &is_button) {
            Found::One(hit) if !hit.candidate.ambiguous && !hit.candidate.states.disabled => Some(hit),
            _ => None,
        }
    });
    let Some(button) = button else { return listed(page, verb, &wish) };
    let of = |candidate: &Candidate| match &button.candidate.context {
        Some(context) => candidate.context.as_ref() == Some(context),
        None => button.candidate.form.is_some() && candidate.form == button.candidate.form,
    };
    Some(with_wishes(page, &wish, button, &of, Vec::new()))
}

/// `order a notebook` where the things stand in one list, beside the button: the list says what is got.
fn listed(page: &Page<'_>, verb: &str, wish: &Wish<'_>) -> Option<Served> {
    let name = wish.thing.meant();
    let offers = |candidate: &Candidate| option_of(candidate, &name).is_some_and(|(_, fit)| fit >= 0.9);
    let lists = page.all(&|candidate| offers(candidate) && !candidate.ambiguous && !candidate.states.disabled);
    let [list] = lists[..] else { return None };
    let beside = |candidate: &Candidate| is_button(candidate) && candidate.form == list.form;
    let Found::One(button) = page.find(&Phrase::named(verb), &beside, &is_button) else { return None };
    if button.candidate.ambiguous || button.candidate.states.disabled {
        return None;
    }
    let of = |candidate: &Candidate| candidate.form == list.form && candidate.id != list.id;
    let hit = Hit { candidate: list, score: 0.9, confidence: 0.85 };
    let choice = choose_option(hit, &name).ok()?;
    Some(with_wishes(page, wish, button, &of, vec![choice]))
}

/// The steps for how many and of which sort, then the button; what cannot be set is not left out.
fn with_wishes(
    page: &Page<'_>,
    wish: &Wish<'_>,
    button: Hit<'_>,
    of: &dyn Fn(&Candidate) -> bool,
    mut steps: Vec<Proposed>,
) -> Served {
    for manner in &wish.manners {
        match set(page, *manner, of) {
            Some(set) => steps.extend(set),
            None => return missing(&Phrase::of(*manner), &[button.candidate]),
        }
    }
    if let Some(count) = wish.count {
        let named = Phrase::named("quantity");
        let fits = |candidate: &Candidate| of(candidate) && (is_open_entry(candidate) || !candidate.options.is_empty());
        match page.find(&named, &fits, &|_| false) {
            Found::One(hit) if !hit.candidate.ambiguous => {
                match give(hit, &Value::Text(count.to_string()), Manner::Replace) {
                    Ok(step) => steps.extend(step),
                    Err(reason) => return Served::Cannot(reason),
                }
            }
            _ if count == 1 => {}
            _ => return missing(&named, &[button.candidate]),
        }
    }
    let is_left = |step: &Proposed| {
        let target = step.action.target().and_then(|target| target.candidate_id());
        !target.and_then(|id| page.observation.candidate(id)).is_some_and(|candidate| page.is_done_on(candidate))
    };
    steps.retain(is_left);
    steps.push(page.click(button));
    Served::Steps(steps)
}

/// The step that sets one thing that was said, none if it is so already; nothing if it is not met.
fn set(page: &Page<'_>, said: Span<'_>, of: &dyn Fn(&Candidate) -> bool) -> Option<Option<Proposed>> {
    let text = said.meant();
    let heard = content(&text);
    let phrase = Phrase::of(said);
    let mut met = page.views.iter().filter(|view| of(view.candidate)).filter_map(|view| {
        let candidate = view.candidate;
        let hit = |fit| Hit { candidate, score: fit, confidence: 0.8 };
        if !candidate.options.is_empty() {
            let (index, fit) = option_of(candidate, &text).or_else(|| field_and_option(candidate, &text))?;
            let option = candidate.options.get(index)?;
            let label = if option.label.is_empty() { option.value.clone() } else { option.label.clone() };
            return Some((hit(fit), (!option.selected).then_some(label)));
        }
        let is_box = candidate.supports(Capability::CheckOn);
        let name = content(&candidate.name);
        let is_named = score(view, &phrase) > 0.0 || (!name.is_empty() && name.iter().all(|word| heard.contains(word)));
        (is_box && is_named).then(|| (hit(0.9), None))
    });
    let (hit, label) = met.next()?;
    if met.next().is_some() || hit.candidate.ambiguous {
        return None;
    }
    if hit.candidate.options.is_empty() {
        return Some(turn_on(page, hit));
    }
    Some(label.and_then(|label| choose_option(hit, &label).ok()))
}
