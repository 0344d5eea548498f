//! The result of a clause on a page, and what earlier steps did for it.

use cuebook_grammar::action::{Action, Click, MouseButton};
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::id::{CandidateId, TargetRef};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ClickCount;
use serde::{Deserialize, Serialize};

use crate::engine::lexical::page::Page;

/// The result of a clause on a page.
#[derive(Debug)]
pub(crate) enum Served {
    /// These steps complete it. Empty if it already holds.
    Steps(Vec<Step>),
    /// These steps complete it, and the page must be observed after them.
    Leaves(Vec<Step>),
    /// These steps lead to it.
    OnTheWay(Vec<Step>),
    /// A question about its meaning.
    Ask(String),
    /// A question about the choice of a candidate.
    Which { question: String, choices: Vec<CandidateId> },
    /// No candidate has the name. `nearest` are those that share a word with it.
    Missing { what: String, nearest: Vec<(CandidateId, String)> },
    /// Some words are not understood.
    NotUnderstood,
    /// It cannot be completed.
    Cannot(String),
}

impl Served {
    /// Several candidates fit equally well.
    pub(crate) fn several(what: &str, candidates: &[&Candidate]) -> Self {
        const SHOWN: usize = 8;
        let title =
            |(at, candidate): (usize, &&Candidate)| format!("{}) {} ({})", at + 1, candidate.title(), candidate.id);
        let list: Vec<String> = candidates.iter().enumerate().take(SHOWN).map(title).collect();
        let more = candidates.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        if let [only] = candidates {
            let why = format!("{} has a twin that nothing distinguishes: it cannot be named in words", only.title());
            return Self::Cannot(why);
        }
        let question =
            format!("{what:?} matches {} candidates: {}{more}. Which one?", candidates.len(), list.join(", "));
        Self::Which { question, choices: candidates.iter().map(|candidate| candidate.id).collect() }
    }

    pub(crate) fn missing(what: &str, nearest: &[&Candidate]) -> Self {
        let nearest = nearest.iter().map(|candidate| (candidate.id, candidate.title())).collect();
        Self::Missing { what: what.to_owned(), nearest }
    }
}

/// State of the work on the next clause so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Past {
    /// A control was pressed for it.
    pub(crate) followed: bool,
    /// A value was entered for it.
    pub(crate) entered: bool,
    /// `true` if the last search found its text on the page; `None` before the first search.
    pub(crate) seen: Option<bool>,
    /// Number of searches for the text.
    pub(crate) looks: u32,
    /// The field that was filled in last.
    pub(crate) field: Option<CandidateId>,
}

impl Past {
    /// The field that was filled in last, if the page still has it.
    pub(crate) fn field<'a>(&self, page: &Page<'a>) -> Option<&'a Candidate> {
        page.observation.candidate(self.field?)
    }
}

/// A click with the default button and count.
pub(crate) fn click_on(candidate: &Candidate) -> Step {
    clicked(candidate, None, None)
}

/// A click with a button and a count.
pub(crate) fn clicked(candidate: &Candidate, button: Option<MouseButton>, count: Option<ClickCount>) -> Step {
    let target_ref = TargetRef::from(candidate.id);
    Step::from(Action::Click(Click { target_ref, button, count, modifiers: None, position: None, dry_run: None }))
}
