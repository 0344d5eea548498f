//! Reading one clause: its scope, its verb, and what the verb makes of the rest.

use super::super::clause::{Act, Clause, Clicks, Entry, Manner, Wanted};
use super::super::entries::{entries, value};
use super::super::lexicon::{DETERMINERS, Verb, gerund, verb_at};
use super::super::phrase::Phrase;
use super::super::text::{Kind, Span, words};
use super::cut::{clause_start, is_scope, negation, starts_verb, takes_data};
use super::lists::{assign, choose, enter, toggle};
use super::login::login;
use super::places::{go, scroll, wait};
use super::pressing::{click, drag, press, upload, use_it};
use super::questions::{dialog, read_question, search, verify};

/// Reads one clause.
pub(super) fn read(segment: Span<'_>) -> Clause {
    let source = segment.trimmed().raw().to_owned();
    let place = segment.trimmed().bounds();
    let mut scope = Vec::new();
    let mut span = segment.trimmed();
    if is_scope(span) {
        if span.first().is_some_and(|token| token.is_any(&["if", "unless"])) {
            return Clause { act: Act::Unknown, source, place, scope };
        }
        let comma = span.position(|token| token.is_mark(",") || token.is_mark(":"));
        if let Some(comma) = comma
            && let Some(skip) = clause_start(span.from(comma + 1))
        {
            scope = super::super::phrase::content(span.cut(1, comma).raw());
            span = span.from(comma + 1 + skip);
        }
    }
    span = polite(span);
    if let Some(skip) = clause_start(span) {
        span = span.from(skip);
    }
    // `show what is in stock: tick In stock`: what counts is what follows.
    let colon = (1..span.len()).find(|&at| span.get(at).is_some_and(|token| token.is_mark(":")));
    if let Some(colon) = colon
        && !takes_data(span)
        && clause_start(span.from(colon + 1)) == Some(0)
    {
        scope.extend(super::super::phrase::content(span.cut(0, colon).raw()));
        span = span.from(colon + 1);
    }
    // `close the dialog by clicking the x`: what counts is how.
    let by = (1..span.len())
        .find(|&at| span.get(at).is_some_and(|t| t.is("by")) && span.get(at + 1).is_some_and(|t| gerund(t).is_some()));
    if let Some(by) = by {
        scope.extend(super::super::phrase::content(span.cut(1, by).raw()));
        span = span.from(by + 1);
    }
    // `export it via the File menu`: the way there is no part of the name.
    let via = (1..span.len()).find(|&at| span.get(at).is_some_and(|token| token.is_any(&["via", "through"])));
    let names_control = span
        .last()
        .is_some_and(|token| token.is_any(&["menu", "tab", "link", "button", "navigation", "toolbar", "sidebar"]));
    if let Some(via) = via.filter(|_| names_control) {
        scope.extend(super::super::phrase::content(span.from(via + 1).raw()));
        span = span.cut(0, via);
    }
    Clause { act: act(span), source, place, scope }
}

