//! Grounding: which candidate a phrase means, scored, with equal bests kept apart from a best.
//!
//! Invariants:
//! - A candidate that does not support what the clause wants of it is never returned.
//! - Every word of a phrase that carries meaning must be met by the candidate's own texts or by its
//!   context; words that name nothing in particular need not.
//! - Two candidates within [`Weights::TIE`] of each other are equally good: there is no first among them.

use std::collections::BTreeSet;

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::role::Role;
use cuebook_grammar::text_match::collapse_white_space;

use super::lexicon::{RoleWord, SECRET_WORDS, SOFT, are_synonyms};
use super::phrase::{Phrase, content};
use super::text::{differ_by_one, words};

/// How much each kind of agreement counts. A score of 1 is a name met letter by letter.
pub(super) struct Weights;

impl Weights {
    /// The same text, letter case included.
    pub(super) const SAME: f64 = 1.0;
    /// The same text but for letter case.
    pub(super) const SAME_LETTERS: f64 = 0.98;
    /// The same words, whatever stands between them.
    pub(super) const SAME_WORDS: f64 = 0.95;
    /// The same words but for those that say nothing.
    pub(super) const SAME_CONTENT: f64 = 0.92;
    /// The same but for words that are used for each other.
    pub(super) const SYNONYMS: f64 = 0.84;
    /// The same but for one letter of a word of at least five.
    pub(super) const TYPO: f64 = 0.78;
    /// All words are there, among others; with [`Weights::SHARE`] for how few others.
    pub(super) const CONTAINED: f64 = 0.55;
    /// Times the share of the name that the phrase covers.
    pub(super) const SHARE: f64 = 0.3;
    /// The words are in the context alone.
    pub(super) const CONTEXT_ONLY: f64 = 0.42;
    /// Nothing but the role was said, and it fits.
    pub(super) const ROLE_ONLY: f64 = 0.8;
    /// The role that was said fits.
    pub(super) const ROLE: f64 = 0.03;
    /// Another role was said.
    pub(super) const OTHER_ROLE: f64 = 0.86;
    /// Times the share of hints that are met.
    pub(super) const HINTS: f64 = 0.06;
    /// The control cannot be operated now.
    pub(super) const DISABLED: f64 = 0.9;
    /// The sort of control that the verb is mostly used with.
    pub(super) const USUAL: f64 = 0.02;
    /// Names count less the further they are from what a person reads.
    pub(super) const LABEL: f64 = 0.99;
    pub(super) const PLACEHOLDER: f64 = 0.96;
    pub(super) const TEST_ID: f64 = 0.88;
    pub(super) const DESCRIPTION: f64 = 0.8;
    /// Scores closer than this are equal.
    pub(super) const TIE: f64 = 0.012;
    /// Scores below this are no match.
    pub(super) const LEAST: f64 = 0.4;
}

/// A candidate with its texts made comparable.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) candidate: &'a Candidate,
    names: Vec<(String, f64)>,
    own: BTreeSet<String>,
    around: BTreeSet<String>,
}

impl<'a> View<'a> {
    pub(super) fn of(candidate: &'a Candidate) -> Self {
        let mut names = vec![(collapse_white_space(&candidate.name), 1.0)];
        let more = [
            (&candidate.label, Weights::LABEL),
            (&candidate.placeholder, Weights::PLACEHOLDER),
            (&candidate.description, Weights::DESCRIPTION),
        ];
        names
            .extend(more.into_iter().filter_map(|(text, weight)| Some((collapse_white_space(text.as_ref()?), weight))));
        if let Some(test_id) = &candidate.test_id {
            names.push((spread(test_id), Weights::TEST_ID));
        }
        names.retain(|(text, _)| !text.is_empty());
        let own = names.iter().flat_map(|(text, _)| content(text)).collect();
        let mut around: BTreeSet<String> = BTreeSet::new();
        around.extend(candidate.context.iter().flat_map(|text| words(text)));
        around.extend(candidate.form.iter().flat_map(|text| words(&spread(text))));
        around.extend(candidate.value.iter().filter_map(|value| value.clear()).flat_map(words));
        if let Some(destination) = &candidate.destination {
            let path = destination.split(['?', '#']).next().unwrap_or_default();
            let path = path.split("://").last().unwrap_or_default();
            around.extend(path.split('/').skip(1).flat_map(words));
        }
        Self { candidate, names, own, around }
    }
}

