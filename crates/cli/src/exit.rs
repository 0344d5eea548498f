//! How a command ends: one document or some lines, and an exit code.

use std::io::Write as _;
use std::process::ExitCode;

use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use serde::Serialize;

use crate::progress;
use crate::text::json_plain;

/// How a command speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// One JSON document on standard output.
    pub(crate) json: bool,
    /// No progress on standard error.
    pub(crate) quiet: bool,
}

/// Done.
pub(crate) const OK: u8 = 0;
/// The task or a step failed.
pub(crate) const FAILED: u8 = 1;
/// The input was no good.
pub(crate) const INVALID: u8 = 2;
/// No usable browser or model.
pub(crate) const NO_BROWSER: u8 = 3;

/// An exit code that the shell sees.
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

/// Prints a document on standard output. A reader that has gone away is no error of ours.
pub(crate) fn print_json(document: &impl Serialize) {
    let mut stdout = std::io::stdout().lock();
    let Ok(text) = serde_json::to_string_pretty(document) else { return };
    if writeln!(stdout, "{}", json_plain(&text)).is_ok() {
        stdout.flush().ok();
    }
}

/// Prints text on standard output.
pub(crate) fn print_text(text: &str) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(text.as_bytes()).is_ok() {
        stdout.flush().ok();
    }
}

/// Why a command cannot even begin: told as the output wants it.
pub(crate) struct Refusal {
    pub(crate) result: RunResult,
    pub(crate) error: RunError,
}

impl Refusal {
    /// The input is no good.
    pub(crate) fn invalid(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { result: RunResult::Invalid, error: RunError::new(code, message) }
    }

    /// There is no usable browser, or the machine does not let us work.
    pub(crate) fn unusable(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { result: RunResult::Error, error: RunError::new(code, message) }
    }

    /// Tells it.
    pub(crate) fn tell(self, output: Output) -> Exit {
        let exit = Exit::of(self.result);
        progress::say(&format!("error: {}", self.error.message));
        for violation in &self.error.violations {
            progress::say(&format!("  {}", violation.in_words()));
        }
        if output.json {
            print_json(&RunReport::without_run(self.result, Some(self.error)));
        }
        exit
    }
}
