//! Parameters of each kind of condition.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Condition;
use crate::facts::DialogKind;
use crate::id::TargetRef;
use crate::role::Role;
use crate::secret::WireText;
use crate::text_match::{Pattern, TextPattern};
use crate::wire::{Count, Millis, Probability, ShortText, UrlText, bodies, inline_schema};

bodies! {
    /// A target and nothing else.
    OnTarget {
        /// The target.
        target: TargetRef,
    }
    /// No parameters.
    Nothing {}
    /// A pattern and nothing else.
    PatternOnly {
        /// Regular expression, unanchored, that must match.
        pattern: Pattern,
    }
    /// On or off.
    Checked {
        /// The target.
        target: TargetRef,
        /// `true` for on, `false` for off; on unless stated.
        checked?: bool,
    }
    /// In the viewport.
    InViewport {
        /// The target.
        target: TargetRef,
        /// The least share of its box; any share above zero unless stated.
        ratio?: Probability,
    }
    /// A name and a value on a target.
    Named {
        /// The target.
        target: TargetRef,
        /// The name of the attribute or state.
        name: ShortText,
        /// The value, as text.
        value: WireText,
    }
    /// A property and its value, a JSON scalar.
    PropertyEquals {
        /// The target.
        target: TargetRef,
        /// The property.
        name: ShortText,
        /// The value: a string, a number, a boolean or null.
        value: Scalar,
    }
    /// A value on a target.
    Valued {
        /// The target.
        target: TargetRef,
        /// The value.
        value: WireText,
    }
    /// A text on a target.
    Texted {
        /// The target.
        target: TargetRef,
        /// The text.
        text: WireText,
    }
    /// How many elements match a declared target. Absent bounds do not bind.
    CountOf {
        /// The target.
        target: TargetRef,
        /// The exact number.
        equals?: Count,
        /// The least number.
        at_least?: Count,
        /// The greatest number.
        at_most?: Count,
    }
    /// Quiet on the network.
    NetworkIdle {
        /// The time limit; the verdict is Unknown once it has passed.
        timeout_ms?: Millis,
    }
    /// A request; what is absent does not bind.
    RequestObserved {
        /// The method, in capitals.
        method?: ShortText,
        /// A pattern on the URL.
        url?: Pattern,
        /// The status.
        #[schemars(range(min = 0, max = 65535))]
        status?: u16,
    }
    /// A dialog; what is absent does not bind.
    DialogOpened {
        /// The kind. The field is called `dialog` because `kind` names the condition.
        dialog?: DialogKind,
        /// A part of its message.
        text?: ShortText,
    }
    /// A download.
    Download {
        /// A part of the suggested name.
        filename?: ShortText,
    }
    /// Another URL.
    UrlChanges {
        /// A part of the full new URL.
        to?: UrlText,
    }
    /// A part of a URL, or any.
    UrlPart {
        /// A part of the full URL.
        url?: UrlText,
    }
    /// A difference.
    Changed {
        /// The target.
        target: TargetRef,
        /// The aspect that changed; any unless stated.
        aspect?: Aspect,
    }
    /// A pattern on a text of a target.
    Matches {
        /// The target.
        target: TargetRef,
        /// Which text; the text content unless stated.
        of?: TextOf,
        /// For `attribute`: its name.
        name?: ShortText,
        /// A regular expression, or a text that is found anywhere, ignoring letter case and white space.
        pattern: TextPattern,
    }
    /// A role.
    RoleEquals {
        /// The target.
        target: TargetRef,
        /// The role.
        role: Role,
    }
    /// A class.
    ClassContains {
        /// The target.
        target: TargetRef,
        /// One class name.
        class: ShortText,
    }
    /// Chosen options.
    SelectedValues {
        /// The target.
        target: TargetRef,
        /// Values or labels, in any order.
        values: Vec<ShortText>,
    }
    /// Several conditions, at least one.
    Group {
        /// The conditions.
        conditions: Vec<Condition>,
        /// How long they may take to come true, at most the step's own time. Any other condition may state it too and
        /// is then read as a group of one.
        timeout_ms?: Millis,
    }
    /// A statement about one other condition.
    Inner {
        /// The condition.
        condition: Box<Condition>,
    }
}

/// A text that an element has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TextOf {
    /// Its text content.
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

/// Aspect of a target that may change.
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
pub struct Scalar(pub(crate) Value);

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
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let value = Value::deserialize(deserializer)?;
        let seen = crate::wire::shape(&value);
        Self::new(value).ok_or_else(|| D::Error::custom(format!("must be a JSON scalar, not {seen}")))
    }
}

inline_schema!(Scalar, { "type": ["string", "number", "boolean", "null"] });
