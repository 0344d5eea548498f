//! Where a text was read: what a run saw on one origin and a planner enters on another needs consent, whoever suggested
//! it. It needs no classifier, and no page can talk its way around it.

use std::collections::{BTreeMap, HashSet, VecDeque};

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::observation::{Observation, TextPart};
use cuebook_grammar::plan::{Author, BoundStep};
use cuebook_grammar::record::StepRecord;
use cuebook_grammar::shared::Shared;
use serde_json::Value;
use url::Url;

/// Shorter texts stand everywhere; in addresses, so do words.
const SHORTEST: usize = 4;
const SHORTEST_IN_ADDRESS: usize = 8;
/// Bytes of text that are remembered of an origin, the latest ones.
const REMEMBERED: usize = 1 << 20;

/// Texts that were read, by origin.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    read: BTreeMap<String, OriginTexts>,
    /// The candidates of the page that was noted last.
    candidates: Shared<Candidate>,
}

/// Texts in lower case with single spaces, the latest last.
#[derive(Debug, Default)]
struct OriginTexts {
    texts: HashSet<String>,
    order: VecDeque<String>,
    bytes: usize,
}

impl OriginTexts {
    fn note(&mut self, text: String) {
        if text.len() < SHORTEST || !self.texts.insert(text.clone()) {
            return;
        }
        self.bytes += text.len();
        self.order.push_back(text);
        while self.bytes > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= oldest.len();
            self.texts.remove(&oldest);
        }
    }

    fn has(&self, text: &str) -> bool {
        self.order.iter().any(|read| read.contains(text))
    }
}

/// Origins of a text that a step enters: read on `from`, entered on `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) from: String,
    pub(crate) to: String,
}

impl Lineage {
    /// Remembers what a page shows.
    pub(crate) fn note_page(&mut self, page: &Observation) {
        let own = origin_of(&page.url);
        self.note(&own, [page.title.as_str()].into_iter());
        if let Ok(sketch) = serde_json::to_value(&page.sketch) {
            self.note_data(&own, &sketch);
        }
        for line in &page.texts {
            let frame = usize::try_from(line.frame).ok().and_then(|index| page.frames.get(index));
            let written = line.cells.iter().flatten().filter_map(|part| match part {
                TextPart::Text(text) | TextPart::Image(text) => Some(text.as_str()),
                TextPart::Candidate(_) => None,
            });
            self.note(frame.map_or(own.as_str(), |frame| &frame.origin), written);
        }
        if self.candidates.is_same(&page.candidates) {
            return;
        }
        self.candidates = page.candidates.clone();
        for candidate in &page.candidates {
            let origin = page.origin_of(candidate).unwrap_or(&own).to_owned();
            let texts = [&candidate.description, &candidate.context, &candidate.surroundings];
            let values = candidate.value.iter().filter_map(|value| value.clear());
            let options = candidate.options.iter().map(|option| option.label.as_str());
            let all = texts.into_iter().flatten().map(String::as_str).chain(values).chain(options);
            self.note(&origin, all.chain([candidate.name.as_str()]));
        }
    }

    /// Remembers what a step read.
    pub(crate) fn note_step(&mut self, record: &StepRecord) {
        if let Some(data) = &record.data {
            self.note_data(&origin_of(&record.url), data);
        }
    }

