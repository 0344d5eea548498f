//! Targets of recorded runs that a change of the page may lose, each with what was seen of it: the input of suggestions of
//! test ids.
//!
//! Invariants:
//! - A [`Collector`] holds no entry and no page beyond the one that it reads: its memory is bounded.
//! - A target whose name was redacted is left out.
//! - The result is sorted, so that the same logs give the same targets in the same order.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_grammar::candidate::{Candidate, ControlKind};
use cuebook_grammar::facts::{ElementFacts, Facts};
use cuebook_grammar::locator::{Locator, Strategy};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::record::{RecordedTarget, StepOrigin, StepRecord};
use cuebook_grammar::render::cut;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::MASK;
use cuebook_grammar::text_match::TextPattern;
use serde::{Deserialize, Serialize};

use crate::artifact::ArtifactStore;
use crate::error::DataError;
use crate::log::{Entries, Entry, Observations};
use crate::run_dir::RunDir;

/// The most targets that are told apart.
const APART: usize = 10_000;
/// How many steps a sign names, and how many alternatives of a fact are kept.
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
    /// The locator of a target of which nothing else is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locator: Option<String>,
    /// The page that it was on first, without query and fragment.
    pub page: String,
    /// Reasons to call it fragile, the strongest first.
    pub signs: Vec<Sign>,
    /// What else is known of the element.
    #[serde(default)]
    pub traits: Traits,
    /// The most elements of its role and name that a page had at a time; 0 if no page of the log has it.
    #[serde(default)]
    pub alike: u32,
    /// Names of other elements of its role on the same pages.
    #[serde(skip)]
    pub others: BTreeSet<String>,
}

/// What runs show of an element, as far as they do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Traits {
    /// The HTML tag in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Its own id, if it looks hand-written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Ids of the elements around it that look hand-written.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub within: BTreeSet<String>,
    /// Texts of its labels.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Its `placeholder` attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Its `alt` attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
    /// Its `title` attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Names of its classes.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub classes: BTreeSet<String>,
    /// Attributes that a selector of the plan asks for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Where a link leads: an absolute URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub href: Option<String>,
    /// Name, id or action path of its form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Kind of the control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlKind>,
    /// Texts around it: what distinguishes it from its twins, the heading above, the question of its dialog.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub around: BTreeSet<String>,
    /// Its test id. It has one already, if not one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_id: Option<String>,
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
}

/// A failure of a step to find its target, until it is known which element the step got instead.
struct Lost {
    step: u32,
    target: RecordedTarget,
    sign: (SignKind, String),
    key: Option<Key>,
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
        for name in record.action.targets() {
            let Some(recorded) = record.candidates.get(name) else { continue };
            let Some(key) = self.enter(record, name, recorded, page) else { continue };
            if let Some((kind, detail)) = signs(recorded) {
                self.sign(&key, kind, &at, detail);
            }
            let failed =
                record.failure.as_ref().filter(|failed| failed.facts.target.as_ref().is_none_or(|of| of == name));
            let kind = failed.and_then(|failed| match failed.cause {
                Cause::TargetNotFound => Some(SignKind::NotFound),
                Cause::TargetAmbiguous => Some(SignKind::Twins),
                Cause::TargetStale => Some(SignKind::Stale),
                _ => None,
            });
            let before = lost.take_if(|lost| lost.step == record.step_index && kind.is_none());
            match before {
                Some(lost) if lost.target != *recorded && record.origin != StepOrigin::Repair => {
                    let was = in_words(&lost.target);
                    self.sign(&key, SignKind::Rebound, &at, format!("was {was}: {}", lost.sign.0.in_words()));
                }
                other => self.settle(other),
            }
            if let (Some(kind), None) = (kind, &lost) {
                let sign = (kind, at.clone());
                *lost = Some(Lost { step: record.step_index, target: recorded.clone(), sign, key: Some(key) });
            }
        }
    }

    /// Nothing else was found in its place: the failure is a sign of the target itself.
    fn settle(&mut self, lost: Option<Lost>) {
        if let Some(Lost { sign: (kind, at), key: Some(key), .. }) = lost {
            self.sign(&key, kind, &at, String::new());
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
        name: &cuebook_grammar::id::TargetRef,
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
        let locator = declared.filter(|_| name.is_empty()).map(ToString::to_string);
        let url = record.url.split(['?', '#']).next().unwrap_or_default();
        let key = (cut(url, TEXT), role, cut(locator.as_deref().unwrap_or(&name), TEXT));
        if key.2.contains(MASK) || self.targets.len() >= APART && !self.targets.contains_key(&key) {
            return None;
        }
        let (target, _) = self.targets.entry(key.clone()).or_insert_with(|| {
            let target = FragileTarget {
                role,
                name: cut(&name, TEXT),
                locator: locator.map(|locator| cut(&locator, TEXT)),
                page: key.0.clone(),
                ..FragileTarget::default()
            };
            (target, BTreeMap::new())
        });
        if let Some(candidate) = candidate {
            target.traits.add_candidate(candidate);
        }
        if let Some(element) = element {
            target.traits.add_element(element);
        }
        if let Some(locator) = declared {
            target.traits.add_locator(locator);
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
            let is_safe = target.traits.id.is_some() && target.signs.iter().all(|sign| sign.kind >= SignKind::ByPlace);
            (!target.signs.is_empty() && !is_safe).then_some(target)
        });
        let mut targets: Vec<FragileTarget> = targets.collect();
        targets.sort_by_key(|target| target.signs.first().map(|sign| sign.kind));
        Fragile { targets, test_ids: self.test_ids, unread: self.unread }
    }
}

