//! The committed ratchet: what passed once must pass again.
//!
//! Invariants:
//! - It is about one set of cases, by their ids. A run on those misses it by a smaller share, or by a failing case that
//!   is not listed with a reason; a run on others is not compared.
//! - It is only ever raised: cases that pass leave the list, and none enters it by itself, except where a figure is
//!   new.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::conformance::tally::{Figure, Tally};

/// The reason of a new entry until someone writes one.
const UNEXPLAINED: &str = "not looked at yet";

/// Expected values of each figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Ratchet {
    figures: BTreeMap<String, Expected>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expected {
    /// A digest of the ids of its cases; absent in a ratchet that predates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cases: Option<String>,
    counted: usize,
    passed: usize,
    known_failing: BTreeMap<String, String>,
}

impl Ratchet {
    /// Reads the ratchet; empty if there is none yet.
    ///
    /// # Errors
    /// If the file is no ratchet.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("expected a ratchet in {}", path.display()))
    }

    /// Writes it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// In which way the figures miss it; empty if they do not.
    pub(crate) fn misses(&self, tally: &Tally) -> Vec<String> {
        let mut misses = Vec::new();
        for (name, figure) in &tally.figures {
            let Some(expected) = self.figures.get(*name) else {
                misses.push(format!("{name}: expected an entry in the ratchet, saw none (--update adds it)"));
                continue;
            };
            if !expected.is_about(figure) {
                continue;
            }
            if figure.passed * expected.counted < expected.passed * figure.counted {
                misses.push(format!(
                    "{name}: expected {} of {}, saw {} of {}",
                    expected.passed, expected.counted, figure.passed, figure.counted
                ));
            }
            let unlisted = figure.failing.iter().filter(|id| !expected.known_failing.contains_key(*id));
            misses.extend(unlisted.map(|id| format!("{name}: {id} fails and is not listed as known")));
        }
        misses
    }

    /// The figures whose cases are others than the ratchet's.
    pub(crate) fn uncompared<'a>(&self, tally: &'a Tally) -> Vec<&'a str> {
        let figures = tally.figures.iter();
        figures
            .filter(|(name, figure)| self.figures.get(**name).is_some_and(|expected| !expected.is_about(figure)))
            .map(|(name, _)| *name)
            .collect()
    }

    /// Cases that are listed as failing and passed.
    pub(crate) fn risen(&self, tally: &Tally) -> Vec<String> {
        let mut risen = Vec::new();
        for (name, figure) in &tally.figures {
            if let Some(expected) = self.figures.get(*name).filter(|expected| expected.is_about(figure)) {
                let better = expected.known_failing.keys().filter(|id| !figure.failing.contains(id));
                risen.extend(better.map(|id| format!("{name}: {id}")));
            }
        }
        risen
    }

    /// The ratchet raised to these figures. A figure that fell, or is about other cases, stays as it was.
    pub(crate) fn raised(&self, tally: &Tally) -> Self {
        let mut ratchet = self.clone();
        for (name, figure) in &tally.figures {
            let raised = match self.figures.get(*name) {
                None => new_entry(figure),
                Some(expected) if !expected.is_about(figure) => expected.clone(),
                Some(expected) => Expected {
                    cases: Some(figure.cases()),
                    counted: figure.counted,
                    passed: figure.passed.max(expected.passed),
                    known_failing: expected
                        .known_failing
                        .iter()
                        .filter(|(id, _)| figure.failing.contains(id))
                        .map(|(id, reason)| (id.clone(), reason.clone()))
                        .collect(),
                },
            };
            ratchet.figures.insert((*name).to_owned(), raised);
        }
        ratchet
    }
}

impl Expected {
    fn is_about(&self, figure: &Figure) -> bool {
        self.cases.as_ref().map_or(self.counted == figure.counted, |cases| *cases == figure.cases())
    }
}

fn new_entry(figure: &Figure) -> Expected {
    let known_failing = figure.failing.iter().map(|id| (id.clone(), UNEXPLAINED.to_owned())).collect();
    Expected { cases: Some(figure.cases()), counted: figure.counted, passed: figure.passed, known_failing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::verdict::{Bucket, Counted, Ending, Failure};

    fn tally(failing: &[&str]) -> Tally {
        tally_of(["a", "b", "c"], failing)
    }

    fn tally_of(ids: [&str; 3], failing: &[&str]) -> Tally {
        let one = |id: &str| Counted {
            figure: "locate",
            id: id.to_owned(),
            source: String::new(),
            is_vacuous: false,
            ending: if failing.contains(&id) {
                Ending::Failed(Failure::new(Bucket::Count, "", ""))
            } else {
                Ending::Passed
            },
            chromium: None,
            playwright: None,
        };
        Tally::of(&ids.map(one))
    }

    #[test]
    fn a_case_that_is_not_listed_may_not_fail() {
        let ratchet = Ratchet::default().raised(&tally(&["c"]));
        assert!(ratchet.misses(&tally(&["c"])).is_empty());
        assert!(ratchet.misses(&tally(&[])).is_empty());
        assert_eq!(ratchet.misses(&tally(&["b"])), ["locate: b fails and is not listed as known"]);
    }

    #[test]
    fn raising_takes_off_the_list_and_puts_nothing_on_it() {
        let ratchet = Ratchet::default().raised(&tally(&["b", "c"]));
        let raised = ratchet.raised(&tally(&["a", "c"]));
        assert_eq!(raised.misses(&tally(&["a", "c"])), ["locate: a fails and is not listed as known"]);
        assert_eq!(ratchet.risen(&tally(&["c"])), ["locate: b"]);
    }

    #[test]
    fn other_cases_are_not_compared_whatever_their_number() {
        let ratchet = Ratchet::default().raised(&tally(&[]));
        let others = tally_of(["x", "y", "z"], &["x", "y"]);
        assert!(ratchet.misses(&others).is_empty() && ratchet.risen(&others).is_empty());
        assert_eq!(ratchet.uncompared(&others), ["locate"]);
        assert!(ratchet.uncompared(&tally(&["a"])).is_empty());
    }

    #[test]
    fn a_figure_without_an_entry_is_a_miss() {
        assert_eq!(Ratchet::default().misses(&tally(&[])).len(), 1);
    }
}