    fn note_data(&mut self, origin: &str, data: &Value) {
        match data {
            Value::String(text) => self.note(origin, [text.as_str()].into_iter()),
            Value::Array(items) => items.iter().for_each(|item| self.note_data(origin, item)),
            Value::Object(fields) => fields.values().for_each(|field| self.note_data(origin, field)),
            Value::Number(number) => self.note(origin, [number.to_string().as_str()].into_iter()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn note<'a>(&mut self, origin: &str, texts: impl Iterator<Item = &'a str>) {
        let read = self.read.entry(origin.to_owned()).or_default();
        texts.map(plain).for_each(|text| read.note(text));
    }

    /// Returns the origins of a text that this step enters on one and that was read on another, unless the task itself
    /// or the page there has the text too.
    pub(crate) fn carried(&self, step: &BoundStep, task: &str) -> Option<Carried> {
        if step.author() == Author::Operator {
            return None;
        }
        let task = plain(task);
        let (to, texts) = entered(step);
        let is_read = |read: &OriginTexts| texts.iter().any(|text| !task.contains(text.as_str()) && read.has(text));
        if self.read.get(&to).is_some_and(is_read) {
            return None;
        }
        let (from, _) = self.read.iter().find(|(origin, read)| **origin != to && is_read(read))?;
        Some(Carried { from: from.clone(), to })
    }
}

/// The origin that a step enters texts on, and the texts.
fn entered(step: &BoundStep) -> (String, Vec<String>) {
    let long = |texts: &mut dyn Iterator<Item = String>, shortest| -> Vec<String> {
        texts.map(|text| plain(&text)).filter(|text| text.len() >= shortest).collect()
    };
    match step.action() {
        Action::Navigate(navigate) => {
            let Ok(url) = Url::parse(&navigate.url) else { return Default::default() };
            let values = url.query_pairs().map(|(_, value)| value.into_owned());
            let parts = url.path_segments().into_iter().flatten().chain(url.fragment()).map(str::to_owned);
            (url.origin().ascii_serialization(), long(&mut values.chain(parts), SHORTEST_IN_ADDRESS))
        }
        action => {
            let text = action.text().and_then(|text| text.clear()).map(str::to_owned);
            (step.origin().to_owned(), long(&mut text.into_iter(), SHORTEST))
        }
    }
}

fn origin_of(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "null".to_owned(), |url| url.origin().ascii_serialization())
}

fn plain(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::PageId;
    use cuebook_grammar::plan::PlanDraft;
    use cuebook_grammar::policy::Policy;
    use cuebook_grammar::sample;
    use serde_json::json;

    use super::*;

    fn page(url: &str, lines: &str) -> Observation {
        let page = sample::page(lines);
        let frames = Observation::blank(PageId::new("tab"), url).frames;
        Observation { url: url.to_owned(), frames, ..page }
    }

    fn carried(lineage: &Lineage, on: &Observation, step: Value, task: &str, author: Author) -> Option<Carried> {
        let policy = Policy::default().starting_at(&on.url).unwrap().allowing("https://b.test").unwrap();
        let draft = PlanDraft::read_value(json!({ "version": "1.0", "steps": [step] }), author).unwrap();
        let bound = draft.check(on, &policy).unwrap().bind(0, on).unwrap();
        lineage.carried(&bound, task)
    }

    #[test]
    fn what_was_read_on_one_origin_is_recognised_on_another() {
        let mut lineage = Lineage::default();
        lineage.note_page(&page("https://mail.test/", "button \"Your code is 481 516\""));
        let form = page("https://b.test/", "textbox \"Code\"");
        lineage.note_page(&form);
        let typed = |text: &str| json!({ "type": "type", "targetRef": "c1", "text": text });
        let asked = |step: Value, task: &str, author| carried(&lineage, &form, step, task, author);
        let from_mail = Some(Carried { from: "https://mail.test".into(), to: "https://b.test".into() });
        assert_eq!(asked(typed("481  516"), "log in", Author::Model), from_mail);
        assert_eq!(asked(typed("481 516"), "enter 481 516", Author::Model), None, "the task says it");
        assert_eq!(asked(typed("481 516"), "log in", Author::Operator), None);
        assert_eq!(asked(typed("Code"), "log in", Author::Model), None, "the page there says it too");
        assert_eq!(asked(typed("is"), "log in", Author::Model), None);
        let opened = |url: &str| json!({ "type": "navigate", "url": url });
        assert_eq!(asked(opened("https://b.test/?q=Your+code+is"), "log in", Author::Model), from_mail);
        assert_eq!(asked(opened("https://b.test/code"), "log in", Author::Model), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut read = OriginTexts::default();
        for at in 0..200_000 {
            read.note(format!("text number {at}"));
        }
        assert!(read.bytes <= REMEMBERED && read.texts.len() == read.order.len());
        assert!(read.has("number 199999") && !read.has("number 17 "));
    }
}
