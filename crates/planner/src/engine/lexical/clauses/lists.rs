//! What is typed, set, chosen or ticked: values and lists.

use super::super::clause::{Act, Items, Manner, Wanted};
use super::super::entries::entries;
use super::super::lexicon::DETERMINERS;
use super::super::phrase::Phrase;
use super::super::text::{Kind, Span};
use super::cut::is_separator;
use super::read::named_act;

/// The text without quotes that enclose all of it.
pub(in super::super) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let open = text.chars().next();
    let close = text.chars().next_back();
    let pairs = [('"', '"'), ('\'', '\''), ('“', '”'), ('«', '»'), ('‘', '’'), ('`', '`'), ('„', '“')];
    if text.chars().count() > 2 && pairs.iter().any(|&(o, c)| open == Some(o) && close == Some(c)) {
        let mut inner = text.chars();
        inner.next();
        inner.next_back();
        return inner.as_str();
    }
    text
}

pub(super) fn enter(word: &str, rest: Span<'_>) -> Act {
    if word.starts_with("complete") && rest.len() <= 2 && rest.position(|t| t.is_any(&["with", "form"])).is_none() {
        return named_act(word, rest);
    }
    let into_cart = rest.last().is_some_and(|t| t.is_any(&["cart", "basket", "bag", "trolley"]));
    if word == "put" && rest.quoted().is_none() && into_cart {
        return named_act("add", rest);
    }
    let fills = word.starts_with("fill") || word == "populate" || word == "complete";
    Act::Enter { entries: entries(rest, fills), manner: Manner::Enter }
}

pub(super) fn assign(word: &str, rest: Span<'_>) -> Act {
    let entries = entries(rest, true);
    let is_assignment = entries.iter().any(|entry| entry.field.is_some() && entry.value.is_some());
    if !is_assignment {
        return if word == "switch" || word == "change" {
            Act::SwitchTo(Phrase::of(rest.without_leading(&["to"])))
        } else {
            named_act(word, rest)
        };
    }
    Act::Enter { entries, manner: Manner::Replace }
}

/// The parts of a list.
pub(in super::super) fn items(span: Span<'_>) -> Items {
    let span = span.trimmed();
    let raw = span.raw();
    let base = raw.as_ptr() as usize;
    let mut parts = Vec::new();
    let mut start = 0;
    let mut close = |from: usize, to: usize| {
        let part = span.cut(from, to).trimmed();
        let text = part.raw();
        if !text.is_empty() {
            let at = (text.as_ptr() as usize).saturating_sub(base);
            parts.push((at, at + text.len()));
        }
    };
    for (at, token) in span.tokens.iter().enumerate() {
        if is_separator(token) || token.is("&") || token.is_mark(":") {
            close(start, at);
            start = at + 1;
        }
    }
    close(start, span.len());
    Items { parts, raw: raw.to_owned() }
}

pub(super) const BOX_WORDS: &[&str] = &[
    "box",
    "boxes",
    "checkbox",
    "checkboxes",
    "word",
    "words",
    "item",
    "items",
    "option",
    "options",
    "entry",
    "entries",
    "tickbox",
    "tickboxes",
    "check",
    "value",
    "values",
    "choice",
    "choices",
    "row",
    "rows",
    "person",
    "people",
    "name",
    "names",
];

/// Without words that only say that boxes are meant: `the boxes for A and C`.
pub(super) fn without_box_words(span: Span<'_>) -> Span<'_> {
    let span = span.trimmed().without_leading(DETERMINERS).without_leading(&["following", "both"]);
    let boxes = span.tokens.iter().take_while(|token| token.is_any(BOX_WORDS)).count();
    let mut rest = span;
    if boxes > 0 && boxes < span.len() {
        rest = span.from(boxes).without_leading(&[
            "for", "of", "labeled", "labelled", "named", "called", "next", "to", "beside", "with", "that", "say",
            "says", "the", "label", "labels", "marked", "saying", "names",
        ]);
    }
    let trailing =
        rest.without_trailing(&["box", "boxes", "checkbox", "checkboxes", "tickbox", "options", "option", "items"]);
    if trailing.is_empty() { rest } else { trailing.without_trailing(&["check"]) }
}

/// What follows `except`, `but not`, `apart from`.
pub(super) fn exception(span: Span<'_>) -> Option<(usize, usize)> {
    (0..span.len()).find_map(|at| {
        let rest = span.from(at);
        let length = if rest.starts_with(&["but", "not"])
            || rest.starts_with(&["apart", "from"])
            || rest.starts_with(&["other", "than"])
            || rest.starts_with(&["except", "for"])
        {
            2
        } else if rest.first().is_some_and(|t| t.is_any(&["except", "but", "excluding", "without"])) {
            1
        } else {
            return None;
        };
        Some((at, at + length))
    })
}

pub(super) fn toggle(rest: Span<'_>, wanted: Wanted) -> Act {
    let (main, except) = match exception(rest) {
        Some((at, after)) if after < rest.len() => (rest.cut(0, at), Some(items(without_box_words(rest.from(after))))),
        _ => (rest, None),
    };
    let only = main.first().is_some_and(|token| token.is("only"));
    let main = main.trimmed().without_leading(&["off", "only"]);
    if main.tokens.first().is_some_and(|token| token.is_any(&["nothing", "none", "no"])) {
        return Act::Nothing;
    }
    let quantified = main.first().is_some_and(|token| token.is_any(&["all", "everything", "every", "each", "any"]));
    let after = main.without_leading(&["all", "everything", "every", "each", "any", "of"]).without_leading(DETERMINERS);
    let is_all = quantified
        && after.tokens.iter().all(|token| {
            token.is_any(BOX_WORDS)
                || token.is_any(&[
                    "them",
                    "available",
                    "radio",
                    "on",
                    "page",
                    "the",
                    "this",
                    "in",
                    "form",
                    "list",
                    "shown",
                ])
        });
    let items = if is_all { None } else { Some(items(without_box_words(main))) };
    if items.as_ref().is_some_and(|items| items.parts.is_empty()) {
        return Act::Unknown;
    }
    Act::Toggle { items, except, wanted, only }
}

pub(super) fn choose(rest: Span<'_>) -> Act {
    let rest = rest.trimmed();
    if rest.len() == 1 && rest.first().is_some_and(|token| token.is_any(&["nothing", "none"])) {
        return Act::Nothing;
    }
    if rest.first().is_some_and(|token| token.is_any(&["all", "everything", "every", "only"]))
        || rest.without_leading(DETERMINERS).first().is_some_and(|t| t.is_any(&["checkbox", "checkboxes", "boxes"]))
    {
        return toggle(rest, Wanted::On);
    }
    let quoted_end = rest.tokens.iter().rposition(|token| token.kind == Kind::Quoted).map_or(0, |at| at + 1);
    let split = (quoted_end.max(1)..rest.len()).rev().find(|&at| {
        rest.get(at).is_some_and(|token| token.is_any(&["from", "for", "in", "as", "with", "under", "within", "on"]))
            && at + 1 < rest.len()
    });
    let (chosen, from) = match split {
        Some(at) => (rest.cut(0, at), Some(Phrase::of(rest.from(at + 1)))),
        None => (rest, None),
    };
    let plural = chosen.first().is_some_and(|token| token.is_any(BOX_WORDS) && token.lower.ends_with('s'));
    Act::Choose { items: items(if plural { without_box_words(chosen) } else { chosen }), from }
}
