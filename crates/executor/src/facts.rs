//! Gathering: from the reports of frames about watched targets to the samples that conditions are judged on.
//!
//! Pure: reports go in, samples come out. Invariants:
//! - Which element a locator means is decided by [`Locator::select`] on facts, over all frames together.
//! - A sample is the page as a whole; the report of a frame replaces that frame's part only.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuebook_grammar::candidate::About;
use cuebook_grammar::condition::{Condition, GatheredFact};
use cuebook_grammar::facts::{ElementFacts, EventFacts, Facts, Sample, TargetFacts};
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::id::{NodeKey, PageId, TargetRef};
use cuebook_grammar::locator::{Locator, Strategy};
use cuebook_grammar::secret::{DigestKey, Secret};
use cuebook_grammar::text_match::TextPattern;
use cuebook_grammar::verdict::Verdict;
use cuebook_probe::{Ask, Placement, innermost};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::redaction::holds_any;
use crate::script::{FrameSample, WatchedInner, WatchedRow, WatchedTarget};

/// How a target of a condition is looked up while the page changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Lookup {
    /// An element that was observed: in its document, and nowhere else.
    Node(#[serde(with = "NodeName")] NodeKey),
    /// A locator that the script can follow by itself, in every frame; where it has a frame path, only the report of the
    /// frame at its end counts. The element that was acted on stays the one that is meant while it exists.
    Live(Locator, #[serde(with = "pinned")] Option<NodeKey>),
    /// A locator that needs an extra round trip: inner locators with frame paths, and XPath relative to another
    /// element.
    Asked(Locator),
}

/// A node as a trace names it: elsewhere it is never written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "NodeKey")]
struct NodeName {
    page: PageId,
    frame: String,
    document: String,
    node: u64,
}

/// Such a node, where there is one.
mod pinned {
    use super::{Deserialize, NodeKey, NodeName, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Pinned(#[serde(with = "NodeName")] NodeKey);

    pub(super) fn serialize<S: serde::Serializer>(key: &Option<NodeKey>, serializer: S) -> Result<S::Ok, S::Error> {
        key.clone().map(Pinned).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<NodeKey>, D::Error> {
        Ok(Option::<Pinned>::deserialize(deserializer)?.map(|Pinned(key)| key))
    }
}

/// Facts about a target that a condition needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) target: TargetRef,
    pub(crate) lookup: Lookup,
    pub(crate) ask: Ask,
    /// If the page replaces the element that was acted on, the element with this meaning is used.
    pub(crate) about: Option<About>,
}

impl Question {
    /// The question as the script in `frame` reads it; `None` if that frame has no part in it.
    pub(crate) fn for_frame(&self, frame: &str, document: &str, test_ids: &[String]) -> Option<Value> {
        let ask = json!({
            "attributes": self.ask.attributes, "properties": self.ask.properties, "text": self.ask.text,
            "testIds": test_ids,
        });
        match &self.lookup {
            Lookup::Node(key) => (key.frame == frame && key.document == document)
                .then(|| json!({"ref": self.target, "id": key.node, "ask": ask, "about": self.about})),
            Lookup::Live(locator, pinned) => {
                let id =
                    pinned.as_ref().filter(|key| key.frame == frame && key.document == document).map(|key| key.node);
                let mut question = json!({"ref": self.target, "filter": rough(locator), "ask": ask});
                if let (Some(id), Some(object)) = (id, question.as_object_mut()) {
                    object.insert("id".into(), id.into());
                }
                Some(question)
            }
            Lookup::Asked(_) => None,
        }
    }
}

/// Returns `true` if the script can follow a locator by itself.
pub(crate) fn is_live(locator: &Locator) -> bool {
    fn is_followed(locator: &Locator, depth: usize) -> bool {
        let is_relative = matches!(locator.strategy, Strategy::XPath(_)) && locator.within.is_some();
        let inner = [&locator.within, &locator.has, &locator.has_not];
        !is_relative
            && depth < MAX_INNER
            && inner.into_iter().flatten().all(|inner| inner.frame.is_empty() && is_followed(inner, depth + 1))
    }
    is_followed(locator, 0)
}

/// The deepest nesting of locators that the script follows.
const MAX_INNER: usize = 4;

/// Collects the facts about `target` that `conditions` need.
pub(crate) fn ask_for(target: &TargetRef, locator: Option<&Locator>, conditions: &[&Condition]) -> Ask {
    let mut ask = Ask { text: locator.is_some_and(Locator::turns_on_text), ..Ask::default() };
    let mut attributes = BTreeSet::new();
    let mut properties = BTreeSet::new();
    for condition in conditions {
        for (of, asked) in condition.asked() {
            if of != target {
                continue;
            }
            match asked {
                GatheredFact::Attribute(name) => attributes.insert(name.to_owned()),
                GatheredFact::AriaAttribute(name) => {
                    attributes.insert(format!("aria-{}", name.strip_prefix("aria-").unwrap_or(name)))
                }
                GatheredFact::Property(name) => properties.insert(name.to_owned()),
            };
        }
        ask.text |= condition.reads_text(target);
        ask.compare.extend(condition.compared_texts(target).into_iter().map(str::to_owned));
    }
    ask.attributes = attributes.into_iter().collect();
    ask.properties = properties.into_iter().collect();
    ask
}

/// Returns `true` if a condition depends on geometry.
pub(crate) fn turns_on_geometry(conditions: &[&Condition]) -> bool {
    let mut found = false;
    for condition in conditions {
        condition.visit(&mut |part| {
            found |= match part {
                Condition::InViewport(_) => true,
                Condition::Changed(changed) => changed.aspect == Some(cuebook_grammar::condition::Aspect::Box),
                _ => false,
            };
        });
    }
    found
}

/// A rough filter that every element passes which the locator may mean, in the form of the probe's script.
pub(crate) fn rough(locator: &Locator) -> Value {
    let literal = |pattern: &TextPattern| match pattern {
        TextPattern::Literal(text) => Some(text.as_str().to_owned()),
        TextPattern::Regex(..) => None,
    };
    let mut filter = json!({"limit": 200});
    let mut put = |name: &str, value: Value| {
        if let Some(object) = filter.as_object_mut() {
            object.insert(name.to_owned(), value);
        }
    };
    if let Some(text) = locator.strategy.text().and_then(|(pattern, _)| literal(pattern)) {
        put("text", text.into());
    }
    if let Some(text) = locator.has_text.as_ref().and_then(literal) {
        put("hasText", text.into());
    }
    if let Some(visible) = locator.visible {
        put("visible", visible.into());
    }
    let by = match &locator.strategy {
        Strategy::TestId(_) => "testId",
        Strategy::Role(by) => {
            put("role", by.role.as_str().into());
            put("includeHidden", by.include_hidden.unwrap_or(false).into());
            "role"
        }
        Strategy::Label(_) => "label",
        Strategy::Placeholder(_) => "placeholder",
        Strategy::AltText(_) => "alt",
        Strategy::Title(_) => "title",
        Strategy::Text(_) => "text",
        Strategy::Css(by) => {
            put("selector", by.selector.as_str().into());
            "css"
        }
        Strategy::XPath(by) => {
            put("selector", by.expression.as_str().into());
            "xpath"
        }
    };
    put("by", by.into());
    let inner = [("within", &locator.within), ("has", &locator.has), ("hasNot", &locator.has_not)];
    let inner: serde_json::Map<String, Value> = inner
        .into_iter()
        .filter_map(|(name, inner)| {
            let inner = inner.as_deref()?;
            let mut filter = rough(inner);
            if let Some(object) = filter.as_object_mut() {
                object.insert("readsText".into(), inner.turns_on_text().into());
                object.insert("relative".into(), (name != "within" && inner.relative_selector().is_some()).into());
            }
            Some((name.to_owned(), filter))
        })
        .collect();
    if !inner.is_empty() {
        put("inner", inner.into());
    }
    filter
}

/// The rows that each frame reported for a locator, with their relations: which of the inner rows are meant is decided
/// by the inner locators over all frames together.
fn settled(locator: &Locator, reported: &[&WatchedTarget]) -> Vec<Vec<WatchedRow>> {
    let mut frames: Vec<Vec<WatchedRow>> = reported.iter().map(|reported| reported.rows.clone()).collect();
    if let Strategy::Text(by) = &locator.strategy {
        frames.iter_mut().for_each(|rows| mark_innermost(rows, &by.text));
    }
    type Part = fn(&WatchedTarget) -> Option<&WatchedInner>;
    type Slot = fn(&mut cuebook_grammar::facts::Relations, bool);
    let kinds: [(&Option<Box<Locator>>, Part, Slot); 3] = [
        (&locator.within, |reported| reported.within.as_ref(), |relations, holds| relations.within = Some(holds)),
        (&locator.has, |reported| reported.has.as_ref(), |relations, holds| relations.has = Some(holds)),
        (&locator.has_not, |reported| reported.has_not.as_ref(), |relations, holds| relations.has_not = Some(!holds)),
    ];
    for (inner, part, put) in kinds {
        let Some(inner) = inner else { continue };
        let empty = WatchedTarget::default();
        let inner_told: Vec<&WatchedTarget> =
            reported.iter().map(|reported| part(reported).map_or(&empty, |inner| &*inner.target)).collect();
        let inner_frames = settled(inner, &inner_told);
        let all: Vec<ElementFacts> = inner_frames.iter().flatten().map(|row| row.facts.clone()).collect();
        let meant: BTreeSet<usize> = inner.select(&all).matches.into_iter().collect();
        let mut offset = 0_usize;
        for ((rows, reported), inner_rows) in frames.iter_mut().zip(reported).zip(&inner_frames) {
            let of = part(reported).map(|inner| inner.of.as_slice()).unwrap_or_default();
            for (index, row) in rows.iter_mut().enumerate() {
                let related = of.get(index).map(Vec::as_slice).unwrap_or_default();
                let holds =
                    related.iter().any(|at| *at < inner_rows.len() && meant.contains(&offset.saturating_add(*at)));
                put(&mut row.facts.relations, holds);
            }
            offset += inner_rows.len();
        }
    }
    frames
}

/// The rows of one document that a locator means.
pub(crate) fn meant_by(locator: &Locator, reported: &WatchedTarget) -> Vec<usize> {
    let rows: Vec<ElementFacts> = settled(locator, &[reported]).into_iter().flatten().map(|row| row.facts).collect();
    locator.select(&rows).matches
}

/// Marks the rows that are the innermost with the text.
fn mark_innermost(rows: &mut [WatchedRow], pattern: &TextPattern) {
    let nested: Vec<_> = rows.iter().map(|row| (&row.facts, row.parent)).collect();
    let marks = innermost(&nested, pattern);
    for (row, is_innermost) in rows.iter_mut().zip(marks) {
        row.facts.relations.innermost_text = Some(is_innermost);
    }
}

/// The most samples that a step keeps.
const MAX_SAMPLES: usize = 200;
/// Beyond this many bytes of facts, samples that decide nothing are dropped.
const MAX_BYTES: usize = 512 * 1024;

/// The state of the page from the reports of its frames, and the samples so far.
#[derive(Debug)]
pub(crate) struct Gathered {
    questions: Vec<Question>,
    key: DigestKey,
    /// Frames in document order.
    frames: Vec<String>,
    reported: HashMap<String, BTreeMap<String, Option<WatchedTarget>>>,
    asked: BTreeMap<TargetRef, TargetFacts>,
    /// Where frames lie in the tab; without a placement, coordinates are the frame's.
    placements: HashMap<String, Placement>,
    /// The frame at the end of a target's frame path.
    scopes: BTreeMap<TargetRef, Option<String>>,
    url: String,
    /// The requested URL, where Chrome shows its own error page.
    asked_url: Option<String>,
    title: String,
    before: Option<Sample>,
    samples: Vec<Sample>,
    /// Samples that made a condition hold: they are never dropped.
    pinned: BTreeSet<u64>,
    serials: Vec<u64>,
    next_serial: u64,
    sensitive: BTreeSet<TargetRef>,
    secrets: Vec<Secret>,
}

impl Gathered {
    pub(crate) fn new(questions: Vec<Question>, key: DigestKey, url: String) -> Self {
        Self {
            questions,
            key,
            frames: Vec::new(),
            reported: HashMap::new(),
            asked: BTreeMap::new(),
            placements: HashMap::new(),
            scopes: BTreeMap::new(),
            url,
            asked_url: None,
            title: String::new(),
            before: None,
            samples: Vec::new(),
            pinned: BTreeSet::new(),
            serials: Vec::new(),
            next_serial: 0,
            sensitive: BTreeSet::new(),
            secrets: Vec::new(),
        }
    }

    /// Replaces the questions about targets that conditions need answered.
    pub(crate) fn ask(&mut self, questions: Vec<Question>) {
        self.questions = questions;
    }

    /// Judges a condition as it will be judged in the end: reduced where its targets are sensitive.
    pub(crate) fn judge(&self, condition: &Condition, is_default: bool, facts: &Facts) -> Verdict {
        let judge = |condition: &Condition| {
            if is_default { condition.evaluate_lasting(facts) } else { condition.evaluate(facts) }
        };
        if self.sensitive.is_empty() {
            return judge(condition);
        }
        judge(&condition.redacted(&|target| self.sensitive.contains(target), &self.key))
    }

    pub(crate) fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Sets the frames in document order; the reports of others are dropped.
    pub(crate) fn set_frames(&mut self, frames: Vec<String>) {
        self.reported.retain(|frame, _| frames.contains(frame));
        self.frames = frames;
    }

    /// A frame has another document: its report is dropped.
    pub(crate) fn forget(&mut self, frame: &str) {
        self.reported.remove(frame);
    }

    pub(crate) fn mark_sensitive(&mut self, target: &TargetRef) {
        self.sensitive.insert(target.clone());
    }

    /// From now on, facts that hold this text are sensitive.
    pub(crate) fn learn_secret(&mut self, secret: &Secret) {
        if !secret.expose().is_empty() {
            self.secrets.push(secret.clone());
        }
    }

    pub(crate) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn url_before(&self) -> Option<&str> {
        self.before.as_ref().map(|before| before.url.as_str())
    }

    /// Returns `true` if the page was seen at this URL, before the input or after it.
    pub(crate) fn shows_url(&self, url: &str) -> bool {
        self.samples.iter().chain(&self.before).any(|sample| sample.url == url)
    }

    pub(crate) fn has_samples(&self) -> bool {
        !self.samples.is_empty()
    }

    /// From now on Chrome's own error page counts as the page at `url`.
    pub(crate) fn asked_for(&mut self, url: &str) {
        self.asked_url = Some(url.to_owned());
    }

    fn real_url(&self, url: &str) -> String {
        let asked = self.asked_url.as_deref().filter(|_| url.starts_with("chrome-error:"));
        asked.unwrap_or(url).to_owned()
    }

    /// Records the report of a frame.
    pub(crate) fn record(&mut self, frame: &str, is_main: bool, sample: FrameSample) {
        if is_main {
            self.url = self.real_url(&sample.url);
            self.title = sample.title;
        }
        self.reported.insert(frame.to_owned(), sample.targets);
    }

    pub(crate) fn record_asked(&mut self, target: TargetRef, facts: TargetFacts) {
        self.asked.insert(target, facts);
    }

    pub(crate) fn set_url(&mut self, url: &str, title: Option<&str>) {
        self.url = self.real_url(url);
        if let Some(title) = title {
            title.clone_into(&mut self.title);
        }
    }

    /// The page as it is known now.
    pub(crate) fn sample(&mut self, at_ms: u32) -> Sample {
        let mut targets = BTreeMap::new();
        for question in &self.questions {
            let mut facts = match &question.lookup {
                Lookup::Asked(_) => self.asked.get(&question.target).cloned().unwrap_or_default(),
                _ => self.look_up(question),
            };
            if let Some(element) = &mut facts.element
                && (element.sensitive || self.sensitive.contains(&question.target) || holds_any(element, &self.secrets))
            {
                self.sensitive.insert(question.target.clone());
                let compared: Vec<&str> = question.ask.compare.iter().map(String::as_str).collect();
                element.redact(&compared, &self.key);
            }
            targets.insert(question.target.clone(), facts);
        }
        Sample { at_ms, url: self.url.clone(), title: self.title.clone(), targets }
    }

    fn look_up(&self, question: &Question) -> TargetFacts {
        let name = question.target.as_str();
        if let Lookup::Node(key) = &question.lookup {
            // The elements of a document that is gone are gone.
            return match self.reported.get(&key.frame).map(|targets| targets.get(name)) {
                Some(Some(Some(reported))) => {
                    of_rows(reported.rows.iter().map(|row| self.placed(&key.frame, row.facts.clone())).collect())
                }
                Some(None) => TargetFacts::none(),
                None if !self.frames.contains(&key.frame) => TargetFacts::none(),
                _ => TargetFacts::default(),
            };
        }
        let Lookup::Live(locator, pinned) = &question.lookup else { return TargetFacts::default() };
        let scope = match (locator.frame.is_empty(), self.scopes.get(&question.target)) {
            (true, _) => None,
            (false, Some(Some(frame))) => Some(frame),
            (false, Some(None)) => return TargetFacts::none(),
            (false, None) => return TargetFacts::default(),
        };
        let mut reported = Vec::new();
        let mut reporters = Vec::new();
        for frame in self.frames.iter().filter(|frame| scope.is_none_or(|scope| scope == *frame)) {
            match self.reported.get(frame).and_then(|targets| targets.get(name)) {
                Some(Some(target)) => {
                    if pinned.as_ref().is_some_and(|key| key.frame == *frame)
                        && let [only] = &target.rows[..]
                    {
                        return TargetFacts::one(self.placed(frame, only.facts.clone()));
                    }
                    reported.push(target);
                    reporters.push(frame);
                }
                Some(None) => return TargetFacts::default(),
                None => {}
            }
        }
        if reported.is_empty() {
            return TargetFacts::default();
        }
        let skipped = reported.iter().any(|reported| reported.skipped > 0);
        let settled = settled(locator, &reported);
        let is_main = reporters.first() == self.frames.first().as_ref();
        let outer = settled.first().filter(|_| is_main).map_or(0, Vec::len);
        let all: Vec<ElementFacts> = settled
            .into_iter()
            .zip(reporters)
            .flat_map(|(rows, frame)| rows.into_iter().map(move |row| self.placed(frame, row.facts)))
            .collect();
        let selected = locator.select_outermost(&all, outer).matches;
        if skipped && locator.nth.is_none() {
            let matches = u32::try_from(selected.len()).unwrap_or(u32::MAX);
            return TargetFacts { matches: Some(matches.saturating_add(1)), element: None };
        }
        of_rows(selected.into_iter().filter_map(|position| all.get(position).cloned()).collect())
    }

    /// Facts of an element of `frame`, in the coordinates of the tab.
    fn placed(&self, frame: &str, mut facts: ElementFacts) -> ElementFacts {
        let Some(placement) = self.placements.get(frame) else { return facts };
        if let Some(rect) = facts.rect {
            let rect = placement.rect(rect);
            facts.rect = Some(rect);
            if facts.in_viewport.is_some() {
                facts.in_viewport = Some(shown_share(rect, placement.clip));
            }
        }
        facts
    }

    /// Sets where a frame lies; `true` if that changed.
    pub(crate) fn place(&mut self, frame: &str, placement: Placement) -> bool {
        self.placements.insert(frame.to_owned(), placement) != Some(placement)
    }

    /// The frames that reported an element.
    pub(crate) fn frames_with_rows(&self) -> Vec<String> {
        let has_rows = |targets: &BTreeMap<String, Option<WatchedTarget>>| {
            targets.values().flatten().any(|reported| !reported.rows.is_empty())
        };
        self.reported.iter().filter(|(_, targets)| has_rows(targets)).map(|(frame, _)| frame.clone()).collect()
    }

    /// Sets the frame that the path of a target leads to, if any; `true` if that changed.
    pub(crate) fn lead(&mut self, target: &TargetRef, frame: Option<String>) -> bool {
        self.scopes.insert(target.clone(), frame.clone()) != Some(frame)
    }

    /// Corrects the URL before the input, where the page could not be sampled then.
    pub(crate) fn was_at(&mut self, url: &str) {
        if let Some(before) = &mut self.before {
            url.clone_into(&mut before.url);
        }
    }

    /// Samples the page just before the input, and drops earlier samples.
    pub(crate) fn set_before(&mut self) {
        let sample = self.sample(0);
        self.before = Some(sample);
        self.samples.clear();
        self.serials.clear();
        self.pinned.clear();
    }

    /// Adds a sample of the page as it is known now, unless nothing changed.
    pub(crate) fn push(&mut self, at_ms: u32) -> Option<&Sample> {
        let sample = self.sample(at_ms);
        if let Some(last) = self.samples.last()
            && last.url == sample.url
            && last.title == sample.title
            && last.targets == sample.targets
        {
            return None;
        }
        if self.samples.len() >= MAX_SAMPLES
            && let Some(last) = self.serials.last()
            && !self.pinned.contains(last)
        {
            self.samples.pop();
            self.serials.pop();
        }
        self.samples.push(sample);
        self.serials.push(self.next_serial);
        self.next_serial += 1;
        self.samples.last()
    }

    /// The newest sample made a condition hold.
    pub(crate) fn pin_last(&mut self) {
        if let Some(last) = self.serials.last() {
            self.pinned.insert(*last);
        }
    }

    /// The newest sample alone, as a condition is judged on while the page changes.
    pub(crate) fn latest(&self, events: &EventFacts) -> Facts {
        Facts {
            before: self.before.clone(),
            samples: self.samples.last().cloned().into_iter().collect(),
            events: events.clone(),
        }
    }

    /// All samples so far, for a condition on what came after what.
    pub(crate) fn so_far(&self, events: &EventFacts) -> Facts {
        Facts { before: self.before.clone(), samples: self.samples.clone(), events: events.clone() }
    }

    /// Everything, bounded and reduced: what goes into the evidence.
    pub(crate) fn facts(&mut self, events: EventFacts) -> (Facts, BTreeSet<TargetRef>) {
        let mut samples = std::mem::take(&mut self.samples);
        for question in &self.questions {
            if self.sensitive.contains(&question.target) {
                let compared: Vec<&str> = question.ask.compare.iter().map(String::as_str).collect();
                for sample in samples.iter_mut().chain(&mut self.before) {
                    if let Some(element) =
                        sample.targets.get_mut(&question.target).and_then(|seen| seen.element.as_mut())
                    {
                        element.redact(&compared, &self.key);
                    }
                }
            }
        }
        let size = |sample: &Sample| serde_json::to_vec(sample).map_or(0, |bytes| bytes.len());
        let mut spent: usize = 0;
        let last = samples.len().saturating_sub(1);
        let mut kept = Vec::new();
        for (index, sample) in samples.into_iter().enumerate() {
            let is_pinned = self.serials.get(index).is_some_and(|serial| self.pinned.contains(serial));
            spent = spent.saturating_add(size(&sample));
            if index == last || is_pinned || spent <= MAX_BYTES {
                kept.push(sample);
            }
        }
        (Facts { before: self.before.clone(), samples: kept, events }, self.sensitive.clone())
    }
}

/// The share of a box that lies in the clip.
fn shown_share(rect: Rect, clip: Rect) -> f64 {
    let width = ((rect.x + rect.width).min(clip.x + clip.width) - rect.x.max(clip.x)).max(0.0);
    let height = ((rect.y + rect.height).min(clip.y + clip.height) - rect.y.max(clip.y)).max(0.0);
    let area = rect.width * rect.height;
    if area > 0.0 { (width * height / area).clamp(0.0, 1.0) } else { 0.0 }
}

fn of_rows(mut rows: Vec<ElementFacts>) -> TargetFacts {
    match rows.len() {
        0 => TargetFacts::none(),
        1 => rows.pop().map_or_else(TargetFacts::none, TargetFacts::one),
        several => TargetFacts { matches: u32::try_from(several).ok(), element: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> WatchedRow {
        let facts = serde_json::from_value(json!({"role": "button", "name": name, "tag": "button"})).unwrap();
        WatchedRow { facts, parent: None }
    }

    fn report(rows: Vec<WatchedRow>) -> FrameSample {
        FrameSample {
            t: 0.0,
            url: "http://a.test/".into(),
            title: "A".into(),
            targets: [("go".to_owned(), Some(WatchedTarget { rows, ..WatchedTarget::default() }))].into(),
        }
    }

    fn gathered() -> Gathered {
        let locator = serde_json::from_value(json!({"strategy": "byRole", "role": "button", "name": "Go"})).unwrap();
        let target = TargetRef::new("go").unwrap();
        let question = Question { target, lookup: Lookup::Live(locator, None), ask: Ask::default(), about: None };
        Gathered::new(vec![question], DigestKey::new([1; 32]), "about:blank".into())
    }

    #[test]
    fn matches_of_frames_count_together_where_the_outermost_document_has_none() {
        let target = TargetRef::new("go").unwrap();
        let mut page = gathered();
        page.set_frames(vec!["main".into(), "child".into(), "other".into()]);
        page.record("main", true, report(vec![row("Stop")]));
        page.record("child", false, report(vec![row("Go")]));
        page.record("other", false, report(vec![row("Go")]));
        assert_eq!(page.sample(0).targets[&target].matches, Some(2));
        page.record("main", true, report(vec![row("Go"), row("Stop")]));
        let seen = page.sample(0);
        assert_eq!(seen.targets[&target].matches, Some(1));
        assert_eq!(seen.targets[&target].element.as_ref().unwrap().name, "Go");
    }

    #[test]
    fn a_target_without_a_report_is_unknown_and_not_absent() {
        let target = TargetRef::new("go").unwrap();
        let mut page = gathered();
        page.set_frames(vec!["main".into()]);
        assert_eq!(page.sample(0).targets[&target].matches, None);
    }

    #[test]
    fn a_sample_that_made_something_hold_outlives_the_bound() {
        let mut page = gathered();
        page.set_frames(vec!["main".into()]);
        page.record("main", true, report(vec![row("Go")]));
        page.set_before();
        for step in 0..500u32 {
            page.set_url(&format!("http://a.test/{step}"), None);
            page.push(step);
            if step == 3 || step == 300 {
                page.pin_last();
            }
        }
        let (facts, _) = page.facts(EventFacts::default());
        assert!(facts.samples.len() <= MAX_SAMPLES + 1);
        for step in ["3", "300", "499"] {
            assert!(facts.samples.iter().any(|sample| sample.url == format!("http://a.test/{step}")), "{step}");
        }
    }
}
