//! The candidates that a phrase names.
//!
//! Invariants:
//! - A phrase names a candidate only if it contains its whole name, and every other word is in its context, states its
//!   kind, or picks one of several. A common prefix is not enough.
//! - Of two candidates that fit equally well, neither is used.

use std::collections::BTreeMap;

use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::{Observation, TextKind, TextPart};
use cuebook_grammar::role::Role;
use cuebook_grammar::text_match::collapse_white_space;

use crate::engine::lexical::lexicon::{Ordinal, RoleWord};
use crate::engine::lexical::phrase::{Phrase, PhraseWord, WordKind};
use crate::engine::lexical::text::words;

/// A candidate with normalised texts.
#[derive(Debug)]
struct View<'a> {
    candidate: &'a Candidate,
    names: Vec<String>,
    context: Vec<String>,
}

/// A page, prepared for phrases.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) observation: &'a Observation,
    /// The candidate that a person chose.
    pub(crate) chosen: Option<CandidateId>,
    views: Vec<View<'a>>,
    headings: Vec<String>,
}

/// The result of matching a phrase.
#[derive(Clone, Debug)]
pub(crate) enum PhraseMatch<'a> {
    One(&'a Candidate),
    /// Several that fit equally well, in the order of the page.
    Several(Vec<&'a Candidate>),
    /// None. The candidates share a word with it.
    Nothing(Vec<&'a Candidate>),
}

/// How well a phrase names a candidate. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    manner: Manner,
    /// Its role differs from the role word, though it may look like it.
    is_other_role: bool,
    /// The spelling of the name differs.
    is_other_case: bool,
    /// Longer names come first.
    unsaid: usize,
    needs_ordinal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Manner {
    /// The phrase is the name.
    Whole,
    /// The phrase is the name with words for its kind and place.
    Named,
    /// The phrase is only the kind.
    Kind,
}

impl<'a> Page<'a> {
    pub(crate) fn new(observation: &'a Observation, chosen: Option<CandidateId>) -> Self {
        let headings = observation.sketch.headings.iter().map(|heading| heading.text.as_str());
        let headings = headings.chain([observation.title.as_str()]).flat_map(words).collect();
        let rows = row_words(observation);
        let view = |candidate: &'a Candidate| View::of(candidate, rows.get(&candidate.id).map(Vec::as_slice));
        Self { observation, chosen, views: observation.candidates.iter().map(view).collect(), headings }
    }

    /// Returns `true` if the observation has the whole page.
    pub(crate) fn is_whole(&self) -> bool {
        self.observation.truncated.is_none_or(|cut| cut.candidates == 0 && cut.off_view == 0 && cut.elements == 0)
    }

    /// The candidates with this property.
    pub(crate) fn all(&self, property: impl Fn(&Candidate) -> bool) -> Vec<&'a Candidate> {
        self.observation.candidates.iter().filter(|candidate| property(candidate)).collect()
    }

    /// All candidates that fit a phrase equally well, and whether an ordinal picks one of them.
    fn best(&self, phrase: &Phrase, fits: &dyn Fn(&Candidate) -> bool) -> (Vec<&'a Candidate>, bool) {
        if phrase.is_broken {
            return (Vec::new(), false);
        }
        let graded: Vec<(&'a Candidate, Fit)> = self
            .views
            .iter()
            .filter(|view| fits(view.candidate))
            .filter_map(|view| Some((view.candidate, view.fit(phrase, &self.headings)?)))
            .collect();
        let Some(best) = graded.iter().map(|(_, fit)| *fit).min() else { return (Vec::new(), false) };
        let mut equal: Vec<&Candidate> =
            graded.iter().filter(|(_, fit)| *fit == best).map(|(candidate, _)| *candidate).collect();
        if equal.iter().any(|candidate| !candidate.states.disabled) {
            equal.retain(|candidate| !candidate.states.disabled);
        }
        (equal, best.needs_ordinal)
    }

    /// Matches a phrase among the candidates that fit.
    pub(crate) fn find(&self, phrase: &Phrase, fits: &dyn Fn(&Candidate) -> bool) -> PhraseMatch<'a> {
        let found = self.find_unasked(phrase, fits);
        let (PhraseMatch::Several(choices) | PhraseMatch::Nothing(choices)) = &found else { return found };
        let chosen = choices.iter().find(|candidate| self.chosen == Some(candidate.id));
        chosen.map_or(found.clone(), |chosen| PhraseMatch::One(chosen))
    }

    fn find_unasked(&self, phrase: &Phrase, fits: &dyn Fn(&Candidate) -> bool) -> PhraseMatch<'a> {
        let (equal, needs_ordinal) = self.best(phrase, fits);
        if equal.is_empty() {
            return PhraseMatch::Nothing(self.nearest(phrase, fits));
        }
        if let Some(ordinal) = phrase.ordinal.filter(|_| needs_ordinal) {
            // The first or last is not known if a part of the page is not observed.
            let is_seen = match ordinal {
                Ordinal::Nth(_) => self.is_whole() || self.observation.viewport.scroll_y < 1.0,
                Ordinal::FromEnd(_) => self.is_whole(),
            };
            // A single one has no first: the word may belong to a name that is absent.
            let counts = equal.len() > 1 || phrase.is_bare();
            return match ordinal.pick(&equal).filter(|_| is_seen && counts) {
                Some(one) => PhraseMatch::One(one),
                None => PhraseMatch::Nothing(equal.into_iter().take(MAX_NEAREST).collect()),
            };
        }
        match equal[..] {
            [only] if !only.ambiguous => PhraseMatch::One(only),
            [first, ..] if leads_to_one_place(&equal) => PhraseMatch::One(first),
            _ => PhraseMatch::Several(equal),
        }
    }

    /// All candidates of a phrase: `both fields`, `all boxes`.
    pub(crate) fn find_all(&self, phrase: &Phrase, fits: &dyn Fn(&Candidate) -> bool) -> Vec<&'a Candidate> {
        self.best(phrase, fits).0
    }

    fn nearest(&self, phrase: &Phrase, fits: &dyn Fn(&Candidate) -> bool) -> Vec<&'a Candidate> {
        let quoted: Vec<String> = phrase.quoted.iter().map(|text| text.to_lowercase()).collect();
        let shares = |view: &&View<'_>| {
            let own = || view.names.iter().flat_map(|name| words(name));
            let texts = || view.names.iter().map(|name| name.to_lowercase());
            if quoted.is_empty() {
                phrase.said.iter().any(|said| said.kind == WordKind::Name && own().any(|word| word == said.word))
            } else {
                quoted.iter().any(|quoted| texts().any(|text| text.contains(quoted)))
            }
        };
        let near = self.views.iter().filter(|view| fits(view.candidate)).filter(shares);
        near.map(|view| view.candidate).take(MAX_NEAREST).collect()
    }
}

