//! A run as one page of HTML that needs nothing else: the verdict first, then pictures, steps and calls of models.
//!
//! Invariants:
//! - What pages, models and plans said is text: every value is escaped, and the page's policy lets nothing but our own
//!   script run, and nothing be requested.
//! - Pictures are within the page, up to a bound; what is left out is named.

mod calls;
mod pictures;
mod step;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_grammar::record::{RunResult, StepRecord, StepResult};
use cuebook_grammar::report::RunReport;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use crate::artifact::ArtifactStore;
use crate::in_words;
use crate::log::Run;
use pictures::Pictures;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page of a run. `report` adds what a log does not hold: the answer, and why the run ended. Linear in the log and the
/// pictures.
#[must_use]
pub fn page(run: &Run, report: Option<&RunReport>, artifacts: &ArtifactStore) -> String {
    let mut pictures = Pictures::of(run, artifacts);
    let title = format!("{}: {}", result_of(run), run.header.as_ref().map_or("a run", |header| header.run_id.as_str()));
    let shown: Vec<(usize, &StepRecord)> = run.steps.iter().enumerate().collect();
    let strip: Vec<(usize, &StepRecord, Markup)> =
        shown.iter().filter_map(|(at, record)| Some((*at, *record, pictures.small(record)?))).collect();
    let steps: Vec<Markup> = shown.iter().map(|(at, record)| step::step(*at, record, &mut pictures)).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (head(run, report)) }
                main {
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
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Our script and style by their digests, pictures within the page, and nothing else.
fn policy() -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action \
         'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

fn head(run: &Run, report: Option<&RunReport>) -> Markup {
    let result = result_of(run);
    let header = run.header.as_ref();
    let took = header.zip(run.end.as_ref()).map(|(header, end)| end.ts_ms.saturating_sub(header.ts_ms));
    let failed = run.steps.iter().enumerate().rev().find(|(_, record)| record.result != StepResult::Ok);
    let tokens = run.calls.iter().map(|call| call.call.input_tokens.saturating_add(call.call.output_tokens));
    let error = report.and_then(|report| report.error.as_ref());
    html! {
        h1 { span class={ "badge " (result) } { (result) } " " (header.and_then(|header| header.task.as_deref()).unwrap_or("A plan")) }
        @if let Some(error) = error {
            p.why { strong { (error.code) } ": " (error.message) }
        } @else if result == "cutOff" {
            p.why { "The log ends before the run did: the process was killed, or is still running." }
        }
        @if let Some((at, record)) = failed.filter(|_| result != "ok") {
            p { a href={ "#step-" (at) } { "The last step that failed" } ": " (in_words::step(record)) }
        }
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
            @if !run.calls.is_empty() {
                dt { "Models" } dd { (run.calls.len()) " calls, " (tokens.sum::<u64>()) " tokens" }
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

/// `850 ms`, `2.4 s`.
fn seconds(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1_000, ms % 1_000 / 100) }
}
