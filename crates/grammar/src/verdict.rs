//! Verdicts: three-valued truth about conditions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Three-valued truth of a statement, judged on facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The facts say yes.
    Holds,
    /// The facts say no.
    Fails,
    /// The facts do not decide it.
    Unknown,
}

impl Verdict {
    /// Holds for true, Fails for false.
    #[must_use]
    pub const fn from_bool(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// Judges a flag; Unknown for `None`.
    #[must_use]
    pub const fn from_option(holds: Option<bool>) -> Self {
        match holds {
            Some(holds) => Self::from_bool(holds),
            None => Self::Unknown,
        }
    }

    /// Returns `true` if the verdict is Holds.
    #[must_use]
    pub const fn holds(self) -> bool {
        matches!(self, Self::Holds)
    }

    /// Kleene conjunction: one Fails decides.
    ///
    /// ```
    /// use cuebook_grammar::verdict::Verdict;
    ///
    /// assert_eq!(Verdict::Unknown.and(Verdict::Fails), Verdict::Fails);
    /// assert_eq!(Verdict::Unknown.and(Verdict::Holds), Verdict::Unknown);
    /// ```
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Fails, _) | (_, Self::Fails) => Self::Fails,
            (Self::Holds, Self::Holds) => Self::Holds,
            _ => Self::Unknown,
        }
    }

    /// Kleene disjunction: one Holds decides.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Holds, _) | (_, Self::Holds) => Self::Holds,
            (Self::Fails, Self::Fails) => Self::Fails,
            _ => Self::Unknown,
        }
    }

    /// Kleene negation: Unknown stays.
    #[must_use]
    pub const fn negate(self) -> Self {
        match self {
            Self::Holds => Self::Fails,
            Self::Fails => Self::Holds,
            Self::Unknown => Self::Unknown,
        }
    }
}
