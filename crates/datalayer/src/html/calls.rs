//! Calls of models on the page of a run: purpose, end, tokens and texts of each.

use super::words::{counted, seconds};
use cuebook_grammar::planning::{CallEnd, MessageRole};
use cuebook_grammar::record::PlanningRecord;
use maud::{Markup, html};

use super::timeline::purpose;

pub(super) fn call(at: usize, record: &PlanningRecord) -> Markup {
    let call = &record.call;
    let (class, sign, end) = match &call.end {
        CallEnd::Accepted => ("ok", "✓", "accepted".to_owned()),
        CallEnd::Invalid { violations } => {
            let said: Vec<String> = violations.iter().map(cuebook_grammar::plan::Violation::in_words).collect();
            ("failed", "✗", format!("no valid plan: {}", said.join("; ")))
        }
        CallEnd::Failed { code, message } => ("error", "✗", format!("{code}: {message}")),
    };
    html! {
        article.panel.call #{ "call-" (at) } aria-labelledby={ "call-" (at) "-title" } tabindex="-1" {
            h2 #{ "call-" (at) "-title" } { (purpose(call.purpose)) " by " (call.model.as_deref().unwrap_or(&call.engine)) }
            p.meta {
                (call.engine) ", " (counted(call.input_tokens, "token")) " read, " (counted(call.output_tokens, "token"))
                " written, " (seconds(call.latency_ms))
                @if call.attempts > 1 { ", " (counted(call.attempts, "request")) }
                @if let Some(confidence) = call.confidence { ", confidence " (format!("{confidence:.2}")) }
            }
            p class={ "verdict " (class) } { span aria-hidden="true" { (sign) " " } (end) }
            @if let Some(thought) = &call.reasoning { h3 { "Thought" } pre tabindex="0" { (thought) } }
            h3 { "Answer" }
            pre tabindex="0" { (call.output) }
            @for message in &call.input {
                details {
                    summary { (match message.role {
                        MessageRole::System => "Instructions",
                        MessageRole::User => "Request",
                        MessageRole::Assistant => "Earlier answer",
                        MessageRole::Tool => "Tool",
                    }) }
                    pre tabindex="0" { (message.text) }
                }
            }
        }
    }
}
