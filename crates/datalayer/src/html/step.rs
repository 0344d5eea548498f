//! One attempt of one step.

use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::{EffectRecord, Judged};
use cuebook_grammar::record::{StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::cut;
use cuebook_grammar::verdict::Verdict;
use maud::{Markup, html};

use super::name_of;
use super::pictures::Pictures;
use super::shell::{counted, seconds};
use crate::in_words;
use crate::log::Run;

/// How much of what a step read is shown.
const DATA: usize = 20_000;
/// How many requests are listed.
const REQUESTS: usize = 50;
/// How much of a file beside the log is shown.
const FILE: usize = 20_000;

pub(super) fn step(at: usize, record: &StepRecord, run: &Run, pictures: &mut Pictures<'_>) -> Markup {
    let why = match record.origin {
        StepOrigin::Plan => "",
        StepOrigin::Repair => " (repair)",
        StepOrigin::Start => " (start)",
    };
    let timings = &record.execution.timings;
    let shown = pictures.all(record);
    let call = record.planning.and_then(|index| run.calls.iter().find(|call| call.planning_index == index));
    // Why it was inserted, or is tried again.
    let is_repair = record.origin == StepOrigin::Repair || record.attempt > 1;
    let before = run.steps.iter().enumerate().take(at).rev();
    let failed = before.filter_map(|(at, record)| Some((at, record.failure.as_ref()?))).next().filter(|_| is_repair);
    html! {
        details.step #{ "step-" (at) } open[record.result != StepResult::Ok] {
            summary {
                h3 { (at + 1) ". " (in_words::step(record)) (why) } " "
                span class={ "badge " (name_of(record.result)) } { (name_of(record.result)) } " "
                span.faint {
                    (seconds(record.execution.duration_ms))
                    @if record.attempt > 1 { ", attempt " (record.attempt) }
                    @if record.no_observed_effect { ", no effect seen" }
                }
            }
            div {
                @if let Some(failure) = &record.failure {
                    p.why { strong { (failure.cause.as_str()) } ": " (failure.message) }
                }
                dl.facts {
                    dt { "Page" } dd { (record.url) }
                    @if let Some(text) = &record.action.explanation { dt { "Explained as" } dd { (text.as_str()) } }
                    dt { "Time" } dd {
                        "resolve " (timings.resolve_ms) ", ready " (timings.actionable_ms) ", act " (timings.act_ms)
                        ", verify " (timings.post_ms) " ms"
                    }
                    @if let Some(call) = call {
                        dt { "Planned by" } dd {
                            a href={ "#call-" (call.planning_index) } { "call " (call.planning_index + 1) } ", "
                            (counted(call.call.input_tokens.saturating_add(call.call.output_tokens), "token"))
                            ", " (seconds(call.call.latency_ms))
                            @if let Some(confidence) = call.call.confidence { (format!(", confidence {confidence:.2}")) }
                        }
                        @if let Some(thought) = &call.call.reasoning { dt { "Thought" } dd { (cut(thought, 500)) } }
                    }
                    @if let Some((at, failure)) = failed {
                        dt { "Because of" } dd { a href={ "#step-" (at) } { "step " (at + 1) } ": " (failure.cause.as_str()) }
                    }
                }
                (table("Before", record, &record.pre_check, record.pre_facts.as_ref()))
                (table("After", record, &record.post_check, record.post_facts.as_ref()))
                @if let Some(effects) = &record.effects { (effect(effects)) }
                @if let Some(text) = pictures.text(record, "domDiff") {
                    h4 { "What changed around the target" }
                    pre tabindex="0" { @for line in cut(&text, FILE).lines() { (changed(line)) "\n" } }
                }
                @if let Some(text) = pictures.text(record, "axSubtree") {
                    details {
                        summary { "Around the target" }
                        div { pre tabindex="0" { (cut(&text, FILE)) } }
                    }
                }
                @if let Some(data) = &record.data {
                    h4 { "Read" }
                    pre tabindex="0" { (cut(&serde_json::to_string_pretty(data).unwrap_or_default(), DATA)) }
                }
                @if !shown.is_empty() {
                    div.pictures {
                        @for (title, picture) in &shown { figure { (picture) figcaption { (title) } } }
                    }
                }
                details {
                    summary { "The step as JSON" }
                    div { pre tabindex="0" { (serde_json::to_string_pretty(&record.action).unwrap_or_default()) } }
                }
            }
        }
    }
}

/// Conditions with their verdicts and what was seen.
fn table(title: &str, record: &StepRecord, judged: &[Judged], facts: Option<&Facts>) -> Markup {
    let name = |target: &TargetRef| in_words::target(record, target);
    let seen = |one: &Judged| facts.map(|facts| one.condition.seen_for(one.verdict, facts, &name)).unwrap_or_default();
    html! {
        @if !judged.is_empty() {
            h4 { (title) }
            div.table tabindex="0" role="group" aria-label={ (title) ": conditions" } {
                table {
                    thead { tr {
                        th scope="col" { "Expected" } th scope="col" { "Verdict" } th scope="col" { "Seen" }
                        th scope="col" { "ms" }
                    } }
                    tbody { @for one in judged { tr {
                        td.long {
                            (one.condition.in_words_naming(&name))
                            @if one.default { span.faint { " (by default)" } }
                            @if one.vacuous { span.faint { " (held before)" } }
                        }
                        td class=(verdict(one.verdict).1) { (verdict(one.verdict).0) }
                        td.long { (seen(one)) }
                        td { @if let Some(ms) = one.latency_ms { (ms) } }
                    } } }
                }
            }
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

const fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Holds => ("holds", "ok"),
        Verdict::Fails => ("fails", "failed"),
        Verdict::Unknown => ("unknown", "unknown"),
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
            h4 { "Effects" }
            ul { @for line in &lines { li { (line) } } }
        }
        @if !effects.console_errors.is_empty() {
            h4 { "Console" }
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
