//! Conditions: what must be true before a step, and what must have become true after it.
//!
//! Invariants:
//! - [`Condition::evaluate`] is a pure function of [`Facts`]: the executor, the repair loop, replay and
//!   `judge` all call it, and nobody else decides.
//! - Over several samples a condition holds if it holds in one of them: what became true and false again
//!   in between counts as seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::{DialogKind, ElementFacts, EventFacts, Facts, Sample, TargetFacts, Toggle};
use crate::id::TargetRef;
use crate::role::Role;
use crate::secret::{DigestKey, FactText, WireText};
use crate::text_match::{Pattern, PatternError, TextPattern, collapse_white_space};
use crate::verdict::Verdict;
use crate::wire::{Count, Millis, ShortText, UrlText, tagged};

/// The version of the vocabulary of conditions is that of the plan: `1.0`.
const MAX_DEPTH: usize = 6;

macro_rules! body {
    ($(#[$meta:meta])* $name:ident { $( $(#[$field_meta:meta])* $field:ident: $ty:ty, )* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $ty, )*
        }
    };
}

tagged! {
    /// A statement about a page that the facts make true, false or unknown.
    pub enum Condition by "kind" with limit {
        /// The target resolves to something.
        Exists(OnTarget) = "exists",
        /// The target resolves to nothing.
        Absent(OnTarget) = "absent",
        /// It has a box and is not `visibility: hidden`.
        Visible(OnTarget) = "visible",
        /// It is absent or not visible.
        Hidden(OnTarget) = "hidden",
        /// It can be operated.
        Enabled(OnTarget) = "enabled",
        /// It takes text, or a choice: enabled and not read-only.
        Editable(OnTarget) = "editable",
        /// It is on (or off).
        Checked(Checked) = "checked",
        /// It has the focus.
        Focused(OnTarget) = "focused",
        /// Some of it lies in the viewport.
        InViewport(InViewport) = "inViewport",
        /// The URL matches a pattern.
        UrlMatches(PatternOnly) = "urlMatches",
        /// The title matches a pattern.
        TitleMatches(PatternOnly) = "titleMatches",
        /// An attribute has a value; `value`, `checked` and `selected` read the live property.
        AttrEquals(Named) = "attrEquals",
        /// A DOM property has a value.
        PropertyEquals(PropertyEquals) = "propertyEquals",
        /// The live value equals.
        ValueEquals(Valued) = "valueEquals",
        /// The live value contains.
        ValueContains(Valued) = "valueContains",
        /// The text contains.
        ElementTextContains(Texted) = "elementTextContains",
        /// The text, white space collapsed, equals.
        ElementTextEquals(Texted) = "elementTextEquals",
        /// An ARIA state or property has a value; `name` is without `aria-`.
        AriaState(Named) = "ariaState",
        /// So many elements match.
        Count(CountOf) = "count",
        /// No request was in flight for 500 ms.
        NetworkIdle(NetworkIdle) = "networkIdle",
        /// A request like this was made.
        RequestObserved(RequestObserved) = "requestObserved",
        /// A JavaScript dialog opened.
        DialogOpened(DialogOpened) = "dialogOpened",
        /// A download started.
        DownloadStarted(DownloadStarted) = "downloadStarted",
        /// The URL is another one than before the step.
        UrlChanges(UrlChanges) = "urlChanges",
        /// A tab opened.
        NewTab(UrlPart) = "newTab",
        /// The target was not visible before and is now.
        Appears(OnTarget) = "appears",
        /// The target was visible before and is not now.
        Disappears(OnTarget) = "disappears",
        /// Something about the target is different from before.
        Changed(Changed) = "changed",
        /// The accessible name equals.
        NameEquals(Texted) = "nameEquals",
        /// The accessible description equals.
        DescriptionEquals(Texted) = "descriptionEquals",
        /// The error message equals.
        ErrorMessageEquals(Texted) = "errorMessageEquals",
        /// A text of the target matches a pattern.
        Matches(Matches) = "matches",
        /// The role is this one.
        RoleEquals(RoleEquals) = "roleEquals",
        /// It has this class.
        ClassContains(ClassContains) = "classContains",
        /// Exactly these options are chosen, by value or label.
        SelectedValues(SelectedValues) = "selectedValues",
        /// The step had an effect of any kind. Never Fails.
        AnyEffect(Nothing) = "anyEffect",
        /// All of these hold at the same moment.
        AllOf(Group) = "allOf",
        /// One of these holds.
        AnyOf(Group) = "anyOf",
        /// This does not hold.
        Not(Negated) = "not",
    }
}

