//! Context labels: what distinguishes a candidate from its twins.
//!
//! Twins share role and name. Each gets the nearest context that none of its twins has, or the shortest
//! pair of contexts that does. Of those that are left, members of one collection (three or more that stand
//! in a row, as stars, digits or pages do) get their position in it, `3 of 5`; a single one that lacks what
//! all others have is distinguished by that. The rest is ambiguous, all of it.

use std::collections::HashMap;

/// One candidate as its twins see it: its contexts, nearest first.
#[derive(Clone, Debug, Default)]
pub struct Twin {
    /// Kind and text of each context.
    pub context: Vec<(String, String)>,
    /// The selector of its place, where it has one.
    pub place: Option<String>,
}

/// Label that distinguishes one twin from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// Distinguishing context, such as `row: john@example.com`.
    Context(String),
    /// Nothing does; its nearest context, if it has one.
    Ambiguous(Option<String>),
}

const LIMIT: usize = 120;

/// Labels for a group of twins, in their order. Costs time linear in the contexts, quadratic in the few
/// contexts of one twin.
///
/// ```
/// use cuebook_page_modeler::model::context_label::{Label, Twin, labels};
///
/// let in_row = |mail: &str| Twin { context: vec![("row".to_owned(), mail.to_owned())], place: None };
/// let labels = labels(&[in_row("john@example.com"), in_row("jane@example.com")]);
/// assert_eq!(labels[0], Label::Context("row: john@example.com".to_owned()));
/// ```
#[must_use]
pub fn labels(twins: &[Twin]) -> Vec<Label> {
    let written: Vec<Vec<String>> = twins
        .iter()
        .map(|twin| {
            let mut seen: Vec<String> = Vec::new();
            for (kind, text) in twin.context.iter().take(12) {
                let one = super::clean::cut(&format!("{kind}: {text}"), LIMIT);
                if !seen.contains(&one) {
                    seen.push(one);
                }
            }
            seen
        })
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for text in written.iter().flatten() {
        *counts.entry(text).or_default() += 1;
    }
    let mut pairs: HashMap<(&str, &str), usize> = HashMap::new();
    let single = |texts: &[String]| texts.iter().find(|text| counts.get(text.as_str()) == Some(&1)).cloned();
    if written.iter().any(|texts| single(texts).is_none()) {
        for texts in &written {
            for pair in pairs_of(texts) {
                *pairs.entry(pair).or_default() += 1;
            }
        }
    }
    let mut labels: Vec<Label> = written
        .iter()
        .map(|texts| {
            let pair =
                || pairs_of(texts).find(|pair| pairs.get(pair) == Some(&1)).map(|(near, far)| format!("{near}, {far}"));
            match single(texts).or_else(pair) {
                Some(label) => Label::Context(label),
                None => Label::Ambiguous(texts.first().cloned()),
            }
        })
        .collect();
    let left: Vec<usize> =
        (0..labels.len()).filter(|index| matches!(labels.get(*index), Some(Label::Ambiguous(_)))).collect();
    if let [only] = left[..] {
        let position = format!("{} of {}", only + 1, labels.len());
        if let Some(slot) = labels.get_mut(only) {
            *slot = match slot {
                Label::Ambiguous(Some(text)) => Label::Context(std::mem::take(text)),
                _ => Label::Context(position),
            };
        }
        return labels;
    }
    let mut collections: HashMap<(Option<&str>, String), Vec<usize>> = HashMap::new();
    for index in left {
        let near = written.get(index).and_then(|texts| texts.first()).map(String::as_str);
        let Some(place) = twins.get(index).and_then(|twin| twin.place.as_deref()) else { continue };
        for masked in collection_keys(place) {
            collections.entry((near, masked)).or_default().push(index);
        }
    }
    let mut found: Vec<_> = collections.into_iter().filter(|(_, members)| members.len() >= COLLECTION).collect();
    // The largest collection of each counts; ties fall to the selector, so that the answer is always the same.
    found.sort_by(|a, b| (b.1.len(), &a.0).cmp(&(a.1.len(), &b.0)));
    for ((near, _), members) in found {
        if members.iter().any(|index| matches!(labels.get(*index), Some(Label::Context(_)))) {
            continue;
        }
        for (position, index) in members.iter().enumerate() {
            if let Some(slot) = labels.get_mut(*index) {
                let position = format!("{} of {}", position + 1, members.len());
                *slot = Label::Context(near.map_or_else(|| position.clone(), |near| format!("{near}, {position}")));
            }
        }
    }
    unique(labels)
}

