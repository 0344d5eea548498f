//! Context labels: what tells a candidate from its twins.
//!
//! Twins share role and name. Each gets the nearest context that none of its twins has, or the shortest
//! pair of contexts that does; those that nothing tells apart are ambiguous, all of them.

use std::collections::HashMap;

/// One candidate as its twins see it: its contexts, nearest first.
#[derive(Clone, Debug, Default)]
pub struct Twin {
    /// Kind and text.
    pub context: Vec<(String, String)>,
}

/// What tells one apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// `row: john@example.com`.
    Context(String),
    /// Nothing does; the nearest context that it has, if any.
    Ambiguous(Option<String>),
}

const LIMIT: usize = 120;

/// Labels for a group of twins, in their order. Costs time linear in the contexts, quadratic in the few
/// contexts of one twin.
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
    // One that is left over when all others say what they are is told apart by what it lacks only if it
    // has any context at all.
    let ambiguous = labels.iter().filter(|label| matches!(label, Label::Ambiguous(_))).count();
    if ambiguous == 1
        && let Some(label) = labels.iter_mut().find(|label| matches!(label, Label::Ambiguous(_)))
        && let Label::Ambiguous(Some(text)) = label
    {
        *label = Label::Context(std::mem::take(text));
    }
    labels
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
        Twin { context: context.iter().map(|(kind, text)| ((*kind).to_owned(), (*text).to_owned())).collect() }
    }

    #[test]
    fn twins_in_rows_are_told_apart_by_the_cell_that_differs() {
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
    fn a_pair_of_contexts_tells_apart_what_one_cannot() {
        let twins = [
            twin(&[("row", "a"), ("table", "x")]),
            twin(&[("row", "a"), ("table", "y")]),
            twin(&[("row", "b"), ("table", "x")]),
            twin(&[("row", "b"), ("table", "y")]),
        ];
        assert_eq!(labels(&twins)[3], Label::Context("row: b, table: y".into()));
    }

    #[test]
    fn what_nothing_tells_apart_is_ambiguous_on_both_sides() {
        let twins = [twin(&[("row", "a")]), twin(&[("row", "a")]), twin(&[("row", "b")])];
        let labels = labels(&twins);
        assert_eq!(labels[0], Label::Ambiguous(Some("row: a".into())));
        assert_eq!(labels[1], labels[0]);
        assert_eq!(labels[2], Label::Context("row: b".into()));
    }
}