pub(super) fn polite(span: Span<'_>) -> Span<'_> {
    span.trimmed().without_trailing(&["please", "now", "too", "again", "thanks", "afterwards", "immediately"]).trimmed()
}

/// Without a purpose at the end: `press Save to store it`.
pub(super) fn without_purpose(span: Span<'_>) -> Span<'_> {
    let purpose = (1..span.len()).find(|&at| {
        span.get(at).is_some_and(|token| token.is("to")) && at + 1 < span.len() && verb_at(span.from(at + 1)).is_some()
    });
    let in_order = purpose.map(|at| {
        let starts = at >= 2 && span.cut(at - 2, at).starts_with(&["in", "order"]);
        if starts { at - 2 } else { at }
    });
    in_order.filter(|&at| at > 0).map_or(span, |at| span.cut(0, at))
}

pub(super) fn act(span: Span<'_>) -> Act {
    if negation(span).is_some_and(|length| starts_verb(span.from(length))) {
        return Act::Nothing;
    }
    if span.first().is_some_and(|token| token.is_any(&["leave", "keep", "ignore", "skip"])) {
        return Act::Nothing;
    }
    let found = verb_at(span).or_else(|| span.first().and_then(gerund).map(|(verb, word)| (verb, word, 1)));
    let Some((verb, word, length)) = found else {
        return unknown_verb(span);
    };
    let rest = polite(span.from(length));
    match verb {
        Verb::Login => login(rest),
        Verb::Enter => enter(word, rest),
        Verb::Assign => assign(word, rest),
        Verb::Choose => choose(rest),
        Verb::CheckOn => toggle(rest, Wanted::On),
        Verb::CheckOff => toggle(rest, Wanted::Off),
        Verb::Click => click(rest, Clicks::Single),
        Verb::DoubleClick => click(rest, Clicks::Double),
        Verb::RightClick => click(rest, Clicks::Right),
        Verb::Press => press(rest),
        Verb::Search => search(rest),
        Verb::Hover => Act::Hover(Phrase::of(rest)),
        Verb::Focus => Act::Focus(Phrase::of(rest)),
        Verb::Scroll => scroll(rest),
        Verb::Wait => wait(span.from(1)),
        Verb::Go => go(word, rest),
        Verb::Back => Act::Back,
        Verb::Forward => Act::Forward,
        Verb::Reload if rest.without_leading(DETERMINERS).len() <= 1 => Act::Reload,
        Verb::Reload => named_act(word, rest),
        Verb::Read => read_question(rest, span),
        Verb::Verify => verify(rest),
        Verb::Accept | Verb::Dismiss => dialog(verb, word, rest),
        Verb::SwitchTo => Act::SwitchTo(Phrase::of(rest)),
        Verb::Clear => {
            let field = Phrase::of(rest.without_leading(&["out"]));
            if field.role == Some(super::super::lexicon::RoleWord::Checkbox) {
                toggle(rest, Wanted::Off)
            } else {
                Act::Clear(field)
            }
        }
        Verb::Drag => drag(rest),
        Verb::Upload => upload(rest),
        Verb::Use => use_it(rest),
        Verb::Act => named_act(word, rest),
    }
}

/// A clause that starts with no verb that is known here.
pub(super) fn unknown_verb(span: Span<'_>) -> Act {
    if span.first().is_some_and(|token| token.is_any(&["is", "are", "does", "do", "has"])) {
        return verify(span.from(1));
    }
    let mark = span.position(|token| token.is_mark(":") || token.is_mark("="));
    if mark.is_some_and(|at| at > 0 && at + 1 < span.len()) {
        return Act::Enter { entries: entries(span, true), manner: Manner::Replace };
    }
    if span.first().is_some_and(|token| token.is_any(&["back"])) && span.len() == 1 {
        return Act::Back;
    }
    match span.first() {
        // `Publish the post`: perhaps a control of the page is called by this verb.
        Some(first) if first.kind == Kind::Word && first.lower.chars().all(char::is_alphabetic) => {
            named_act(&first.lower, polite(span.from(1)))
        }
        _ => Act::Unknown,
    }
}

pub(super) fn named_act(word: &str, rest: Span<'_>) -> Act {
    let rest = without_purpose(rest);
    let verb = words(word).join(" ");
    if word == "close"
        && rest.without_leading(DETERMINERS).without_leading(&["current", "browser"]).starts_with(&["tab"])
    {
        return Act::CloseTab;
    }
    let with = rest.position(|token| token.is_any(&["with", "as"])).filter(|&at| at > 0);
    let repeats = ["confirm", "repeat", "verify"].contains(&word);
    if let Some(at) = with.filter(|&at| repeats && rest.from(at + 1).quoted().is_some()) {
        let field = rest.cut(0, at).without_leading(DETERMINERS);
        let field = Phrase::named(&format!("{word} {}", field.raw()));
        let entry = Entry { field: Some(field), value: value(rest.from(at + 1)), raw: rest.raw().to_owned() };
        return Act::Enter { entries: vec![entry], manner: Manner::Enter };
    }
    if word == "place" || word == "go ahead" {
        let object = Phrase::of(rest.without_leading(DETERMINERS));
        return Act::Do {
            verb: object.name.to_lowercase(),
            object: Some(Phrase::named(&format!("{word} {}", object.raw))),
        };
    }
    let object = (!rest.is_empty()).then(|| Phrase::of(rest.without_leading(&["on"])));
    Act::Do { verb, object }
}
