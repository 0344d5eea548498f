//! Effect classes: the cost of repeating a step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Effect of a step on the world, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EffectClass {
    /// Changes no data, such as reading, scrolling or moving the focus.
    ReadOnly,
    /// Doing it twice is the same as doing it once.
    Idempotent,
    /// Changes something that can be undone.
    Reversible,
    /// Cannot be undone, or that is unknown.
    Destructive,
}
