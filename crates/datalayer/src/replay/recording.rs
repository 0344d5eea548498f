//! A recorded run as a plan.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::{Candidate, Fingerprint};
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::{ElementFacts, Facts};
use cuebook_grammar::geometry::Point;
use cuebook_grammar::id::{CredentialRef, RunId, TargetRef};
use cuebook_grammar::locator::{ByLabel, ByPlaceholder, Locator, Strategy};
use cuebook_grammar::outcome::Selectors;
use cuebook_grammar::plan::{Author, MAX_STEPS, PlanContext, PlanDraft};
use cuebook_grammar::record::{RecordedTarget, RunHeader, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::MASK;
use cuebook_grammar::step::Step;
use cuebook_grammar::text_match::TextPattern;
use cuebook_grammar::wire::{self, LongText, ShortText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::naming::Names;
use super::signature::failed_step;
use super::trace::{StepTrace, add_traffic};
use crate::error::{DataError, Unreplayable};
use crate::in_words;
use crate::log::Run;
use crate::run_dir::RunDir;
use crate::traffic::Setting;

/// The version of the recording format, raised by the same rule as that of the record.
pub const RECORDING_VERSION: &str = "1.1";

/// The actions of a run: a plan with declared targets, further facts about each target, and what came of each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recording {
    /// Version of the format: [`RECORDING_VERSION`] when written.
    pub schema_version: String,
    /// The URL to open first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The plan, of the operator.
    pub plan: PlanDraft,
    /// By the names of the plan's candidates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<TargetRef, Former>,
    /// The run that it was made from; absent for what a person did without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// Traces of the steps, in their order; the first may be the opening of the start URL. Empty in recordings of
    /// version 1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<StepTrace>,
}

/// The run that a recording was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// Id of the run.
    pub run_id: RunId,
    /// The URL that it started on, by whose origin the URLs of the traces are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The setting of its traffic, if that was recorded: a replay in it makes the same requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<Setting>,
}

impl Recorded {
    pub(super) fn of(header: &RunHeader) -> Self {
        Self { run_id: header.run_id.clone(), url: header.url.clone(), setting: None }
    }
}

/// Facts about a target beside the locator that the plan declares, in the order in which a replay makes use of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Former {
    /// Its fingerprint, if it was a candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Further locators, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locators: Vec<Locator>,
    /// Selectors for other tools. A replay uses their point, if nothing else finds the target and a candidate of its role
    /// is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectors: Option<Selectors>,
}

impl Former {
    /// The role of the target and the middle of where it was, in CSS pixels of the page, if both are known; `declared` is
    /// its locator in the plan.
    #[must_use]
    pub fn place(&self, declared: Option<&Locator>) -> Option<(Role, Point)> {
        let by_role = |locator: &Locator| match &locator.strategy {
            Strategy::Role(by) => Some(by.role),
            _ => None,
        };
        let role = self.fingerprint.as_ref().map(|former| former.role).or_else(|| declared.and_then(by_role))?;
        Some((role, self.selectors.as_ref()?.point?))
    }

    fn unless_destructive(self, class: EffectClass) -> Self {
        match class {
            EffectClass::Destructive => Self { selectors: self.selectors, ..Self::default() },
            _ => self,
        }
    }
}

impl Recording {
    /// The committed steps of `run`, repairs included, as a plan. Steps that failed are left out, except the one that
    /// the run ended with. `credentials` name the secrets for steps whose text is not in the log, by 1-based step of the
    /// plan. Costs as much as reading the records once.
    ///
    /// # Errors
    /// [`DataError::Unreplayable`]
    pub fn of(run: &Run, credentials: &BTreeMap<u32, CredentialRef>) -> Result<Self, DataError> {
        Self::of_last(run, credentials, usize::MAX)
    }

