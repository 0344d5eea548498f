//! Noun phrases: what an instruction says of a thing.
//!
//! Invariant: every word that says something is kept. What no candidate accounts for makes a phrase match nothing.

use crate::lexicon::{Ordinal, RoleWord, ordinal_at, role_word};
use crate::text::{Kind, Span, is_connecting, words};

/// How many things are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Amount {
    #[default]
    One,
    Both,
    All,
}

/// A word of a phrase, and whether it may do without an equal on the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) word: String,
    pub(crate) kind: SaidKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaidKind {
    /// It names something.
    Name,
    /// It says what kind of thing is meant, or where on a page.
    Role,
    /// It says which one of several.
    Ordinal,
    /// It ties others together.
    Connecting,
}

/// What is said of a thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phrase {
    /// All of it as written, without a determiner, and without quotation marks if all of it is quoted.
    pub(crate) raw: String,
    pub(crate) quoted: Vec<String>,
    /// The words outside of quotation marks that say something.
    pub(crate) said: Vec<Said>,
    /// The kind of thing: the first word that says one.
    pub(crate) role: Option<RoleWord>,
    pub(crate) ordinal: Option<Ordinal>,
    pub(crate) amount: Amount,
    /// A quotation mark is not closed, or a credential stands in it.
    pub(crate) is_broken: bool,
    /// It has a comma: it is a name as a whole, or it is several things.
    pub(crate) is_list: bool,
}

impl SaidKind {
    fn of(word: &str) -> Self {
        if is_connecting(word) { Self::Connecting } else { Self::Name }
    }
}

const DETERMINERS: &[&str] = &["the", "a", "an", "this", "that", "my", "your", "our", "its", "their"];

impl Phrase {
    /// Reads a phrase.
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
                Some((1, SaidKind::Role))
            } else if let Some((ordinal, length)) =
                ordinal_at(rest).filter(|_| phrase.said.is_empty() && name_from.is_none())
            {
                phrase.ordinal = Some(ordinal);
                Some((length, SaidKind::Ordinal))
            } else if let Some((role, length)) = role_word(rest) {
                phrase.role = phrase.role.or(Some(role));
                Some((length, SaidKind::Role))
            } else {
                match token.kind {
                    Kind::Quoted => phrase.quoted.push(token.text.clone()),
                    Kind::Credential => phrase.is_broken = true,
                    Kind::Mark => phrase.is_list |= token.is_separator(),
                    Kind::Word => {}
                }
                (token.kind != Kind::Word).then_some((1, SaidKind::Role))
            };
            match special {
                Some((length, kind)) => {
                    phrase.say(span, name_from.take(), at);
                    let text = rest.cut(0, length);
                    if text.tokens.iter().all(|token| token.kind == Kind::Word) {
                        phrase.said.extend(words(text.raw()).into_iter().map(|word| Said { word, kind }));
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
        if phrase.quoted.is_empty() && phrase.said.iter().all(|said| said.kind == SaidKind::Connecting) {
            // `To` may be all that a field is called.
            phrase.said.iter_mut().for_each(|said| said.kind = SaidKind::Name);
        }
        phrase
    }

    /// Adds the words of the name that runs from `from` to `to`.
    fn say(&mut self, span: Span<'_>, from: Option<usize>, to: usize) {
        let Some(from) = from else { return };
        let run = span.cut(from, to);
        let is_name = |word: &str| word == "a" && run.tokens.iter().any(|token| token.text == "A");
        let kind = |word: &str| if is_name(word) { SaidKind::Name } else { SaidKind::of(word) };
        self.said.extend(words(run.raw()).into_iter().map(|word| Said { kind: kind(&word), word }));
    }

    /// A phrase of a name alone.
    pub(crate) fn named(name: &str) -> Self {
        let said = words(name).into_iter().map(|word| Said { kind: SaidKind::of(&word), word }).collect();
        Self { raw: name.to_owned(), said, ..Self::default() }
    }

    /// Whether it says no more than a kind of thing and which one of them.
    pub(crate) fn is_bare(&self) -> bool {
        self.quoted.is_empty() && self.said.iter().all(|said| said.kind != SaidKind::Name)
    }
}
