//! Targets of recorded runs that a change of the page may lose, each with what was seen of it: the input of suggestions of
//! test ids.
//!
//! Invariants:
//! - A [`Collector`] holds no entry and no page beyond the one that it reads: its memory is bounded.
//! - A target whose name was redacted is left out.
//! - The result is sorted, so that the same logs give the same targets in the same order.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::facts::{ElementFacts, Facts, TargetFacts};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::{Locator, Strategy};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::record::{RecordedTarget, StepOrigin, StepRecord};
use cuebook_grammar::render::cut;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::MASK;
use cuebook_grammar::text_match::TextPattern;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::artifact::ArtifactStore;
use crate::error::DataError;
use crate::log::{Entries, Entry, Observations};
use crate::run_dir::RunDir;

/// The most targets that are told apart.
const APART: usize = 2_000;
/// How many steps a sign names.
const NAMED: usize = 5;
/// How many other names of a page are kept with a target.
const OTHERS: usize = 300;
const TEXT: usize = 200;

/// A target that a change of the page may lose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FragileTarget {
    /// Role of the element; `generic` where only a selector is known.
    pub role: Role,
    /// Accessible name; empty where only a selector is known.
    pub name: String,
    /// The page that it was on first, without query and fragment.
    pub page: String,
    /// Reasons to call it fragile, the strongest first.
    pub signs: Vec<Sign>,
    /// The locator that a plan declared for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locator: Option<Locator>,
    /// The element as it was observed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Box<Candidate>>,
    /// Facts about it that a condition looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<Box<ElementFacts>>,
    /// The most elements of its role and name that a page had at a time; 0 if no page of the log has it.
    #[serde(default)]
    pub alike: u32,
    /// Names of other elements of its role on the same pages.
    #[serde(skip)]
    pub others: BTreeSet<String>,
}

/// A reason to call a target fragile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Sign {
    /// The kind of the reason.
    pub kind: SignKind,
    /// Number of steps that show it.
    pub count: u64,
    /// The first of them, as `RUN step 3`, 1-based.
    pub steps: Vec<String>,
    /// Detail of the first one; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Kinds of reasons, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SignKind {
    /// A repair gave the step this element in place of the one that it named.
    Rebound,
    /// It was not found, not at once or not at all.
    NotFound,
    /// It changed its meaning between decision and action.
    Stale,
    /// Several elements have its role and name.
    Twins,
    /// Nothing but its place in the document finds it: a path, a position, classes.
    ByPlace,
    /// Nothing but texts that people read finds it.
    ByText,
}

impl SignKind {
    /// The kind in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Rebound => "rebound to this element",
            Self::NotFound => "not found",
            Self::Stale => "stale",
            Self::Twins => "several of this role and name",
            Self::ByPlace => "found by its place only",
            Self::ByText => "found by its text only",
        }
    }
}

/// The fragile targets of runs, and the test ids that their pages have.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Fragile {
    /// The targets, those with the strongest signs first.
    pub targets: Vec<FragileTarget>,
    /// Test ids that pages of the runs have.
    pub test_ids: BTreeSet<String>,
    /// Observations that could not be read: their files were removed.
    pub unread: u64,
}

type Key = (String, Role, String);

/// Takes runs, and says which of their targets are fragile.
#[derive(Debug, Default)]
pub struct Collector {
    targets: BTreeMap<Key, (FragileTarget, BTreeMap<SignKind, Sign>)>,
    test_ids: BTreeSet<String>,
    unread: u64,
    /// Declared locators of the run whose element was seen.
    known: BTreeMap<String, Key>,
}

/// A failure of a step to find its target, until it is known which element the step got instead.
struct Lost {
    step: u32,
    attempt: u32,
    /// 0-based position among the targets of the step.
    position: usize,
    target: RecordedTarget,
    sign: (SignKind, String),
    key: Key,
}