impl View<'_> {
    /// Whether the candidate's own texts have this compared word.
    pub(super) fn says(&self, word: &str) -> bool {
        self.own.contains(word)
    }
}

/// `saveButton` and `save_button` as `save Button`.
fn spread(id: &str) -> String {
    let mut out = String::with_capacity(id.len() + 4);
    let mut before = ' ';
    for c in id.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            out.push(' ');
        }
        out.push(if matches!(c, '_' | '-' | '.' | ':' | '/') { ' ' } else { c });
        before = c;
    }
    collapse_white_space(&out)
}

/// How well two words agree, from 0 to 1.
fn agree(said: &str, seen: &str) -> f64 {
    if said == seen {
        1.0
    } else if are_synonyms(said, seen) {
        0.88
    } else if said.chars().count() >= 5 && seen.chars().count() >= 5 && differ_by_one(said, seen) {
        0.84
    } else {
        0.0
    }
}

fn best_agreement<'a>(said: &str, seen: impl IntoIterator<Item = &'a String>) -> f64 {
    seen.into_iter().map(|seen| agree(said, seen)).fold(0.0, f64::max)
}

/// How well a text that was said fits a text that is shown.
pub(super) fn text_fit(said: &str, shown: &str) -> f64 {
    let said = collapse_white_space(said);
    if said.is_empty() || shown.is_empty() {
        return 0.0;
    }
    if said == shown {
        return Weights::SAME;
    }
    if said.to_lowercase() == shown.to_lowercase() {
        return Weights::SAME_LETTERS;
    }
    let (a, b) = (words(&said), words(shown));
    if !a.is_empty() && a == b {
        return Weights::SAME_WORDS;
    }
    let (a, b) = (content(&said), content(shown));
    if a.is_empty() || a.len() != b.len() {
        return 0.0;
    }
    if a == b {
        return Weights::SAME_CONTENT;
    }
    let worst = a.iter().zip(&b).map(|(a, b)| agree(a, b)).fold(1.0, f64::min);
    if worst >= 0.88 {
        Weights::SYNONYMS
    } else if worst > 0.0 {
        Weights::TYPO
    } else {
        0.0
    }
}

fn is_soft(word: &str) -> bool {
    SOFT.contains(&word)
}

/// The share of these words that is met; 1 for none.
#[expect(clippy::cast_precision_loss, reason = "a handful of words")]
fn share(said: &[String], seen: &[&BTreeSet<String>]) -> f64 {
    if said.is_empty() {
        return 1.0;
    }
    let met = said.iter().filter(|word| seen.iter().any(|seen| best_agreement(word, seen.iter()) > 0.0)).count();
    met as f64 / said.len() as f64
}

/// How well a phrase fits a candidate; 0 if it does not.
pub(super) fn score(view: &View<'_>, phrase: &Phrase) -> f64 {
    let everywhere = [&view.own, &view.around];
    let mut best = view.names.iter().map(|(name, weight)| text_fit(&phrase.raw, name) * weight).fold(0.0, f64::max);
    let mut role_said = phrase.role.filter(|_| best < Weights::SAME_WORDS);
    let hard: Vec<String> = phrase.context.iter().filter(|word| !is_soft(word)).cloned().collect();
    let context_share = share(&hard, &everywhere);
    let context_is_met = context_share >= 0.999;

    if !phrase.name.is_empty() && !phrase.head.is_empty() && (context_is_met || hard.is_empty()) {
        let called = view.names.iter().map(|(name, weight)| text_fit(&phrase.name, name) * weight).fold(0.0, f64::max);
        if called > best {
            best = called;
            role_said = phrase.role;
        }
    }
    if best < Weights::CONTAINED + Weights::SHARE {
        best = best.max(contained(view, phrase));
        if phrase.is_bare() {
            best = match phrase.role {
                Some(role) if role.fits(view.candidate) => Weights::ROLE_ONLY,
                _ => best,
            };
            role_said = None;
        }
    }
    if best <= 0.0 {
        return 0.0;
    }
    match role_said {
        Some(role) if role.fits(view.candidate) => best += Weights::ROLE,
        Some(RoleWord::Dialog) | None => {}
        Some(_) => best *= Weights::OTHER_ROLE,
    }
    if !phrase.hints.is_empty() {
        best += Weights::HINTS * share(&phrase.hints, &everywhere);
    }
    if !hard.is_empty() && context_is_met {
        best += Weights::ROLE;
    }
    if view.candidate.states.disabled {
        best *= Weights::DISABLED;
    }
    if best < Weights::LEAST { 0.0 } else { best }
}