const MAX_NEAREST: usize = 5;

/// Returns the other words in the row or the list item of each candidate: a row is not only referred to by its name.
fn row_words(observation: &Observation) -> BTreeMap<CandidateId, Vec<String>> {
    let mut rows: BTreeMap<CandidateId, Vec<String>> = BTreeMap::new();
    let lines = observation.texts.iter().filter(|line| matches!(line.kind, TextKind::Row | TextKind::Item));
    for line in lines {
        let parts = || line.cells.iter().flatten();
        let texts = parts().filter_map(|part| match part {
            TextPart::Text(text) | TextPart::Image(text) => Some(words(text)),
            TextPart::Candidate(_) => None,
        });
        let said: Vec<String> = texts.flatten().collect();
        for part in parts() {
            if let TextPart::Candidate(id) = part {
                rows.entry(*id).or_default().extend(said.iter().cloned());
            }
        }
    }
    rows
}

/// Links to the same URL count as one.
fn leads_to_one_place(candidates: &[&Candidate]) -> bool {
    let Some(end) = candidates.first().and_then(|first| first.destination.as_deref()) else { return false };
    let scripted = end.starts_with("javascript:") || end.ends_with('#');
    let leads = |c: &&Candidate| c.role == Role::Link && c.destination.as_deref() == Some(end) && !c.ambiguous;
    !scripted && candidates.iter().all(leads)
}

impl<'a> View<'a> {
    fn of(candidate: &'a Candidate, row: Option<&[String]>) -> Self {
        let texts = [Some(&candidate.name), candidate.label.as_ref(), candidate.placeholder.as_ref()];
        let mut names: Vec<String> = texts.into_iter().flatten().map(|text| collapse_white_space(text)).collect();
        // `Cart (2)` has the name `Cart`, and `Name (required)` the name `Name`.
        let short = names.iter().filter_map(|name| Some(name.strip_suffix(')')?.split_once('(')?.0.trim().to_owned()));
        let short: Vec<String> = short.collect();
        names.extend(short);
        names.retain(|name| !name.is_empty());
        names.dedup();
        let mut context = candidate.context.as_deref().map(words).unwrap_or_default();
        context.extend(row.unwrap_or_default().iter().cloned());
        Self { candidate, names, context }
    }

    fn fit(&self, phrase: &Phrase, headings: &[String]) -> Option<Fit> {
        let named = self.names.iter().filter_map(|name| self.fit_of(name, phrase, headings)).min();
        let of_kind = || Fit {
            manner: Manner::Kind,
            is_other_role: false,
            is_other_case: false,
            unsaid: 0,
            needs_ordinal: phrase.ordinal.is_some(),
        };
        let fits = |role: RoleWord| role != RoleWord::Place && role.fits(self.candidate);
        let is_kind = || phrase.is_bare() && phrase.role.is_some_and(fits);
        named.or_else(|| is_kind().then(of_kind))
    }

