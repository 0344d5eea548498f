//! Names for the targets of a recording: `button-save-draft`.

use std::collections::BTreeMap;

use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::Locator;

/// Characters of a name, without its number.
const MAX_NAME: usize = 48;

/// The declared targets of a plan in the making. Equal locators share a name.
#[derive(Default)]
pub(super) struct Names {
    pub(super) declared: BTreeMap<TargetRef, Locator>,
}

impl Names {
    /// The name of `locator`, made of `words` unless it has one already. `None` if no name is left.
    pub(super) fn declare(&mut self, words: &str, locator: &Locator) -> Option<TargetRef> {
        if let Some((known, _)) = self.declared.iter().find(|(_, declared)| *declared == locator) {
            return Some(known.clone());
        }
        let plain = slug(words);
        let numbered = (2..=u32::MAX).map(|number| format!("{plain}-{number}"));
        let mut free = std::iter::once(plain.clone()).chain(numbered).take(self.declared.len() + 2);
        let name = free.find_map(|name| {
            let name = TargetRef::new(&name).ok().filter(|name| name.candidate_id().is_none())?;
            (!self.declared.contains_key(&name)).then_some(name)
        })?;
        self.declared.insert(name.clone(), locator.clone());
        Some(name)
    }
}

/// Letters and digits of ASCII as they are, everything else as one `-`.
fn slug(words: &str) -> String {
    let mut out = String::new();
    for c in words.chars().take(4 * MAX_NAME) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
        if out.len() >= MAX_NAME {
            break;
        }
    }
    let trimmed = out.trim_end_matches('-');
    if trimmed.is_empty() { "target".to_owned() } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_differ_where_locators_do() {
        let mut names = Names::default();
        let mut name = |words: &str, css: &str| names.declare(words, &Locator::css(css)).unwrap().to_string();
        assert_eq!(name("button Save “draft”!", "#a"), "button-Save-draft");
        assert_eq!(name("button Save draft", "#b"), "button-Save-draft-2");
        assert_eq!(name("anything", "#a"), "button-Save-draft");
        assert_eq!(name("東京", "#c"), "target");
        assert_eq!(name("c12", "#d"), "c12-2", "c12 would be the id of a candidate");
    }
}
