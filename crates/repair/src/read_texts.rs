//! Texts that a run read, to look up where an answer stands.
//!
//! Invariants:
//! - A text that the run itself entered is no evidence for an answer that it holds, unless it was read before.
//! - Texts are bounded; the latest are kept.

use std::collections::{HashSet, VecDeque};

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::observation::{Observation, TextPart};
use serde_json::Value;

/// Bytes of text that are kept.
const REMEMBERED: usize = 2 << 20;
/// Upper bound of the texts that the run entered.
const ENTERED: usize = 500;
/// An answer of this many bytes may end within a word: long ones are cut.
const LONG: usize = 100;

/// Texts in order of reading, as words: lower case, with single spaces between letters and digits.
#[derive(Debug, Default)]
pub(crate) struct ReadTexts {
    texts: VecDeque<String>,
    known: HashSet<String>,
    bytes: usize,
    /// How many texts came before the first that is kept.
    dropped: usize,
    /// Texts that the run entered, and how many texts had been read by then.
    entered: VecDeque<(String, usize)>,
}

impl ReadTexts {
    /// Remembers what a page shows.
    pub(crate) fn note_page(&mut self, page: &Observation) {
        self.note(&page.title);
        self.note(&page.url);
        for line in &page.texts {
            let parts = line.cells.iter().flatten().filter_map(|part| match part {
                TextPart::Text(text) | TextPart::Image(text) => Some(text.clone()),
                TextPart::Candidate(id) => page.candidate(*id).map(|candidate| candidate.name.clone()),
            });
            self.note(&parts.collect::<Vec<_>>().join(" "));
        }
        for candidate in &page.candidates {
            for text in shown_by(candidate) {
                self.note(&text);
            }
        }
        if let Some(dialog) = &page.dialog {
            self.note(&dialog.message);
        }
    }

    /// Remembers what a step read, or a person answered.
    pub(crate) fn note_data(&mut self, data: Option<&Value>) {
        match data {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => self.note(text),
            Some(data) => self.note(&data.to_string()),
        }
    }

    /// Remembers what a step may have entered, and what it asked for: both may come back as if the page said it.
    pub(crate) fn note_step(&mut self, action: &Action) {
        let entered = match action {
            Action::SearchPage(search) => Some(search.query.as_str()),
            Action::AcceptDialog(accept) => accept.text.as_ref().map(|text| text.as_str()),
            action => action.text().and_then(|text| text.clear()),
        };
        let Some(entered) = entered.map(words).filter(|entered| !entered.is_empty()) else { return };
        if self.entered.iter().any(|(known, _)| *known == entered) {
            return;
        }
        self.entered.push_back((entered, self.dropped + self.texts.len()));
        if self.entered.len() > ENTERED {
            self.entered.pop_front();
        }
    }

    fn note(&mut self, text: &str) {
        let text = words(text);
        if text.is_empty() || !self.known.insert(text.clone()) {
            return;
        }
        self.bytes += text.len();
        self.texts.push_back(text);
        while self.bytes > REMEMBERED
            && let Some(oldest) = self.texts.pop_front()
        {
            self.bytes -= oldest.len();
            self.known.remove(&oldest);
            self.dropped += 1;
        }
    }

    /// Returns `true` if an answer was read: as a whole, or each part of a list.
    pub(crate) fn has(&self, answer: &str) -> bool {
        if self.has_words(&words(answer)) {
            return true;
        }
        let parts: Vec<String> = answer
            .split([',', ';', '\n', '|'])
            .flat_map(|part| part.split(" and "))
            .map(words)
            .filter(|part| !part.is_empty())
            .collect();
        parts.len() > 1 && parts.iter().all(|part| self.has_words(part))
    }

    /// Returns `true` if the run entered a text that holds these.
    pub(crate) fn was_entered(&self, text: &str) -> bool {
        let wanted = words(text);
        self.entered.iter().any(|(entered, _)| is_within(&wanted, entered))
    }

