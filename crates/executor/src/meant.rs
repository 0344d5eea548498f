//! The meaning of a step's targets when they were observed or found, for the page to compare at the first event.
//!
//! Invariant: no script of the page runs between this comparison and the first event that reaches the page's own
//! listeners. So the element that is hit is the one that was meant.

use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::About;
use cuebook_grammar::id::{NodeKey, TargetRef};
use cuebook_grammar::locator::{Locator, Strategy};
use cuebook_grammar::outcome::{Cause, StepFailure};
use cuebook_grammar::plan::BoundTarget;
use cuebook_grammar::text_match::TextPattern;
use serde_json::{Value, json};

use crate::facts::{is_live, meant_by, rough};
use crate::hit_target::Gesture;
use crate::run::StepRun;
use crate::script::FoundRows;

/// One target and its meaning.
#[derive(Clone, Debug)]
pub(crate) struct TargetMeaning {
    key: NodeKey,
    was: Was,
    /// Compared until the gesture ends: the place of a drop, and the field that is typed into.
    lasts: bool,
}

#[derive(Clone, Debug)]
enum Was {
    /// A candidate with this digest.
    About(About),
    /// The match of this locator.
    Located(Locator),
}

impl StepRun<'_> {
    /// The targets that a gesture, or a script of ours in its place, is about to act on.
    pub(crate) fn meant(&self, gesture: Option<&Gesture>) -> Vec<TargetMeaning> {
        let action = self.step.action();
        let main = self.main.as_ref().map(|main| &main.key);
        let end = gesture.and_then(|gesture| gesture.end.as_ref());
        // An option in a list is not the step's target, and the list may look different once it is open.
        let is_option = matches!(action, Action::Select(_))
            && gesture.is_some_and(|gesture| gesture.target.as_ref().is_some_and(|target| Some(target) != main));
        let to = match action {
            Action::DragTo(drag) => Some(&drag.to),
            _ => None,
        };
        let is_typed = matches!(action, Action::Type(_));
        [(action.target().filter(|_| !is_option), main, is_typed), (to, end, true)]
            .into_iter()
            .filter_map(|(target, key, lasts)| self.was(target?, key?, lasts))
            .collect()
    }

    /// Returns `true` if the main target is found by its position among others, which belongs to another element as
    /// soon as the page inserts one before it.
    pub(crate) fn is_counted(&self) -> bool {
        self.step
            .main_target()
            .is_some_and(|(_, bound)| matches!(bound, BoundTarget::Declared(locator) if locator.turns_on_position()))
    }

    /// Returns `true` if a target that was found by its position still exists, but another element has the position
    /// now.
    pub(crate) fn is_displaced(&self, failure: &StepFailure) -> bool {
        failure.cause == Cause::TargetStale && failure.facts.seen.is_some() && self.is_counted()
    }

    fn was(&self, target: &TargetRef, key: &NodeKey, lasts: bool) -> Option<TargetMeaning> {
        let was = match self.step.targets().get(target)? {
            BoundTarget::Observed(candidate) => Was::About(candidate.about.clone()?),
            // Matches of several frames are counted together, which one of them cannot do.
            BoundTarget::Declared(locator)
                if is_live(locator) && (self.is_main(&key.frame.as_str().into()) || !locator.turns_on_position()) =>
            {
                Was::Located(locator.clone())
            }
            BoundTarget::Declared(_) => return None,
        };
        Some(TargetMeaning { key: key.clone(), was, lasts })
    }
}

impl TargetMeaning {
    /// The question for one document.
    pub(crate) fn spec(&self, frame: &str, document: &str, test_ids: &[String]) -> Option<Value> {
        if self.key.frame != frame || self.key.document != document {
            return None;
        }
        Some(match &self.was {
            Was::About(about) => json!({"id": self.key.node, "about": about, "lasts": self.lasts}),
            Was::Located(locator) => {
                let mut filter = rough(locator);
                if let Some(object) = filter.as_object_mut() {
                    object.insert("limit".into(), MOST.into());
                }
                let ask = json!({"text": locator.turns_on_text(), "testIds": test_ids});
                let (raw, stated) = (is_raw(locator), has_states(locator));
                json!({
                    "id": self.key.node, "filter": filter, "ask": ask, "raw": raw, "stated": stated, "lasts": self.lasts
                })
            }
        })
    }

    /// Returns `true` if the locator still means this element, as far as `found` shows.
    pub(crate) fn is_among(&self, found: &[FoundRows]) -> bool {
        let Was::Located(locator) = &self.was else { return true };
        let Some(found) = found.iter().find(|found| found.id == self.key.node && found.target.skipped == 0) else {
            return true;
        };
        let meant: Vec<u64> = meant_by(locator, &found.target)
            .into_iter()
            .filter_map(|position| found.ids.get(position).copied())
            .collect();
        meant == [self.key.node]
    }
}

/// Elements that a locator may mean in one document; beyond them it is not compared.
const MOST: u32 = 2_000;

/// Returns `true` if states decide on a match, also in inner locators.
fn has_states(locator: &Locator) -> bool {
    matches!(&locator.strategy, Strategy::Role(by) if by.states.is_some()) || locator.inner().any(has_states)
}

/// Returns `true` if more than the script's own filter decides on a match: states, a regular expression, or an excluded
/// text, also in inner locators.
fn is_raw(locator: &Locator) -> bool {
    let is_pattern = |text: &TextPattern| matches!(text, TextPattern::Regex(..));
    has_states(locator)
        || locator.has_not_text.is_some()
        || locator.has_text.as_ref().is_some_and(is_pattern)
        || locator.strategy.text().is_some_and(|(text, _)| is_pattern(text))
        || locator.inner().any(is_raw)
}
