//! Readers of every form that a model writes a plan in. All return a [`PlanDraft`].
//!
//! Each reader is lenient in form and strict in content, and every error names a path, what was expected and
//! what was seen. Nothing here is trusted: a draft is checked afterwards, even if its decoding was constrained.

mod json;
mod line;
mod planner_output;
mod thought_action;
mod tool_call;

pub(crate) use json::camel;

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, ViolationCode, Violations};

/// The forms that are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A plan as JSON, with or without a `last` step, alone or within prose.
    Plan,
    /// Calls of tools, as OpenAI, Anthropic or Ollama write them.
    ToolCalls,
    /// Steps of `{"tool", "args"}`.
    PlannerOutput,
    /// `<Thought>…</Thought><Action>click(223)</Action>`.
    ThoughtAction,
    /// A verb and its arguments a line.
    Lines,
}

/// Reads text of any form; which one is seen from the text.
///
/// # Errors
/// [`Violation`]s of the form that the text looks most like.
pub fn read(text: &str, author: Author) -> Result<PlanDraft, Violations> {
    read_as(form_of(text), text, author)
}

/// Reads text of a known form.
///
/// # Errors
/// Every [`Violation`] of form, with its path.
pub fn read_as(form: Form, text: &str, author: Author) -> Result<PlanDraft, Violations> {
    match form {
        Form::Plan => json::read(text, author),
        Form::ToolCalls => tool_call::read(&json::value(text)?, author),
        Form::PlannerOutput => planner_output::read(json::value(text)?, author),
        Form::ThoughtAction => thought_action::read(text, author),
        Form::Lines => line::read(text, author),
    }
}

/// Which form a text looks most like.
#[must_use]
pub fn form_of(text: &str) -> Form {
    if text.contains("<Action>") || text.contains("<Thought>") {
        return Form::ThoughtAction;
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let verb = first.and_then(|line| line.split_once('(')).map(|(verb, _)| verb.trim());
    if verb.is_some_and(|verb| ActionKind::ALL.iter().any(|kind| kind.meta().name == verb)) {
        return Form::Lines;
    }
    let Ok(value) = json::value(text) else {
        let looks_like_json = text.trim_start().starts_with(['{', '[']) || text.contains("```json");
        return if looks_like_json { Form::Plan } else { Form::Lines };
    };
    if tool_call::is_one(&value) {
        return Form::ToolCalls;
    }
    let steps = value.get("steps").and_then(serde_json::Value::as_array);
    if steps.is_some_and(|steps| steps.iter().any(|step| step.get("tool").is_some())) {
        return Form::PlannerOutput;
    }
    Form::Plan
}

fn malformed(path: impl Into<String>, message: impl Into<String>) -> Violation {
    Violation::new(ViolationCode::Malformed, path, message)
}
