//! Runs as pages of HTML that need nothing else. Of one run: the verdict first, then pictures, steps and calls of models. Of
//! many: what fails, what is flaky, what is slow.
//!
//! Invariants:
//! - What pages, models and plans said is text: every value is escaped, and the page's policy lets nothing but our own
//!   script run, and nothing be requested.
//! - Pictures are within the page, up to a bound; what is left out is named.

mod calls;
mod overview;
mod pictures;
mod shell;
mod step;

use cuebook_grammar::outcome::{DeniedRequest, EffectRecord};
use cuebook_grammar::record::{RunResult, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::report::RunReport;
use maud::{Markup, html};

use crate::artifact::ArtifactStore;
use crate::in_words;
use crate::log::Run;
use crate::replay::{Comparison, Divergence};
pub use overview::overview;
use pictures::Pictures;
use shell::{counted, document, seconds};

/// How many lines of the network and the console are listed for a run, and how many differences of a replay.
const LISTED: usize = 200;

/// Documents of a run that lie beside its log and are not in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// The answer, and why the run ended.
    pub report: Option<&'a RunReport>,
    /// How the run differs from the one that it replays.
    pub comparison: Option<&'a Comparison>,
}

/// The page of a run. Linear in the log and the pictures.
#[must_use]
pub fn page(run: &Run, beside: Beside<'_>, artifacts: &ArtifactStore) -> String {
    let mut pictures = Pictures::of(run, artifacts);
    let title = format!("{}: {}", result_of(run), run.header.as_ref().map_or("a run", |header| header.run_id.as_str()));
    let shown: Vec<(usize, &StepRecord)> = run.steps.iter().enumerate().collect();
    let strip: Vec<(usize, &StepRecord, Markup)> =
        shown.iter().filter_map(|(at, record)| Some((*at, *record, pictures.small(record)?))).collect();
    let steps: Vec<Markup> = shown.iter().map(|(at, record)| step::step(*at, record, run, &mut pictures)).collect();
    let main = html! {
        @if !strip.is_empty() {
            h2 #film { "Pictures" }
            ol.strip aria-labelledby="film" tabindex="0" {
                @for (at, record, picture) in &strip {
                    li { a href={ "#step-" (at) } {
                        (picture)
                        (at + 1) " " span class=(name_of(record.result)) { (name_of(record.result)) }
                    } }
                }
            }
        }
        (troubles(run))
        h2 { "Steps" }
        div.tools role="search" {
            label for="search" { "Search steps" }
            input #search type="search" autocomplete="off";
            output for="search" {}
            span.keys.faint {
                kbd { "j" } " next " kbd { "k" } " previous " kbd { "e" } " open all " kbd { "/" } " search"
            }
        }
        @for step in steps { (step) }
        @for intent in &run.open {
            p.why { "Step " (intent.step_index + 1) " (" (intent.action.action.kind().meta().name) ") was begun and not \
                     finished: whether it sent input is unknown." }
        }
        @if !run.calls.is_empty() {
            h2 { "Calls of models" }
            @for call in &run.calls { (calls::call(call)) }
        }
    };
    document(&title, &head(run, beside), &main)
}

fn head(run: &Run, Beside { report, comparison }: Beside<'_>) -> Markup {
    let result = result_of(run);
    let header = run.header.as_ref();
    let took = header.zip(run.end.as_ref()).map(|(header, end)| end.ts_ms.saturating_sub(header.ts_ms));
    let failed = run.steps.iter().enumerate().rev().find(|(_, record)| record.result != StepResult::Ok);
    let tokens = run.calls.iter().map(|call| call.call.input_tokens.saturating_add(call.call.output_tokens));
    let error = report.and_then(|report| report.error.as_ref());
    html! {
        h1 { span class={ "badge " (result) } { (result) } " " (header.map_or_else(|| "A run".to_owned(), in_words::run)) }
        @if let Some(error) = error {
            p.why { strong { (error.code) } ": " (error.message) }
        } @else if result == "cutOff" {
            p.why { "The log ends before the run did: the process was killed, or is still running." }
        }
        @if let Some((at, record)) = failed.filter(|_| result != "ok") {
            p { a href={ "#step-" (at) } { "The last step that failed" } ": " (in_words::step(record)) }
        }
        @if let Some(comparison) = comparison { (replayed(run, comparison)) }
        @if let Some(answer) = report.and_then(|report| report.answer.as_deref()) {
            h2 { "Answer" }
            pre tabindex="0" { (answer) }
        }
        dl.facts {
            @if let Some(header) = header {
                dt { "Run" } dd { (header.run_id.as_str()) }
                @if let Some(url) = &header.url { dt { "Start" } dd { (url) } }
                @if let Some(browser) = &header.browser {
                    dt { "Browser" } dd { (browser) @if let Some(path) = &header.browser_path { " (" (path) ")" } }
                }
                dt { "Command" } dd { "cuebook " (header.command) ", version " (header.cuebook) }
            }
            @if let Some(took) = took { dt { "Duration" } dd { (seconds(took)) } }
            dt { "Steps" } dd { (run.steps.len()) }
            @if let Some(repairs) = repairs(run) { dt { "Repairs" } dd { (repairs) } }
            @if !run.calls.is_empty() {
                dt { "Models" } dd {
                    (counted(run.calls.len(), "call")) ", " (counted(tokens.sum::<u64>(), "token"))
                }
            }
            @for line in report.iter().flat_map(|report| report.late.in_words()) {
                dt { "After the last step" } dd { (line) }
            }
            @if let Some(report) = report {
                dt { "Origins enforced on" } dd {
                    (report.enforcement)
                    @if let Some(note) = &report.enforcement_note { " (" (note) ")" }
                }
            }
        }
    }
}

