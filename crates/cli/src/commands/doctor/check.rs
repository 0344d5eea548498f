//! One part of a machine, as it was found.

use serde::Serialize;

/// The state of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum State {
    Ok,
    /// It works, with less than it could.
    Warn,
    Fail,
}

/// A part and its state.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) state: State,
    /// State in words, with what was seen.
    pub(crate) detail: String,
    /// Remedy that a person can apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<String>,
    /// `true` if `--fix` does it.
    pub(crate) is_fixable: bool,
    /// `true` if it was mended now.
    pub(crate) is_fixed: bool,
}

impl Check {
    pub(crate) fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Ok, detail: detail.into(), advice: None, is_fixable: false, is_fixed: false }
    }

    pub(crate) fn warn(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Warn, advice: Some(advice.into()), ..Self::ok(name, detail) }
    }

    pub(crate) fn fail(name: &'static str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Fail, advice: Some(advice.into()), ..Self::ok(name, detail) }
    }

    pub(crate) fn fixable(self) -> Self {
        Self { is_fixable: true, ..self }
    }

    pub(crate) fn is_well(&self) -> bool {
        self.state != State::Fail
    }

    /// Mends a part that is not well and can be mended, and looks again.
    pub(crate) fn mended(look: impl Fn() -> Self, fix: bool, mend: impl FnOnce() -> std::io::Result<()>) -> Self {
        let before = look();
        if !fix || !before.is_fixable {
            return before;
        }
        match mend() {
            Ok(()) => {
                let after = look();
                Self { is_fixed: after.state == State::Ok, ..after }
            }
            Err(error) => Self { detail: format!("{}; --fix failed: {error}", before.detail), ..before },
        }
    }
}