    fn fit_of(&self, name: &str, phrase: &Phrase, headings: &[String]) -> Option<Fit> {
        if same(&phrase.raw, name) {
            return Some(Fit {
                manner: Manner::Whole,
                is_other_role: false,
                is_other_case: phrase.raw != name,
                unsaid: 0,
                needs_ordinal: false,
            });
        }
        if phrase.is_list {
            return None;
        }
        // The words and quoted texts that are not in the name.
        let own = words(name);
        let mut quoted: Vec<&String> = phrase.quoted.iter().collect();
        let mut rest: Vec<_> = phrase.said.iter().collect();
        let is_other_case;
        if let Some(at) = quoted.iter().position(|quoted| same(quoted, name)) {
            is_other_case = quoted.remove(at) != name;
        } else {
            let at = (0..rest.len()).find(|&at| {
                let run = rest.get(at..at + own.len()).unwrap_or_default();
                !own.is_empty() && run.len() == own.len() && run.iter().zip(&own).all(|(said, own)| said.word == *own)
            })?;
            rest.drain(at..at + own.len());
            is_other_case = !phrase.raw.contains(name);
            if has_symbols(name) && !phrase.raw.to_lowercase().contains(&name.to_lowercase()) {
                return None;
            }
        }
        let is_around = |text: &str| {
            let said = words(text);
            !said.is_empty() && self.context.windows(said.len()).any(|run| run == said)
        };
        if !quoted.iter().all(|quoted| is_around(quoted)) {
            return None;
        }
        // A heading of the page explains a word only if another word distinguishes this candidate.
        let in_context = |word: &String| self.context.contains(word);
        let tells = !quoted.is_empty() || rest.iter().any(|said| said.kind == WordKind::Name && in_context(&said.word));
        let in_heading = |word: &String| {
            headings.iter().any(|heading| heading == word || heading.strip_suffix('s') == Some(word.as_str()))
        };
        let accounted = rest.iter().all(|said| match said.kind {
            WordKind::Name => in_context(&said.word) || (tells && in_heading(&said.word)),
            WordKind::Role | WordKind::Ordinal | WordKind::Connecting => true,
        });
        // Of a word for a kind that is written like a name and stands around the candidate, it is the name: `Sally Field`.
        let is_named = |said: &&PhraseWord| in_context(&said.word) && phrase.is_written_as_name(&said.word);
        let says_role = rest.iter().any(|said| said.kind == WordKind::Role && !is_named(said));
        let is_other_role = says_role && phrase.role.is_some_and(|role| !role.fits(self.candidate));
        if !accounted || (is_other_role && !phrase.role.is_some_and(|role| role.may_be(self.candidate))) {
            return None;
        }
        let needs_ordinal = rest.iter().any(|said| said.kind == WordKind::Ordinal);
        Some(Fit { manner: Manner::Named, is_other_role, is_other_case, unsaid: rest.len(), needs_ordinal })
    }
}

/// Returns `true` if two texts are equal up to case, punctuation, articles and spelling variants.
pub(crate) fn same(said: &str, shown: &str) -> bool {
    let plain = |text: &str| match collapse_white_space(text).to_lowercase() {
        text if matches!(text.as_str(), "x" | "×" | "✕" | "✖") => "close".to_owned(),
        text => text,
    };
    let (a, b) = (plain(said), plain(shown));
    let (left, right) = (words(said), words(shown));
    !a.is_empty() && (a == b || (!left.is_empty() && left == right && !has_symbols(&a) && !has_symbols(&b)))
}

/// Returns `true` if a text has signs that may be its only difference from another: `C#` and `C`, `-5` and `5`.
fn has_symbols(text: &str) -> bool {
    text.chars()
        .any(|c| matches!(c, '<' | '>' | '=' | '&' | '$' | '€' | '£' | '/' | '\\' | '^' | '~' | '|' | '@' | '#'))
}

/// Returns `true` if a candidate is an editable text field.
pub(crate) fn is_text_field(candidate: &Candidate) -> bool {
    candidate.supports(Capability::Text) && !candidate.states.readonly && !candidate.states.disabled
}

/// Returns `true` if a candidate has a value that can be set.
pub(crate) fn is_field(candidate: &Candidate) -> bool {
    let takes = [Capability::Text, Capability::Value, Capability::Options, Capability::CheckOn];
    takes.into_iter().any(|capability| candidate.supports(capability)) && !candidate.states.readonly
}

/// Returns `true` if a click operates a candidate instead of focusing it.
pub(crate) fn is_pressed(candidate: &Candidate) -> bool {
    !candidate.role.is_text_entry() && !is_text_field(candidate)
}

/// Returns `true` if a candidate is a button.
pub(crate) fn is_button(candidate: &Candidate) -> bool {
    candidate.role == Role::Button
}