body! {
    /// A target and nothing else.
    OnTarget {
        /// The target.
        target: TargetRef,
    }
}
body! {
    /// No parameters.
    Nothing {}
}
body! {
    /// A pattern and nothing else.
    PatternOnly {
        /// Unanchored.
        pattern: Pattern,
    }
}
body! {
    /// On or off.
    Checked {
        /// The target.
        target: TargetRef,
        /// On unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checked: Option<bool>,
    }
}
body! {
    /// In the viewport.
    InViewport {
        /// The target.
        target: TargetRef,
        /// The least share of its box; any share above zero unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ratio: Option<crate::wire::Probability>,
    }
}
body! {
    /// A name and a value on a target.
    Named {
        /// The target.
        target: TargetRef,
        /// The name of the attribute or state.
        name: ShortText,
        /// The value, as text.
        value: WireText,
    }
}
body! {
    /// A property and its value, a JSON scalar.
    PropertyEquals {
        /// The target.
        target: TargetRef,
        /// The property.
        name: ShortText,
        /// The value: a string, a number, a boolean or null.
        value: Scalar,
    }
}
body! {
    /// A value on a target.
    Valued {
        /// The target.
        target: TargetRef,
        /// The value.
        value: WireText,
    }
}
body! {
    /// A text on a target.
    Texted {
        /// The target.
        target: TargetRef,
        /// The text.
        text: WireText,
    }
}
body! {
    /// How many elements match a declared target. Absent bounds do not bind.
    CountOf {
        /// The target.
        target: TargetRef,
        /// Exactly so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        equals: Option<Count>,
        /// At least so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least: Option<Count>,
        /// At most so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<Count>,
    }
}
body! {
    /// Quiet on the network.
    NetworkIdle {
        /// The limit: Unknown when it passes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<Millis>,
    }
}
body! {
    /// A request; what is absent does not bind.
    RequestObserved {
        /// The method, in capitals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<ShortText>,
        /// A pattern on the URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<Pattern>,
        /// The status.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0, max = 65535))]
        status: Option<u16>,
    }
}
body! {
    /// A dialog; what is absent does not bind.
    DialogOpened {
        /// The kind. The field is called `dialog` because `kind` names the condition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dialog: Option<DialogKind>,
        /// A part of its message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<ShortText>,
    }
}
body! {
    /// A download.
    DownloadStarted {
        /// A part of the suggested name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<ShortText>,
    }
}
body! {
    /// Another URL.
    UrlChanges {
        /// A part of the full new URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<UrlText>,
    }
}
body! {
    /// A part of a URL, or any.
    UrlPart {
        /// A part of the full URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<UrlText>,
    }
}
body! {
    /// A difference.
    Changed {
        /// The target.
        target: TargetRef,
        /// What about it; anything unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aspect: Option<Aspect>,
    }
}
body! {
    /// A pattern on a text of a target.
    Matches {
        /// The target.
        target: TargetRef,
        /// Which text; what the element reads as unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<TextOf>,
        /// For `attribute`: its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<ShortText>,
        /// A regular expression, or a text that is found anywhere, letter case and white space left aside.
        pattern: TextPattern,
    }
}
body! {
    /// A role.
    RoleEquals {
        /// The target.
        target: TargetRef,
        /// The role.
        role: Role,
    }
}
body! {
    /// A class.
    ClassContains {
        /// The target.
        target: TargetRef,
        /// One class name.
        class: ShortText,
    }
}
body! {
    /// Chosen options.
    SelectedValues {
        /// The target.
        target: TargetRef,
        /// Values or labels, in any order.
        values: Vec<ShortText>,
    }
}
body! {
    /// Several conditions, at least one.
    Group {
        /// The conditions.
        conditions: Vec<Condition>,
        /// How long they may take to come true, up to the time of the step. Any other condition may state it too, and
        /// is read as a group of one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<Millis>,
    }
}
body! {
    /// One condition, turned round.
    Negated {
        /// The condition.
        condition: Box<Condition>,
    }
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

/// A text that an element has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextOf {
    /// What it reads as.
    #[default]
    Text,
    /// Its live value.
    Value,
    /// Its accessible name.
    Name,
    /// Its accessible description.
    Description,
    /// Its error message.
    ErrorMessage,
    /// The attribute that `name` names.
    Attribute,
}

