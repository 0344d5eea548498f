//! Effect classes: what repeating a step would cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a step does to the world, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EffectClass {
    /// Changes nothing.
    ReadOnly,
    /// Twice is the same as once.
    Idempotent,
    /// Changes something that can be changed back.
    Reversible,
    /// Cannot be taken back, or nobody knows.
    Destructive,
}