    fn has_words(&self, wanted: &str) -> bool {
        if wanted.is_empty() {
            return false;
        }
        let by = self.entered.iter().filter(|(entered, _)| is_within(wanted, entered)).map(|(_, by)| *by).min();
        let read = by.map_or(self.texts.len(), |by| by.saturating_sub(self.dropped));
        self.texts.iter().take(read).any(|text| is_within(wanted, text))
    }
}

/// The texts that a candidate shows.
pub(crate) fn shown_by(candidate: &Candidate) -> Vec<String> {
    let texts = [&candidate.description, &candidate.context, &candidate.surroundings, &candidate.label];
    let value = candidate.value.iter().filter_map(|value| value.clear()).map(str::to_owned);
    let options = candidate.options.iter().map(|option| option.label.clone());
    texts.into_iter().flatten().cloned().chain(value).chain(options).chain([candidate.name.clone()]).collect()
}

/// Letters and digits in lower case, with one space for all else.
pub(crate) fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Returns `true` if words stand in a text: as whole words where the script has them.
pub(crate) fn is_within(wanted: &str, text: &str) -> bool {
    let has_words = wanted.is_ascii();
    !wanted.is_empty()
        && text.match_indices(wanted).any(|(start, found)| {
            let end = start + found.len();
            let is_edge = |at: Option<u8>| at.is_none_or(|byte| byte == b' ');
            let begins = is_edge(start.checked_sub(1).and_then(|at| text.as_bytes().get(at).copied()));
            let ends = is_edge(text.as_bytes().get(end).copied()) || found.len() >= LONG;
            !has_words || begins && ends
        })
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::action::{SetValue, TypeText};
    use cuebook_grammar::id::TargetRef;
    use cuebook_grammar::sample;
    use cuebook_grammar::secret::WireText;
    use serde_json::json;

    use super::*;

    fn entering(text: &str) -> Action {
        let target_ref = TargetRef::new("c1").unwrap();
        Action::SetValue(SetValue { target_ref, value: Some(WireText::cut(text)), credential_ref: None })
    }

    #[test]
    fn an_answer_is_found_in_any_spelling_and_as_a_list() {
        let mut texts = ReadTexts::default();
        texts.note_page(&sample::page("button \"Total € 1,250.00\"\nbutton \"Ann\"\nbutton \"Bert\""));
        texts.note_data(Some(&json!({ "total": 1, "found": "door code 4711" })));
        for answer in ["1,250.00", "€ 1,250.00", "total", "Ann, Bert", "Ann and Bert", "4711", "Door code: 4711"] {
            assert!(texts.has(answer), "{answer}");
        }
        for answer in ["250.00 €", "Ann, Carl", "471", "done", "", "…"] {
            assert_eq!(texts.has(answer), answer == "250.00 €", "{answer}");
        }
    }

    #[test]
    fn what_the_run_entered_is_no_evidence_unless_it_was_read_before() {
        let mut texts = ReadTexts::default();
        texts.note_page(&sample::page("button \"Delft\""));
        let typed = TypeText::text(TargetRef::new("c1").unwrap(), "Delft");
        texts.note_step(&Action::Type(typed));
        texts.note_step(&entering("the code is 4711"));
        texts.note_page(&sample::page("textbox \"Code\" value=4711\nbutton \"You wrote 4711\""));
        assert!(texts.has("Delft"));
        assert!(!texts.has("4711") && texts.was_entered("4711"));
        assert!(texts.has("You wrote 4711"), "more than was entered");
    }

    #[test]
    fn texts_are_bounded() {
        let mut texts = ReadTexts::default();
        for n in 0..3_000 {
            texts.note_data(Some(&json!(format!("{n} {}", "long ".repeat(200)))));
        }
        assert!(texts.bytes <= REMEMBERED && !texts.has("17 long") && texts.has("2999 long"));
    }
}
