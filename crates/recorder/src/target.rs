//! From an element that an event named to what a plan can find again.

use cuebook_cdp::{DocumentId, FrameId};
use cuebook_grammar::candidate::{Candidate, Capability};
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::id::{NodeKey, PageId};
use cuebook_grammar::locator::{ByLabel, ByPlaceholder, ByText, Locator, Strategy};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::RecordedTarget;
use cuebook_grammar::role::Role;
use cuebook_grammar::text_match::TextPattern;

use crate::report::Described;

/// How far around an element that is no control a candidate may be that is meant: what listens for its clicks.
const LISTENS_WITHIN: usize = 6;

/// The document that a report came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) tab: PageId,
    pub(crate) frame: FrameId,
    pub(crate) document: DocumentId,
}

/// An element that an event named.
#[derive(Clone, Debug)]
pub(crate) struct Pointed {
    /// The node and those around it, from the inside to the outside.
    keys: Vec<NodeKey>,
    /// How many of the keys are those of the control itself; 0 if there is none.
    own: usize,
    pub(crate) facts: ElementFacts,
    text: String,
}

impl Pointed {
    pub(crate) fn new(place: &Place, described: Described) -> Self {
        let key = |node| NodeKey {
            page: place.tab.clone(),
            frame: place.frame.as_str().to_owned(),
            document: place.document.as_str().to_owned(),
            node,
        };
        let Described { path, own, facts, text } = described;
        Self { keys: path.into_iter().map(key).collect(), own, facts, text }
    }

    /// Returns `true` if both are the same control, or one element.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let control = |it: &Self| it.keys.get(it.own.saturating_sub(1)).cloned();
        control(self).is_some() && control(self) == control(other)
    }

    /// Returns `true` if it is a control by its markup.
    pub(crate) const fn is_control(&self) -> bool {
        self.own > 0
    }

    /// Returns `true` if nothing in particular has the focus.
    pub(crate) fn is_page(&self) -> bool {
        matches!(self.facts.tag.as_str(), "body" | "html")
    }

    /// Returns `true` if a press mostly gives it the focus, so that its value says what was done. A list box that opens at a
    /// press is none.
    pub(crate) fn takes_value(&self, candidate: Option<&Candidate>) -> bool {
        let role = candidate.map_or(self.facts.role, |candidate| candidate.role);
        candidate.is_some_and(|candidate| candidate.supports(Capability::Value))
            || (role.is_text_entry() && (role != Role::ComboBox || self.facts.tag == "input"))
    }

    /// The candidate that it is or is in.
    pub(crate) fn candidate_in<'a>(&self, page: &'a Observation) -> Option<&'a Candidate> {
        let within = if self.own > 0 { self.own } else { LISTENS_WITHIN };
        let is_at = |key: &NodeKey| page.candidates.iter().find(|one| one.node.as_ref() == Some(key));
        self.keys.iter().take(within).find_map(is_at)
    }

    /// A locator from what was seen as the event fired, for an element that was never a candidate. `page` says how its frame
    /// is reached.
    pub(crate) fn located(&self, page: Option<&Observation>) -> Option<Locator> {
        let Self { facts, text, .. } = self;
        let words =
            |strategy: fn(TextPattern) -> Strategy, text: &str| Locator::from(strategy(TextPattern::literal(text)));
        let label =
            facts.labels.first().map(|text| words(|text| Strategy::Label(ByLabel { text, exact: Some(true) }), text));
        let placeholder = facts.placeholder.as_ref();
        let placeholder = placeholder
            .map(|text| words(|text| Strategy::Placeholder(ByPlaceholder { text, exact: Some(true) }), text));
        let named =
            (facts.role != Role::Generic && !facts.name.is_empty()).then(|| Locator::role(facts.role, &facts.name));
        let text = (!text.is_empty() && !self.is_page())
            .then(|| words(|text| Strategy::Text(ByText { text, exact: Some(true) }), text));
        let mut found = facts.test_id.as_deref().map(Locator::test_id).or(named).or(label).or(placeholder).or(text)?;
        let own = self.keys.first()?;
        let beside = page
            .into_iter()
            .flat_map(|page| &page.candidates)
            .find(|one| one.node.as_ref().is_some_and(|node| node.frame == own.frame && node.document == own.document));
        if let Some(path) = beside.and_then(|one| one.locators.first()).map(|locator| &locator.frame) {
            found.frame.clone_from(path);
        }
        Some(found)
    }

    /// Words for a person: `button "Save"`.
    pub(crate) fn title(&self) -> String {
        match (&self.facts.name, &self.text) {
            (name, _) if !name.is_empty() => format!("{} {name:?}", self.facts.role),
            (_, text) if !text.is_empty() => format!("{} {text:?}", self.facts.tag),
            _ => self.facts.tag.clone(),
        }
    }

    /// Names by which a person may call a field.
    pub(crate) fn field_names<'a>(&'a self, candidate: Option<&'a Candidate>) -> impl Iterator<Item = &'a str> {
        let of_candidate = candidate.into_iter().flat_map(|it| {
            std::iter::once(it.name.as_str())
                .chain(it.label.as_deref())
                .chain(it.placeholder.as_deref())
                .chain(it.test_id.as_deref())
        });
        let own = std::iter::once(self.facts.name.as_str()).chain(self.facts.labels.iter().map(String::as_str));
        own.chain(self.facts.placeholder.as_deref()).chain(of_candidate).filter(|name| !name.is_empty())
    }
}

/// A target of a step.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) recorded: RecordedTarget,
    /// The element, while a look at the page may still find it among the candidates.
    pub(crate) wanted: Option<Pointed>,
}

impl Target {
    pub(crate) fn observed(candidate: &Candidate) -> Self {
        Self { recorded: RecordedTarget::Observed(Box::new(candidate.clone())), wanted: None }
    }

    pub(crate) const fn declared(locator: Locator) -> Self {
        Self { recorded: RecordedTarget::Declared(locator), wanted: None }
    }

    pub(crate) fn candidate(&self) -> Option<&Candidate> {
        match &self.recorded {
            RecordedTarget::Observed(candidate) => Some(candidate),
            RecordedTarget::Declared(_) => None,
        }
    }
}