/// What about a target may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Aspect {
    /// Its text.
    Text,
    /// Its value.
    Value,
    /// Its name.
    Name,
    /// Its states.
    States,
    /// Its box.
    Box,
}

/// A JSON scalar.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Scalar(Value);

impl Scalar {
    /// Wraps a scalar; `None` for arrays and objects.
    #[must_use]
    pub fn new(value: Value) -> Option<Self> {
        (!value.is_array() && !value.is_object()).then_some(Self(value))
    }

    /// The scalar.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let value = Value::deserialize(deserializer)?;
        let seen = crate::wire::shape(&value);
        Self::new(value).ok_or_else(|| D::Error::custom(format!("expected a JSON scalar, saw {seen}")))
    }
}

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number", "boolean", "null"] })
    }
}

/// A condition that cannot be judged on any page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// Conditions inside conditions beyond the bound.
    #[error("expected at most 6 nested conditions")]
    TooDeep,
    /// A group of none.
    #[error("expected at least one condition in the group, saw none")]
    EmptyGroup,
    /// A count without a bound.
    #[error("expected `equals`, `atLeast` or `atMost`, saw none")]
    Unbounded,
    /// A pattern that does not compile.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// An attribute without its name, or a name without an attribute.
    #[error("expected `name` with `attribute`, and with nothing else")]
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

    /// Judges the condition: over all samples, one that holds is enough.
    ///
    /// Costs a pattern compilation where there is a pattern, else a few comparisons a sample.
    #[must_use]
    pub fn evaluate(&self, facts: &Facts) -> Verdict {
        let moment = |sample| Moment { before: facts.before.as_ref(), now: sample, events: &facts.events };
        let mut last = Verdict::Unknown;
        for sample in &facts.samples {
            last = moment(sample).judge(self, 0);
            if last.holds() {
                return last;
            }
        }
        last
    }

    /// Judges a condition about a target on how the target was last seen: what held once and was reverted fails. A
    /// target that is gone, together with its document for example, cannot revert anything; then, and for a
    /// condition without a target, this is [`Self::evaluate`].
    #[must_use]
    pub fn evaluate_lasting(&self, facts: &Facts) -> Verdict {
        let is_there = |sample: &&Sample| {
            let seen = self.target().and_then(|target| sample.targets.get(target));
            seen.is_some_and(|seen| seen.element.is_some())
        };
        facts.samples.iter().rev().find(is_there).map_or_else(
            || self.evaluate(facts),
            |now| Moment { before: facts.before.as_ref(), now, events: &facts.events }.judge(self, 0),
        )
    }

    /// Whether it held already just before the input. Conditions on what changes never did.
    #[must_use]
    pub fn was_vacuous(&self, facts: &Facts) -> bool {
        facts.before.as_ref().is_some_and(|before| {
            let nothing_yet = EventFacts::default();
            Moment { before: Some(before), now: before, events: &nothing_yet }.judge(self, 0).holds()
        })
    }

    /// Every target that the condition names, in order, with repetitions.
    pub fn targets(&self) -> Vec<&TargetRef> {
        let mut targets = Vec::new();
        self.visit(&mut |condition| targets.extend(condition.target()));
        targets
    }

    /// The target of this very condition, nested ones left aside.
    #[must_use]
    pub const fn target(&self) -> Option<&TargetRef> {
        match self {
            Self::Exists(c)
            | Self::Absent(c)
            | Self::Visible(c)
            | Self::Hidden(c)
            | Self::Enabled(c)
            | Self::Editable(c)
            | Self::Focused(c)
            | Self::Appears(c)
            | Self::Disappears(c) => Some(&c.target),
            Self::Checked(c) => Some(&c.target),
            Self::InViewport(c) => Some(&c.target),
            Self::AttrEquals(c) | Self::AriaState(c) => Some(&c.target),
            Self::PropertyEquals(c) => Some(&c.target),
            Self::ValueEquals(c) | Self::ValueContains(c) => Some(&c.target),
            Self::ElementTextContains(c)
            | Self::ElementTextEquals(c)
            | Self::NameEquals(c)
            | Self::DescriptionEquals(c)
            | Self::ErrorMessageEquals(c) => Some(&c.target),
            Self::Count(c) => Some(&c.target),
            Self::Changed(c) => Some(&c.target),
            Self::Matches(c) => Some(&c.target),
            Self::RoleEquals(c) => Some(&c.target),
            Self::ClassContains(c) => Some(&c.target),
            Self::SelectedValues(c) => Some(&c.target),
            Self::UrlMatches(_)
            | Self::TitleMatches(_)
            | Self::NetworkIdle(_)
            | Self::RequestObserved(_)
            | Self::DialogOpened(_)
            | Self::DownloadStarted(_)
            | Self::UrlChanges(_)
            | Self::NewTab(_)
            | Self::AnyEffect(_)
            | Self::AllOf(_)
            | Self::AnyOf(_)
            | Self::Not(_) => None,
        }
    }

    /// Calls `visit` with this condition and every one inside it.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        match self {
            Self::AllOf(group) | Self::AnyOf(group) => group.conditions.iter().for_each(|c| c.visit(visit)),
            Self::Not(negated) => negated.condition.visit(visit),
            _ => {}
        }
    }

    /// Rewrites every target through `rewrite`.
    pub fn retarget(&mut self, rewrite: &dyn Fn(&TargetRef) -> TargetRef) {
        match self {
            Self::AllOf(group) | Self::AnyOf(group) => group.conditions.iter_mut().for_each(|c| c.retarget(rewrite)),
            Self::Not(negated) => negated.condition.retarget(rewrite),
            other => {
                if let Some(target) = other.target_mut() {
                    *target = rewrite(target);
                }
            }
        }
    }

    fn target_mut(&mut self) -> Option<&mut TargetRef> {
        match self {
            Self::Exists(c)
            | Self::Absent(c)
            | Self::Visible(c)
            | Self::Hidden(c)
            | Self::Enabled(c)
            | Self::Editable(c)
            | Self::Focused(c)
            | Self::Appears(c)
            | Self::Disappears(c) => Some(&mut c.target),
            Self::Checked(c) => Some(&mut c.target),
            Self::InViewport(c) => Some(&mut c.target),
            Self::AttrEquals(c) | Self::AriaState(c) => Some(&mut c.target),
            Self::PropertyEquals(c) => Some(&mut c.target),
            Self::ValueEquals(c) | Self::ValueContains(c) => Some(&mut c.target),
            Self::ElementTextContains(c)
            | Self::ElementTextEquals(c)
            | Self::NameEquals(c)
            | Self::DescriptionEquals(c)
            | Self::ErrorMessageEquals(c) => Some(&mut c.target),
            Self::Count(c) => Some(&mut c.target),
            Self::Changed(c) => Some(&mut c.target),
            Self::Matches(c) => Some(&mut c.target),
            Self::RoleEquals(c) => Some(&mut c.target),
            Self::ClassContains(c) => Some(&mut c.target),
            Self::SelectedValues(c) => Some(&mut c.target),
            _ => None,
        }
    }

    /// Attributes and properties that the condition reads, for whoever gathers the facts.
    pub fn asked(&self) -> Vec<(&TargetRef, Asked<'_>)> {
        let mut asked = Vec::new();
        self.visit(&mut |condition| match condition {
            Self::AttrEquals(c) => asked.push((&c.target, Asked::Attribute(&c.name))),
            Self::PropertyEquals(c) => asked.push((&c.target, Asked::Property(&c.name))),
            Self::AriaState(c) => asked.push((&c.target, Asked::AriaAttribute(&c.name))),
            Self::Matches(Matches { target, name: Some(name), .. }) => asked.push((target, Asked::Attribute(name))),
            _ => {}
        });
        asked
    }

    /// Whether the condition turns on what the target reads as, for whoever gathers the facts.
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

    /// Texts that the condition compares with facts of `target`: what a redaction must keep judgeable.
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

    /// The same condition with the texts that it compares with `target` reduced to digests.
    #[must_use]
    pub fn redacted(&self, is_sensitive: &dyn Fn(&TargetRef) -> bool, key: &DigestKey) -> Self {
        let mut condition = self.clone();
        condition.redact_in_place(is_sensitive, key);
        condition
    }

    fn redact_in_place(&mut self, is_sensitive: &dyn Fn(&TargetRef) -> bool, key: &DigestKey) {
        if self.target().is_some_and(is_sensitive) {
            match self {
                Self::AttrEquals(c) if c.name.as_str() == "value" => c.value = c.value.redact(key),
                Self::ValueEquals(c) | Self::ValueContains(c) => c.value = c.value.redact(key),
                Self::PropertyEquals(c) if c.name.as_str() == "value" => {
                    if let Some(text) = c.value.value().as_str() {
                        c.value = Scalar(Value::from(key.digest(text).as_str()));
                    }
                }
                Self::ElementTextContains(c) | Self::ElementTextEquals(c) => c.text = c.text.redact(key),
                _ => {}
            }
        }
        match self {
            Self::AllOf(group) | Self::AnyOf(group) => {
                group.conditions.iter_mut().for_each(|c| c.redact_in_place(is_sensitive, key));
            }
            Self::Not(negated) => negated.condition.redact_in_place(is_sensitive, key),
            _ => {}
        }
    }

    /// Says why the condition cannot be judged on any page.
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
            Self::UrlMatches(c) | Self::TitleMatches(c) => Ok(c.pattern.compile().map(drop)?),
            Self::RequestObserved(c) => match &c.url {
                Some(pattern) => Ok(pattern.compile().map(drop)?),
                None => Ok(()),
            },
            Self::Matches(c) if (c.of == Some(TextOf::Attribute)) != c.name.is_some() => Err(ConditionError::Attribute),
            Self::Matches(c) => Ok(c.pattern.validate()?),
            Self::Count(c) if c.equals.is_none() && c.at_least.is_none() && c.at_most.is_none() => {
                Err(ConditionError::Unbounded)
            }
            Self::AllOf(group) | Self::AnyOf(group) => {
                if group.conditions.is_empty() {
                    return Err(ConditionError::EmptyGroup);
                }
                group.conditions.iter().try_for_each(|c| c.validate_at(depth + 1))
            }
            Self::Not(negated) => negated.condition.validate_at(depth + 1),
            _ => Ok(()),
        }
    }

    /// Whether the condition holds whatever the page does, or contradicts itself, without looking at one.
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
            _ => false,
        }
    }

    /// Whether the two cannot hold at the same moment, as far as their form tells.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        let one_way = |a: &Self, b: &Self| match (a, b) {
            (Self::Not(negated), c) => *negated.condition == *c,
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

    /// How long the condition may take, where it says so itself; the longest of those inside it.
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

    /// Whether the condition says that the page will be another one.
    #[must_use]
    pub fn expects_page_change(&self) -> bool {
        match self {
            Self::UrlChanges(_) | Self::NewTab(_) => true,
            Self::AllOf(group) => group.conditions.iter().any(Self::expects_page_change),
            _ => false,
        }
    }
}