impl Collector {
    /// Adds a run. Blocks; costs a pass over its log and one read for each of its observations.
    ///
    /// # Errors
    /// [`DataError`] of the log. The steps before the error count.
    pub fn add_run(&mut self, dir: &RunDir) -> Result<(), DataError> {
        let mut pages = Observations::following(ArtifactStore::new(dir, None));
        let mut page: Option<Observation> = None;
        let (mut run, mut lost) = (String::new(), None);
        self.known.clear();
        for entry in Entries::open(&dir.log_path())? {
            match entry? {
                Entry::Header(header) => header.run_id.as_str().clone_into(&mut run),
                Entry::Observed(record) => {
                    let id = record.observation;
                    pages.add(*record);
                    page = pages.read(id).ok().flatten();
                    self.unread += u64::from(page.is_none());
                    let ids = page.iter().flat_map(|page| &page.candidates).filter_map(|one| one.test_id.clone());
                    self.test_ids.extend(ids);
                }
                Entry::Commit(record) => {
                    let seen = page.as_ref().filter(|page| Some(page.id) == record.observation);
                    self.add_step(&run, &record, seen, &mut lost);
                }
                _ => {}
            }
        }
        self.settle(lost);
        Ok(())
    }

    fn add_step(&mut self, run: &str, record: &StepRecord, page: Option<&Observation>, lost: &mut Option<Lost>) {
        if record.origin != StepOrigin::Repair && lost.as_ref().is_some_and(|lost| lost.step != record.step_index) {
            self.settle(lost.take());
        }
        let at = format!("{run} step {}", record.step_index.saturating_add(1));
        for (position, name) in record.action.targets().into_iter().enumerate() {
            let Some(recorded) = record.candidates.get(name) else { continue };
            let Some(key) = self.enter(record, name, recorded, page) else { continue };
            let failed =
                record.failure.as_ref().filter(|failed| failed.facts.target.as_ref().is_none_or(|of| of == name));
            let kind = failed.and_then(|failed| match failed.cause {
                Cause::TargetNotFound => Some(SignKind::NotFound),
                Cause::TargetAmbiguous => Some(SignKind::Twins),
                Cause::TargetStale => Some(SignKind::Stale),
                _ => None,
            });
            let is_again = |lost: &mut Lost| {
                (lost.step, lost.position) == (record.step_index, position) && lost.attempt < record.attempt
            };
            let before = lost.take_if(|lost| kind.is_none() && is_again(lost));
            match before {
                Some(lost) if lost.target != *recorded && record.origin != StepOrigin::Repair => {
                    let was = in_words(&lost.target);
                    self.sign(&key, SignKind::Rebound, &at, format!("was {was}: {}", lost.sign.0.in_words()));
                }
                other => self.settle(other),
            }
            if kind.is_none() {
                self.sign_of_locators(&key, recorded, &at);
            }
            if let (Some(kind), None) = (kind, &lost) {
                let sign = (kind, at.clone());
                let (step, attempt, target) = (record.step_index, record.attempt, recorded.clone());
                *lost = Some(Lost { step, attempt, position, target, sign, key });
            }
        }
    }

    /// Nothing else was found in its place: the failure is a sign of the target itself.
    fn settle(&mut self, lost: Option<Lost>) {
        if let Some(Lost { sign: (kind, at), key, target, .. }) = lost {
            self.sign(&key, kind, &at, String::new());
            self.sign_of_locators(&key, &target, &at);
        }
    }

    fn sign_of_locators(&mut self, key: &Key, target: &RecordedTarget, at: &str) {
        if let Some((kind, detail)) = signs(target) {
            self.sign(key, kind, at, detail);
        }
    }

    fn sign(&mut self, key: &Key, kind: SignKind, at: &str, detail: String) {
        let Some((_, signs)) = self.targets.get_mut(key) else { return };
        let none = Sign { kind, count: 0, steps: Vec::new(), detail: cut(&detail, TEXT) };
        let sign = signs.entry(kind).or_insert(none);
        sign.count += 1;
        if sign.steps.len() < NAMED && sign.steps.last().is_none_or(|last| last != at) {
            sign.steps.push(at.to_owned());
        }
    }

