//! One step that stands for itself: by the id of an observed candidate, or by a locator.

use crate::action::{Click, Hover, SetValue, TypeText};
use crate::condition::Condition;
use crate::id::TargetRef;
use crate::locator::Locator;
use crate::plan::{Author, PlanDraft};
use crate::step::Step;

/// A step, and the locator of its target if that is declared: then nothing has to be observed before.
///
/// ```
/// use cuebook_grammar::act::Act;
/// use cuebook_grammar::action::{Click, Select};
/// use cuebook_grammar::condition::Condition;
/// use cuebook_grammar::id::CandidateId;
/// use cuebook_grammar::locator::Locator;
/// use cuebook_grammar::role::Role;
///
/// let observed: Act = Click::on(CandidateId(3)).into();
/// let declared = Click::at(Locator::role(Role::Button, "Log in")).expect(Condition::url_changes_to("/home"));
/// let of_any_verb = Act::at(Locator::test_id("colour"), |it| Select::option(it, "Blue"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    step: Step,
    target: Option<(TargetRef, Locator)>,
}

impl Act {
    /// The step that `step` makes for the element at `target`.
    #[must_use]
    pub fn at<S: Into<Step>>(target: Locator, step: impl FnOnce(TargetRef) -> S) -> Self {
        let name = TargetRef::built_in("target");
        Self { step: step(name.clone()).into(), target: Some((name, target)) }
    }

    /// The act with one more postcondition.
    #[must_use]
    pub fn expect(mut self, condition: Condition) -> Self {
        self.step.post.push(condition);
        self
    }

    /// The plan of this step alone.
    #[must_use]
    pub fn into_plan(self, author: Author) -> PlanDraft {
        let mut plan = PlanDraft::of(author, vec![self.step]);
        plan.candidates.extend(self.target);
        plan
    }
}

impl<S: Into<Step>> From<S> for Act {
    fn from(step: S) -> Self {
        Self { step: step.into(), target: None }
    }
}

impl Click {
    /// One click with the left button on the element that the locator finds.
    #[must_use]
    pub fn at(target: Locator) -> Act {
        Act::at(target, Self::on)
    }
}

impl Hover {
    /// Moves the pointer over the middle of the element that the locator finds.
    #[must_use]
    pub fn at(target: Locator) -> Act {
        Act::at(target, Self::over)
    }
}

impl TypeText {
    /// Types `text`, cut at 20,000 characters, after the content of the field that the locator finds.
    #[must_use]
    pub fn at(target: Locator, text: &str) -> Act {
        Act::at(target, |it| Self::text(it, text))
    }
}

impl SetValue {
    /// Replaces the content of the field that the locator finds by `text`, cut at 20,000 characters.
    #[must_use]
    pub fn at(target: Locator, text: &str) -> Act {
        Act::at(target, |it| Self::to(it, text))
    }
}