/// Whether a pattern is found in every text, as far as its form tells.
fn is_anything(pattern: &Pattern) -> bool {
    matches!(pattern.as_str(), "" | ".*" | "^" | "$" | ".*?" | "^.*$")
}

/// What a condition wants to know about an element beyond the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// An attribute.
    Attribute(&'a str),
    /// `aria-` and this name.
    AriaAttribute(&'a str),
    /// A DOM property.
    Property(&'a str),
}

struct Moment<'a> {
    before: Option<&'a Sample>,
    now: &'a Sample,
    events: &'a EventFacts,
}

impl Moment<'_> {
    fn judge(&self, condition: &Condition, depth: usize) -> Verdict {
        use Condition as C;
        if depth > MAX_DEPTH {
            return Verdict::Unknown;
        }
        match condition {
            C::Exists(c) => self.count(&c.target, |n| n > 0),
            C::Absent(c) => self.count(&c.target, |n| n == 0),
            C::Visible(c) => self.visible(Some(self.now), &c.target),
            C::Hidden(c) => self.visible(Some(self.now), &c.target).negate(),
            C::Enabled(c) => self.element(&c.target, |e| Verdict::from_bool(!e.states.disabled)),
            C::Editable(c) => self.element(&c.target, |e| Verdict::from_bool(is_editable(e))),
            C::Checked(c) => self.element(&c.target, |e| {
                let wanted = if c.checked.unwrap_or(true) { Toggle::True } else { Toggle::False };
                // What may be checked and says nothing of it is off.
                let unsaid = matches!(e.role, Role::Option | Role::TreeItem).then_some(Toggle::False);
                e.states
                    .checked
                    .or(e.states.pressed)
                    .or(unsaid)
                    .map_or(Verdict::Unknown, |seen| Verdict::from_bool(seen == wanted))
            }),
            C::Focused(c) => self.element(&c.target, |e| Verdict::from_bool(e.states.focused)),
            C::InViewport(c) => self.element(&c.target, |e| {
                let least = c.ratio.map_or(0.0, crate::wire::Probability::get);
                e.in_viewport.map_or(Verdict::Unknown, |share| Verdict::from_bool(share > 0.0 && share >= least))
            }),
            C::UrlMatches(c) => Verdict::from_option(c.pattern.is_match(&self.now.url)),
            C::TitleMatches(c) => Verdict::from_option(c.pattern.is_match(&self.now.title)),
            C::AttrEquals(c) => self.element(&c.target, |e| attribute(e, &c.name, &c.value)),
            C::PropertyEquals(c) => self.element(&c.target, |e| property(e, c)),
            C::ValueEquals(c) => self.value(&c.target, |seen| seen.equals(&c.value)),
            C::ValueContains(c) => self.value(&c.target, |seen| seen.contains(&c.value)),
            C::ElementTextContains(c) => self.text(&c.target, &c.text, Comparison::Contains),
            C::ElementTextEquals(c) => self.text(&c.target, &c.text, Comparison::Equals),
            C::AriaState(c) => self.element(&c.target, |e| aria_state(e, &c.name, &c.value)),
            C::Count(c) => self.count(&c.target, |n| {
                c.equals.is_none_or(|x| n == x.get())
                    && c.at_least.is_none_or(|x| n >= x.get())
                    && c.at_most.is_none_or(|x| n <= x.get())
            }),
            C::NetworkIdle(_) => Verdict::from_option(self.events.network_idle),
            C::RequestObserved(c) => self.request(c),
            C::DialogOpened(c) => Verdict::from_bool(self.events.dialogs.iter().any(|dialog| {
                c.dialog.is_none_or(|kind| dialog.kind == kind)
                    && c.text.as_ref().is_none_or(|text| dialog.message.contains(text.as_str()))
            })),
            C::DownloadStarted(c) => Verdict::from_bool(
                self.events
                    .downloads
                    .iter()
                    .any(|download| c.filename.as_ref().is_none_or(|name| download.filename.contains(name.as_str()))),
            ),
            C::UrlChanges(c) => self.before.map_or(Verdict::Unknown, |before| {
                let there = c.to.as_ref().is_none_or(|to| self.now.url.contains(to.as_str()));
                Verdict::from_bool(before.url != self.now.url && there)
            }),
            C::NewTab(c) => Verdict::from_bool(
                self.events.new_tabs.iter().any(|url| c.url.as_ref().is_none_or(|part| url.contains(part.as_str()))),
            ),
            C::Appears(c) => self.visible(self.before, &c.target).negate().and(self.visible(Some(self.now), &c.target)),
            C::Disappears(c) => {
                self.visible(self.before, &c.target).and(self.visible(Some(self.now), &c.target).negate())
            }
            C::Changed(c) => self.changed(c),
            C::NameEquals(c) => self.element(&c.target, |e| plain_equals(Some(&e.name), &c.text)),
            C::DescriptionEquals(c) => {
                self.element(&c.target, |e| plain_equals(e.description.as_deref().or(Some("")), &c.text))
            }
            C::ErrorMessageEquals(c) => {
                self.element(&c.target, |e| plain_equals(e.error_message.as_deref().or(Some("")), &c.text))
            }
            C::Matches(c) => self.element(&c.target, |e| matches_pattern(e, c)),
            C::RoleEquals(c) => self.element(&c.target, |e| Verdict::from_bool(e.role == c.role)),
            C::ClassContains(c) => {
                self.element(&c.target, |e| Verdict::from_bool(e.classes.iter().any(|class| class == c.class.as_str())))
            }
            C::SelectedValues(c) => self.element(&c.target, |e| selected(e, &c.values)),
            C::AnyEffect(_) => match self.events.any_effect {
                Some(true) => Verdict::Holds,
                _ => Verdict::Unknown,
            },
            C::AllOf(group) => {
                group.conditions.iter().map(|c| self.judge(c, depth + 1)).fold(Verdict::Holds, Verdict::and)
            }
            C::AnyOf(group) => {
                group.conditions.iter().map(|c| self.judge(c, depth + 1)).fold(Verdict::Fails, Verdict::or)
            }
            C::Not(negated) => self.judge(&negated.condition, depth + 1).negate(),
        }
    }

    fn count(&self, target: &TargetRef, accept: impl Fn(u32) -> bool) -> Verdict {
        let matches = self.now.targets.get(target).and_then(|t| t.matches);
        Verdict::from_option(matches.map(accept))
    }

    fn element(&self, target: &TargetRef, judge: impl Fn(&ElementFacts) -> Verdict) -> Verdict {
        match self.now.targets.get(target) {
            Some(TargetFacts { element: Some(element), .. }) => judge(element),
            Some(TargetFacts { matches: Some(0), .. }) => Verdict::Fails,
            _ => Verdict::Unknown,
        }
    }

    fn visible(&self, sample: Option<&Sample>, target: &TargetRef) -> Verdict {
        match sample.and_then(|sample| sample.targets.get(target)) {
            Some(TargetFacts { element: Some(element), .. }) => Verdict::from_option(element.visible),
            Some(TargetFacts { matches: Some(0), .. }) => Verdict::Fails,
            _ => Verdict::Unknown,
        }
    }

    fn value(&self, target: &TargetRef, judge: impl Fn(&FactText) -> Verdict) -> Verdict {
        self.element(target, |e| e.value.as_ref().map_or(Verdict::Unknown, &judge))
    }

    fn text(&self, target: &TargetRef, stated: &WireText, comparison: Comparison) -> Verdict {
        self.element(target, |element| match (&element.text, stated) {
            (Some(FactText::Clear(seen)), WireText::Clear(text)) => {
                let (seen, text) = (collapse_white_space(seen), collapse_white_space(text));
                Verdict::from_bool(match comparison {
                    Comparison::Equals => seen == text,
                    Comparison::Contains => seen.contains(&text),
                })
            }
            (Some(seen), text) => match comparison {
                Comparison::Equals => seen.equals(text),
                Comparison::Contains => seen.contains(text),
            },
            (None, _) => Verdict::Unknown,
        })
    }

    fn request(&self, wanted: &RequestObserved) -> Verdict {
        let mut verdict = Verdict::Fails;
        for request in &self.events.requests {
            let method = wanted.method.as_ref().is_none_or(|m| request.method.eq_ignore_ascii_case(m));
            let url = match &wanted.url {
                None => Verdict::Holds,
                Some(pattern) => Verdict::from_option(pattern.is_match(&request.url)),
            };
            let status = match (wanted.status, request.status) {
                (None, _) => Verdict::Holds,
                (Some(wanted), Some(seen)) => Verdict::from_bool(wanted == seen),
                (Some(_), None) if request.failure.is_some() => Verdict::Fails,
                (Some(_), None) => Verdict::Unknown,
            };
            verdict = verdict.or(Verdict::from_bool(method).and(url).and(status));
        }
        verdict
    }

    fn changed(&self, changed: &Changed) -> Verdict {
        let at = |sample: &Sample| sample.targets.get(&changed.target).and_then(|t| t.element.clone());
        let (Some(before), Some(now)) = (self.before.and_then(at), at(self.now)) else {
            return Verdict::Unknown;
        };
        let differs = |aspect: Aspect| match aspect {
            Aspect::Text => before.text != now.text,
            Aspect::Value => before.value != now.value || before.selected_values != now.selected_values,
            Aspect::Name => before.name != now.name,
            Aspect::States => before.states != now.states,
            Aspect::Box => before.rect != now.rect,
        };
        Verdict::from_bool(match changed.aspect {
            Some(aspect) => differs(aspect),
            None => [Aspect::Text, Aspect::Value, Aspect::Name, Aspect::States].into_iter().any(differs),
        })
    }
}

