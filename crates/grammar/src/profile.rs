//! Capability profiles: how much happens without asking. The operator sets one; a planner may only lower it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A capability profile, most careful first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Profile {
    /// Every step is confirmed.
    Assisted,
    /// Reading runs; writing is confirmed, several steps at a time.
    #[serde(alias = "semi_auto")]
    SemiAuto,
    /// Reading and reversible writing run; the rest is confirmed or granted ahead.
    #[default]
    Auto,
    /// High-risk tools and coordinates are open within what was declared.
    Unleashed,
}

impl Profile {
    /// The profile as it stands on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assisted => "assisted",
            Self::SemiAuto => "semiAuto",
            Self::Auto => "auto",
            Self::Unleashed => "unleashed",
        }
    }

    /// Whether coordinates, raw selectors and scripts are open.
    #[must_use]
    pub const fn opens_raw_access(self) -> bool {
        matches!(self, Self::Unleashed)
    }
}