/// The least number of twins in a row that make a collection, in which a position means something.
const COLLECTION: usize = 3;

/// Two collections of one kind give the same positions, which distinguish nothing.
fn unique(mut labels: Vec<Label>) -> Vec<Label> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for label in &labels {
        if let Label::Context(text) = label {
            *counts.entry(text.clone()).or_default() += 1;
        }
    }
    for label in &mut labels {
        if let Label::Context(text) = label
            && counts.get(text).is_some_and(|count| *count > 1)
        {
            *label = Label::Ambiguous(Some(std::mem::take(text)));
        }
    }
    labels
}

/// The selector with the position of one step left open, for each of its steps: members of a collection
/// differ in one position only.
fn collection_keys(selector: &str) -> Vec<String> {
    const POSITION: &str = ":nth-of-type(";
    selector
        .match_indices(POSITION)
        .filter_map(|(at, _)| {
            let start = at + POSITION.len();
            let end = selector.get(start..)?.find(')')? + start;
            Some(format!("{}*{}", selector.get(..start)?, selector.get(end..)?))
        })
        .collect()
}

fn pairs_of(texts: &[String]) -> impl Iterator<Item = (&str, &str)> {
    texts
        .iter()
        .enumerate()
        .flat_map(move |(index, near)| texts.iter().skip(index + 1).map(move |far| (near.as_str(), far.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin(context: &[(&str, &str)]) -> Twin {
        Twin {
            context: context.iter().map(|(kind, text)| ((*kind).to_owned(), (*text).to_owned())).collect(),
            place: None,
        }
    }

    #[test]
    fn twins_in_rows_are_distinguished_by_the_cell_that_differs() {
        let twins = [
            twin(&[("row", "Invoice"), ("row", "john@example.com"), ("table", "Users")]),
            twin(&[("row", "Invoice"), ("row", "jane@example.com"), ("table", "Users")]),
        ];
        assert_eq!(
            labels(&twins),
            [Label::Context("row: john@example.com".into()), Label::Context("row: jane@example.com".into())]
        );
    }

    #[test]
    fn a_pair_of_contexts_distinguishes_what_one_cannot() {
        let twins = [
            twin(&[("row", "a"), ("table", "x")]),
            twin(&[("row", "a"), ("table", "y")]),
            twin(&[("row", "b"), ("table", "x")]),
            twin(&[("row", "b"), ("table", "y")]),
        ];
        assert_eq!(labels(&twins)[3], Label::Context("row: b, table: y".into()));
    }

    #[test]
    fn what_nothing_distinguishes_is_ambiguous_on_both_sides() {
        let twins = [twin(&[("row", "a")]), twin(&[("row", "a")]), twin(&[("row", "b")])];
        let labels = labels(&twins);
        assert_eq!(labels[0], Label::Ambiguous(Some("row: a".into())));
        assert_eq!(labels[1], labels[0]);
        assert_eq!(labels[2], Label::Context("row: b".into()));
    }

    fn placed(selectors: &[&str]) -> Vec<Twin> {
        selectors.iter().map(|place| Twin { context: Vec::new(), place: Some((*place).to_owned()) }).collect()
    }

    #[test]
    fn three_in_a_row_have_positions_and_two_have_none() {
        let stars = placed(&["#s > b:nth-of-type(1)", "#s > b:nth-of-type(2)", "#s > b:nth-of-type(3)"]);
        assert_eq!(labels(&stars)[2], Label::Context("3 of 3".into()));
        assert_eq!(labels(&stars[..2]), [Label::Ambiguous(None), Label::Ambiguous(None)]);
    }

    #[test]
    fn positions_in_two_collections_tell_nothing_apart() {
        let rows = ["1", "2", "3"].map(|i| format!("#a > b:nth-of-type({i})"));
        let others = ["1", "2", "3"].map(|i| format!("#b > b:nth-of-type({i})"));
        let all: Vec<&str> = rows.iter().chain(&others).map(String::as_str).collect();
        assert!(labels(&placed(&all)).iter().all(|label| matches!(label, Label::Ambiguous(_))));
    }

    #[test]
    fn one_that_lacks_what_its_twins_have_gets_its_position() {
        let twins = [twin(&[("group", "Home")]), twin(&[])];
        assert_eq!(labels(&twins), [Label::Context("group: Home".into()), Label::Context("2 of 2".into())]);
    }
}
