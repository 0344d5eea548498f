//! The output and the exit code of a command.

use std::io::Write as _;
use std::process::ExitCode;

use cuebook_grammar::plan::{Violations, listed};
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use serde::Serialize;

use crate::progress;
use crate::text::json_plain;

/// The output that the flags select.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// One JSON document on standard output.
    pub(crate) json: bool,
    /// No progress on standard error.
    pub(crate) quiet: bool,
}

/// Exit code of a command that succeeded.
pub(crate) const OK: u8 = 0;
/// The task or a step failed.
pub(crate) const FAILED: u8 = 1;
/// The input is invalid.
pub(crate) const INVALID: u8 = 2;
/// There is no usable browser or model.
pub(crate) const NO_BROWSER: u8 = 3;

/// Exit code of the process; for a run, [`RunResult::exit_code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    pub(crate) const OK: Self = Self(OK);
    pub(crate) const FAILED: Self = Self(FAILED);
    pub(crate) const NO_BROWSER: Self = Self(NO_BROWSER);

    pub(crate) const fn of(result: RunResult) -> Self {
        Self(result.exit_code())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// Prints a document on standard output. A closed pipe is ignored.
pub(crate) fn print_json(document: &impl Serialize) {
    let mut stdout = std::io::stdout().lock();
    let Ok(text) = serde_json::to_string_pretty(document) else { return };
    if writeln!(stdout, "{}", json_plain(&text)).is_ok() {
        stdout.flush().ok();
    }
}

/// Prints text on standard output. A closed pipe is ignored.
pub(crate) fn print_text(text: &str) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(text.as_bytes()).is_ok() {
        stdout.flush().ok();
    }
}

/// Why a command cannot start.
pub(crate) struct Refusal {
    pub(crate) result: RunResult,
    pub(crate) error: RunError,
}

impl Refusal {
    /// The input is invalid.
    pub(crate) fn invalid(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { result: RunResult::Invalid, error: RunError::new(code, message) }
    }

    /// The browser or the machine is not usable.
    pub(crate) fn unusable(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { result: RunResult::Error, error: RunError::new(code, message) }
    }

    /// Nothing random can be had, such as the key of digests.
    pub(crate) fn no_randomness(error: std::io::Error) -> Self {
        Self::unusable(ErrorCode::NoRandomness, format!("the system has no random bytes: {error}"))
    }

    pub(crate) fn print(self, output: Output) -> Exit {
        let exit = Exit::of(self.result);
        progress::say(&format!("error: {}", self.error.message));
        progress::say_violations(&self.error.violations);
        if output.json {
            print_json(&RunReport::without_run(self.result, Some(self.error)));
        }
        exit
    }
}

/// Refuses an invalid plan with the code of its first violation.
impl From<Violations> for Refusal {
    fn from(violations: Violations) -> Self {
        let violations = violations.into_vec();
        let code = violations.first().map_or(ErrorCode::InvalidPlan, |violation| violation.code.into());
        let (message, violations) = listed(violations);
        Self { result: RunResult::Invalid, error: RunError { code, message, violations } }
    }
}
