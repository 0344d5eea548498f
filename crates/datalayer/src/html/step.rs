//! One attempt of one step.

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::outcome::{EffectRecord, Judged};
use cuebook_grammar::record::{StepOrigin, StepRecord, StepResult};
use cuebook_grammar::render::cut;
use cuebook_grammar::verdict::Verdict;
use maud::{Markup, html};

use super::pictures::Pictures;
use super::{name_of, seconds};
use crate::in_words;

/// How much of what a step read is shown.
const DATA: usize = 20_000;
/// How many requests are listed.
const REQUESTS: usize = 50;

pub(super) fn step(at: usize, record: &StepRecord, pictures: &mut Pictures<'_>) -> Markup {
    let why = match record.origin {
        StepOrigin::Plan => "",
        StepOrigin::Repair => " (repair)",
        StepOrigin::Start => " (start)",
    };
    let timings = &record.execution.timings;
    let shown = pictures.all(record);
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
                    @if let Some(call) = record.planning {
                        dt { "Planned by" } dd { a href={ "#call-" (call) } { "call " (call + 1) } }
                    }
                }
                (table("Before", record, &record.pre_check, record.pre_facts.as_ref()))
                (table("After", record, &record.post_check, record.post_facts.as_ref()))
                @if let Some(effects) = &record.effects { (effect(effects)) }
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
    let seen = |condition: &Condition| facts.map(|facts| condition.seen_naming(facts, &name)).unwrap_or_default();
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
                        td {
                            (one.condition.in_words_naming(&name))
                            @if one.default { span.faint { " (by default)" } }
                            @if one.vacuous { span.faint { " (held before)" } }
                        }
                        td class=(verdict(one.verdict).1) { (verdict(one.verdict).0) }
                        td { (seen(&one.condition)) }
                        td { @if let Some(ms) = one.latency_ms { (ms) } }
                    } } }
                }
            }
        }
    }
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
        ("elements added", mutations.added),
        ("removed", mutations.removed),
        ("attributes changed", mutations.attributes),
        ("texts changed", mutations.texts),
    ];
    let changes: Vec<String> =
        changes.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}")).collect();
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
    lines.extend(effects.console_errors.iter().map(|said| format!("console: {said}")));
    html! {
        @if !lines.is_empty() {
            h4 { "Effects" }
            ul { @for line in &lines { li { (line) } } }
        }
        @if !effects.requests.is_empty() {
            details {
                summary { (effects.requests.len()) " requests" }
                div.table tabindex="0" role="group" aria-label="Requests" { table {
                    thead { tr { th scope="col" { "Method" } th scope="col" { "URL" } th scope="col" { "Result" } } }
                    tbody { @for request in effects.requests.iter().take(REQUESTS) { tr {
                        td { (request.method) } td { (request.url) }
                        td {
                            @if let Some(status) = request.status { (status) }
                            @if let Some(failure) = &request.failure { " " (failure) }
                        }
                    } } }
                } }
            }
        }
    }
}