    /// At most the `last` steps of [`of`](Self::of). `credentials` and errors count the steps of the whole run.
    ///
    /// # Errors
    /// [`DataError::Unreplayable`], of these steps alone.
    pub fn of_last(run: &Run, credentials: &BTreeMap<u32, CredentialRef>, last: usize) -> Result<Self, DataError> {
        let header = run.header.as_ref();
        let url = header.and_then(|header| header.url.clone());
        let mut names = Names::default();
        let mut targets = BTreeMap::new();
        let mut steps = Vec::new();
        let opening = run.steps.iter().rev().find(|record| is_opening(record));
        let mut traces: Vec<StepTrace> = opening.and_then(|record| StepTrace::of(0, record)).into_iter().collect();
        let failed = failed_step(run);
        let kept = run.steps.iter().enumerate().filter(|(at, record)| is_kept(*at, record, failed));
        let kept: Vec<&StepRecord> = kept.map(|(_, record)| record).collect();
        let first = kept.len().saturating_sub(last);
        let number_of = |at: usize| u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1);
        for (at, record) in kept.iter().enumerate().skip(first) {
            let number = number_of(at);
            let refuse = |why| DataError::Unreplayable { step: Some(number), what: in_words::step(record), why };
            if steps.len() >= MAX_STEPS {
                return Err(refuse(Unreplayable::TooLong));
            }
            let mut renamed = BTreeMap::new();
            for target in record.action.targets() {
                let (locator, former) = describe(record, target).ok_or_else(|| refuse(Unreplayable::Target))?;
                let name =
                    names.declare(&words(record, target), &locator).ok_or_else(|| refuse(Unreplayable::Target))?;
                renamed.insert(target.clone(), name.clone());
                let known: &mut Former = targets.entry(name).or_insert(former);
                *known = std::mem::take(known).unless_destructive(record.effect_class);
            }
            let credential = credentials.get(&number);
            let mut step = replayable(record, credential).map_err(refuse)?;
            step.retarget(&|target| renamed.get(target).cloned().unwrap_or_else(|| target.clone()));
            traces.extend(StepTrace::of(number_of(steps.len()), record));
            steps.push(step);
        }
        let beyond = |number: u32| usize::try_from(number).map_or(true, |number| number == 0 || number > kept.len());
        if let Some(number) = credentials.keys().copied().find(|number| beyond(*number)) {
            let why = Unreplayable::NeedsNone;
            return Err(DataError::Unreplayable { step: Some(number), what: String::new(), why });
        }
        if steps.is_empty() {
            return Err(DataError::Unreplayable { step: None, what: String::new(), why: Unreplayable::Empty });
        }
        targets.retain(|_, former| *former != Former::default());
        let task = header.and_then(|header| header.task.as_deref()).map(LongText::cut);
        // A session starts nowhere: whoever held it named the addresses, and so does its plan.
        let is_session = header.is_some_and(|header| header.command == "session");
        let allowed_domains = is_session.then(|| opened(&kept)).filter(|origins| !origins.is_empty());
        let plan = PlanDraft {
            candidates: names.declared,
            context: Some(PlanContext { task, allowed_domains, ..PlanContext::default() }),
            plan_id: header.map(|header| ShortText::cut(header.run_id.as_str())),
            ..PlanDraft::of(Author::Operator, steps)
        };
        let recorded = header.map(Recorded::of);
        Ok(Self { schema_version: RECORDING_VERSION.to_owned(), url, plan, targets, recorded, traces })
    }

    /// The doings of somebody without a run, as a plan: steps, each with the targets that it names as they were before it.
    ///
    /// # Errors
    /// [`DataError::Unreplayable`]: nothing was done, or a target that nothing finds again.
    pub fn of_steps(
        url: Option<String>,
        done: impl IntoIterator<Item = (Step, BTreeMap<TargetRef, RecordedTarget>)>,
    ) -> Result<Self, DataError> {
        let mut names = Names::default();
        let (mut targets, mut steps) = (BTreeMap::new(), Vec::new());
        for (mut step, known) in done {
            let number = u32::try_from(steps.len()).unwrap_or(u32::MAX).saturating_add(1);
            let mut renamed = BTreeMap::new();
            for target in step.targets() {
                let declared = known.get(target).and_then(|recorded| match recorded {
                    RecordedTarget::Observed(it) => {
                        of_candidate(it).map(|found| (found, format!("{} {}", it.role, it.name)))
                    }
                    RecordedTarget::Declared(locator) => {
                        Some(((locator.clone(), Former::default()), words_of(locator)))
                    }
                });
                let name = declared.and_then(|((locator, former), words)| {
                    let name = names.declare(&words, &locator)?;
                    targets.entry(name.clone()).or_insert(former);
                    Some(name)
                });
                let name = name.ok_or_else(|| DataError::Unreplayable {
                    step: Some(number),
                    what: step.action.kind().meta().name.to_owned(),
                    why: Unreplayable::Target,
                })?;
                renamed.insert(target.clone(), name);
            }
            step.retarget(&|target| renamed.get(target).unwrap_or(target).clone());
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(DataError::Unreplayable { step: None, what: String::new(), why: Unreplayable::Empty });
        }
        targets.retain(|_, former| *former != Former::default());
        let plan = PlanDraft { candidates: names.declared, ..PlanDraft::of(Author::Operator, steps) };
        let schema_version = RECORDING_VERSION.to_owned();
        Ok(Self { schema_version, url, plan, targets, recorded: None, traces: Vec::new() })
    }

    /// Adds to the requests of the traces what the traffic of their run, whose folder is `dir`, says of them: header
    /// fields, times and bodies; and its setting. Nothing if it was not recorded. Blocks.
    ///
    /// # Errors
    /// [`DataError`] of a file that cannot be read.
    pub fn with_traffic(mut self, dir: &RunDir) -> Result<Self, DataError> {
        let setting = add_traffic(&mut self.traces, dir)?;
        if let Some(recorded) = &mut self.recorded {
            recorded.setting = setting;
        }
        Ok(self)
    }

    /// Returns a copy with only the steps at these positions, ascending, and the targets that those name.
    #[must_use]
    pub fn keeping(&self, steps: &[usize]) -> Self {
        let mut kept = self.clone();
        let at = |position: &usize| self.plan.steps.get(*position).cloned();
        kept.plan.steps = steps.iter().filter_map(at).collect();
        let place = |trace: &StepTrace| match usize::try_from(trace.step).ok()?.checked_sub(1) {
            None => Some(0),
            Some(at) => Some(u32::try_from(steps.iter().position(|kept| *kept == at)?).ok()?.saturating_add(1)),
        };
        let traces = kept.traces.into_iter();
        kept.traces = traces.filter_map(|trace| Some(StepTrace { step: place(&trace)?, ..trace })).collect();
        let named = RefCell::new(BTreeSet::new());
        for step in &mut kept.plan.steps {
            step.retarget(&|target| {
                named.borrow_mut().insert(target.clone());
                target.clone()
            });
        }
        let named = named.into_inner();
        kept.plan.candidates.retain(|target, _| named.contains(target));
        kept.targets.retain(|target, _| named.contains(target));
        kept
    }

    /// Reads a recording of this major version, as the operator's. Fields of a later minor version are ignored.
    ///
    /// # Errors
    /// [`ReadError`](wire::ReadError) with the version, or the innermost value that does not fit.
    pub fn read(json: &str) -> Result<Self, wire::ReadError> {
        let document = wire::parse(json)?;
        if let Some(seen) = document.get("schemaVersion").and_then(Value::as_str) {
            wire::check_version(seen, RECORDING_VERSION)?;
        }
        let mut recording: Self = wire::read(document)?;
        recording.plan.author = Author::Operator;
        Ok(recording)
    }

    /// Returns the recording on another page to start on: URLs that the plan opens on the former origin are moved to
    /// the new one.
    #[must_use]
    pub fn starting_on(mut self, url: &str) -> Self {
        let origins = self.url.as_deref().and_then(origin).zip(origin(url));
        if let Some((from, to)) = origins.filter(|(from, to)| from != to) {
            for step in &mut self.plan.steps {
                if let Action::Navigate(navigate) = &mut step.action
                    && let Some(rest) = navigate.url.as_str().strip_prefix(&from)
                    && (rest.is_empty() || rest.starts_with(['/', '?', '#']))
                    && let Ok(moved) = serde_json::from_value(Value::from(format!("{to}{rest}")))
                {
                    navigate.url = moved;
                }
            }
        }
        self.url = Some(url.to_owned());
        self
    }
}