/// All words of the phrase are somewhere on the candidate.
#[expect(clippy::cast_precision_loss, reason = "a handful of words")]
fn contained(view: &View<'_>, phrase: &Phrase) -> f64 {
    let said: Vec<&String> = phrase.head.iter().chain(&phrase.context).collect();
    let hard: Vec<&&String> = said.iter().filter(|word| !is_soft(word)).collect();
    if said.is_empty() {
        return 0.0;
    }
    let must = if hard.is_empty() { said.iter().collect() } else { hard };
    let mut own = 0.0;
    let mut quality = 1.0_f64;
    let mut in_name = 0_usize;
    for word in must {
        let here = best_agreement(word, &view.own);
        let there = best_agreement(word, &view.around);
        let better = here.max(there);
        if better <= 0.0 {
            return 0.0;
        }
        quality = quality.min(better);
        if here >= there {
            own += here;
            in_name += 1;
        }
    }
    if in_name == 0 {
        return Weights::CONTEXT_ONLY * quality;
    }
    let length = content(&view.candidate.name).len().max(1) as f64;
    (Weights::CONTAINED + Weights::SHARE * (own / length.max(own))) * quality
}

/// A candidate that was met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) score: f64,
    /// From 0 to 1: the score, less the nearer the next best comes.
    pub(super) confidence: f64,
}

/// What a phrase meets on a page.
#[derive(Clone, Debug)]
pub(super) enum Found<'a> {
    One(Hit<'a>),
    /// Equally good, in the order of the page.
    Several(Vec<Hit<'a>>),
    /// None, and what comes nearest.
    Nothing(Vec<&'a Candidate>),
}

/// Which candidates come into question, and which sort of them the verb is mostly used with.
pub(super) struct Sought<'f> {
    pub(super) fits: &'f dyn Fn(&Candidate) -> bool,
    pub(super) usual: &'f dyn Fn(&Candidate) -> bool,
    /// Answers that a person gave to a question about this clause.
    pub(super) answers: &'f [String],
}

/// The scores of all candidates that come into question, in the order of the page.
pub(super) fn scored<'a>(views: &[View<'a>], phrase: &Phrase, sought: &Sought<'_>) -> Vec<(&'a Candidate, f64)> {
    views
        .iter()
        .filter(|view| (sought.fits)(view.candidate))
        .filter_map(|view| {
            let score = field_score(view, phrase).max(score(view, phrase));
            let usual = if (sought.usual)(view.candidate) { Weights::USUAL } else { 0.0 };
            (score > 0.0).then_some((view.candidate, score + usual))
        })
        .collect()
}

/// A password field is one, whatever it is called.
fn field_score(view: &View<'_>, phrase: &Phrase) -> f64 {
    let asks = phrase.head.iter().chain(&phrase.hints).any(|word| SECRET_WORDS.contains(&word.as_str()));
    let distinguishes = phrase.head.iter().any(|word| !SECRET_WORDS.contains(&word.as_str()) && !is_soft(word));
    if asks && !distinguishes && view.candidate.control == ControlKind::Password { 0.75 } else { 0.0 }
}

