//! Progress: which clauses are done, told from the history of a run.
//!
//! Each step says in its explanation which clause it serves, in a fixed form that people can read:
//! `clause 2 of 3, part 1 of 2: press "Order"`. Steps that carry no such words (a person's, a repair's) are
//! matched by verb, target and text instead.
//!
//! Invariant: clauses are done in order; a clause is done when its last part succeeded.

use serde_json::Value as Json;

use cuebook_grammar::action::{Action, ActionKind};
use cuebook_grammar::seam::HistoryEntry;

use super::clause::{Act, Clause, Place};
use super::phrase::{Phrase, content};

/// What a step is within its clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The nth of so many, from 1.
    Of(usize, usize),
    /// It only leads to where the clause can be served.
    OnTheWay,
    /// It asks a person.
    Question,
}

/// Which clauses a step serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Serving {
    /// The first clause, from 0.
    pub(super) first: usize,
    /// The last clause; another one than the first if a name reached over a boundary.
    pub(super) last: usize,
    /// How many clauses there are.
    pub(super) of: usize,
    pub(super) part: Part,
}

impl Serving {
    /// The explanation of a step.
    pub(super) fn explain(self, label: &str) -> String {
        let clauses = if self.first == self.last {
            format!("clause {}", self.first + 1)
        } else {
            format!("clauses {}-{}", self.first + 1, self.last + 1)
        };
        let part = match self.part {
            Part::Of(nth, of) => format!("part {nth} of {of}"),
            Part::OnTheWay => "on the way".to_owned(),
            Part::Question => "question".to_owned(),
        };
        format!("{clauses} of {}, {part}: {label}", self.of)
    }

    /// Reads an explanation back.
    pub(super) fn read(text: &str) -> Option<(Self, &str)> {
        let (head, label) = text.split_once(": ")?;
        let (clauses, part) = head.split_once(", ")?;
        let numbers = clauses.strip_prefix("clauses ").or_else(|| clauses.strip_prefix("clause "))?;
        let (which, of) = numbers.split_once(" of ")?;
        let (first, last) = which.split_once('-').unwrap_or((which, which));
        let (first, last, of) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?, of.parse::<usize>().ok()?);
        let part = match part {
            "on the way" => Part::OnTheWay,
            "question" => Part::Question,
            numbered => {
                let (nth, parts) = numbered.strip_prefix("part ")?.split_once(" of ")?;
                Part::Of(nth.parse().ok()?, parts.parse().ok()?)
            }
        };
        let serving = Self { first: first.checked_sub(1)?, last: last.checked_sub(1)?, of, part };
        (serving.first <= serving.last && serving.last < of).then_some((serving, label))
    }
}

/// What was done for the clause that is next.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The first clause that is not done.
    pub(super) next: usize,
    /// Steps that served it already and succeeded: verb, id of the target, words of the target, label.
    pub(super) parts: Vec<DonePart>,
    /// Steps that only led on the way to it.
    pub(super) ways: Vec<DonePart>,
    /// How often a step that serves it failed, and how it failed last.
    pub(super) failures: Vec<String>,
    /// Answers that a person gave.
    pub(super) answers: Vec<String>,
    /// The reading that served it last.
    pub(super) seen: Option<Json>,
    /// What reading clauses read, in order.
    pub(super) read: Vec<(usize, Json)>,
    /// The target of the last step that typed or chose something.
    pub(super) last_target: Option<String>,
    /// The title of what was clicked last.
    pub(super) last_pressed: Option<String>,
}

/// A step that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DonePart {
    pub(super) kind: ActionKind,
    pub(super) target_ref: Option<String>,
    pub(super) target: Option<String>,
    pub(super) label: String,
    pub(super) text: Option<String>,
}

/// Aligns the history with the clauses. Costs time linear in the history.
pub(super) fn progress(clauses: &[Clause], history: &[HistoryEntry]) -> Progress {
    let mut progress = Progress::default();
    for entry in history {
        let explanation = entry.step.explanation.as_ref().map_or("", |text| text.as_str());
        let serving = Serving::read(explanation).filter(|(serving, _)| serving.of == clauses.len());
        if entry.failure.is_none() && changes_field(&entry.step.action) {
            progress.last_target = entry.step.action.target().map(|target| target.as_str().to_owned());
        }
        if entry.failure.is_none() && entry.step.action.kind() == ActionKind::Click {
            progress.last_pressed.clone_from(&entry.target);
        }
        match serving {
            Some((serving, label)) => progress.take(serving, label, entry),
            None => progress.take_foreign(clauses, entry),
        }
    }
    progress
}

fn changes_field(action: &Action) -> bool {
    matches!(
        action.kind(),
        ActionKind::Type
            | ActionKind::SetValue
            | ActionKind::Select
            | ActionKind::Check
            | ActionKind::Uncheck
            | ActionKind::Clear
    )
}

impl Progress {
    fn advance(&mut self, to: usize) {
        if to > self.next {
            *self = Self {
                next: to,
                read: std::mem::take(&mut self.read),
                last_target: self.last_target.take(),
                last_pressed: self.last_pressed.take(),
                ..Self::default()
            };
        }
    }

