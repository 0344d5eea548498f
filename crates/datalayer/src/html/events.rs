//! Events between the steps of a run: a person who had the browser, and changes of what pages see.

use cuebook_grammar::record::{EventRecord, LoggedEvent};
use maud::{Markup, html};
use serde_json::Value;

use super::words::{counted, seconds};

/// The event in a few words.
pub(super) fn title(event: &LoggedEvent) -> String {
    match event {
        LoggedEvent::HandedBack { duration_ms, steps, .. } => {
            format!("A person had the browser for {}: {}", seconds(*duration_ms), counted(*steps, "step"))
        }
        LoggedEvent::ContextChanged { change } => format!("Changed from outside: {}", name(change)),
        LoggedEvent::ReadAsMarkdown { step_index } => {
            format!("Step {} was read as Markdown: its schema asks for nothing", u64::from(*step_index) + 1)
        }
        LoggedEvent::DraftTaken { taken, others } => {
            format!("Draft {} of {} was taken", u64::from(*taken) + 1, others.len() + 1)
        }
        _ => "Event".to_owned(),
    }
}

/// The name of a change: it is text, or the one member of an object.
fn name(change: &Value) -> &str {
    let of_object = || change.as_object()?.keys().next().map(String::as_str);
    change.as_str().or_else(of_object).unwrap_or("the surroundings of the pages")
}

pub(super) fn panel(at: usize, record: &EventRecord) -> Markup {
    html! {
        article.panel.call #{ "event-" (at) } aria-labelledby={ "event-" (at) "-title" } tabindex="-1" {
            h2 #{ "event-" (at) "-title" } { (title(&record.event)) }
            @match &record.event {
                LoggedEvent::HandedBack { notes, .. } => {
                    p { "The steps before this entry that are marked “person” are theirs. Nothing checked or judged them." }
                    @if !notes.is_empty() { h3 { "Not among the steps" } ul { @for note in notes { li { (note) } } } }
                }
                LoggedEvent::DraftTaken { others, .. } => {
                    h3 { "Why not the others" } ul { @for why in others { li { (why) } } }
                }
                LoggedEvent::ContextChanged { change } => {
                    p { "No step did this, and a replay does not repeat it." }
                    pre tabindex="0" { (serde_json::to_string_pretty(change).unwrap_or_default()) }
                }
                _ => {}
            }
        }
    }
}
