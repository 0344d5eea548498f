//! One attempt of one step.

use cuebook_grammar::facts::Facts;
use cuebook_grammar::outcome::{EffectRecord, Judged};
use cuebook_grammar::record::{StepOrigin, StepRecord};
use cuebook_grammar::render::cut;
use cuebook_grammar::verdict::Verdict;
use maud::{Markup, html};

use super::conditions::{expected, seen};
use super::stage::{Stage, Stages};
use super::timeline::{notable, repair, title};
use super::words::{counted, mark, seconds};
use crate::log::Run;

/// How much of what a step read is shown.
const DATA: usize = 20_000;
/// How many requests are listed.
const REQUESTS: usize = 50;
/// How much of a file beside the log is shown.
const FILE: usize = 20_000;

pub(super) fn step(at: usize, record: &StepRecord, run: &Run, stage: &Stage, stages: &mut Stages<'_>) -> Markup {
    let timings = &record.execution.timings;
    let call = record.planning.and_then(|index| run.calls.get(usize::try_from(index).ok()?));
    // Why it was inserted, or is tried again.
    let is_repair = record.origin == StepOrigin::Repair || record.attempt > 1;
    let before = run.steps.iter().enumerate().take(at).rev();
    let failed = before.filter_map(|(at, record)| Some((at, record.failure.as_ref()?))).next().filter(|_| is_repair);
    let (sign, word) = mark(record);
    let left_out = stages.left_out(record);
    html! {
        article.panel.step #{ "step-" (at) } aria-labelledby={ "step-" (at) "-title" } tabindex="-1" {
            h2 #{ "step-" (at) "-title" } {
                span class={ "badge " (word) } { span aria-hidden="true" { (sign) " " } (word) } " "
                (at + 1) ". " (title(record))
            }
            p.meta {
                (seconds(record.execution.duration_ms)) " on " span.address { (record.url) }
                @if record.origin == StepOrigin::Start { ", to start with" }
                @if record.origin == StepOrigin::Person { ", by a person; nothing here carried it out or judged it" }
                @if is_repair { ", " (repair(record)) }
                @if let Some((at, failure)) = failed {
                    " because of " a href={ "#step-" (at) } { "step " (at + 1) } ": " (failure.cause.as_str())
                }
                @if record.no_observed_effect { ", no effect seen" }
            }
            @if let Some(failure) = &record.failure {
                p.why { strong { (failure.cause.as_str()) } ": " (failure.message) }
            }
            (stage.figure(at))
            @if stage.is_empty() { p.faint { "No picture of this step: " code { "--record" } " takes them." } }
            @if !left_out.is_empty() { p.faint { "Not in this page: " (left_out.join(", ")) } }
            (checks("Expected before", record, &record.pre_check, record.pre_facts.as_ref()))
            (checks("Expected after", record, &record.post_check, record.post_facts.as_ref()))
            @if let Some(effects) = &record.effects { (effect(effects)) }
            @if let Some(text) = stages.text(record, "domDiff") {
                h3 { "What changed around the target" }
                pre tabindex="0" { @for line in cut(&text, FILE).lines() { (changed(line)) "\n" } }
            }
            @if let Some(data) = &record.data {
                h3 { "Read" }
                pre tabindex="0" { (cut(&serde_json::to_string_pretty(data).unwrap_or_default(), DATA)) }
            }
            h3 { "The step" }
            dl.facts {
                @if let Some(text) = &record.action.explanation { dt { "Explained as" } dd { (text.as_str()) } }
                @if let Some(call) = call {
                    dt { "Planned by" } dd {
                        a href={ "#call-" (call.planning_index) } { "call " (call.planning_index + 1) } ", "
                        (counted(call.call.input_tokens.saturating_add(call.call.output_tokens), "token"))
                        ", " (seconds(call.call.latency_ms))
                        @if let Some(confidence) = call.call.confidence { (format!(", confidence {confidence:.2}")) }
                    }
                    @if let Some(thought) = &call.call.reasoning { dt { "Thought" } dd { (cut(thought, 500)) } }
                }
                dt { "Time" } dd {
                    "resolve " (timings.resolve_ms) ", ready " (timings.actionable_ms) ", act " (timings.act_ms)
                    ", verify " (timings.post_ms) " ms"
                }
            }
            @if let Some(text) = stages.text(record, "axSubtree") {
                details {
                    summary { "Around the target" }
                    pre tabindex="0" { (cut(&text, FILE)) }
                }
            }
            details {
                summary { "The step as JSON" }
                pre tabindex="0" { (serde_json::to_string_pretty(&record.action).unwrap_or_default()) }
            }
        }
    }
}