/// Returns the number of repairs in words and the time that they took; `None` without repairs.
fn repairs(run: &Run) -> Option<String> {
    let inserted = run.steps.iter().filter(|record| record.origin == StepOrigin::Repair);
    let again = run.steps.iter().filter(|record| record.origin != StepOrigin::Repair && record.attempt > 1);
    let took: u64 = inserted.clone().chain(again.clone()).map(|record| record.execution.duration_ms).sum();
    let parts = [counted(inserted.count(), "inserted step"), counted(again.count(), "further attempt")];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.starts_with("0 ")).collect();
    (!parts.is_empty()).then(|| format!("{}, {}", parts.join(", "), seconds(took)))
}

/// The first difference to the run that was replayed, and the others.
fn replayed(run: &Run, comparison: &Comparison) -> Markup {
    let recorded = comparison.recorded.as_ref().map_or("a recording", |run| run.as_str());
    let place = |divergence: &Divergence| {
        let index = divergence.step.checked_sub(1);
        let of = |record: &StepRecord| match index {
            None => record.origin == StepOrigin::Start,
            Some(index) => record.plan_index == Some(index),
        };
        run.steps.iter().position(of)
    };
    let line = |divergence: &Divergence| {
        html! {
            @match place(divergence) {
                Some(at) => a href={ "#step-" (at) } { (divergence.action) },
                None => (divergence.action),
            }
            ": " (divergence.kind.as_str())
            @if !divergence.recorded.is_empty() { " was " (divergence.recorded.join(", ")) }
            @if !divergence.replayed.is_empty() { " is " (divergence.replayed.join(", ")) }
        }
    };
    html! {
        @if let Some((first, rest)) = comparison.divergences.split_first() {
            p.why { strong { "First divergence" } " from " (recorded) ": " (line(first)) }
            @if !rest.is_empty() {
                details {
                    summary { (counted(rest.len(), "more difference")) }
                    div { ul { @for one in rest.iter().take(LISTED) { li { (line(one)) } } } }
                }
            }
        } @else {
            p.good { "A replay of " (recorded) ", without a difference." }
        }
    }
}

/// Requests that failed and errors of the console, over all steps.
fn troubles(run: &Run) -> Markup {
    let all = run.steps.iter().enumerate();
    let mut lines = all.flat_map(|(at, record)| record.effects.iter().flat_map(trouble).map(move |line| (at, line)));
    let shown: Vec<(usize, (&str, String))> = lines.by_ref().take(LISTED).collect();
    let more = lines.count();
    html! {
        @if !shown.is_empty() {
            h2 { "Network and console" }
            div.table tabindex="0" role="group" aria-label="Requests that failed and errors of the console" { table {
                thead { tr { th scope="col" { "Step" } th scope="col" { "Where" } th scope="col" { "What" } } }
                tbody { @for (at, (place, text)) in &shown { tr {
                    td { a href={ "#step-" (at) } { (at + 1) } } td { (place) } td.long { (text) }
                } } }
            } }
            @if more > 0 { p.faint { (more) " more in the steps." } }
        }
    }
}

/// Returns the problems on the wire and in the console during one step, each with its source.
fn trouble(effects: &EffectRecord) -> impl Iterator<Item = (&'static str, String)> {
    let requests = effects.requests.iter().filter(|request| request.is_problem());
    let requests = requests.map(|request| ("network", request.in_words()));
    let denied = effects.denied.iter().map(|denied| ("network", DeniedRequest::in_words(denied)));
    requests.chain(denied).chain(effects.console_errors.iter().map(|said| ("console", said.clone())))
}

/// How the run ended, as a class of the style.
fn result_of(run: &Run) -> &'static str {
    match run.end.as_ref().map(|end| end.result) {
        Some(RunResult::Ok) => "ok",
        Some(RunResult::Failed) => "failed",
        Some(RunResult::Blocked) => "blocked",
        Some(RunResult::Invalid) => "invalid",
        Some(RunResult::Error) => "error",
        Some(RunResult::Interrupted) => "interrupted",
        None => "cutOff",
    }
}

const fn name_of(result: StepResult) -> &'static str {
    match result {
        StepResult::Ok => "ok",
        StepResult::Failed => "failed",
        StepResult::Blocked => "blocked",
        StepResult::Skipped => "skipped",
    }
}
