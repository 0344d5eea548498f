//! Results in words and signs. A word stands wherever a colour does.

use cuebook_grammar::record::{RunResult, StepRecord, StepResult};

use crate::log::Run;

/// How a run ended, as a class of the style.
pub(super) fn result_of(run: &Run, is_running: bool) -> &'static str {
    match run.end.as_ref().map(|end| end.result) {
        Some(RunResult::Ok) => "ok",
        Some(RunResult::Failed) => "failed",
        Some(RunResult::Blocked) => "blocked",
        Some(RunResult::Invalid) => "invalid",
        Some(RunResult::Error) => "error",
        Some(RunResult::Unproven) => "unproven",
        Some(RunResult::Interrupted) => "interrupted",
        None if is_running => "running",
        None => "cutOff",
    }
}

/// A class of a result, for people.
pub(super) fn said(result: &'static str) -> &'static str {
    if result == "cutOff" { "cut off" } else { result }
}

/// The sign of a result.
pub(super) fn sign(result: &str) -> &'static str {
    match result {
        "ok" => "✓",
        "running" => "●",
        "blocked" | "unproven" | "skipped" | "interrupted" | "cutOff" => "!",
        _ => "✗",
    }
}

/// Sign and word of what came of a step.
pub(super) fn mark(record: &StepRecord) -> (&'static str, &'static str) {
    let name = name_of(record.result);
    (sign(name), name)
}

/// The URL of the page after a step.
pub(super) fn left_at(record: &StepRecord) -> &str {
    let after = record.effects.as_ref().and_then(|effects| effects.url_after.as_deref());
    after.unwrap_or(&record.url)
}

pub(super) const fn name_of(result: StepResult) -> &'static str {
    match result {
        StepResult::Ok => "ok",
        StepResult::Failed => "failed",
        StepResult::Blocked => "blocked",
        StepResult::Skipped => "skipped",
    }
}

/// `850 ms`, `2.4 s`.
pub(super) fn seconds(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1_000, ms % 1_000 / 100) }
}

/// `1 step`, `2 steps`.
pub(super) fn counted(count: impl TryInto<u64>, thing: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
