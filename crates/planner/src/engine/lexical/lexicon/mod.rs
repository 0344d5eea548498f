//! What words mean: verbs, words for roles, ordinals, synonyms, key names.
//!
//! Invariant: tables only; who reads them decides what follows from a word.

mod fields;
mod function_words;
mod keys;
mod numbers;
mod roles;
mod synonyms;
mod verbs;

pub(super) use fields::{FIELD_MODIFIERS, FIELD_WORDS, FORM_WORDS, SECRET_WORDS};
pub(super) use function_words::{DETERMINERS, FILLERS, NAMING, PREPOSITIONS, SOFT, STOPWORDS};
pub(super) use keys::key;
pub(super) use numbers::{Ordinal, counted, ordinal_at};
pub(super) use roles::{RoleWord, role_word};
pub(super) use synonyms::are_synonyms;
pub(super) use verbs::{Verb, gerund, verb_at};

#[cfg(test)]
mod tests {
    use super::key;
    use super::verbs::{GERUNDS, VERBS};

    #[test]
    fn keys_and_chords_have_the_names_of_the_dom() {
        for (text, expected) in [
            ("Enter", Some("Enter")),
            ("ESC", Some("Escape")),
            ("down arrow", Some("ArrowDown")),
            ("Arrow Left", Some("ArrowLeft")),
            ("ctrl+shift+k", Some("Control+Shift+k")),
            ("F5", Some("F5")),
            ("page down", Some("PageDown")),
            ("Order", None),
            ("k", None),
            ("", None),
        ] {
            assert_eq!(key(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_gerund_has_its_verb() {
        for (form, stem) in GERUNDS {
            assert!(VERBS.iter().any(|(entry, _)| entry == stem), "{form}");
        }
    }
}
