//! Values and the fields that they go into: `"Bob" into Name`, `Name with Bob`, `username ann`.
//!
//! Invariant: a value is a piece of the source as written, quotes aside.

use super::clause::{Entry, Value};
use super::lexicon::{DETERMINERS, FIELD_MODIFIERS, FIELD_WORDS, FORM_WORDS};
use super::phrase::Phrase;
use super::text::{Kind, Span};

/// Reads a value: text as written, or the name of a credential.
pub(super) fn value(span: Span<'_>) -> Option<Value> {
    let span = span.trimmed();
    match span.tokens {
        [] => None,
        [only] if only.kind == Kind::Credential => Some(Value::Credential(only.text.trim().to_owned())),
        [word, name] if word.is_any(&["credential", "secret"]) && name.kind != Kind::Mark => {
            Some(Value::Credential(name.text.clone()))
        }
        [the, word, name] if the.is("the") && word.is("credential") => Some(Value::Credential(name.text.clone())),
        _ => Some(Value::Text(span.meant())),
    }
}

/// Reads pairs of fields and values. `fills` says that the verb names the field first: `fill in Name with Bob`.
pub(super) fn entries(span: Span<'_>, fills: bool) -> Vec<Entry> {
    let span = without_form(span.trimmed());
    let mut cuts = vec![];
    let mut start = 0;
    for (at, token) in span.tokens.iter().enumerate() {
        let separates = token.is("and")
            || (token.kind == Kind::Mark && matches!(token.text.as_str(), "," | ";" | "." | "\n" | "!"));
        if separates {
            cuts.push((start, at));
            start = at + 1;
        }
    }
    cuts.push((start, span.len()));
    cuts.retain(|&(from, to)| !span.cut(from, to).trimmed().is_empty());

    let mut out: Vec<(usize, usize, Entry)> = Vec::new();
    let mut waiting: Option<usize> = None;
    for (from, to) in cuts {
        let own = entry(span.cut(from, to), fills);
        let from = match (waiting, is_pair(&own)) {
            (Some(first), _) => first,
            (None, _) => from,
        };
        let entry = if waiting.is_some() { entry(span.cut(from, to), fills) } else { own };
        if is_pair(&entry) {
            waiting = None;
            out.push((from, to, entry));
        } else if let Some((first, _, _)) = out.last().filter(|_| waiting.is_none()).cloned()
            && extends(span, from)
        {
            // `Bob Smith, Jr.`: the comma was part of the value.
            let longer = self::entry(span.cut(first, to), fills);
            out.pop();
            out.push((first, to, longer));
        } else {
            waiting = Some(from);
            if to == span.len() {
                out.push((from, to, entry));
                waiting = None;
            }
        }
    }
    if let Some(from) = waiting {
        out.push((from, span.len(), entry(span.cut(from, span.len()), fills)));
    }
    out.into_iter().map(|(_, _, entry)| entry).filter(|entry| !entry.raw.is_empty()).collect()
}

/// Whether what starts here may belong to the value before it: not if that one was closed by a quote.
fn extends(span: Span<'_>, from: usize) -> bool {
    let before =
        (0..from).rev().filter_map(|at| span.get(at)).find(|token| token.kind != Kind::Mark && !token.is("and"));
    before.is_some_and(|token| token.kind == Kind::Word)
}

const fn is_pair(entry: &Entry) -> bool {
    entry.field.is_some() && entry.value.is_some()
}

