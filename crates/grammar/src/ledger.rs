//! Values that a run entered, and the check that they are still there.
//!
//! Pure: readings of fields go in, losses come out. Invariants:
//! - A value is compared as it was entered ([`is_same_entry`]); what is sensitive is compared by digest.
//! - A press may use up what was entered before it, as a chat does that sends its text. Nothing else may.
//!
//! Consequences of steps beyond their end are in [`downloads`] and [`requests`]: events and their times go in, what is
//! open and what came late comes out.

pub mod downloads;
pub mod requests;

use crate::action::Action;
use crate::entry::{continues_entry, is_same_entry};
use crate::id::NodeKey;
use crate::secret::{FactText, WireText};

/// A value that a step entered.
#[derive(Clone, Debug, PartialEq)]
pub struct EnteredValue {
    /// Field that received the value.
    pub field: NodeKey,
    /// Name of the field for messages, such as `textbox "City"`.
    pub called: String,
    /// Value of the field when its step ended.
    pub value: FactText,
    /// `true` if the field suggests what may be chosen, so that text alone is no choice.
    pub suggests: bool,
    /// The action that enters it once more; `None` where that was tried.
    pub again: Option<Action>,
}

/// Content of a field now.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// It left its document, and nothing of its meaning took its place.
    Gone,
    /// It, or what the page drew in its place, holds this.
    Holds(FactText),
}

/// A value that is not there any more.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Value that was entered.
    pub held: EnteredValue,
    /// Value that the field holds instead.
    pub holds: FactText,
}

/// The values that the steps of a run entered, in order; the last for each field.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    held: Vec<EnteredValue>,
}

/// The most values that are kept; the oldest go first.
const MOST: usize = 200;

impl Ledger {
    /// A step entered a value.
    pub fn enter(&mut self, held: EnteredValue) {
        self.held.retain(|one| one.field != held.field);
        self.held.push(held);
        let surplus = self.held.len().saturating_sub(MOST);
        self.held.drain(..surplus);
    }

    /// The fields whose values are kept.
    pub fn fields(&self) -> impl Iterator<Item = &NodeKey> {
        self.held.iter().map(|held| &held.field)
    }

    /// One field of each document of a tab in which values are kept.
    pub fn documents(&self, page: &str) -> impl Iterator<Item = &NodeKey> {
        let mut known = std::collections::BTreeSet::new();
        self.fields().filter(move |key| key.page.as_str() == page && known.insert(&key.document))
    }

    /// Before a step's input: the first value that was lost, other than that of a field which the step replaces itself.
    /// Fields of which `read` knows nothing are left alone.
    ///
    /// ```
    /// use cuebook_grammar::ledger::{Ledger, Reading};
    ///
    /// assert_eq!(Ledger::default().lost(&|_| Some(Reading::Gone), None), None);
    /// ```
    #[must_use]
    pub fn lost(&self, read: &dyn Fn(&NodeKey) -> Option<Reading>, replaced: Option<&NodeKey>) -> Option<Loss> {
        let others = self.held.iter().filter(|held| Some(&held.field) != replaced);
        others.filter_map(|held| held.lost(read(&held.field)?)).next()
    }

    /// After a press: what it used up, or changed, is its own doing. A field that suggests keeps its entry unless what it
    /// holds now continues that: text that was dropped or taken for something else is no choice. Neither is what becomes of
    /// a field that the press only left.
    pub fn pressed(&mut self, read: &dyn Fn(&NodeKey) -> Option<Reading>, is_left: &dyn Fn(&NodeKey) -> bool) {
        self.held.retain_mut(|held| match read(&held.field) {
            None => true,
            Some(Reading::Gone) => false,
            Some(Reading::Holds(now)) if (held.suggests || is_left(&held.field)) && !continues(&held.value, &now) => {
                true
            }
            Some(Reading::Holds(now)) => {
                let is_empty = now.clear().is_some_and(str::is_empty);
                if held.value != now {
                    // What was entered is no longer what is meant.
                    held.again = None;
                }
                held.value = now;
                !is_empty
            }
        });
    }

    /// Returns the name of the first of these fields for which a value is kept; `None` if there is none.
    pub fn holds(&self, is_meant: impl Fn(&NodeKey) -> bool) -> Option<&str> {
        self.held.iter().find(|held| is_meant(&held.field)).map(|held| held.called.as_str())
    }

    /// The documents of these fields are gone, or a step emptied them.
    pub fn forget(&mut self, is_gone: impl Fn(&NodeKey) -> bool) {
        self.held.retain(|held| !is_gone(&held.field));
    }
}

impl EnteredValue {
    fn lost(&self, now: Reading) -> Option<Loss> {
        let Reading::Holds(holds) = now else { return None };
        let is_there = match (&self.value, &holds) {
            (FactText::Clear(value), FactText::Clear(now)) => is_same_entry(value, now),
            (value, now) => value == now,
        };
        (!is_there).then(|| Loss { held: self.clone(), holds })
    }
}

impl Loss {
    /// Such as `textbox "City" held "Paris" and holds ""`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let quoted = |text: &FactText| {
            text.clear().map_or("another text, which is not shown".to_owned(), |text| format!("{text:?}"))
        };
        let (held, holds) = (quoted(&self.held.value), quoted(&self.holds));
        let hint = if self.held.suggests { "; nothing that it suggests was chosen" } else { "" };
        format!("{} held {held} and holds {holds}{hint}", self.held.called)
    }
}

