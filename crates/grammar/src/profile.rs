//! Capability profiles: how much happens without asking. The operator sets one; a planner may only lower it.

use crate::wire::words;

words! {
    /// A capability profile, most careful first.
    #[derive(Default)]
    pub enum Profile {
        /// Every step is confirmed.
        Assisted = "assisted",
        /// Reading runs; writing is confirmed, several steps at a time.
        #[serde(alias = "semi_auto")]
        SemiAuto = "semiAuto",
        /// Reading and reversible writing run; the rest is confirmed or granted ahead.
        #[default]
        Auto = "auto",
        /// High-risk tools and coordinates are open within what was declared.
        Unleashed = "unleashed",
    }
}

impl Profile {
    /// Returns `true` if the profile opens coordinates, raw selectors and scripts.
    #[must_use]
    pub const fn opens_raw_access(self) -> bool {
        matches!(self, Self::Unleashed)
    }
}
