//! Ways on: what to open when the thing that a clause means is nowhere on the page.
//!
//! Invariants:
//! - What is opened shares a word with the thing itself, or is where such things are usually kept.
//! - Where a thing is put (`add the pen to the cart`) says nothing about where it is found.

use cuebook_grammar::candidate::Candidate;

use super::clause::{Act, Clause};
use super::page::opens;
use super::phrase::{Phrase, content};
use super::serve::GETTING;
use super::text::words;

/// What holds things that were got.
const HOLDERS: &[&str] = &["cart", "wishlist", "list", "favorite", "favourite", "order"];
/// Where a shop keeps its things, the likeliest first.
const SHELVES: &[&str] = &["shop", "product", "catalog", "catalogue", "store", "category", "browse", "collection"];
/// What opens the rest of a page's navigation.
const MENUS: &[&str] = &["menu", "navigation", "more"];
/// Words that name no place.
const NOWHERE: &[&str] = &["page", "item", "one", "new", "site", "here", "more", "all"];

/// Whether the clause gets something from where it is kept.
fn gets(clause: &Clause) -> bool {
    matches!(&clause.act, Act::Do { verb, .. } if words(verb).first().is_some_and(|verb| GETTING.contains(&verb.as_str())))
}

/// The compared words of what is sought, and of where it was said to be.
pub(super) fn sought(clause: &Clause, what: &Phrase) -> Vec<String> {
    let gets = gets(clause);
    let verb = match &clause.act {
        Act::Do { verb, .. } => content(verb),
        _ => Vec::new(),
    };
    what.context
        .iter()
        .chain(&what.head)
        .chain(&clause.scope)
        .filter(|word| !NOWHERE.contains(&word.as_str()) && word.contains(|c: char| !c.is_ascii_digit()))
        .filter(|word| !gets || !(HOLDERS.contains(&word.as_str()) || verb.contains(word)))
        .cloned()
        .collect()
}

/// Where things are usually kept: the shop for what is bought, a closed menu for what is clicked.
pub(super) fn usual<'a>(clause: &Clause, open: &[&'a Candidate]) -> Option<&'a Candidate> {
    let by_word = |known: &[&str], fits: &dyn Fn(&Candidate) -> bool| {
        known.iter().find_map(|word| {
            let named = open.iter().copied().filter(|candidate| fits(candidate));
            named
                .map(|candidate| (candidate, content(&candidate.name)))
                .filter(|(_, name)| name.iter().any(|seen| seen == word))
                .min_by_key(|(_, name)| name.len())
                .map(|(candidate, _)| candidate)
        })
    };
    let shelf = if gets(clause) { by_word(SHELVES, &|_| true) } else { None };
    let is_hidden = matches!(&clause.act, Act::Do { .. } | Act::Go(_) | Act::Click { .. } | Act::Login { .. });
    shelf.or_else(|| if is_hidden { by_word(MENUS, &opens) } else { None })
}

/// What a clause says to a dialog of the browser, if it can mean nothing else: `yes` or `no`.
pub(super) fn said_to_dialog(clause: &Clause) -> Option<String> {
    const YES: &[&str] = &["ok", "yes", "confirm", "accept", "agree", "continue", "proceed", "leave"];
    const NO: &[&str] = &["cancel", "no", "close", "dismiss", "decline", "stay"];
    const THINGS: &[&str] = &[
        "it",
        "this",
        "that",
        "dialog",
        "alert",
        "message",
        "box",
        "popup",
        "prompt",
        "pop",
        "up",
        "window",
        "confirmation",
    ];
    let all = content(&clause.source);
    let mut said = all.iter().map(String::as_str).filter(|word| !THINGS.contains(word));
    let verb = match &clause.act {
        Act::Click { target, .. } => content(&target.name).first().cloned(),
        Act::Press { .. } => None,
        Act::Do { .. } => said.next().map(str::to_owned).filter(|_| said.next().is_none()),
        _ => None,
    }?;
    if YES.contains(&verb.as_str()) {
        Some("yes".to_owned())
    } else if NO.contains(&verb.as_str()) {
        Some("no".to_owned())
    } else {
        None
    }
}
