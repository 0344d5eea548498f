//! Noun phrases: what an instruction says about the thing that it means.
//!
//! Invariant: a phrase keeps its words as written beside the words that are compared, so that a name which
//! looks like a preposition, an ordinal or a role word can still be met exactly.

use super::lexicon::{DETERMINERS, NAMING, Ordinal, PREPOSITIONS, RoleWord, STOPWORDS, ordinal_at, role_word};
use super::text::{Kind, Span, is_one_word, words};

/// How many things are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Amount {
    #[default]
    One,
    Both,
    All,
}

/// What is said about a thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Phrase {
    /// All of it as written, without determiners.
    pub(super) raw: String,
    /// What it is called, as written, without words for its role and place.
    pub(super) name: String,
    /// The name stood in quotes.
    pub(super) is_quoted: bool,
    /// The compared words of the name.
    pub(super) head: Vec<String>,
    /// The compared words of where it stands: `of john@example.com`, `in the Settings dialog`.
    pub(super) context: Vec<String>,
    /// Compared words that may help and need not be met.
    pub(super) hints: Vec<String>,
    /// What kind of thing it is.
    pub(super) role: Option<RoleWord>,
    /// Its place among its like.
    pub(super) ordinal: Option<Ordinal>,
    /// How many are meant.
    pub(super) amount: Amount,
}

/// Words of a text for comparing: without those that add nothing, unless nothing would be left.
pub(super) fn content(text: &str) -> Vec<String> {
    let all = words(text);
    // `next to` says where, `the next page` says what.
    let is_said = |at: usize, word: &str| {
        !STOPWORDS.contains(&word) || (word == "next" && at == 0 && all.get(1).is_some_and(|after| after != "to"))
    };
    let kept: Vec<String> =
        all.iter().enumerate().filter(|&(at, word)| is_said(at, word)).map(|(_, word)| word.clone()).collect();
    if kept.is_empty() { all } else { kept }
}

/// Without words for a role; unless nothing would be left.
fn without_roles(span: Span<'_>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = span.get(at) {
        let next = span.get(at + 1).map(|next| next.lower.as_str());
        match role_word(&token.lower, next) {
            Some((_, length)) if token.kind == Kind::Word => at += length,
            _ => {
                if token.kind != Kind::Mark {
                    kept.extend(words(&token.text).into_iter().filter(|w| !STOPWORDS.contains(&w.as_str())));
                }
                at += 1;
            }
        }
    }
    kept
}

fn first_role(span: Span<'_>) -> Option<RoleWord> {
    (0..span.len()).find_map(|at| {
        let token = span.get(at).filter(|token| token.kind == Kind::Word)?;
        role_word(&token.lower, span.get(at + 1).map(|next| next.lower.as_str())).map(|(role, _)| role)
    })
}

impl Phrase {
    /// Reads a phrase.
    pub(super) fn of(span: Span<'_>) -> Self {
        let mut span = span.trimmed().without_leading(DETERMINERS);
        let mut phrase = Self { raw: span.meant(), ..Self::default() };
        if span.len() > 1 {
            let amount = match span.first().map(|token| token.lower.as_str()) {
                Some("both") => Amount::Both,
                Some("all" | "every" | "each" | "any") => Amount::All,
                _ => Amount::One,
            };
            if amount != Amount::One && span.first().is_some_and(|token| token.kind == Kind::Word) {
                phrase.amount = amount;
                span = span.from(1).without_leading(&["of"]).without_leading(DETERMINERS);
                if span.first().is_some_and(|token| token.is("two")) {
                    span = span.from(1);
                }
            }
            if let Some((ordinal, length)) = ordinal_at(span).filter(|&(_, length)| length < span.len())
                && span.first().is_some_and(|token| token.kind == Kind::Word)
            {
                phrase.ordinal = Some(ordinal);
                span = span.from(length);
            }
        } else if let Some((ordinal, _)) = ordinal_at(span)
            && span.first().is_some_and(|token| token.kind == Kind::Word)
        {
            phrase.ordinal = Some(ordinal);
            return phrase;
        }
        phrase.describe(span);
        phrase
    }

    fn describe(&mut self, span: Span<'_>) {
        if let Some((at, quoted)) = span.quoted() {
            let (before, after) = (span.cut(0, at), span.from(at + 1));
            let leads_in = before.last().filter(|token| token.is_any(PREPOSITIONS));
            let named = before.tokens.iter().any(|token| token.is_any(NAMING));
            let said_before = without_roles(before);
            if leads_in.is_some() && !named && !said_before.is_empty() {
                self.call(before.cut(0, before.len().saturating_sub(1)));
                self.context.extend(content(&quoted.text));
                self.context.extend(without_roles(after));
                return;
            }
            self.name.clone_from(&quoted.text);
            self.is_quoted = true;
            self.head = content(&quoted.text);
            self.role = first_role(if named || leads_in.is_some() { before } else { span.cut(0, at) })
                .or_else(|| first_role(after));
            self.hints = said_before;
            if after.tokens.iter().any(|token| token.is_any(PREPOSITIONS)) {
                self.context = without_roles(after);
            } else {
                self.hints.extend(without_roles(after));
            }
            return;
        }
        if let Some((before, name)) = naming(span) {
            self.name = name.meant();
            self.is_quoted = true;
            self.head = content(&self.name);
            self.role = first_role(before);
            self.hints = without_roles(before);
            return;
        }
        let split = (1..span.len()).find(|&at| {
            let before = span.get(at - 1).map_or("", |token| token.lower.as_str());
            span.get(at).is_some_and(|token| token.is_any(PREPOSITIONS) && !is_one_word(before, &token.lower))
        });
        match split.filter(|&at| at + 1 < span.len()) {
            Some(at) => {
                self.call(span.cut(0, at));
                let context = span.from(at + 1);
                self.context = without_roles(context);
                // `row of john` names a place only: its head says nothing that a name could.
                if self.role.is_none() && self.head.is_empty() {
                    self.role = first_role(context);
                }
            }
            None => self.call(span),
        }
    }