#[derive(Clone, Copy)]
enum Comparison {
    Equals,
    Contains,
}

fn plain_equals(seen: Option<&str>, stated: &WireText) -> Verdict {
    match (seen, stated.clear()) {
        (Some(seen), Some(text)) => Verdict::from_bool(collapse_white_space(seen) == collapse_white_space(text)),
        _ => Verdict::Unknown,
    }
}

/// Whether a person may change it. What can be read-only at all (WAI-ARIA 1.2, `aria-readonly`) and is neither that nor
/// disabled counts, as in Playwright's definition.
fn is_editable(element: &ElementFacts) -> bool {
    use Role as R;
    let changes = matches!(element.tag.as_str(), "input" | "select" | "textarea")
        || matches!(
            element.role,
            R::Checkbox
                | R::ComboBox
                | R::Grid
                | R::GridCell
                | R::ListBox
                | R::RadioGroup
                | R::Slider
                | R::SpinButton
                | R::TextBox
                | R::ColumnHeader
                | R::RowHeader
                | R::SearchBox
                | R::Switch
                | R::TreeGrid
        );
    element.states.editable || changes && !element.states.disabled && !element.states.readonly
}

/// What was reduced to a digest matches nothing that anybody could tell.
fn matches_pattern(element: &ElementFacts, stated: &Matches) -> Verdict {
    let plain = |seen: &str| Verdict::from_bool(stated.pattern.fit(&collapse_white_space(seen)).is_some());
    let kept = |seen: Option<&FactText>| match seen.map(FactText::clear) {
        Some(Some(seen)) => plain(seen),
        _ => Verdict::Unknown,
    };
    match stated.of.unwrap_or_default() {
        TextOf::Text => kept(element.text.as_ref()),
        TextOf::Value => match element.value.as_ref() {
            Some(FactText::Clear(seen)) => Verdict::from_bool(stated.pattern.fit(seen).is_some()),
            Some(FactText::Redacted { .. }) => Verdict::Unknown,
            // What has no value matches no pattern.
            None => Verdict::Fails,
        },
        TextOf::Name => plain(&element.name),
        TextOf::Description => plain(element.description.as_deref().unwrap_or_default()),
        TextOf::ErrorMessage => plain(element.error_message.as_deref().unwrap_or_default()),
        TextOf::Attribute => match stated.name.as_ref().map(|name| element.attributes.get(name.as_str())) {
            Some(Some(Some(FactText::Clear(seen)))) => Verdict::from_bool(stated.pattern.fit(seen).is_some()),
            Some(Some(None)) => Verdict::Fails,
            _ => Verdict::Unknown,
        },
    }
}