/// `https://shop.test:8443`, as URLs begin that are in their canonical form.
pub(crate) fn origin(url: &str) -> Option<String> {
    Url::parse(url)
        .ok()
        .map(|url| url.origin())
        .filter(url::Origin::is_tuple)
        .map(|origin| origin.ascii_serialization())
}

/// Returns `true` if the record is that of the opening of the start URL.
pub(super) fn is_opening(record: &StepRecord) -> bool {
    record.origin == StepOrigin::Start && record.step_index == 0
}

/// Returns `true` if the record at a position is part of the replay, given that the run ended with the failure of the
/// step at `failed`, which a replay is to show again.
fn is_kept(at: usize, record: &StepRecord, failed: Option<usize>) -> bool {
    let is_opening = record.origin == StepOrigin::Start && matches!(record.action.action, Action::Navigate(_));
    match record.result {
        StepResult::Ok => !is_opening && failed.is_none_or(|failed| at < failed),
        StepResult::Failed => failed == Some(at),
        StepResult::Blocked | StepResult::Skipped => false,
    }
}

/// The step without what was redacted.
fn replayable(record: &StepRecord, credential: Option<&CredentialRef>) -> Result<Step, Unreplayable> {
    let mut step = record.action.clone();
    step.confidence = None;
    // Its targets were never looked for, so nothing is known of them.
    step.undo.clear();
    step.explanation = step.explanation.filter(|text| !text.as_str().contains(MASK));
    let is_kept_secret = step.action.text().is_some_and(|text| text.clear().is_none_or(|text| text.contains(MASK)));
    match (is_kept_secret, credential) {
        (true, None) => return Err(Unreplayable::Text),
        (false, Some(name)) if step.action.credential() == Some(name) => {}
        (false, Some(_)) => return Err(Unreplayable::NeedsNone),
        (true, Some(name)) => match &mut step.action {
            Action::Type(typed) => (typed.text, typed.credential_ref) = (None, Some(name.clone())),
            Action::SetValue(set) => (set.value, set.credential_ref) = (None, Some(name.clone())),
            _ => return Err(Unreplayable::Redacted),
        },
        (false, None) => {}
    }
    step.pre.retain(|condition| !is_redacted(condition));
    step.post.retain(|condition| !is_redacted(condition));
    if is_redacted(&step.action) { Err(Unreplayable::Redacted) } else { Ok(step) }
}

