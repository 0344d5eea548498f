//! Facts about an element that a caller requests beyond those that are always reported.

use serde::{Deserialize, Serialize};

/// Facts to gather beside role, name, labels, states, value, visibility and box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Attributes, by name. `value`, `checked` and `selected` read the live property.
    pub attributes: Vec<String>,
    /// DOM properties, by name; values that are not JSON scalars are omitted.
    pub properties: Vec<String>,
    /// The text content too.
    pub text: bool,
    /// Texts of the step: a redacted fact keeps telling whether it contains them.
    #[serde(skip)]
    pub compare: Vec<String>,
}

impl Ask {
    /// Asks for the text content too.
    #[must_use]
    pub fn with_text() -> Self {
        Self { text: true, ..Self::default() }
    }
}
