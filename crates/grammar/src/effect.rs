//! Effect classes: the cost of repeating a step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a step does to the world, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EffectClass {
    /// Changes nothing.
    ReadOnly,
    /// Doing it twice is the same as doing it once.
    Idempotent,
    /// Changes something that can be undone.
    Reversible,
    /// Cannot be undone, or that is unknown.
    Destructive,
}