fn continues(value: &FactText, now: &FactText) -> bool {
    match (value.clear(), now.clear()) {
        (Some(value), Some(now)) => continues_entry(value, now),
        _ => value == now,
    }
}

/// The action that enters a value once more: as a whole, or by choosing it where text alone is no choice. `None` for an
/// action that enters none.
#[must_use]
pub fn again(action: &Action, value: &FactText, suggests: bool) -> Option<Action> {
    use crate::action::{OptionChoices, Select, SetValue};
    let set = |target_ref: &crate::id::TargetRef, credential_ref| {
        let value = match &credential_ref {
            Some(_) => None,
            None => Some(WireText::cut(value.clear()?)),
        };
        Some(Action::SetValue(SetValue { target_ref: target_ref.clone(), value, credential_ref }))
    };
    match action {
        Action::Type(_) | Action::SetValue(_) if suggests => {
            let target_ref = action.target()?.clone();
            Some(Action::Select(Select { target_ref, option: OptionChoices::text(value.clear()?) }))
        }
        Action::Type(typed) => set(&typed.target_ref, typed.credential_ref.clone()),
        Action::SetValue(set_value) => set(&set_value.target_ref, set_value.credential_ref.clone()),
        Action::Select(_) | Action::Check(_) | Action::Uncheck(_) => Some(action.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{SetValue, TypeText};
    use crate::id::{PageId, TargetRef};

    fn key(node: u64) -> NodeKey {
        NodeKey { page: PageId::new("tab"), frame: "main".to_owned(), document: "one".to_owned(), node }
    }

    fn clear(text: &str) -> FactText {
        FactText::Clear(text.to_owned())
    }

    fn typed(target: &str, text: &str) -> Action {
        let text = Some(WireText::cut(text));
        Action::Type(TypeText {
            target_ref: TargetRef::new(target).unwrap(),
            text,
            credential_ref: None,
            delay_ms: None,
        })
    }

    fn ledger(value: &str, suggests: bool) -> Ledger {
        let mut ledger = Ledger::default();
        let again = again(&typed("c1", value), &clear(value), suggests);
        ledger.enter(EnteredValue {
            field: key(1),
            called: "textbox \"City\"".to_owned(),
            value: clear(value),
            suggests,
            again,
        });
        ledger
    }

    fn reading(text: &str) -> impl Fn(&NodeKey) -> Option<Reading> {
        let holds = Reading::Holds(clear(text));
        move |_| Some(holds.clone())
    }

    #[test]
    fn a_value_that_is_gone_is_lost_and_one_that_is_spelt_otherwise_is_not() {
        let ledger = ledger("5550142", false);
        assert_eq!(ledger.lost(&reading("555-0142"), None), None);
        let loss = ledger.lost(&reading(""), None).unwrap();
        assert_eq!(loss.in_words(), "textbox \"City\" held \"5550142\" and holds \"\"");
        assert_eq!(ledger.lost(&reading(""), Some(&key(1))), None, "the step replaces it");
        assert_eq!(ledger.lost(&|_| Some(Reading::Gone), None), None, "the field was passed on");
        assert_eq!(ledger.lost(&|_| None, None), None, "nothing is known of it");
    }

    #[test]
    fn a_press_uses_up_what_was_entered() {
        let mut ledger = ledger("hello", false);
        ledger.pressed(&reading(""), &|_| false);
        assert_eq!(ledger.fields().count(), 0, "a chat has sent it");
        let mut ledger = self::ledger("1", false);
        ledger.pressed(&reading("2"), &|_| false);
        assert_eq!(ledger.lost(&reading("2"), None), None, "a button has counted on");
        assert!(ledger.lost(&reading("1"), None).is_some());
        let mut ledger = self::ledger("Paris", false);
        ledger.pressed(&reading(""), &|_| true);
        assert!(ledger.lost(&reading(""), None).is_some(), "the focus has left it, which takes nothing");
        ledger.pressed(&reading("Paris, France"), &|_| true);
        assert_eq!(ledger.lost(&reading("Paris, France"), None), None, "it was completed");
    }

    #[test]
    fn of_a_field_that_suggests_only_what_continues_the_text_is_a_choice() {
        let mut ledger = ledger("Paris", true);
        ledger.pressed(&reading("Paris, France"), &|_| false);
        assert_eq!(ledger.lost(&reading("Paris, France"), None), None);
        let mut ledger = self::ledger("Paris", true);
        ledger.pressed(&reading("Parana, Brazil"), &|_| false);
        assert!(ledger.lost(&reading("Parana, Brazil"), None).is_some());
        let mut ledger = self::ledger("Paris", true);
        ledger.pressed(&reading(""), &|_| false);
        assert!(ledger.lost(&reading(""), None).is_some(), "it was dropped");
    }

    #[test]
    fn a_lost_value_is_entered_whole_or_chosen() {
        let value = |action: Option<Action>| match action {
            Some(Action::SetValue(SetValue { value: Some(value), .. })) => value.clear().map(str::to_owned),
            _ => None,
        };
        assert_eq!(value(again(&typed("c1", "b"), &clear("ab"), false)).as_deref(), Some("ab"), "with what was there");
        assert!(matches!(again(&typed("c1", "Paris"), &clear("Paris"), true), Some(Action::Select(_))));
        let hidden = clear("secret").redact(&crate::secret::DigestKey::new([1; 32]), &[]);
        assert_eq!(again(&typed("c1", "secret"), &hidden, false), None, "it is not known any more");
        assert_eq!(again(&Action::Reload(crate::action::Nothing {}), &clear(""), false), None);
    }
}
