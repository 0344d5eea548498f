//! Which of several elements with a text are the innermost: those that contain no other.
//!
//! Invariant: rows may come in any order, and the nesting that a page reports may even be a circle.

use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::text_match::TextPattern;

/// For each row, whether its text fits and no row within it has a text that does.
///
/// A row is the facts of an element and the position of the nearest row that contains it. Costs a comparison for
/// each row, and a step for each level of nesting.
#[must_use]
pub fn innermost(rows: &[(&ElementFacts, Option<usize>)], pattern: &TextPattern) -> Vec<bool> {
    let fits: Vec<bool> = rows
        .iter()
        .map(|(facts, _)| {
            let text = facts.text.as_ref().and_then(|text| text.clear());
            text.is_some_and(|text| pattern.fit(text).is_some())
        })
        .collect();
    let mut holds_one = vec![false; rows.len()];
    for (index, _) in fits.iter().enumerate().filter(|(_, fit)| **fit) {
        let mut up = rows.get(index).and_then(|(_, parent)| *parent);
        while let Some(outer) = up
            && let Some(slot) = holds_one.get_mut(outer)
            // An earlier row has marked everything around this one.
            && !*slot
        {
            *slot = true;
            up = rows.get(outer).and_then(|(_, parent)| *parent);
        }
    }
    fits.into_iter().zip(holds_one).map(|(fit, holds)| fit && !holds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebook_grammar::secret::FactText;

    fn facts(text: &str) -> ElementFacts {
        ElementFacts { text: Some(FactText::Clear(text.into())), ..ElementFacts::default() }
    }

    fn judged(rows: &[(&str, Option<usize>)], pattern: &str) -> Vec<bool> {
        let all: Vec<ElementFacts> = rows.iter().map(|(text, _)| facts(text)).collect();
        let rows: Vec<_> = all.iter().zip(rows).map(|(facts, (_, parent))| (facts, *parent)).collect();
        innermost(&rows, &TextPattern::literal(pattern))
    }

    #[test]
    fn only_the_innermost_element_has_the_text() {
        let rows = [("Total: 5", None), ("Total: 5", Some(0)), ("5", Some(1))];
        assert_eq!(judged(&rows, "total"), [false, true, false]);
    }

    #[test]
    fn a_slot_that_comes_after_what_it_shows_contains_it_all_the_same() {
        let rows = [("Total", Some(1)), ("Total", None)];
        assert_eq!(judged(&rows, "total"), [true, false]);
    }

    #[test]
    fn a_circle_ends() {
        assert_eq!(judged(&[("a", Some(1)), ("a", Some(0)), ("a", Some(9))], "a"), [false, false, true]);
    }
}
