//! Constructors of verbs and conditions, for steps that are written in Rust.
//!
//! ```
//! use cuebook_grammar::action::{Click, SetValue};
//! use cuebook_grammar::condition::Condition;
//! use cuebook_grammar::id::CandidateId;
//! use cuebook_grammar::step::Step;
//!
//! let plan: Vec<Step> = vec![
//!     SetValue::to(CandidateId(7), "ann").into(),
//!     SetValue::secret(CandidateId(8), "shop").into(),
//!     Click::on(CandidateId(10)).expect(Condition::url_changes_to("/dashboard")),
//! ];
//! assert_eq!(serde_json::to_value(&plan[0]).unwrap()["type"], "setValue");
//! ```

use serde_json::Value;

use crate::action::{
    Action, Call, Click, DragTo, Extract, Finish, Hover, Navigate, OptionChoices, Press, ScrollUntil, Select, SetValue,
    TypeText,
};
use crate::condition::{Condition, UrlChanges};
use crate::id::{CredentialRef, TargetRef};
use crate::secret::WireText;
use crate::step::Step;
use crate::wire::{Bounded, LongText};

impl Click {
    /// One click with the left button.
    #[must_use]
    pub fn on(target: impl Into<TargetRef>) -> Self {
        Self { target_ref: target.into(), button: None, count: None, modifiers: None, position: None, dry_run: None }
    }
}

/// `None` for a text that is too long, which the check refuses like none: half of it would be another text.
fn whole_text(text: &str) -> Option<WireText> {
    LongText::new(text).ok().map(WireText::Clear)
}

impl TypeText {
    /// Types `text` after the content of the field. The plan's check refuses more than 20,000 characters.
    #[must_use]
    pub fn text(target: impl Into<TargetRef>, text: &str) -> Self {
        Self { target_ref: target.into(), text: whole_text(text), credential_ref: None, delay_ms: None }
    }

    /// Types the secret called `name`.
    #[must_use]
    pub fn secret(target: impl Into<TargetRef>, name: &str) -> Self {
        let credential_ref = Some(CredentialRef::new(name));
        Self { target_ref: target.into(), text: None, credential_ref, delay_ms: None }
    }
}

impl SetValue {
    /// Replaces the value of the field. The plan's check refuses more than 20,000 characters.
    #[must_use]
    pub fn to(target: impl Into<TargetRef>, value: &str) -> Self {
        Self { target_ref: target.into(), value: whole_text(value), credential_ref: None }
    }

    /// Replaces the value of the field by the secret called `name`.
    #[must_use]
    pub fn secret(target: impl Into<TargetRef>, name: &str) -> Self {
        Self { target_ref: target.into(), value: None, credential_ref: Some(CredentialRef::new(name)) }
    }
}

impl Select {
    /// Chooses one option by value, or by label if none has that value.
    #[must_use]
    pub fn option(target: impl Into<TargetRef>, option: &str) -> Self {
        Self { target_ref: target.into(), option: OptionChoices::text(option) }
    }
}

impl Press {
    /// Presses a key or chord where the focus is: `Enter`, `Control+Shift+K`.
    #[must_use]
    pub fn keys(keys: &str) -> Self {
        Self { target_ref: None, keys: Bounded::or_reason(keys) }
    }
}

impl ScrollUntil {
    /// Scrolls on until the target is there.
    #[must_use]
    pub fn sees(target: impl Into<TargetRef>) -> Self {
        Self { target_ref: Some(target.into()), text: None, condition: None, container: None, direction: None }
    }

    /// Scrolls on until the condition holds.
    #[must_use]
    pub const fn holds(condition: Condition) -> Self {
        Self { target_ref: None, text: None, condition: Some(condition), container: None, direction: None }
    }
}

impl Hover {
    /// Moves the pointer over the middle of the target.
    #[must_use]
    pub fn over(target: impl Into<TargetRef>) -> Self {
        Self { target_ref: target.into(), position: None }
    }
}

impl Navigate {
    /// Opens an absolute URL. The plan's check refuses one that is longer than 4,000 characters.
    #[must_use]
    pub fn to(url: &str) -> Self {
        Self { url: Bounded::or_reason(url), status: None }
    }
}

