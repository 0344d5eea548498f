//! Training data: chats in which a model answers with a plan, in the brief form that `--prompt compact` asks in.
//!
//! Invariants:
//! - A request is written by [`brief::request`](cuebook_decoding::brief::request), as the planner does, from what the log
//!   keeps. Where the planner was told more than that (an answer of the user, why an end was not accepted), there is no
//!   example.
//! - An example is a page, a task and what worked on that page, in a run that ended well; or how its planner gave up.
//! - An answer is a plan, and reads back as that plan. A plan with a step whose text was redacted in the log is in no
//!   example, nor are its other steps: they would teach to leave that one out.
//! - What the controller notes of its repairs is none of it.
//! - All runs of one task on one site are in one split.

mod classes;
mod dataset;
mod lessons;
mod preferences;
mod story;

use cuebook_decoding::brief;
use cuebook_decoding::read::{Form, read_as};
use cuebook_grammar::action::Owner;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::secret::MASK;
use cuebook_grammar::step::Step;
use serde::Serialize;
use serde_json::Value;

pub use classes::missing;
pub(crate) use dataset::{Dataset, Examples};
pub(crate) use preferences::Preferences;

/// A message of a chat, as trainers read it.
#[derive(Clone, PartialEq, Serialize)]
struct Message {
    role: &'static str,
    /// A text; a list of parts in chats with pictures.
    content: Value,
}

/// The messages before an answer.
fn asked(request: String) -> [Message; 2] {
    [Message { role: "system", content: brief::SYSTEM.into() }, Message { role: "user", content: request.into() }]
}

fn answered(answer: String) -> Message {
    Message { role: "assistant", content: answer.into() }
}

/// The answer that is a plan. `None` if the lines do not say all of it, or a part of it was redacted.
fn answer(draft: &PlanDraft) -> Option<String> {
    let text = brief::answer(draft);
    let read = read_as(Form::Lines, &text, Author::Model).ok()?;
    let is_whole = brief::answer(&read) == text && read.steps.len() == draft.steps.len();
    // With candidates of the page, and nothing outside of it.
    let is_of_the_page = draft.steps.iter().all(|step| {
        let kind = step.action.kind();
        kind.meta().owner != Owner::Handler && !kind.is_raw() && !kind.is_beyond_page()
    });
    let is_redacted = text.contains(MASK) || draft.steps.iter().any(is_redacted);
    (is_whole && is_of_the_page && !is_redacted && !draft.steps.is_empty()).then_some(text)
}

/// Returns `true` for a step with a text that the log replaced by its digest.
fn is_redacted(step: &Step) -> bool {
    fn holds(value: &Value) -> bool {
        match value {
            Value::Object(members) => members.contains_key("redacted") || members.values().any(holds),
            Value::Array(items) => items.iter().any(holds),
            _ => false,
        }
    }
    serde_json::to_value(step).is_ok_and(|value| holds(&value))
}
