//! Noun phrases: how an instruction refers to a control.
//!
//! Invariant: every significant word is kept. A word that no candidate explains makes a phrase match nothing.

use crate::engine::lexical::lexicon::{Ordinal, RoleWord, ordinal_at, role_word};
use crate::engine::lexical::text::{Kind, Span, is_connecting, words};

/// The number of controls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Amount {
    #[default]
    One,
    Both,
    All,
}

/// A word of a phrase, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhraseWord {
    pub(crate) word: String,
    pub(crate) kind: WordKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// A part of a name.
    Name,
    /// The kind of control, or its place on the page.
    Role,
    /// A choice among several.
    Ordinal,
    /// A word that only connects others, such as `of`.
    Connecting,
}

/// A reference to a control.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phrase {
    /// The text as written, without a determiner, and without quotation marks around all of it.
    pub(crate) raw: String,
    pub(crate) quoted: Vec<String>,
    /// The significant words outside of quotation marks.
    pub(crate) said: Vec<PhraseWord>,
    /// The kind of control: the first word for one.
    pub(crate) role: Option<RoleWord>,
    pub(crate) ordinal: Option<Ordinal>,
    pub(crate) amount: Amount,
    /// It has an unclosed quotation mark or a credential.
    pub(crate) is_broken: bool,
    /// It has a comma: it is one name, or several references.
    pub(crate) is_list: bool,
}

impl WordKind {
    fn of(word: &str) -> Self {
        if is_connecting(word) { Self::Connecting } else { Self::Name }
    }
}

const DETERMINERS: &[&str] = &["the", "a", "an", "this", "that", "my", "your", "our", "its", "their"];

impl Phrase {
    /// Reads a span as a reference, without `please`, `and` and a determiner around it.
    pub(crate) fn of(span: Span<'_>) -> Self {
        let span = span.trimmed(&["please", "and"]);
        let span = match span.get(0) {
            // A capital `A` is a name.
            Some(first) if span.len() > 1 && first.is_any(DETERMINERS) && first.text != "A" => span.from(1),
            _ => span,
        };
        let mut phrase = Self { raw: span.raw().trim().to_owned(), is_broken: span.is_broken(), ..Self::default() };
        if let [only] = span.tokens
            && only.kind == Kind::Quoted
        {
            phrase.raw.clone_from(&only.text);
        }
        let mut name_from = None;
        let mut at = 0;
        while let Some(token) = span.get(at) {
            let rest = span.from(at);
            let special = if at == 0 && span.len() > 1 && token.is_any(&["all", "every", "each", "both"]) {
                phrase.amount = if token.is("both") { Amount::Both } else { Amount::All };
                Some((1, WordKind::Role))
            } else if let Some((ordinal, length)) =
                ordinal_at(rest).filter(|_| phrase.said.is_empty() && name_from.is_none())
            {
                phrase.ordinal = Some(ordinal);
                Some((length, WordKind::Ordinal))
            } else if let Some((role, length)) = role_word(rest) {
                phrase.role = phrase.role.or(Some(role));
                Some((length, WordKind::Role))
            } else {
                match token.kind {
                    Kind::Quoted => phrase.quoted.push(token.text.clone()),
                    Kind::Credential => phrase.is_broken = true,
                    Kind::Mark => phrase.is_list |= token.is_separator(),
                    Kind::Word => {}
                }
                (token.kind != Kind::Word).then_some((1, WordKind::Role))
            };
            match special {
                Some((length, kind)) => {
                    phrase.say(span, name_from.take(), at);
                    let text = rest.cut(0, length);
                    if text.tokens.iter().all(|token| token.kind == Kind::Word) {
                        phrase.said.extend(words(text.raw()).into_iter().map(|word| PhraseWord { word, kind }));
                    }
                    at += length;
                }
                None => {
                    name_from = name_from.or(Some(at));
                    at += 1;
                }
            }
        }
        phrase.say(span, name_from, span.len());
        if phrase.quoted.is_empty() && phrase.said.iter().all(|said| said.kind == WordKind::Connecting) {
            // `To` may be the whole name of a field.
            phrase.said.iter_mut().for_each(|said| said.kind = WordKind::Name);
        }
        phrase
    }

    /// Adds the words of the name in `from..to`.
    fn say(&mut self, span: Span<'_>, from: Option<usize>, to: usize) {
        let Some(from) = from else { return };
        let run = span.cut(from, to);
        let is_name = |word: &str| word == "a" && run.tokens.iter().any(|token| token.text == "A");
        let kind = |word: &str| if is_name(word) { WordKind::Name } else { WordKind::of(word) };
        self.said.extend(words(run.raw()).into_iter().map(|word| PhraseWord { kind: kind(&word), word }));
    }

    /// A phrase that is only a name.
    pub(crate) fn named(name: &str) -> Self {
        let said = words(name).into_iter().map(|word| PhraseWord { kind: WordKind::of(&word), word }).collect();
        Self { raw: name.to_owned(), said, ..Self::default() }
    }

    /// Returns `true` if a word is written with a capital within the phrase, as names are.
    pub(crate) fn is_written_as_name(&self, word: &str) -> bool {
        self.raw.split_whitespace().skip(1).any(|written| {
            let written = written.trim_matches(|c: char| !c.is_alphanumeric());
            written.starts_with(char::is_uppercase) && written.to_lowercase() == word
        })
    }

    /// Returns `true` if it has no words but a kind and a choice.
    pub(crate) fn is_bare(&self) -> bool {
        self.quoted.is_empty() && self.said.iter().all(|said| said.kind != WordKind::Name)
    }
}
