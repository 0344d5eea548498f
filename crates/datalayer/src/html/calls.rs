//! Calls of models on the page of a run: purpose, end, tokens and texts of each.

use cuebook_grammar::planning::{CallEnd, CallPurpose, MessageRole};
use cuebook_grammar::record::PlanningRecord;
use maud::{Markup, html};

use super::shell::seconds;

pub(super) fn call(record: &PlanningRecord) -> Markup {
    let call = &record.call;
    let (class, end) = match &call.end {
        CallEnd::Accepted => ("ok", "accepted".to_owned()),
        CallEnd::Invalid { violations } => {
            let said: Vec<String> = violations.iter().map(cuebook_grammar::plan::Violation::in_words).collect();
            ("failed", format!("no valid plan: {}", said.join("; ")))
        }
        CallEnd::Failed { code, message } => ("error", format!("{code}: {message}")),
    };
    let purpose = match call.purpose {
        CallPurpose::Plan => "a plan",
        CallPurpose::Repair => "a plan after a failed step",
        CallPurpose::Reformulate => "a corrected output",
        _ => "something else",
    };
    html! {
        details #{ "call-" (record.planning_index) } {
            summary {
                h3 { "Call " (record.planning_index + 1) " for " (purpose) } " "
                span.faint {
                    (call.engine) @if let Some(model) = &call.model { " " (model) }
                    ", " (call.input_tokens) " + " (call.output_tokens) " tokens, " (seconds(call.latency_ms))
                } " "
                span class=(class) { (end) }
            }
            div {
                @if let Some(confidence) = call.confidence { p { "Confidence " (format!("{confidence:.2}")) } }
                @if let Some(thought) = &call.reasoning { h4 { "Thought" } pre tabindex="0" { (thought) } }
                @for message in &call.input {
                    h4 { (match message.role {
                        MessageRole::System => "Instructions",
                        MessageRole::User => "Request",
                        MessageRole::Assistant => "Earlier answer",
                        MessageRole::Tool => "Tool",
                    }) }
                    pre tabindex="0" { (message.text) }
                }
                h4 { "Answer" }
                pre tabindex="0" { (call.output) }
            }
        }
    }
}