impl Traits {
    fn add_candidate(&mut self, candidate: &Candidate) {
        let mut path = candidate.fingerprint.path.split('>').map(|part| {
            let part = part.split('[').next().unwrap_or_default();
            part.split_once('#').map_or((part, None), |(tag, id)| (tag, Some(id.to_owned())))
        });
        if let Some((tag, id)) = path.next_back() {
            self.tag.get_or_insert_with(|| tag.to_owned());
            self.id = self.id.take().or(id);
        }
        extend(&mut self.within, path.filter_map(|(_, id)| id));
        extend(&mut self.labels, candidate.label.clone());
        extend(
            &mut self.around,
            [&candidate.context, &candidate.surroundings].into_iter().flatten().map(|it| cut(it, TEXT)),
        );
        fill(&mut self.placeholder, candidate.placeholder.as_ref());
        fill(&mut self.href, candidate.destination.as_ref());
        fill(&mut self.form, candidate.form.as_ref());
        fill(&mut self.test_id, candidate.test_id.as_ref());
        self.control.get_or_insert(candidate.control);
    }

    fn add_element(&mut self, element: &ElementFacts) {
        fill(&mut self.tag, Some(&element.tag).filter(|tag| !tag.is_empty()));
        extend(&mut self.labels, element.labels.iter().cloned());
        extend(&mut self.classes, element.classes.iter().cloned());
        fill(&mut self.placeholder, element.placeholder.as_ref());
        fill(&mut self.alt, element.alt.as_ref());
        fill(&mut self.title, element.title.as_ref());
        fill(&mut self.test_id, element.test_id.as_ref());
    }

    fn add_locator(&mut self, locator: &Locator) {
        match &locator.strategy {
            Strategy::Label(by) => extend(&mut self.labels, Some(literal(&by.text))),
            Strategy::Placeholder(by) => fill(&mut self.placeholder, Some(&literal(&by.text))),
            Strategy::AltText(by) => fill(&mut self.alt, Some(&literal(&by.text))),
            Strategy::Title(by) => fill(&mut self.title, Some(&literal(&by.text))),
            Strategy::Css(by) => self.add_selector(&by.selector),
            _ => {}
        }
    }

    /// What the last compound of a selector asks for: `button.primary[type=submit]`.
    fn add_selector(&mut self, selector: &str) {
        let last = selector.rsplit([' ', '>', '+', '~']).next().unwrap_or_default();
        let simple = last.split(':').next().unwrap_or_default();
        let (plain, attributes) = simple.split_at(simple.find('[').unwrap_or(simple.len()));
        let start = plain.find(['.', '#']).unwrap_or(plain.len());
        let (tag, mut rest) = plain.split_at(start);
        fill(&mut self.tag, Some(&tag.to_ascii_lowercase()).filter(|tag| !tag.is_empty() && *tag != "*"));
        while let Some(kind) = rest.chars().next() {
            let end = rest.get(1..).and_then(|more| more.find(['.', '#'])).map_or(rest.len(), |end| end + 1);
            let (part, more) = rest.split_at(end);
            let word = part.trim_start_matches(['.', '#']).to_owned();
            if kind == '#' {
                fill(&mut self.id, Some(&word))
            } else {
                extend(&mut self.classes, Some(word))
            }
            rest = more;
        }
        for part in attributes.split('[').skip(1).take(NAMED) {
            if let Some((name, value)) = part.trim_end_matches(']').split_once('=') {
                let (name, value) = (name.trim_end_matches(['~', '^', '$', '*', '|']), value.trim_matches(['"', '\'']));
                self.attributes.insert(cut(name, TEXT), cut(value, TEXT));
            }
        }
    }
}

/// What the target itself says of how it is found.
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

/// The only candidate of the page that the locator is one of.
fn only<'a>(page: &'a Observation, locator: &Locator) -> Option<&'a Candidate> {
    let mut all = page.candidates.iter().filter(|candidate| candidate.locators.contains(locator));
    all.next().filter(|_| all.next().is_none())
}

fn samples(
    facts: &Facts,
) -> impl Iterator<Item = &BTreeMap<cuebook_grammar::id::TargetRef, cuebook_grammar::facts::TargetFacts>> {
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

/// Keeps the first value that is known, unless it was redacted.
fn fill(known: &mut Option<String>, seen: Option<&String>) {
    let seen = seen.filter(|text| !text.is_empty() && !text.contains(MASK));
    *known = known.take().or_else(|| seen.map(|text| cut(text, TEXT)));
}

fn extend(known: &mut BTreeSet<String>, seen: impl IntoIterator<Item = String>) {
    for text in seen.into_iter().filter(|text| !text.is_empty() && !text.contains(MASK)) {
        if known.len() < 8 * NAMED {
            known.insert(cut(&text, TEXT));
        }
    }
}
