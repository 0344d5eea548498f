//! What is searched for, asked, checked, or said to a dialog.

use super::super::clause::Act;
use super::super::entries::value;
use super::super::lexicon::{DETERMINERS, Verb};
use super::super::phrase::Phrase;
use super::super::text::Span;
use super::read::named_act;

pub(super) fn search(rest: Span<'_>) -> Act {
    let rest = rest.trimmed();
    let (rest, led) = match rest.position(|token| token.is("for")) {
        Some(at) => (rest.from(at + 1), Some(rest.cut(0, at))),
        None => (rest, None),
    };
    if rest.is_empty() {
        return Act::Do { verb: "search".to_owned(), object: None };
    }
    let after_quote = rest.quoted().map(|(at, _)| at + 1);
    let place = (after_quote.unwrap_or(1)..rest.len()).rev().find(|&at| {
        rest.get(at).is_some_and(|t| t.is_any(&["in", "on", "using", "with", "into"]))
            && rest
                .from(at)
                .tokens
                .iter()
                .any(|t| t.is_any(&["search", "field", "box", "bar", "input", "site", "page", "form", "textbox"]))
    });
    let (what, field) = match place {
        Some(at) => (rest.cut(0, at), Some(Phrase::of(rest.from(at + 1)))),
        None => (rest, led.filter(|led| !led.is_empty()).map(|led| Phrase::of(led.without_leading(DETERMINERS)))),
    };
    let what = match what.quoted() {
        Some((at, _)) => what.cut(at, at + 1),
        None => what.without_leading(&["the"]),
    };
    match value(what) {
        Some(what) => Act::Search { what, field: field.filter(|field| !field.is_bare()), submits: true },
        None => Act::Unknown,
    }
}

pub(super) fn read_question(rest: Span<'_>, all: Span<'_>) -> Act {
    let rest = rest
        .trimmed()
        .without_leading(&["me", "out", "what", "is", "are", "how", "much", "many", "which", "who", "when", "where"])
        .without_leading(DETERMINERS);
    let rest =
        rest.without_trailing(&["is", "are", "was", "say", "says", "shown", "displayed", "costs", "cost", "there"]);
    let rest = if rest.is_empty() { all } else { rest };
    Act::Read { what: Phrase::of(rest), question: all.raw().to_owned() }
}

pub(super) fn verify(rest: Span<'_>) -> Act {
    let rest = rest.trimmed().without_leading(&["that", "whether", "if", "there", "is", "are"]);
    let absent = rest.tokens.iter().any(|token| {
        token.is_any(&[
            "not",
            "no",
            "isn't",
            "absent",
            "doesn't",
            "gone",
            "hidden",
            "never",
            "aren't",
            "isn’t",
            "doesn’t",
        ])
    });
    let what = match rest.quoted() {
        Some((at, _)) => Phrase::of(rest.cut(at, at + 1)),
        None => Phrase::of(
            rest.without_leading(&[
                "the", "page", "text", "message", "title", "shows", "contains", "says", "no", "a", "an", "see", "you",
                "can",
            ])
            .without_trailing(&[
                "is",
                "are",
                "shown",
                "displayed",
                "visible",
                "appears",
                "present",
                "there",
                "exists",
                "on",
                "the",
                "page",
                "not",
                "isn't",
                "been",
                "has",
                "be",
                "absent",
                "gone",
                "hidden",
                "does",
                "appear",
                "show",
                "up",
                "shows",
                "screen",
            ]),
        ),
    };
    Act::Verify { what: Phrase { is_quoted: true, ..what }, absent }
}

pub(super) fn dialog(verb: Verb, word: &str, rest: Span<'_>) -> Act {
    let is_dialog = rest.is_empty()
        || rest.tokens.iter().any(|t| {
            t.is_any(&["dialog", "alert", "prompt", "confirmation", "popup", "pop-up", "confirm", "it", "message"])
        });
    if ["answer", "reply"].contains(&word) {
        let with = rest.position(|token| token.is("with"));
        let said = rest.from(with.map_or(0, |at| at + 1));
        if !is_dialog && with != Some(0) {
            return named_act(word, rest);
        }
        let text = value(said).and_then(|value| value.text().map(str::to_owned));
        return match text.as_deref().map(str::to_lowercase).as_deref() {
            Some("no") => Act::DismissDialog,
            Some("yes" | "ok") | None => Act::AcceptDialog { text: None },
            Some(_) => Act::AcceptDialog { text },
        };
    }
    if !is_dialog {
        return named_act(word, rest);
    }
    if verb == Verb::Dismiss {
        return Act::DismissDialog;
    }
    Act::AcceptDialog { text: rest.quoted().map(|(_, quoted)| quoted.text.clone()) }
}