/// Without `out the form with` and `the following details:`.
fn without_form(span: Span<'_>) -> Span<'_> {
    let said = span.without_leading(&["in", "out", "up"]);
    let span = if span.first().is_some_and(|t| t.is_any(&["in", "out"])) && !said.is_empty() { said } else { span };
    let lead = span
        .tokens
        .iter()
        .take_while(|token| {
            token.is_any(DETERMINERS)
                || token.is_any(&[
                    "form",
                    "fields",
                    "following",
                    "details",
                    "data",
                    "login",
                    "contact",
                    "registration",
                    "as",
                    "follows",
                    "signup",
                    "checkout",
                    "whole",
                ])
        })
        .count();
    let names_form = span
        .cut(0, lead)
        .tokens
        .iter()
        .any(|t| t.is_any(&["form", "fields", "details", "data", "following", "follows"]));
    if !names_form || lead == span.len() {
        return span;
    }
    match span.get(lead) {
        Some(token)
            if token.is_any(&["with", "using"]) || token.is_mark(":") || token.is_mark(",") || token.is_mark(".") =>
        {
            span.from(lead + 1).without_leading(&["the", "following", "details", "data", "values"]).trimmed()
        }
        _ => span,
    }
}

const INTO: &[&str] = &["into", "in", "to", "for", "as", "on", "inside", "under"];

/// Reads one pair, as far as it can be read without the page.
fn entry(span: Span<'_>, fills: bool) -> Entry {
    let span = span.trimmed();
    let raw = span.meant();
    let pair = |field: Span<'_>, text: Span<'_>| Entry {
        field: Some(Phrase::of(field)).filter(|phrase| !phrase.raw.is_empty()),
        value: value(text),
        raw: raw.clone(),
    };
    let body = span.without_leading(DETERMINERS);
    let assigned =
        span.position(|token| token.is_mark(":") || token.is_mark("=")).filter(|&at| at > 0 && at + 1 < span.len());
    if let Some(at) = assigned
        && span.cut(0, at).quoted().is_none_or(|_| at == 1)
    {
        return pair(span.cut(0, at), span.from(at + 1));
    }
    let links: &[&str] = if fills { &["with", "to", "as", "by"] } else { &["with"] };
    let names = |at: usize| {
        let after = span.from(at + 1).without_leading(DETERMINERS);
        after.first().is_some_and(|token| token.is_any(&["label", "text", "name", "title", "caption", "placeholder"]))
            && after.len() > 1
    };
    let link = (1..span.len().saturating_sub(1)).find(|&at| {
        span.get(at).is_some_and(|token| token.is_any(links) && !(token.is("with") && !fills && names(at)))
    });
    if let Some(at) = link
        && (fills || span.cut(0, at).quoted().is_none())
        && !(fills
            && span.cut(0, at).quoted().is_some()
            && span.from(at).quoted().is_none()
            && span.get(at).is_some_and(|t| t.is("to")))
    {
        return pair(span.cut(0, at), span.from(at + 1).without_leading(&["value", "be"]));
    }
    if let Some((at, _)) =
        span.tokens.iter().enumerate().find(|(_, t)| matches!(t.kind, Kind::Quoted | Kind::Credential))
    {
        return quoted_entry(span, at, raw.clone());
    }
    let named = field_name_length(body);
    let into = (1..span.len().saturating_sub(1)).rev().find(|&at| span.get(at).is_some_and(|token| token.is_any(INTO)));
    if let Some(at) = into {
        let (left, right) = (span.cut(0, at), span.from(at + 1));
        let generic =
            right.tokens.iter().all(|t| t.is_any(FORM_WORDS) || t.is_any(DETERMINERS) || t.is_any(&["both", "all"]));
        let left_names = field_name_length(left.without_leading(DETERMINERS));
        if generic && let Some(length) = left_names {
            let left = left.without_leading(DETERMINERS);
            if length < left.len() {
                let mut entry = pair(left.cut(0, length), left.from(length).without_leading(&["is", "of", "as"]));
                adopt(&mut entry, right);
                return entry;
            }
        }
        if span.get(at).is_some_and(|t| t.is("as")) && left_names == Some(left.without_leading(DETERMINERS).len()) {
            return pair(left, right);
        }
        return pair(right, left);
    }
    if let Some(length) = named.filter(|&length| length < body.len()) {
        return pair(body.cut(0, length), body.from(length).without_leading(&["is", "of", "as", "to"]));
    }
    Entry { field: None, value: value(span), raw }
}

/// `"Bob" into Name`, `username "ann"`, `the password "x" into both text fields`.
fn quoted_entry(span: Span<'_>, at: usize, raw: String) -> Entry {
    let left = span
        .cut(0, at)
        .without_trailing(&["as", "to", "with", "is", "of", "be", "the", "text", "value", "word", "string"])
        .without_leading(DETERMINERS);
    let right = span.from(at + 1);
    let place =
        right.first().filter(|token| token.is_any(INTO) || token.is_any(&["at", "with"])).map(|_| right.from(1));
    let value = value(span.cut(at, at + 1));
    let named = !left.is_empty()
        && !left
            .tokens
            .iter()
            .all(|t| t.is_any(&["text", "value", "word", "string", "name", "number", "in", "into"]) && place.is_some());
    let mut entry = Entry { field: None, value, raw };
    if named {
        entry.field = Some(Phrase::of(left.without_leading(&["in", "into"])));
        if let Some(place) = place {
            adopt(&mut entry, place);
        }
    } else if let Some(place) = place {
        entry.field = Some(Phrase::of(place));
    } else if !right.trimmed().is_empty() {
        entry.field = Some(Phrase::of(right));
    }
    entry
}

/// The place adds its role and its number to what names the field; or names it better.
fn adopt(entry: &mut Entry, place: Span<'_>) {
    let place = Phrase::of(place);
    if let Some(field) = &mut entry.field {
        field.amount = place.amount;
        field.role = field.role.or(place.role);
        field.ordinal = field.ordinal.or(place.ordinal);
        let says = place.head.iter().filter(|word| !FORM_WORDS.contains(&word.as_str()) && !field.head.contains(word));
        field.hints.extend(says.cloned());
    }
}

/// How many tokens at the start name a field: `username`, `first name`, `e-mail address`.
fn field_name_length(span: Span<'_>) -> Option<usize> {
    let mut length = 0;
    while span.get(length).is_some_and(|token| token.is_any(FIELD_MODIFIERS))
        && span.get(length + 1).is_some_and(|token| token.is_any(FIELD_WORDS) || token.is_any(FIELD_MODIFIERS))
    {
        length += 1;
    }
    if !span.get(length).is_some_and(|token| token.is_any(FIELD_WORDS)) {
        return None;
    }
    length += 1;
    while span.get(length).is_some_and(|token| token.is_any(&["address", "number", "code", "field", "name", "line"])) {
        length += 1;
    }
    Some(length)
}