/// Returns `true` if a mask or a digest is anywhere in it.
pub(super) fn is_redacted(part: &impl Serialize) -> bool {
    fn within(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains(MASK) || text.starts_with("redacted:"),
            Value::Array(items) => items.iter().any(within),
            Value::Object(object) => object.contains_key("redacted") || object.values().any(within),
            _ => false,
        }
    }
    serde_json::to_value(part).is_ok_and(|value| within(&value))
}

pub(super) fn words(record: &StepRecord, target: &TargetRef) -> String {
    match record.candidates.get(target) {
        Some(RecordedTarget::Observed(candidate)) => format!("{} {}", candidate.role, candidate.name),
        _ => target.to_string(),
    }
}

/// The locator that the plan declares, and the rest. `None` if nothing finds the target again.
pub(super) fn describe(record: &StepRecord, target: &TargetRef) -> Option<(Locator, Former)> {
    match record.candidates.get(target)? {
        RecordedTarget::Observed(candidate) => of_candidate(candidate),
        RecordedTarget::Declared(locator) => {
            let seen = [&record.pre_facts, &record.post_facts].into_iter().flatten();
            let element = seen.flat_map(samples).find_map(|facts| facts.get(target)?.element.as_ref());
            let mut locators = element.map(of_element).unwrap_or_default();
            locators.retain(|other| other != locator && !is_redacted(other));
            (!is_redacted(locator)).then(|| (locator.clone(), Former { locators, ..Former::default() }))
        }
    }
    .map(|(locator, former)| {
        let is_main = record.action.action.target() == Some(target);
        let selectors = record.selectors.clone().filter(|selectors| is_main && !is_redacted(selectors));
        (locator, Former { selectors, ..former })
    })
}