    /// The entry of a target, with what this step adds to what is known. `None` for one that is redacted, and beyond the
    /// bound.
    fn enter(
        &mut self,
        record: &StepRecord,
        name: &TargetRef,
        recorded: &RecordedTarget,
        page: Option<&Observation>,
    ) -> Option<Key> {
        let (declared, candidate) = match recorded {
            RecordedTarget::Observed(candidate) => (None, Some(&**candidate)),
            RecordedTarget::Declared(locator) => (Some(locator), page.and_then(|page| only(page, locator))),
        };
        let facts = [&record.pre_facts, &record.post_facts].into_iter().flatten();
        let element = facts.flat_map(samples).find_map(|targets| targets.get(name)?.element.as_ref());
        let (role, name) = match (candidate, element, declared.map(|locator| &locator.strategy)) {
            (Some(candidate), ..) => (candidate.role, candidate.name.clone()),
            (None, Some(element), _) if !element.name.is_empty() => (element.role, element.name.clone()),
            (None, _, Some(Strategy::Role(by))) => (by.role, by.name.as_ref().map(literal).unwrap_or_default()),
            (None, _, Some(Strategy::Text(by))) => (Role::Generic, literal(&by.text)),
            _ => (Role::Generic, String::new()),
        };
        let locator = declared.map(ToString::to_string).unwrap_or_default();
        if let Some(key) = self.known.get(&locator).filter(|_| name.is_empty()) {
            return Some(key.clone());
        }
        let url = record.url.split(['?', '#']).next().unwrap_or_default();
        // Another build of a site is on another origin.
        let path = Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.path().to_owned());
        let key = (cut(&path, TEXT), role, cut(if name.is_empty() { &locator } else { &name }, TEXT));
        if key.2.contains(MASK) || self.targets.len() >= APART && !self.targets.contains_key(&key) {
            return None;
        }
        let (target, _) = self.targets.entry(key.clone()).or_default();
        (target.role, target.name) = (role, cut(&name, TEXT));
        if target.page.is_empty() {
            target.page = cut(url, TEXT);
        }
        target.locator = target.locator.take().or_else(|| declared.cloned());
        target.candidate = target.candidate.take().or_else(|| candidate.cloned().map(Box::new));
        target.element = target.element.take().or_else(|| element.cloned().map(Box::new));
        if declared.is_some() && !name.is_empty() && self.known.len() < APART {
            self.known.insert(locator, key.clone());
        }
        for other in page.iter().flat_map(|page| &page.candidates).filter(|other| other.role == role) {
            if other.name != name && target.others.len() < OTHERS {
                target.others.insert(cut(&other.name, TEXT));
            }
        }
        let alike =
            page.map_or(0, |page| page.candidates.iter().filter(|one| one.role == role && one.name == name).count());
        target.alike = target.alike.max(u32::try_from(alike).unwrap_or(u32::MAX));
        if alike > 1 {
            let at = format!("{} step {}", record.run_id.as_str(), record.step_index.saturating_add(1));
            self.sign(&key, SignKind::Twins, &at, format!("{alike} on one page"));
        }
        Some(key)
    }

    /// The targets that have a sign, and do not have an id of their own as well as no other sign than their text.
    #[must_use]
    pub fn fragile(self) -> Fragile {
        let targets = self.targets.into_values().filter_map(|(mut target, signs)| {
            target.signs = signs.into_values().collect();
            let is_safe = target.candidate.as_deref().is_some_and(has_own_id)
                && target.signs.iter().all(|sign| sign.kind >= SignKind::ByPlace);
            (!target.signs.is_empty() && !is_safe).then_some(target)
        });
        let mut targets: Vec<FragileTarget> = targets.collect();
        targets.sort_by_key(|target| target.signs.first().map(|sign| sign.kind));
        Fragile { targets, test_ids: self.test_ids, unread: self.unread }
    }
}

/// Says how the target is found, if not by an id.
fn signs(recorded: &RecordedTarget) -> Option<(SignKind, String)> {
    let locators = match recorded {
        RecordedTarget::Observed(candidate) => &candidate.locators[..],
        RecordedTarget::Declared(locator) => std::slice::from_ref(locator),
    };
    let is_own = |locator: &Locator| match &locator.strategy {
        Strategy::TestId(_) => true,
        Strategy::Css(by) => by.selector.starts_with('#') && !by.selector.contains([' ', '>', '+', '~', '.', '[', ':']),
        _ => false,
    };
    let first = locators.first().filter(|_| !locators.iter().any(is_own))?;
    let is_place = matches!(first.strategy, Strategy::Css(_) | Strategy::XPath(_)) || first.turns_on_position();
    Some((if is_place { SignKind::ByPlace } else { SignKind::ByText }, first.to_string()))
}

