//! Reading: answers from the page's text, and texts that must or must not be there.

use cuebook_grammar::action::{Action, Assert, Extract, ExtractKind, ExtractQuery, SearchPage, WaitFor};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::condition::{Condition, OnTarget, PatternOnly};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::text_match::Pattern;
use cuebook_grammar::wire::ShortText;

use super::super::answers::matches_in;
use super::super::grounding::Found;
use super::super::page::{Page, Served, free, is_entry, on};
use super::super::phrase::Phrase;
use super::quiet;

/// How often a text is looked for before it counts as absent.
const LOOKS: usize = 3;
/// How often a text that is waited for is looked for, a second apart.
const WAITS: usize = 15;

/// Reads what the question asks for: the value of a control, or the page's text.
pub(super) fn read(page: &Page<'_>, what: &Phrase, question: &str) -> Served {
    if super::super::answers::known(what, question, page.observation).is_some() {
        return Served::Done;
    }
    let has_value =
        |candidate: &Candidate| (is_entry(candidate) || !candidate.options.is_empty()) && !candidate.is_sensitive();
    if let Found::One(hit) = page.find(what, &has_value, &|_| false)
        && hit.score >= 0.9
        && !hit.candidate.ambiguous
    {
        let query = ExtractQuery {
            target_ref: Some(TargetRef::from(hit.candidate.id)),
            kind: ExtractKind::Value,
            name: None,
            schema: None,
        };
        return Served::Steps(vec![on(Action::Extract(Extract { query }), hit)]);
    }
    let query = ExtractQuery { target_ref: None, kind: ExtractKind::Text, name: None, schema: None };
    Served::Steps(vec![free(Action::Extract(Extract { query }))])
}

/// The pattern that finds exactly this text.
fn literal(text: &str) -> Option<Pattern> {
    let mut source = String::with_capacity(text.len() + 8);
    source.push_str("(?i)");
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            source.push('\\');
        }
        source.push(c);
    }
    Pattern::new(source).ok().filter(|pattern| pattern.compile().is_ok())
}

/// States that a text is, or is not, on the page.
pub(super) fn verify(page: &Page<'_>, what: &Phrase, absent: bool) -> Served {
    let source = page.clause.source.to_lowercase();
    let text = if what.name.is_empty() { &what.raw } else { &what.name };
    if text.is_empty() {
        return Served::Cannot(format!("expected a text to look for in {:?}, saw none", page.clause.source));
    }
    let says = |word: &str| source.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    let pattern = literal(text);
    let location = pattern.filter(|_| !absent).and_then(|pattern| {
        if says("title") {
            Some(Condition::TitleMatches(PatternOnly { pattern }))
        } else if says("url") || says("address") {
            Some(Condition::UrlMatches(PatternOnly { pattern }))
        } else {
            None
        }
    });
    if let Some(condition) = location {
        return Served::Steps(vec![free(Action::Assert(Assert { condition }))]);
    }
    if !absent
        && let Found::One(hit) = page.find(what, &|_| true, &|_| false)
        && hit.score >= 0.95
        && !hit.candidate.ambiguous
    {
        let condition = Condition::Visible(OnTarget { target: TargetRef::from(hit.candidate.id) });
        return Served::Steps(vec![on(Action::Assert(Assert { condition }), hit)]);
    }
    look(page, text, !absent, LOOKS)
}

/// Waits until a text is there, or gone.
pub(super) fn await_text(page: &Page<'_>, text: &str, present: bool) -> Served {
    let phrase = Phrase { is_quoted: true, ..Phrase::named(text) };
    if let Found::One(hit) = page.find(&phrase, &|_| true, &|_| false)
        && hit.score >= 0.95
        && !hit.candidate.ambiguous
    {
        let target = OnTarget { target: TargetRef::from(hit.candidate.id) };
        let condition = if present { Condition::Visible(target) } else { Condition::Hidden(target) };
        return Served::Steps(vec![on(Action::WaitFor(WaitFor { condition }), hit)]);
    }
    look(page, text, present, WAITS)
}

/// Looks for a text in the page, again and again, and decides by what the last look found.
fn look(page: &Page<'_>, text: &str, present: bool, times: usize) -> Served {
    let search = || free(Action::SearchPage(SearchPage { query: ShortText::cut(text), regex: None, context: None }));
    let looks =
        page.progress.ways.iter().filter(|way| way.kind == cuebook_grammar::action::ActionKind::SearchPage).count();
    match &page.progress.seen {
        Some(seen) if (matches_in(seen) > 0) == present => Served::Done,
        _ if looks >= times => {
            let (expected, saw) = if present { ("on", "no such text") } else { ("gone from", "that it is there") };
            Served::Cannot(format!("expected {text:?} {expected} the page, saw {saw}"))
        }
        Some(_) => Served::Way(vec![free(quiet(1_000)), search()]),
        None => Served::Way(vec![search()]),
    }
}
