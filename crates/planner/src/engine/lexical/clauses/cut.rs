//! Where an instruction is cut: a new clause begins where a verb follows a separator.

use super::super::lexicon::{FIELD_WORDS, FILLERS, Verb, gerund, verb_at};
use super::super::text::{Kind, Span, Token};

pub(super) fn is_strong(token: &Token) -> bool {
    token.kind == Kind::Mark && matches!(token.text.as_str(), "." | ";" | "!" | "?" | "\n" | "…")
}

pub(super) fn is_separator(token: &Token) -> bool {
    (token.kind == Kind::Mark && token.text != ":" && token.text != "=")
        || token.is_any(&["and", "then", "but", "afterwards", "or"])
}

/// The length of a negation at the start: `don't`, `do not`, `never`, `without`.
pub(super) fn negation(span: Span<'_>) -> Option<usize> {
    let first = span.first()?;
    if first.is_any(&["don't", "don’t", "dont", "never", "without", "avoid", "not"]) {
        return Some(1);
    }
    span.starts_with(&["do", "not"]).then_some(2)
}

/// Where the verb of a clause that starts here stands, fillers skipped.
pub(super) fn clause_start(span: Span<'_>) -> Option<usize> {
    let limit = span.len().min(8);
    for at in 0..=limit {
        let rest = span.from(at);
        if negation(rest).is_some_and(|length| starts_verb(rest.from(length)))
            || (starts_verb(rest) && has_object(rest))
        {
            return Some(at);
        }
        if !rest.first().is_some_and(|token| token.is_any(FILLERS)) {
            return None;
        }
    }
    None
}

pub(super) fn starts_verb(span: Span<'_>) -> bool {
    verb_at(span).is_some() || span.first().is_some_and(|token| gerund(token).is_some())
}

pub(super) fn has_object(span: Span<'_>) -> bool {
    let Some((verb, _, length)) = verb_at(span) else { return true };
    !verb.needs_object()
        || span.get(length).is_some_and(|next| !is_separator(next) || next.kind == Kind::Mark && next.text == "(")
}

/// Cuts the instruction where a new clause begins.
pub(super) fn segments(all: Span<'_>) -> Vec<Span<'_>> {
    let mut out = Vec::new();
    let mut start = clause_start(all).unwrap_or(0);
    if start > 0 && all.cut(0, start).tokens.iter().any(|t| t.kind != Kind::Word) {
        start = 0;
    }
    let mut at = start;
    while at < all.len() {
        let Some(token) = all.get(at).filter(|token| is_separator(token)) else {
            at += 1;
            continue;
        };
        let mut next = at + 1;
        let mut strong = is_strong(token) || token.is_any(&["then", "afterwards"]);
        while all.get(next).is_some_and(is_separator) {
            strong |= all.get(next).is_some_and(|t| is_strong(t) || t.is("then"));
            next += 1;
        }
        let rest = all.from(next);
        let current = all.cut(start, at);
        let begins = match clause_start(rest) {
            Some(skip) if strong || !is_field_of(current, rest.from(skip)) => Some(next + skip),
            _ if rest.is_empty() => None,
            None if strong && is_strong(token) && !takes_data(current) && !rest.is_empty() => Some(next),
            _ => None,
        };
        match begins {
            // Before its own comma a subordinate clause is no clause: `once it is open, press Save`.
            Some(begin) if !is_scope(current) => {
                out.push(current);
                start = begin;
                at = begin + verb_at(all.from(begin)).map_or(1, |(_, _, length)| length);
            }
            _ => at = next,
        }
    }
    out.push(all.cut(start, all.len()));
    out.retain(|span| !span.trimmed().is_empty());
    out
}

/// Whether the words before a comma only say where or when.
pub(super) fn is_scope(span: Span<'_>) -> bool {
    span.first().is_some_and(|token| {
        token.is_any(&[
            "on", "in", "from", "for", "at", "under", "once", "when", "after", "as", "within", "if", "unless", "inside",
        ])
    })
}

/// Whether the clause takes data that may follow in sentences of its own: `fill in the form: name Bob; …`.
pub(super) fn takes_data(span: Span<'_>) -> bool {
    matches!(verb_at(span), Some((Verb::Enter | Verb::Assign | Verb::Login | Verb::CheckOn | Verb::CheckOff, _, _)))
}

/// Whether what looks like a verb is the name of a field in a list of fields: `Name with Bob, Note with hi`.
pub(super) fn is_field_of(current: Span<'_>, rest: Span<'_>) -> bool {
    if !matches!(verb_at(current), Some((Verb::Enter | Verb::Assign | Verb::Login, _, _))) {
        return false;
    }
    let Some((verb, word, length)) = verb_at(rest) else { return false };
    let next = rest.get(length);
    let linked = next.is_some_and(|token| {
        (token.is_any(&["with", "is", "as"]) && verb != Verb::Login)
            || (token.is("to") && FIELD_WORDS.contains(&word))
            || token.is_mark(":")
            || token.is_mark("=")
    });
    let named = FIELD_WORDS.contains(&word)
        && next.is_some_and(|token| {
            !is_separator(token) && !token.is_any(&["for", "the", "on"]) && token.kind != Kind::Mark
        });
    linked || named
}