    /// Takes the name, the role and the ordinal from the words before any preposition.
    fn call(&mut self, span: Span<'_>) {
        let mut span = span.without_trailing(DETERMINERS);
        while let Some(first) = span.first().filter(|token| token.kind == Kind::Word) {
            if let Some((ordinal, length)) =
                ordinal_at(span).filter(|&(_, length)| self.ordinal.is_none() && length < span.len())
            {
                self.ordinal = Some(ordinal);
                span = span.from(length);
                continue;
            }
            let Some((role, length)) = role_word(&first.lower, span.get(1).map(|next| next.lower.as_str())) else {
                break;
            };
            self.role = self.role.or(Some(role));
            span = span.from(length);
        }
        loop {
            let length = span.len();
            let one = span.last().filter(|token| token.kind == Kind::Word).map(|token| token.lower.as_str());
            let two = length.checked_sub(2).and_then(|at| span.get(at)).map(|token| token.lower.as_str());
            let pair = two.zip(one).and_then(|(two, one)| role_word(two, Some(one)).filter(|&(_, length)| length == 2));
            let Some((role, taken)) = pair.or_else(|| one.and_then(|one| role_word(one, None))) else { break };
            self.role = self.role.or(Some(role));
            span = span.cut(0, length.saturating_sub(taken));
        }
        self.name = span.meant();
        self.head = if span.is_empty() { Vec::new() } else { content(&self.name) };
    }

    /// Whether nothing is said but, perhaps, role, place and amount.
    pub(super) fn is_bare(&self) -> bool {
        self.head.is_empty() && self.context.is_empty()
    }

    /// A phrase of a name alone.
    pub(super) fn named(name: &str) -> Self {
        Self { raw: name.to_owned(), name: name.to_owned(), head: content(name), ..Self::default() }
    }
}

/// `the button labeled X`, `the field with the label X`: what stands before, and the name.
fn naming(span: Span<'_>) -> Option<(Span<'_>, Span<'_>)> {
    let at = (1..span.len()).find(|&at| {
        let token = span.get(at);
        let is_naming = token.is_some_and(|token| token.is_any(NAMING));
        let follows_with = span.get(at - 1).is_some_and(|t| t.is("with"))
            || (at >= 2
                && span.get(at - 2).is_some_and(|t| t.is("with"))
                && span.get(at - 1).is_some_and(|t| t.is_any(DETERMINERS)));
        is_naming
            || (follows_with
                && token.is_some_and(|t| t.is_any(&["label", "text", "name", "title", "caption", "placeholder"])))
    })?;
    let name = span.from(at + 1).without_leading(&["as"]);
    (!name.is_empty()).then_some((span.cut(0, at).without_trailing(&["with", "the", "a", "that", "is"]), name))
}

#[cfg(test)]
mod tests {
    use super::super::text::tokens;
    use super::*;

    fn phrase(source: &str) -> Phrase {
        Phrase::of(Span::new(source, &tokens(source)))
    }

    #[test]
    fn a_phrase_is_taken_apart() {
        let second = phrase("the second Delete button");
        assert_eq!(
            (second.name.as_str(), second.role, second.ordinal),
            ("Delete", Some(RoleWord::Button), Some(Ordinal::Nth(1)))
        );
        let of = phrase("the Delete of john@example.com");
        assert_eq!((of.name.as_str(), of.context.join(" ")), ("Delete", "john example com".to_owned()));
        let one = phrase("button ONE");
        assert_eq!((one.name.as_str(), one.role), ("ONE", Some(RoleWord::Button)));
        let last = phrase("the last link");
        assert_eq!(
            (last.name.as_str(), last.role, last.ordinal),
            ("", Some(RoleWord::Link), Some(Ordinal::FromEnd(0)))
        );
        let labeled = phrase("the button in the dialog box labeled \"OK\"");
        assert_eq!((labeled.name.as_str(), labeled.role), ("OK", Some(RoleWord::Button)));
        let named = phrase("the field with the label Given name");
        assert_eq!((named.name.as_str(), named.role), ("Given name", Some(RoleWord::Field)));
        let both = phrase("both text fields");
        assert_eq!((both.amount, both.role, both.is_bare()), (Amount::Both, Some(RoleWord::Field), true));
        let quoted_context = phrase("the Delete button for \"Invoice 7\"");
        assert_eq!(
            (quoted_context.name.as_str(), quoted_context.context.join(" ")),
            ("Delete", "invoice 7".to_owned())
        );
    }
}