/// Words to name a declared target by: its role and the text that it is found by.
fn words_of(locator: &Locator) -> String {
    let words = |pattern: &TextPattern| match pattern {
        TextPattern::Literal(text) => text.as_str().to_owned(),
        TextPattern::Regex(..) => String::new(),
    };
    match &locator.strategy {
        Strategy::Role(by) => format!("{} {}", by.role, by.name.as_ref().map(words).unwrap_or_default()),
        Strategy::Label(by) => format!("label {}", words(&by.text)),
        Strategy::Placeholder(by) => format!("field {}", words(&by.text)),
        Strategy::Text(by) => format!("text {}", words(&by.text)),
        _ => "target".to_owned(),
    }
}

fn samples(facts: &Facts) -> impl Iterator<Item = &BTreeMap<TargetRef, cuebook_grammar::facts::TargetFacts>> {
    facts.before.iter().chain(&facts.samples).map(|sample| &sample.targets)
}

/// Where an element was is used to find it if there is nothing else, and never to find it again elsewhere.
fn of_candidate(candidate: &Candidate) -> Option<(Locator, Former)> {
    let mut locators: Vec<Locator> =
        candidate.locators.iter().filter(|locator| !is_redacted(locator)).cloned().collect();
    locators.sort_by_key(is_by_place);
    if locators.is_empty() {
        return None;
    }
    let first = locators.remove(0);
    locators.retain(|locator| !is_by_place(locator));
    let fingerprint = Some(candidate.fingerprint.clone()).filter(|fingerprint| !is_redacted(fingerprint));
    Some((first, Former { fingerprint, locators, selectors: None }))
}

/// By its position among others, or by a path through the document that does not end in an id of its own.
fn is_by_place(locator: &Locator) -> bool {
    let is_path = match &locator.strategy {
        Strategy::Css(by) => !by.selector.as_str().starts_with('#') || by.selector.as_str().contains([' ', '>']),
        Strategy::XPath(_) => true,
        _ => false,
    };
    is_path || locator.turns_on_position()
}

/// Returns the locators that follow from an element that a declared locator found.
fn of_element(element: &ElementFacts) -> Vec<Locator> {
    let test_id = element.test_id.as_deref().map(Locator::test_id);
    let named = Some(&element.name).filter(|name| !name.is_empty()).map(|name| Locator::role(element.role, name));
    let label = element
        .labels
        .first()
        .map(|label| Locator::from(Strategy::Label(ByLabel { text: TextPattern::literal(label), exact: Some(true) })));
    let placeholder = element.placeholder.as_ref().map(|text| {
        Locator::from(Strategy::Placeholder(ByPlaceholder { text: TextPattern::literal(text), exact: Some(true) }))
    });
    [test_id, named, label, placeholder].into_iter().flatten().collect()
}

/// The origins of the addresses that steps open, each once.
fn opened(records: &[&StepRecord]) -> Vec<ShortText> {
    let urls = records.iter().filter_map(|record| match &record.action.action {
        Action::Navigate(navigate) => Url::parse(&navigate.url).ok(),
        _ => None,
    });
    // An empty page or a file has no origin that a plan could name.
    let origins = urls.map(|url| url.origin()).filter(url::Origin::is_tuple);
    let origins: BTreeSet<String> = origins.map(|origin| origin.ascii_serialization()).collect();
    origins.iter().map(|origin| ShortText::cut(origin)).collect()
}
