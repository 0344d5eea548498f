//! Ways to find a candidate again, best first: test id, role and name, label, placeholder, text, place.

use cuebook_grammar::candidate::Candidate;
use cuebook_grammar::locator::{ByCss, ByLabel, ByPlaceholder, ByRole, ByText, Locator, Strategy};
use cuebook_grammar::role::Role;
use cuebook_grammar::text_match::TextPattern;
use cuebook_grammar::wire::{Nth, SelectorText};

use super::rows::Row;

/// Place of a candidate among its twins, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Candidates of that role and name on the page.
    pub of: usize,
    /// Its position among them, in document order.
    pub index: usize,
}

/// The locators of a candidate; `frame` leads to its frame, outermost owner first.
#[must_use]
pub fn locators(row: &Row, candidate: &Candidate, place: Place, frame: &[Locator]) -> Vec<Locator> {
    let mut found: Vec<Locator> = Vec::new();
    let mut push = |strategy: Strategy| -> usize {
        let mut locator = Locator::from(strategy);
        locator.frame = frame.to_vec();
        found.push(locator);
        found.len() - 1
    };
    if let Some(test_id) = row.test_id.as_deref().filter(|_| row.test_id_unique) {
        push(Locator::test_id(test_id).strategy);
    }
    let named = !row.name.is_empty() && candidate.role != Role::Generic && row.name == candidate.name;
    let mut by_role = None;
    if named {
        by_role = Some(push(Locator::role(candidate.role, &candidate.name).strategy));
    }
    if let Some(label) = row.labels.first() {
        push(Strategy::Label(ByLabel { text: TextPattern::literal(label), exact: Some(true) }));
    }
    if let Some(placeholder) = &row.placeholder {
        push(Strategy::Placeholder(ByPlaceholder { text: TextPattern::literal(placeholder), exact: Some(true) }));
    }
    if !named && let Some(text) = row.fallback.as_deref().filter(|text| *text == candidate.name) {
        push(Strategy::Text(ByText { text: TextPattern::literal(text), exact: Some(true) }));
    }
    if let Some(selector) = row.css.as_deref().and_then(|css| SelectorText::new(css).ok()) {
        push(Strategy::Css(ByCss { selector }));
    }
    if let Some(locator) = by_role.and_then(|index| found.get_mut(index))
        && place.of > 1
    {
        // The row or list item that the context names leads further than a position does.
        let alone = |context: &&str| row.context.iter().any(|(kind, text)| format!("{kind}: {text}") == **context);
        match candidate.context.as_deref().filter(alone).and_then(container) {
            Some(within) => locator.within = Some(Box::new(within)),
            None => locator.nth = i32::try_from(place.index).ok().map(Nth::clamped),
        }
    }
    found
}

/// The locator of the container that a context label such as `row: john@example.com` names.
fn container(context: &str) -> Option<Locator> {
    let (kind, text) = context.split_once(": ")?;
    let role = match kind {
        "row" => Role::Row,
        "list item" => Role::ListItem,
        "article" => Role::Article,
        "dialog" => return Some(named(Role::Dialog, text)),
        "group" => return Some(named(Role::Group, text)),
        _ => return None,
    };
    let mut locator =
        Locator::from(Strategy::Role(ByRole { role, name: None, exact: None, states: None, include_hidden: None }));
    locator.has_text = Some(TextPattern::literal(text));
    Some(locator)
}

fn named(role: Role, name: &str) -> Locator {
    Locator::role(role, name)
}