/// Conditions with their verdicts and what was seen.
fn checks(title: &str, record: &StepRecord, judged: &[Judged], facts: Option<&Facts>) -> Markup {
    html! {
        @if !judged.is_empty() {
            h3 { (title) }
            ul.checks { @for one in judged {
                @let (sign, word, class) = verdict(one.verdict);
                li {
                    span class=(class) { span aria-hidden="true" { (sign) " " } (word) }
                    span {
                        (expected(one, record))
                        @if one.default { span.faint { " (by default)" } }
                        @if one.vacuous { span.faint { " (held before)" } }
                    }
                    @if let Some(ms) = one.latency_ms { span.took { (seconds(ms.into())) } }
                    @if let Some(seen) = seen(one, record, facts) { span.note { "seen: " (seen) } }
                }
            } }
        }
    }
}

/// A line of a unified diff.
fn changed(line: &str) -> Markup {
    let class = match line.chars().next() {
        Some('+') => "ok",
        Some('-') => "failed",
        Some('@') => "faint",
        _ => return html! { (line) },
    };
    html! { span class=(class) { (line) } }
}

const fn verdict(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Holds => ("✓", "holds", "ok"),
        Verdict::Fails => ("✗", "fails", "failed"),
        Verdict::Unknown => ("!", "unknown", "unknown"),
    }
}

fn effect(effects: &EffectRecord) -> Markup {
    let mutations = &effects.mutations;
    let changes = [
        ("element", mutations.added, "added"),
        ("element", mutations.removed, "removed"),
        ("attribute", mutations.attributes, "changed"),
        ("text", mutations.texts, "changed"),
    ];
    let changes = changes.iter().filter(|(_, count, _)| *count > 0);
    let changes: Vec<String> = changes.map(|(what, count, how)| format!("{} {how}", counted(*count, what))).collect();
    let mut lines = Vec::new();
    if let Some(url) = &effects.url_after {
        lines.push(format!("{} {url}", if effects.new_document { "loaded" } else { "went to" }));
    }
    lines.extend((!changes.is_empty()).then(|| changes.join(", ")));
    lines.extend(mutations.notable.iter().map(|change| notable(change)));
    lines.extend(effects.states.iter().cloned());
    lines.extend(effects.dialogs.iter().map(|dialog| format!("dialog: {}", dialog.message)));
    lines.extend(effects.downloads.iter().map(|download| format!("download: {}", download.filename)));
    lines.extend(effects.new_tabs.iter().map(|url| format!("new tab: {url}")));
    lines.extend(effects.closed_tabs.iter().map(|url| format!("closed tab: {url}")));
    lines.extend(effects.denied.iter().map(cuebook_grammar::outcome::DeniedRequest::in_words));
    lines.extend(effects.problems_in_words());
    lines.extend(effects.late.in_words().map(|line| format!("of an earlier step: {line}")));
    html! {
        @if !lines.is_empty() {
            h3 { "Effects" }
            ul { @for line in &lines { li { (line) } } }
        }
        @if !effects.console_errors.is_empty() {
            h3 { "Console" }
            ul { @for said in &effects.console_errors { li.failed { (said) } } }
        }
        @if !effects.requests.is_empty() {
            details {
                summary { (counted(effects.requests.len(), "request")) }
                div.table tabindex="0" role="group" aria-label="Requests" { table {
                    thead { tr {
                        th scope="col" { "Method" } th scope="col" { "URL" } th scope="col" { "Result" }
                        th scope="col" { "ms" }
                    } }
                    tbody { @for request in effects.requests.iter().take(REQUESTS) { tr {
                        td { (request.method) } td.long { (request.url) }
                        td.long {
                            @if let Some(status) = request.status { (status) }
                            @if let Some(failure) = &request.failure { " " (failure) }
                        }
                        td { @if let Some(ms) = request.duration_ms { (ms) } }
                    } } }
                } }
            }
        }
    }
}
