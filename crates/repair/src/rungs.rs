//! The rungs of the ladder, and which of them a run may use.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One way of repairing a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rung {
    /// Waits until the page is quiet, or as long as a server asks.
    Wait,
    /// Scrolls to the target, or on in search of it.
    Scroll,
    /// Finds an observed target again by its meaning or its fingerprint.
    Fingerprint,
    /// Finds it by another of its locators: test id, label, its name but for case and signs.
    Locators,
    /// Takes what does the same: a link to the same address, the button of the same form.
    Candidates,
    /// Finds a target without a name by its box.
    Box,
    /// Closes what covers the target, by a control of its own.
    Dismiss,
    /// Observes the whole page again, with all its frames.
    Frames,
    /// Types slowly, then sets the value whole.
    Retype,
    /// Asks the planner for a new plan.
    Replan,
}

impl Rung {
    /// All of them, in the order of the ladder.
    pub const ALL: [Self; 10] = [
        Self::Wait,
        Self::Scroll,
        Self::Fingerprint,
        Self::Locators,
        Self::Candidates,
        Self::Box,
        Self::Dismiss,
        Self::Frames,
        Self::Retype,
        Self::Replan,
    ];

    /// Its name in logs and on command lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Scroll => "scroll",
            Self::Fingerprint => "fingerprint",
            Self::Locators => "locators",
            Self::Candidates => "candidates",
            Self::Box => "box",
            Self::Dismiss => "dismiss",
            Self::Frames => "frames",
            Self::Retype => "retype",
            Self::Replan => "replan",
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no rung.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{seen}` is not among the rungs, which are separated by commas ({})", Rung::ALL.map(Rung::name).join(", "))]
pub struct UnknownRung {
    seen: String,
}

/// The rungs that a run may use; all by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rungs(BTreeSet<Rung>);

impl Default for Rungs {
    fn default() -> Self {
        Self(Rung::ALL.into_iter().collect())
    }
}

impl Rungs {
    /// These rungs and no others.
    #[must_use]
    pub fn only(rungs: &[Rung]) -> Self {
        Self(rungs.iter().copied().collect())
    }

    /// All but this one.
    #[must_use]
    pub fn without(mut self, rung: Rung) -> Self {
        self.0.remove(&rung);
        self
    }

    /// Returns `true` if this rung may be used.
    #[must_use]
    pub fn allow(&self, rung: Rung) -> bool {
        self.0.contains(&rung)
    }
}

impl FromStr for Rungs {
    type Err = UnknownRung;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let one = |name: &str| {
            let found = Rung::ALL.into_iter().find(|rung| rung.name() == name.trim());
            found.ok_or_else(|| UnknownRung { seen: name.to_owned() })
        };
        text.split(',').filter(|name| !name.trim().is_empty()).map(one).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_are_read_by_name() {
        assert_eq!("wait, dismiss".parse(), Ok(Rungs::only(&[Rung::Wait, Rung::Dismiss])));
        assert_eq!("".parse(), Ok(Rungs::only(&[])));
        assert_eq!(Rung::ALL.map(Rung::name).join(",").parse(), Ok(Rungs::default()));
        let error = "jump".parse::<Rungs>().unwrap_err().to_string();
        assert!(error.contains("dismiss") && error.starts_with("`jump` is not "), "{error}");
    }
}