    fn take(&mut self, serving: Serving, label: &str, entry: &HistoryEntry) {
        if serving.last < self.next {
            return;
        }
        self.advance(serving.first);
        if let Some(failure) = &entry.failure {
            self.failures.push(failure.clone());
            return;
        }
        let done = DonePart {
            kind: entry.step.action.kind(),
            target_ref: entry.step.action.target().map(|target| target.as_str().to_owned()),
            target: entry.target.clone(),
            label: label.to_owned(),
            text: entry.step.action.text().and_then(|text| text.clear()).map(str::to_owned),
        };
        match serving.part {
            Part::Question => self.answers.extend(entry.data.as_ref().and_then(plain)),
            Part::OnTheWay => {
                if let Some(data) = &entry.data {
                    self.seen = Some(data.clone());
                }
                self.ways.push(done);
            }
            Part::Of(nth, of) => {
                if let Some(data) = &entry.data {
                    self.read.push((serving.first, data.clone()));
                }
                self.parts.push(done);
                if nth >= of {
                    self.advance(serving.last + 1);
                }
            }
        }
    }

    /// A step that does not say what it serves.
    fn take_foreign(&mut self, clauses: &[Clause], entry: &HistoryEntry) {
        let Some(clause) = clauses.get(self.next).filter(|_| entry.failure.is_none()) else { return };
        let action = &entry.step.action;
        let target = entry.target.as_deref().unwrap_or_default();
        match serves(clause, action, target) {
            Serves::All => {
                if let Some(data) = &entry.data {
                    self.read.push((self.next, data.clone()));
                }
                self.advance(self.next + 1);
            }
            Serves::Part => self.parts.push(DonePart {
                kind: action.kind(),
                target_ref: action.target().map(|target| target.as_str().to_owned()),
                target: entry.target.clone(),
                label: String::new(),
                text: action.text().and_then(|text| text.clear()).map(str::to_owned),
            }),
            Serves::Nothing => {}
        }
    }
}

enum Serves {
    All,
    Part,
    Nothing,
}

fn serves(clause: &Clause, action: &Action, target: &str) -> Serves {
    let shown = content(target);
    let names = |phrase: &Phrase| !phrase.head.is_empty() && phrase.head.iter().all(|word| shown.contains(word));
    let clicked = action.kind() == ActionKind::Click;
    let all_if = |holds: bool| if holds { Serves::All } else { Serves::Nothing };
    match (&clause.act, action) {
        (Act::Click { target, .. } | Act::SwitchTo(target) | Act::Go(Place::Thing(target)), Action::Click(_)) => {
            all_if(names(target))
        }
        (Act::Press { keys, .. }, Action::Press(press)) => all_if(press.keys.as_str() == keys),
        (Act::Do { verb, .. }, Action::Click(_)) => all_if(content(verb).iter().all(|word| shown.contains(word))),
        (Act::Go(Place::Url(url)), Action::Navigate(navigate)) => all_if(navigate.url.as_str().ends_with(url.as_str())),
        (Act::Back, Action::GoBack(_)) | (Act::Forward, Action::GoForward(_)) | (Act::Reload, Action::Reload(_)) => {
            Serves::All
        }
        (Act::AcceptDialog { .. }, Action::AcceptDialog(_)) | (Act::DismissDialog, Action::DismissDialog(_)) => {
            Serves::All
        }
        (Act::Enter { entries, .. }, Action::Type(_) | Action::SetValue(_) | Action::Select(_)) => {
            let typed = action.text().and_then(|text| text.clear());
            match (entries.as_slice(), typed) {
                ([only], Some(typed)) => all_if(only.value.as_ref().and_then(|value| value.text()) == Some(typed)),
                _ => Serves::Part,
            }
        }
        (Act::Choose { .. }, Action::Select(_)) => Serves::All,
        (Act::Choose { items, .. }, Action::Click(_) | Action::Check(_)) => all_if(names(&Phrase::named(&items.raw))),
        (Act::Toggle { .. }, Action::Check(_) | Action::Uncheck(_)) => Serves::Part,
        (Act::Login { .. }, Action::Type(_) | Action::SetValue(_)) => Serves::Part,
        (Act::Login { .. }, _) if clicked => all_if(shown.iter().any(|word| word == "login")),
        (Act::Hover(phrase), Action::Hover(_)) => all_if(names(phrase)),
        (Act::Read { .. }, Action::Extract(_)) => Serves::All,
        _ => Serves::Nothing,
    }
}

/// A JSON value as plain text, if it is a scalar or holds one under a usual name.
pub(super) fn plain(data: &Json) -> Option<String> {
    match data {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(value) => Some(value.to_string()),
        Json::Object(object) => ["answer", "text", "value", "markdown", "content", "result", "data"]
            .iter()
            .find_map(|key| plain(object.get(*key)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_read_back() {
        for serving in [
            Serving { first: 0, last: 0, of: 1, part: Part::Of(1, 1) },
            Serving { first: 1, last: 2, of: 4, part: Part::Of(2, 3) },
            Serving { first: 3, last: 3, of: 4, part: Part::OnTheWay },
            Serving { first: 0, last: 0, of: 9, part: Part::Question },
        ] {
            let text = serving.explain("press: \"a, b\"");
            assert_eq!(Serving::read(&text), Some((serving, "press: \"a, b\"")));
        }
    }

    #[test]
    fn other_explanations_are_not_taken_for_ours() {
        for text in [
            "",
            "clause",
            "clause 0 of 1, part 1 of 1: x",
            "clause 2 of 1, part 1 of 1: x",
            "because: it, is",
            "clause 1 of 1, part: x",
        ] {
            assert_eq!(Serving::read(text), None, "{text}");
        }
    }
}