/// Returns `true` if it has an id that looks hand-written: the path has no others.
fn has_own_id(candidate: &Candidate) -> bool {
    candidate.fingerprint.path.rsplit('>').next().is_some_and(|own| own.contains('#'))
}

/// The only candidate of the page that the locator is one of.
fn only<'a>(page: &'a Observation, locator: &Locator) -> Option<&'a Candidate> {
    let mut all = page.candidates.iter().filter(|candidate| candidate.locators.contains(locator));
    all.next().filter(|_| all.next().is_none())
}

fn samples(facts: &Facts) -> impl Iterator<Item = &BTreeMap<TargetRef, TargetFacts>> {
    facts.before.iter().chain(&facts.samples).map(|sample| &sample.targets)
}

fn literal(pattern: &TextPattern) -> String {
    match pattern {
        TextPattern::Literal(text) => text.as_str().to_owned(),
        TextPattern::Regex(..) => String::new(),
    }
}

fn in_words(target: &RecordedTarget) -> String {
    match target {
        RecordedTarget::Observed(candidate) => candidate.title(),
        RecordedTarget::Declared(locator) => locator.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::ObservationId;
    use cuebook_grammar::record::RECORD_VERSION;
    use cuebook_grammar::sample;
    use serde_json::{Value, json};

    use super::*;

    fn record(step: u32, attempt: u32, target: Value, failure: Option<&str>) -> StepRecord {
        let failure = failure
            .map(|cause| json!({ "stage": "resolve", "cause": cause, "message": "test", "facts": { "target": "t" } }));
        let record = json!({
            "schemaVersion": RECORD_VERSION, "runId": "r", "stepIndex": step, "origin": "plan", "attempt": attempt,
            "action": { "type": "click", "targetRef": "t" }, "candidates": { "t": { "declared": target } },
            "observation": 1, "url": "http://a.test/x?y", "risk": "write", "effectClass": "reversible",
            "execution": { "tsMs": 0, "durationMs": 0 }, "result": if failure.is_some() { "failed" } else { "ok" },
            "failure": failure,
        });
        serde_json::from_value(record).unwrap()
    }

    fn kinds(records: &[StepRecord], page: &str) -> Vec<(String, Vec<SignKind>)> {
        let page = Observation { id: ObservationId(1), ..sample::page(page) };
        let (mut collector, mut lost) = (Collector::default(), None);
        records.iter().for_each(|record| collector.add_step("r", record, Some(&page), &mut lost));
        collector.settle(lost);
        let targets = collector.fragile().targets.into_iter();
        targets.map(|target| (target.name, target.signs.iter().map(|sign| sign.kind).collect())).collect()
    }

    #[test]
    fn failures_to_find_a_target_are_signs_of_what_was_found() {
        let role = |name: &str| json!({ "strategy": "byRole", "role": "button", "name": name });
        let stale = [record(1, 1, role("Save"), Some("targetStale")), record(1, 2, role("Save"), None)];
        let page = "button \"Save\"";
        assert_eq!(kinds(&stale, page), [("Save".to_owned(), vec![SignKind::Stale, SignKind::ByText])]);
        let other = [record(1, 1, role("Save"), Some("targetNotFound")), record(1, 2, role("Keep"), None)];
        let rebound = vec![SignKind::Rebound, SignKind::ByText];
        assert_eq!(kinds(&other, page), [("Keep".to_owned(), rebound)]);
        let lost = [record(1, 1, role("Save"), Some("targetNotFound"))];
        assert_eq!(kinds(&lost, page), [("Save".to_owned(), vec![SignKind::NotFound, SignKind::ByText])]);
        let twins = kinds(&[record(1, 1, role("Save"), None)], "button \"Save\"\nbutton \"Save\"");
        assert_eq!(twins, [("Save".to_owned(), vec![SignKind::Twins, SignKind::ByText])]);
        let fine = [
            record(1, 1, json!({ "strategy": "byTestId", "testId": "save" }), None),
            record(2, 1, json!({ "strategy": "css", "selector": "#save" }), None),
        ];
        assert_eq!(kinds(&fine, page), []);
        let redacted = [record(1, 1, role(&format!("Call {MASK}")), None)];
        assert_eq!(kinds(&redacted, page), []);
    }
}
