//! Figures: what passed of what counted, and in which way the rest failed.
//!
//! Invariant: what holds without the action, and what is excluded, is never part of the figure; it is shown beside it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::conformance::verdict::{Counted, Ending};

/// Results of the cases that one figure counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figure {
    ids: BTreeSet<String>,
    pub(crate) counted: usize,
    pub(crate) passed: usize,
    /// Of the cases whose expectation holds before the action already: how many there are, and how many passed.
    vacuous: (usize, usize),
    excluded: Vec<(String, &'static str)>,
    buckets: BTreeMap<String, usize>,
    pub(crate) failing: Vec<String>,
    /// Right answers of Chromium and Playwright to the same questions, of the known ones.
    chromium: Option<(usize, usize)>,
    playwright: Option<(usize, usize)>,
    failures: Vec<Value>,
}

impl Figure {
    fn add(&mut self, one: &Counted) {
        let passed = one.ending == Ending::Passed;
        self.ids.insert(one.id.clone());
        for (figure, answer) in [(&mut self.chromium, one.chromium), (&mut self.playwright, one.playwright)] {
            if let Some(is_right) = answer {
                let figure = figure.get_or_insert((0, 0));
                figure.0 += usize::from(is_right);
                figure.1 += 1;
            }
        }
        if let Ending::Excluded(why) = one.ending {
            self.excluded.push((one.id.clone(), why));
            return;
        }
        if one.is_vacuous {
            self.vacuous.0 += 1;
            self.vacuous.1 += usize::from(passed);
        } else {
            self.counted += 1;
            self.passed += usize::from(passed);
        }
        if let Ending::Failed(failure) = &one.ending {
            *self.buckets.entry(failure.bucket.to_string()).or_default() += 1;
            self.failing.push(one.id.clone());
            self.failures.push(json!({
                "id": one.id, "source": one.source, "bucket": failure.bucket.to_string(),
                "expected": failure.expected, "seen": failure.seen,
            }));
        }
    }

    /// Which cases it is about: a digest of their ids, counted or not.
    pub(crate) fn cases(&self) -> String {
        let mut digest = Sha256::new();
        for id in &self.ids {
            digest.update(id.as_bytes());
            digest.update(b"\n");
        }
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// In per cent; 100 of nothing.
    pub(crate) fn percent(&self) -> f64 {
        share(self.passed, self.counted)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// All figures, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) figures: BTreeMap<&'static str, Figure>,
}

impl Tally {
    pub(crate) fn of(all: &[Counted]) -> Self {
        let mut tally = Self::default();
        for one in all {
            tally.figures.entry(one.figure).or_default().add(one);
        }
        tally
    }

    /// The figures as a person reads them.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        for (name, figure) in &self.figures {
            line(format!("{name:<24} {:>4} of {:<4} {:6.2} %", figure.passed, figure.counted, figure.percent()));
            for (who, ceiling) in [("Chromium", figure.chromium), ("Playwright", figure.playwright)] {
                if let Some((right, asked)) = ceiling {
                    line(format!("    {who} itself: {right} of {asked}, {:.2} %", share(right, asked)));
                }
            }
            if figure.vacuous.0 > 0 {
                let (there, passed) = figure.vacuous;
                line(format!("    apart, true without the action: {passed} of {there}"));
            }
            for (bucket, count) in &figure.buckets {
                line(format!("    {count:>4}  {bucket}"));
            }
            for (id, why) in &figure.excluded {
                line(format!("    excluded: {id}: {why}"));
            }
        }
        out
    }

    /// Every failing case with what was expected and seen.
    pub(crate) fn details(&self) -> String {
        let mut out = String::new();
        for (name, figure) in &self.figures {
            for failure in &figure.failures {
                let text = |member: &str| failure[member].as_str().unwrap_or_default();
                out.push_str(&format!(
                    "{name} {} [{}] {}\n    expected {}\n    saw      {}\n",
                    text("id"),
                    text("bucket"),
                    text("source"),
                    text("expected"),
                    text("seen"),
                ));
            }
        }
        out
    }

    /// Returns the figures as one JSON document.
    pub(crate) fn json(&self) -> Value {
        let ceiling = |figure: Option<(usize, usize)>| figure.map(|(right, of)| json!({ "right": right, "of": of }));
        self.figures
            .iter()
            .map(|(name, figure)| {
                let (vacuous, vacuous_passed) = figure.vacuous;
                let excluded: Vec<Value> =
                    figure.excluded.iter().map(|(id, why)| json!({ "id": id, "reason": why })).collect();
                json!({
                    "figure": name, "counted": figure.counted, "passed": figure.passed,
                    "vacuous": { "counted": vacuous, "passed": vacuous_passed }, "excluded": excluded,
                    "chromium": ceiling(figure.chromium), "playwright": ceiling(figure.playwright),
                    "buckets": figure.buckets, "failures": figure.failures,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::verdict::{Bucket, Failure};

    fn counted(id: &str, ending: Ending, is_vacuous: bool) -> Counted {
        Counted {
            figure: "action",
            id: id.to_owned(),
            source: String::new(),
            is_vacuous,
            ending,
            chromium: None,
            playwright: None,
        }
    }

    #[test]
    fn vacuous_and_excluded_cases_stand_beside_the_figure() {
        let failed = || Ending::Failed(Failure::new(Bucket::Count, "2", "1"));
        let tally = Tally::of(&[
            counted("a", Ending::Passed, false),
            counted("b", failed(), false),
            counted("c", failed(), true),
            counted("d", Ending::Excluded("out of scope"), false),
        ]);
        let figure = &tally.figures["action"];
        assert_eq!((figure.passed, figure.counted, figure.vacuous), (1, 2, (1, 0)));
        assert_eq!(figure.failing, ["b", "c"]);
        assert!(tally.text().contains("excluded: d: out of scope"), "{}", tally.text());
    }
}
