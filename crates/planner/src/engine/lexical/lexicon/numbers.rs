//! Ordinals and counts.

use super::super::text::Span;

/// A place in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Ordinal {
    /// From the start, from 0.
    Nth(usize),
    /// From the end, from 0.
    FromEnd(usize),
}

impl Ordinal {
    /// The entry of a list at this place.
    pub(in super::super) fn pick<T: Copy>(self, list: &[T]) -> Option<T> {
        match self {
            Self::Nth(index) => list.get(index).copied(),
            Self::FromEnd(back) => list.len().checked_sub(back + 1).and_then(|index| list.get(index)).copied(),
        }
    }
}

/// The ordinal at the start of the tokens, and its length.
pub(in super::super) fn ordinal_at(span: Span<'_>) -> Option<(Ordinal, usize)> {
    for (words, place) in [
        (&["next", "to", "last"][..], Ordinal::FromEnd(1)),
        (&["second", "to", "last"][..], Ordinal::FromEnd(1)),
        (&["third", "to", "last"][..], Ordinal::FromEnd(2)),
        (&["second", "last"][..], Ordinal::FromEnd(1)),
    ] {
        if span.starts_with(words) {
            return Some((place, words.len()));
        }
    }
    let word = span.first()?.lower.as_str();
    const NAMES: [&str; 12] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
        "twelfth",
    ];
    if let Some(index) = NAMES.iter().position(|name| *name == word) {
        return Some((Ordinal::Nth(index), 1));
    }
    match word {
        "last" | "final" | "bottom" | "bottommost" => return Some((Ordinal::FromEnd(0), 1)),
        "penultimate" | "second-to-last" | "next-to-last" => return Some((Ordinal::FromEnd(1), 1)),
        "topmost" | "uppermost" => return Some((Ordinal::Nth(0), 1)),
        _ => {}
    }
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|suffix| word.strip_suffix(suffix))?;
    let number: usize = digits.parse().ok()?;
    number.checked_sub(1).filter(|&index| index < 1_000).map(|index| (Ordinal::Nth(index), 1))
}

/// The number that a word counts.
pub(in super::super) fn counted(word: &str) -> Option<u32> {
    const NAMES: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let named = NAMES.iter().position(|name| *name == word).and_then(|index| u32::try_from(index + 1).ok());
    named.or_else(|| word.trim_end_matches(['x', '×']).parse().ok()).filter(|&count| (1..=9_999).contains(&count))
}