/// `value`, `checked` and `selected` read the live property, as people mean them.
fn attribute(element: &ElementFacts, name: &str, stated: &WireText) -> Verdict {
    let toggle = |seen: Option<bool>| match (seen, stated.clear()) {
        (Some(seen), Some(text)) => {
            let wanted = !matches!(text, "false" | "");
            Verdict::from_bool(seen == wanted || (seen && text == name))
        }
        _ => Verdict::Unknown,
    };
    match name {
        "value" if element.value.is_some() => element.value.as_ref().map_or(Verdict::Unknown, |v| v.equals(stated)),
        "checked" if element.states.checked.is_some() => {
            toggle(element.states.checked.map(|checked| checked == Toggle::True))
        }
        "selected" if element.states.selected.is_some() => toggle(element.states.selected),
        _ => match element.attributes.get(name) {
            Some(Some(seen)) => seen.equals(stated),
            Some(None) => Verdict::Fails,
            None => Verdict::Unknown,
        },
    }
}

fn property(element: &ElementFacts, stated: &PropertyEquals) -> Verdict {
    element.properties.get(stated.name.as_str()).map_or(Verdict::Unknown, |seen| {
        let wanted = stated.value.value();
        // JSON has one kind of number: 1 and 1.0 are the same property value.
        let same = match (seen.as_f64(), wanted.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() < f64::EPSILON,
            _ => seen == wanted,
        };
        Verdict::from_bool(same)
    })
}