/// Finds what a phrase means.
pub(super) fn find<'a>(views: &[View<'a>], phrase: &Phrase, sought: &Sought<'_>) -> Found<'a> {
    let hits = scored(views, phrase, sought);
    let best = hits.iter().map(|&(_, score)| score).fold(0.0, f64::max);
    if best <= 0.0 {
        return Found::Nothing(nearest(views, phrase, sought));
    }
    let equal: Vec<(&Candidate, f64)> =
        hits.iter().copied().filter(|&(_, score)| best - score <= Weights::TIE).collect();
    let next = hits.iter().map(|&(_, score)| score).filter(|score| best - score > Weights::TIE).fold(0.0, f64::max);
    // `First` and `Last` may be what a control is called.
    let is_called_so =
        |candidate: &Candidate| text_fit(&phrase.raw, &collapse_white_space(&candidate.name)) >= Weights::SAME_WORDS;
    if let Some(ordinal) = phrase.ordinal.filter(|_| !matches!(&equal[..], [(only, _)] if is_called_so(only))) {
        let alike: Vec<(&Candidate, f64)> = hits.iter().copied().filter(|&(_, score)| best - score <= 0.06).collect();
        return match ordinal.pick(&equal).or_else(|| ordinal.pick(&alike)).or_else(|| ordinal.pick(&hits)) {
            Some((candidate, score)) => {
                Found::One(Hit { candidate, score, confidence: confidence(score, score - 0.1) })
            }
            None => Found::Nothing(equal.into_iter().map(|(candidate, _)| candidate).collect()),
        };
    }
    let hit =
        |&(candidate, score): &(&'a Candidate, f64)| Hit { candidate, score, confidence: confidence(score, next) };
    match &equal[..] {
        [only] => Found::One(hit(only)),
        several => {
            let all: Vec<Hit<'a>> = several.iter().map(hit).collect();
            match narrowed(&all, sought.answers).or_else(|| same_end(&all)) {
                Some(one) => Found::One(one),
                None => Found::Several(all),
            }
        }
    }
}

/// Links that lead to the same place are as good as one.
fn same_end<'a>(hits: &[Hit<'a>]) -> Option<Hit<'a>> {
    let first = hits.first()?;
    let end = first.candidate.destination.as_deref()?;
    let scripted = end.starts_with("javascript:") || end.ends_with('#');
    let same = hits.iter().all(|hit| {
        hit.candidate.role == Role::Link
            && hit.candidate.destination.as_deref() == Some(end)
            && !hit.candidate.ambiguous
    });
    (same && !scripted).then_some(*first)
}

/// The one that a person's answer names: by id, by its number in the question, or by its words.
fn narrowed<'a>(hits: &[Hit<'a>], answers: &[String]) -> Option<Hit<'a>> {
    let answer = answers.last()?.trim();
    let reference = answer.trim_start_matches('@').trim_start_matches("ref=");
    if let Some(id) = CandidateId::parse(reference) {
        return hits.iter().find(|hit| hit.candidate.id == id).copied();
    }
    if let Ok(number) = reference.trim_end_matches(['.', ')']).parse::<usize>()
        && let Some(hit) = number.checked_sub(1).and_then(|index| hits.get(index))
    {
        return Some(*hit);
    }
    let said: Vec<String> = content(answer).into_iter().filter(|word| !is_soft(word)).collect();
    let mut fitting = hits.iter().filter(|hit| {
        let view = View::of(hit.candidate);
        !said.is_empty() && share(&said, &[&view.own, &view.around]) >= 0.999
    });
    let first = fitting.next()?;
    fitting.next().is_none().then_some(*first)
}

/// The score, less the nearer the next one comes.
pub(super) fn confidence(best: f64, next: f64) -> f64 {
    let margin = ((best - next) / 0.3).clamp(0.0, 1.0);
    (best.min(1.0) * (0.7 + 0.3 * margin)).clamp(0.0, 1.0)
}

/// The three candidates that have most in common with the phrase.
fn nearest<'a>(views: &[View<'a>], phrase: &Phrase, sought: &Sought<'_>) -> Vec<&'a Candidate> {
    let said: Vec<String> = phrase.head.iter().chain(&phrase.context).cloned().collect();
    let mut near: Vec<(&Candidate, f64)> = views
        .iter()
        .filter(|view| (sought.fits)(view.candidate))
        .map(|view| {
            let shared = if said.is_empty() { 0.0 } else { share(&said, &[&view.own, &view.around]) };
            let role = if phrase.role.is_some_and(|role| role.fits(view.candidate)) { 0.1 } else { 0.0 };
            (view.candidate, shared + role)
        })
        .collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1));
    near.into_iter().take(3).map(|(candidate, _)| candidate).collect()
}
