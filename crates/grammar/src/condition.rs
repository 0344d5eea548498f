//! Conditions: what must be true before a step, and what must have become true after it.
//!
//! Invariants:
//! - [`Condition::evaluate`] is a pure function of [`Facts`](crate::facts::Facts). The executor, the repair loop, replay
//!   and `judge` all call it, and nothing else decides.
//! - Over several samples a condition holds if it holds in one of them: what became true and false again
//!   in between counts as seen.

mod evaluate;
mod fields;

use crate::id::TargetRef;
use crate::secret::WireText;
use crate::text_match::{Pattern, PatternError, TextPattern};
use crate::wire::{Millis, tagged};

pub use fields::*;

/// How deep conditions may nest.
const MAX_DEPTH: usize = 6;

/// The field that holds the target, by the last column of the table.
macro_rules! target {
    ([$($borrow:tt)+] $body:ident) => {{ let _ = $body; None }};
    ([$($borrow:tt)+] $body:ident $field:ident) => { Some($($borrow)+ $body.$field) };
}

/// Declares [`Condition`], and which kinds are about a target.
macro_rules! conditions {
    ($( $(#[$doc:meta])* $variant:ident($body:ty) = $tag:literal $(about $target:ident)?; )+) => {
        tagged! {
            /// A statement about a page that the facts make true, false or unknown.
            pub enum Condition by "kind" with limit {
                $( $(#[$doc])* $variant($body) = $tag, )+
            }
        }

        impl Condition {
            /// The target of this condition itself; `None` for a group.
            #[must_use]
            pub const fn target(&self) -> Option<&TargetRef> {
                match self { $( Self::$variant(body) => target!([&] body $($target)?), )+ }
            }

            const fn target_mut(&mut self) -> Option<&mut TargetRef> {
                match self { $( Self::$variant(body) => target!([&mut] body $($target)?), )+ }
            }
        }
    };
}

conditions! {
    /// The target resolves to something.
    Exists(OnTarget) = "exists" about target;
    /// The target resolves to nothing.
    Absent(OnTarget) = "absent" about target;
    /// It has a box and is not `visibility: hidden`.
    Visible(OnTarget) = "visible" about target;
    /// It is absent or not visible.
    Hidden(OnTarget) = "hidden" about target;
    /// It can be operated.
    Enabled(OnTarget) = "enabled" about target;
    /// Its value can be changed: enabled and not read-only.
    Editable(OnTarget) = "editable" about target;
    /// It is on (or off).
    Checked(Checked) = "checked" about target;
    /// It has the focus.
    Focused(OnTarget) = "focused" about target;
    /// Some of it lies in the viewport.
    InViewport(InViewport) = "inViewport" about target;
    /// The URL matches a pattern.
    UrlMatches(PatternOnly) = "urlMatches";
    /// The title matches a pattern.
    TitleMatches(PatternOnly) = "titleMatches";
    /// An attribute has a value; `value`, `checked` and `selected` read the live property.
    AttrEquals(Named) = "attrEquals" about target;
    /// A DOM property has a value.
    PropertyEquals(PropertyEquals) = "propertyEquals" about target;
    /// The live value equals.
    ValueEquals(Valued) = "valueEquals" about target;
    /// The live value contains.
    ValueContains(Valued) = "valueContains" about target;
    /// The text, white space collapsed, contains the stated one; letter case counts.
    ElementTextContains(Texted) = "elementTextContains" about target;
    /// The text, white space collapsed, equals.
    ElementTextEquals(Texted) = "elementTextEquals" about target;
    /// An ARIA state or property has a value; `name` is without `aria-`.
    AriaState(Named) = "ariaState" about target;
    /// The number of matching elements lies within bounds.
    Count(CountOf) = "count" about target;
    /// No request was in flight for 500 ms.
    NetworkIdle(NetworkIdle) = "networkIdle";
    /// A request like this was made.
    RequestObserved(RequestObserved) = "requestObserved";
    /// A JavaScript dialog opened.
    DialogOpened(DialogOpened) = "dialogOpened";
    /// A download started, whether or not it is complete.
    DownloadStarted(Download) = "downloadStarted";
    /// A download of the step is complete.
    DownloadCompleted(Download) = "downloadCompleted";
    /// The URL differs from the one before the step.
    UrlChanges(UrlChanges) = "urlChanges";
    /// A tab opened; if a part of its URL is stated, with that in it.
    NewTab(UrlPart) = "newTab";
    /// The target was not visible before and is now.
    Appears(OnTarget) = "appears" about target;
    /// The target was visible before and is not now.
    Disappears(OnTarget) = "disappears" about target;
    /// Something about the target differs from before the step, or did so for a while.
    Changed(Changed) = "changed" about target;
    /// The accessible name equals.
    NameEquals(Texted) = "nameEquals" about target;
    /// The accessible description equals.
    DescriptionEquals(Texted) = "descriptionEquals" about target;
    /// The error message equals.
    ErrorMessageEquals(Texted) = "errorMessageEquals" about target;
    /// A text of the target matches a pattern.
    Matches(Matches) = "matches" about target;
    /// The role is this one.
    RoleEquals(RoleEquals) = "roleEquals" about target;
    /// It has this class.
    ClassContains(ClassContains) = "classContains" about target;
    /// Exactly these options are chosen, by value or label.
    SelectedValues(SelectedValues) = "selectedValues" about target;
    /// The step had an effect of any kind. Never Fails.
    AnyEffect(Nothing) = "anyEffect";
    /// All of these hold at the same moment.
    AllOf(Group) = "allOf";
    /// One of these holds.
    AnyOf(Group) = "anyOf";
    /// This does not hold.
    Not(Inner) = "not";
    /// This came to hold after the input: it holds, and did not at an earlier moment of the step.
    Becomes(Inner) = "becomes";
}

/// `timeoutMs` on a condition: a group of one that has a limit.
mod limit {
    use super::{Condition, Group};
    use crate::wire::{self, Millis, Object, ReadError};
    use schemars::{Schema, SchemaGenerator};

    const FIELD: &str = "timeoutMs";

    pub(super) fn read(object: &mut Object) -> Option<Result<Condition, ReadError>> {
        let has_own = matches!(object.get("kind")?.as_str()?, "networkIdle" | "allOf" | "anyOf");
        if has_own || !object.contains_key(FIELD) {
            return None;
        }
        let mut read = || {
            let timeout_ms: Option<Millis> = wire::take(object, FIELD)?;
            let condition = Condition::from_object(std::mem::take(object))?;
            Ok(match timeout_ms {
                Some(_) => Condition::AllOf(Group { conditions: vec![condition], timeout_ms }),
                None => condition,
            })
        };
        Some(read())
    }

    pub(super) fn extended(mut schemas: Vec<Schema>, generator: &mut SchemaGenerator) -> Vec<Schema> {
        for schema in &mut schemas {
            wire::extend_object_schema(schema, vec![(FIELD, generator.subschema_for::<Option<Millis>>())], &[]);
        }
        schemas
    }
}

/// A condition that cannot be judged on any page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// Conditions inside conditions beyond the bound.
    #[error("expected at most 6 nested conditions")]
    TooDeep,
    /// A group without conditions.
    #[error("expected at least one condition in the group")]
    EmptyGroup,
    /// A count without a bound.
    #[error("expected `equals`, `atLeast` or `atMost`")]
    Unbounded,
    /// A pattern that does not compile.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An attribute without its name, or a name without an attribute.
    #[error("`name` goes with `of: attribute` and with nothing else")]
    Attribute,
}

impl Condition {
    /// The condition that the target exists.
    #[must_use]
    pub const fn exists(target: TargetRef) -> Self {
        Self::Exists(OnTarget { target })
    }

    /// The condition that the target is visible.
    #[must_use]
    pub const fn visible(target: TargetRef) -> Self {
        Self::Visible(OnTarget { target })
    }

    /// Every target that the condition names, in order, with repetitions.
    pub fn targets(&self) -> Vec<&TargetRef> {
        let mut targets = Vec::new();
        self.visit(&mut |condition| targets.extend(condition.target()));
        targets
    }

    /// The conditions directly inside this one.
    #[must_use]
    pub fn inner(&self) -> &[Self] {
        match self {
            Self::AllOf(group) | Self::AnyOf(group) => &group.conditions,
            Self::Not(inner) | Self::Becomes(inner) => std::slice::from_ref(&inner.condition),
            _ => &[],
        }
    }

    pub(crate) fn inner_mut(&mut self) -> &mut [Self] {
        match self {
            Self::AllOf(group) | Self::AnyOf(group) => &mut group.conditions,
            Self::Not(inner) | Self::Becomes(inner) => std::slice::from_mut(&mut inner.condition),
            _ => &mut [],
        }
    }

    /// Calls `visit` with this condition and every one inside it.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        self.inner().iter().for_each(|condition| condition.visit(visit));
    }

    /// Rewrites every target through `rewrite`.
    pub fn retarget(&mut self, rewrite: &dyn Fn(&TargetRef) -> TargetRef) {
        if let Some(target) = self.target_mut() {
            *target = rewrite(target);
        }
        self.inner_mut().iter_mut().for_each(|condition| condition.retarget(rewrite));
    }

    /// The attributes and properties that must be gathered to judge the condition.
    pub fn asked(&self) -> Vec<(&TargetRef, GatheredFact<'_>)> {
        let mut asked = Vec::new();
        self.visit(&mut |condition| match condition {
            Self::AttrEquals(c) => asked.push((&c.target, GatheredFact::Attribute(&c.name))),
            Self::PropertyEquals(c) => asked.push((&c.target, GatheredFact::Property(&c.name))),
            Self::AriaState(c) => asked.push((&c.target, GatheredFact::AriaAttribute(&c.name))),
            Self::Matches(Matches { target, name: Some(name), .. }) => {
                asked.push((target, GatheredFact::Attribute(name)))
            }
            _ => {}
        });
        asked
    }

    /// Returns `true` if the text of `target` must be gathered to judge the condition.
    #[must_use]
    pub fn reads_text(&self, target: &TargetRef) -> bool {
        let mut reads = false;
        self.visit(&mut |part| {
            let of_text = match part {
                Self::ElementTextContains(_) | Self::ElementTextEquals(_) | Self::Changed(_) => true,
                Self::Matches(c) => c.of.unwrap_or_default() == TextOf::Text,
                _ => false,
            };
            reads |= of_text && part.target() == Some(target);
        });
        reads
    }

    /// Texts that the condition compares with facts of `target`: a redaction must keep them judgeable.
    pub fn compared_texts(&self, target: &TargetRef) -> Vec<&str> {
        let mut texts = Vec::new();
        self.visit(&mut |condition| {
            if condition.target() == Some(target) {
                texts.extend(condition.text().and_then(WireText::clear));
            }
        });
        texts
    }

    fn text(&self) -> Option<&WireText> {
        match self {
            Self::AttrEquals(c) | Self::AriaState(c) => Some(&c.value),
            Self::ValueEquals(c) | Self::ValueContains(c) => Some(&c.value),
            Self::ElementTextContains(c) | Self::ElementTextEquals(c) => Some(&c.text),
            _ => None,
        }
    }

    /// Checks that the condition can be judged.
    ///
    /// # Errors
    /// [`ConditionError`]: nesting, an empty group, or a pattern that does not compile.
    pub fn validate(&self) -> Result<(), ConditionError> {
        self.validate_at(0)
    }

    fn validate_at(&self, depth: usize) -> Result<(), ConditionError> {
        if depth > MAX_DEPTH {
            return Err(ConditionError::TooDeep);
        }
        match self {
            Self::UrlMatches(c) | Self::TitleMatches(c) => drop(c.pattern.compile()?),
            Self::RequestObserved(c) => drop(c.url.as_ref().map(Pattern::compile).transpose()?),
            Self::Matches(c) if (c.of == Some(TextOf::Attribute)) != c.name.is_some() => {
                return Err(ConditionError::Attribute);
            }
            Self::Matches(c) => c.pattern.validate()?,
            Self::Count(c) if c.equals.is_none() && c.at_least.is_none() && c.at_most.is_none() => {
                return Err(ConditionError::Unbounded);
            }
            Self::AllOf(group) | Self::AnyOf(group) if group.conditions.is_empty() => {
                return Err(ConditionError::EmptyGroup);
            }
            _ => {}
        }
        self.inner().iter().try_for_each(|condition| condition.validate_at(depth + 1))
    }

    /// Returns `true` if the condition holds on every page, judged by its form alone.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        match self {
            Self::UrlMatches(c) | Self::TitleMatches(c) => is_anything(&c.pattern),
            Self::ValueContains(c) => c.value.clear() == Some(""),
            Self::ElementTextContains(c) => c.text.clear() == Some(""),
            Self::Matches(c) => match &c.pattern {
                TextPattern::Literal(text) => text.trim().is_empty(),
                TextPattern::Regex(pattern, _) => is_anything(pattern),
            },
            Self::Count(c) => {
                c.equals.is_none() && c.at_most.is_none() && c.at_least.is_none_or(|least| least.get() == 0)
            }
            Self::AnyOf(group) => {
                group.conditions.iter().any(Self::is_vacuous)
                    || group.conditions.iter().any(|a| {
                        group.conditions.iter().any(|b| {
                            a.contradicts(b)
                                && matches!(
                                    (a, b),
                                    (Self::Exists(_), Self::Absent(_)) | (Self::Visible(_), Self::Hidden(_))
                                )
                        })
                    })
            }
            Self::AllOf(group) => group.conditions.iter().all(Self::is_vacuous),
            Self::Becomes(inner) => inner.condition.is_vacuous(),
            _ => false,
        }
    }

    /// Returns `true` if both can never hold at the same moment, judged by their form alone.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        let one_way = |a: &Self, b: &Self| match (a, b) {
            (Self::Not(inner), c) => *inner.condition == *c,
            (Self::Absent(absent), c) => {
                c.target() == Some(&absent.target)
                    && !matches!(c, Self::Absent(_) | Self::Hidden(_) | Self::Disappears(_) | Self::Count(_))
            }
            (Self::Hidden(hidden), Self::Visible(c) | Self::Appears(c)) => hidden.target == c.target,
            (Self::Hidden(hidden), Self::InViewport(c)) => hidden.target == c.target,
            (Self::Checked(a), Self::Checked(b)) => {
                a.target == b.target && a.checked.unwrap_or(true) != b.checked.unwrap_or(true)
            }
            (Self::ValueEquals(a), Self::ValueEquals(b)) => a.target == b.target && a.value != b.value,
            (Self::AttrEquals(a), Self::AttrEquals(b)) | (Self::AriaState(a), Self::AriaState(b)) => {
                a.target == b.target && a.name == b.name && a.value != b.value
            }
            (Self::ElementTextEquals(a), Self::ElementTextEquals(b)) => a.target == b.target && a.text != b.text,
            _ => false,
        };
        one_way(self, other) || one_way(other, self)
    }

    /// The condition's own time limit; the longest of those inside it.
    #[must_use]
    pub fn limit(&self) -> Option<Millis> {
        let mut limit = None;
        self.visit(&mut |part| {
            limit = limit.max(match part {
                Self::NetworkIdle(idle) => idle.timeout_ms,
                Self::AllOf(group) | Self::AnyOf(group) => group.timeout_ms,
                _ => None,
            });
        });
        limit
    }

    /// Returns `true` if the condition expects the page to change.
    #[must_use]
    pub fn expects_page_change(&self) -> bool {
        match self {
            Self::UrlChanges(_) | Self::NewTab(_) => true,
            Self::AllOf(group) => group.conditions.iter().any(Self::expects_page_change),
            _ => false,
        }
    }
}

/// Returns `true` if the pattern matches every text, judged by its form alone.
fn is_anything(pattern: &Pattern) -> bool {
    matches!(pattern.as_str(), "" | ".*" | "^" | "$" | ".*?" | "^.*$")
}

/// A fact about an element that is gathered only if a condition needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatheredFact<'a> {
    /// An attribute, by its name.
    Attribute(&'a str),
    /// `aria-` and this name.
    AriaAttribute(&'a str),
    /// A DOM property, by its name.
    Property(&'a str),
}