impl Finish {
    /// Ends a task that asks for no answer.
    #[must_use]
    pub const fn done() -> Self {
        Self { result: None, from: None }
    }

    /// Ends the task with this answer, which stands on a page of the run.
    #[must_use]
    pub fn with(result: &str) -> Self {
        Self { result: Some(Bounded::or_reason(result)), from: None }
    }
}

impl DragTo {
    /// Drags one target onto another.
    #[must_use]
    pub fn between(from: impl Into<TargetRef>, to: impl Into<TargetRef>) -> Self {
        Self { target_ref: from.into(), to: to.into(), position: None, to_position: None, duration_ms: None }
    }
}

impl Call {
    /// Calls the registered action `name`. Arguments that are not an object are dropped, and the action's schema decides.
    #[must_use]
    pub fn named(name: &str, args: Value) -> Self {
        let args = if let Value::Object(args) = args { Some(args) } else { None };
        Self { name: Bounded::or_reason(name), args }
    }
}

impl Condition {
    /// The URL changes to one that contains `part`, of at most 4,000 characters.
    #[must_use]
    pub fn url_changes_to(part: &str) -> Self {
        Self::UrlChanges(UrlChanges { to: Some(Bounded::or_reason(part)) })
    }
}

impl Step {
    /// The step with one more precondition.
    #[must_use]
    pub fn with_pre(mut self, condition: Condition) -> Self {
        self.pre.push(condition);
        self
    }

    /// The step with one more postcondition.
    #[must_use]
    pub fn with_post(mut self, condition: Condition) -> Self {
        self.post.push(condition);
        self
    }
}

macro_rules! into_step {
    ($($body:ident as $variant:ident),+ $(,)?) => {
        $(
            impl $body {
                /// The step with this postcondition.
                #[must_use]
                pub fn expect(self, condition: Condition) -> Step {
                    Step::from(self).with_post(condition)
                }
            }

            impl From<$body> for Action {
                fn from(body: $body) -> Self {
                    Self::$variant(body)
                }
            }

            impl From<$body> for Step {
                fn from(body: $body) -> Self {
                    Self::from(Action::from(body))
                }
            }
        )+
    };
}

into_step!(
    Click as Click,
    TypeText as Type,
    SetValue as SetValue,
    Select as Select,
    Press as Press,
    Hover as Hover,
    Navigate as Navigate,
    DragTo as DragTo,
    Extract as Extract,
    Finish as Finish,
    Call as Call,
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::PageId;
    use crate::observation::Observation;
    use crate::plan::{Author, PlanDraft};
    use crate::policy::Policy;
    use crate::text_match::TextPattern;

    #[test]
    fn what_is_too_long_becomes_the_reason_and_is_not_cut() {
        let url = format!("https://shop.test/{}", "a".repeat(5_000));
        let reason = "5018 characters are more than the limit of 4000";
        assert_eq!(Navigate::to(&url).url.as_str(), reason);
        assert!(url::Url::parse(reason).is_err());
        assert_eq!(Navigate::to("https://shop.test/").url.as_str(), "https://shop.test/");
        let (name, reason) = ("Enter".repeat(201), "1005 characters are more than the limit of 1000");
        assert_eq!(Press::keys(&name).keys.as_str(), reason);
        assert_eq!(OptionChoices::text(&name), OptionChoices::text(reason));
        assert_eq!(TextPattern::literal(&name), TextPattern::literal(reason));
        let answer = Finish::with(&"a".repeat(20_001)).result.unwrap();
        assert_eq!(answer.as_str(), "20001 characters are more than the limit of 20000");
    }

    #[test]
    fn a_text_that_is_too_long_is_refused_and_not_cut() {
        let blank = Observation::blank(PageId::new("t1"), "https://shop.test/");
        let field = TargetRef::new("field").unwrap();
        for step in [
            Step::from(SetValue::to(field.clone(), &"a".repeat(20_001))),
            Step::from(TypeText::text(field, &"a".repeat(20_001))),
        ] {
            let draft = PlanDraft::of(Author::Operator, vec![step]);
            let refused = draft.check(&blank, &Policy::default()).unwrap_err();
            let said = refused.iter().any(|violation| violation.message.contains("20,000 characters"));
            assert!(said, "{refused:?}");
        }
    }
}
