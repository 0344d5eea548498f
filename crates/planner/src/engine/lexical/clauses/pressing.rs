//! What is clicked, pressed, dragged, uploaded or used.

use super::super::clause::{Act, Clicks};
use super::super::lexicon::{DETERMINERS, Verb, key, verb_at};
use super::super::phrase::Phrase;
use super::super::text::Span;
use super::lists::items;
use super::login::login;
use super::read::{act, without_purpose};

/// What is clicked: what looks like a purpose may belong to its name, so all of it stays beside the name.
pub(super) fn target_of(rest: Span<'_>) -> Phrase {
    let raw = Phrase::of(rest).raw;
    Phrase { raw, ..Phrase::of(without_purpose(rest)) }
}

pub(super) fn click(rest: Span<'_>, clicks: Clicks) -> Act {
    let rest = rest.without_leading(&["on", "onto", "at"]);
    Act::Click { target: target_of(rest), clicks }
}

pub(super) fn press(rest: Span<'_>) -> Act {
    let target = target_of(rest.without_leading(&["on"]));
    let rest = without_purpose(rest.without_leading(&["on"]));
    let bare = rest.without_leading(DETERMINERS).without_trailing(&["key", "keys"]);
    let is_key_word = rest.last().is_some_and(|token| token.is_any(&["key", "keys"]));
    let says_button = target.role.is_some() || rest.quoted().is_some();
    match key(&bare.meant()) {
        Some(keys) if !says_button || is_key_word => Act::Press { keys, target },
        _ => Act::Click { target, clicks: Clicks::Single },
    }
}

pub(super) fn drag(rest: Span<'_>) -> Act {
    match rest
        .tokens
        .iter()
        .rposition(|t| t.is_any(&["to", "onto", "into", "on"]))
        .filter(|&at| at > 0 && at + 1 < rest.len())
    {
        Some(at) => Act::Drag { what: Phrase::of(rest.cut(0, at)), to: Phrase::of(rest.from(at + 1)) },
        None => Act::Unknown,
    }
}

pub(super) fn upload(rest: Span<'_>) -> Act {
    let split = rest
        .tokens
        .iter()
        .rposition(|t| t.is_any(&["to", "into", "in", "as", "for"]))
        .filter(|&at| at > 0 && at + 1 < rest.len());
    let (files, field) = match split {
        Some(at) => (rest.cut(0, at), Some(Phrase::of(rest.from(at + 1)))),
        None => (rest, None),
    };
    let list = items(files.without_leading(DETERMINERS).without_leading(&["file", "files", "document", "image"]));
    let files: Vec<String> =
        (0..list.parts.len()).map(|i| list.joined(i, i)).filter(|file| !file.is_empty()).take(20).collect();
    if files.is_empty() { Act::Unknown } else { Act::Upload { files, field } }
}

/// `Use X to …`: credentials to log in with, or a field to type into.
pub(super) fn use_it(rest: Span<'_>) -> Act {
    let to = (1..rest.len()).find(|&at| {
        rest.get(at).is_some_and(|t| t.is_any(&["to", "for", "and"]))
            && (verb_at(rest.from(at + 1)).is_some()
                || rest.from(at + 1).first().is_some_and(|t| t.is_any(&["logging", "signing"])))
    });
    let Some(at) = to else {
        return Act::Click { target: Phrase::of(rest), clicks: Clicks::Single };
    };
    let (thing, after) = (rest.cut(0, at), rest.from(at + 1));
    match verb_at(after) {
        Some((Verb::Login, _, _)) | None => login(thing),
        Some(_) => match act(after) {
            Act::Enter { mut entries, manner } => {
                for entry in &mut entries {
                    entry.field.get_or_insert_with(|| Phrase::of(thing));
                }
                Act::Enter { entries, manner }
            }
            Act::Choose { items, from } => Act::Choose { items, from: from.or_else(|| Some(Phrase::of(thing))) },
            Act::Search { what, field, submits } => {
                Act::Search { what, field: field.or_else(|| Some(Phrase::of(thing))), submits }
            }
            _ => Act::Click { target: Phrase::of(thing), clicks: Clicks::Single },
        },
    }
}