fn aria_state(element: &ElementFacts, name: &str, stated: &WireText) -> Verdict {
    let name = name.strip_prefix("aria-").unwrap_or(name);
    let from_states = match name {
        "checked" => element.states.checked.map(Toggle::as_str),
        "pressed" => element.states.pressed.map(Toggle::as_str),
        "expanded" => element.states.expanded.map(bool_text),
        "selected" => element.states.selected.map(bool_text),
        "disabled" => Some(bool_text(element.states.disabled)),
        _ => None,
    };
    let from_attribute = element.attributes.get(&format!("aria-{name}"));
    match (from_attribute, from_states, stated.clear()) {
        (Some(Some(seen)), _, _) => seen.equals(stated),
        (_, Some(seen), Some(text)) => Verdict::from_bool(seen == text),
        (Some(None), None, _) => Verdict::Fails,
        _ => Verdict::Unknown,
    }
}

const fn bool_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn selected(element: &ElementFacts, wanted: &[ShortText]) -> Verdict {
    let same = |seen: &[String]| {
        let mut seen: Vec<String> = seen.iter().map(|s| collapse_white_space(s)).collect();
        let mut wanted: Vec<String> = wanted.iter().map(|s| collapse_white_space(s)).collect();
        seen.sort_unstable();
        wanted.sort_unstable();
        seen == wanted
    };
    let is_native = element.tag == "select";
    if same(&element.selected_values) || same(&element.selected_labels) {
        return Verdict::Holds;
    }
    // A custom list box shows its choice as a value or in its text, if it shows it at all.
    match (is_native, wanted, element.value.as_ref().and_then(FactText::clear)) {
        (true, ..) => Verdict::Fails,
        (false, [only], Some(value)) if collapse_white_space(value) == collapse_white_space(only) => Verdict::Holds,
        (false, ..) => Verdict::Unknown,
    }
}
