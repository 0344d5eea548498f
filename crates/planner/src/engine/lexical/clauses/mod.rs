//! From an instruction to its clauses.
//!
//! Invariant: pure and total; what is not understood becomes [`Act::Unknown`] with its words, never a guess.

mod cut;
mod lists;
mod login;
mod places;
mod pressing;
mod questions;
mod read;

use super::clause::{Act, Clause};
use super::lexicon::{Verb, counted, verb_at};
use super::text::{Span, tokens, words};
use cut::{negation, segments};
use lists::without_box_words;
pub(super) use lists::{items, unquoted};
use read::read;

/// The most clauses of an instruction.
const MAX_CLAUSES: usize = 100;

/// How often a clause may be meant at once.
const MAX_REPEATS: usize = 20;

/// Reads the clauses of an instruction.
pub(super) fn clauses(task: &str) -> Vec<Clause> {
    let all = tokens(task);
    let mut out: Vec<Clause> = Vec::new();
    for segment in segments(Span::new(task, &all)) {
        if out.len() >= MAX_CLAUSES {
            break;
        }
        let (segment, times) = repeated(segment);
        let clause = read(segment);
        if let Some(last) = out.last_mut()
            && settles(last, &clause)
        {
            continue;
        }
        for _ in 0..times {
            out.push(clause.clone());
        }
    }
    out.truncate(MAX_CLAUSES);
    conclude(&mut out);
    out
}

/// Verbs whose end is an order and not a full cart.
const BUYING: &[&str] = &["buy", "order", "purchase"];

/// Words of clauses that go on with what was bought.
const CHECKOUT: &[&str] = &["checkout", "order", "pay", "payment", "purchase", "buy"];

/// After what buys, and after what goes on with it, the page must say that it is ordered.
fn conclude(clauses: &mut Vec<Clause>) {
    let bought = clauses.iter().find_map(|clause| match &clause.act {
        Act::Do { verb, object: Some(object) } if BUYING.contains(&verb.as_str()) => {
            let is_held = words(&object.raw).iter().any(|word| ["cart", "wishlist"].contains(&word.as_str()));
            let is_sorting = words(&object.raw).iter().any(|word| word == "by");
            (!is_held && !is_sorting).then(|| verb.clone())
        }
        _ => None,
    });
    let Some(verb) = bought else { return };
    let goes_on = |clause: &Clause| words(&clause.source).iter().any(|word| CHECKOUT.contains(&word.as_str()));
    let Some(last) = clauses.iter().rposition(goes_on) else { return };
    let Some(clause) = clauses.get(last) else { return };
    let place = (clause.place.1, clause.place.1);
    let end = Clause { act: Act::Conclude { verb }, place, ..clause.clone() };
    clauses.insert(last + 1, end);
}

/// `press Count three times`: the clause, and how often it is meant.
fn repeated(span: Span<'_>) -> (Span<'_>, usize) {
    let span = span.trimmed();
    let clicks = matches!(
        verb_at(span),
        Some((Verb::Click | Verb::DoubleClick | Verb::Press | Verb::Scroll | Verb::Back | Verb::Reload, _, _))
    );
    if !clicks || span.len() < 2 {
        return (span, 1);
    }
    let length = span.len();
    if span.last().is_some_and(|token| token.is("twice")) {
        return (span.cut(0, length - 1), 2);
    }
    let is_times = length > 3 && span.last().is_some_and(|token| token.is("times"));
    let count = span.get(length.saturating_sub(2)).filter(|_| is_times).and_then(|token| counted(&token.lower));
    match count.and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= MAX_REPEATS) {
        Some(count) => (span.cut(0, length - 2), count),
        None => (span, 1),
    }
}

/// Whether `next` only says how to do `last`: `search for shoes and press Enter`, `tick all, but don't tick B`.
fn settles(last: &mut Clause, next: &Clause) -> bool {
    match (&mut last.act, &next.act) {
        (Act::Search { submits, .. }, Act::Press { .. } | Act::Do { .. } | Act::Click { .. } | Act::Search { .. }) => {
            *submits = false;
            false
        }
        (Act::Toggle { items: None, except, .. }, Act::Nothing) if except.is_none() => {
            let all = tokens(&next.source);
            let span = Span::new(&next.source, &all);
            let Some(negation) = negation(span) else { return false };
            let rest = span.from(negation);
            let after = verb_at(rest).map_or(0, |(_, _, length)| length);
            *except = Some(items(without_box_words(rest.from(after))));
            false
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
