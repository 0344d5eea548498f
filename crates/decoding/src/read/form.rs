//! The form of a text, and the reader of each.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::plan::{Author, PlanDraft, Violations};

use super::{json, line, planner_output, thought_action, tool_call};

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

/// Reads text of any form.
///
/// # Errors
/// [`Violations`] of the form that the text resembles most.
pub fn read(text: &str, author: Author) -> Result<PlanDraft, Violations> {
    read_as(form_of(text), text, author)
}

/// Reads text of a known form.
///
/// # Errors
/// [`Violations`] of form, each with its path.
pub fn read_as(form: Form, text: &str, author: Author) -> Result<PlanDraft, Violations> {
    match form {
        Form::Plan => json::read(text, author),
        Form::ToolCalls => tool_call::read(&json::value(text)?, author),
        Form::PlannerOutput => planner_output::read(json::value(text)?, author),
        Form::ThoughtAction => thought_action::read(text, author),
        Form::Lines => line::read(text, author),
    }
}

/// The form that a text resembles most.
#[must_use]
pub fn form_of(text: &str) -> Form {
    // What parses whole as JSON is JSON, whatever its texts quote.
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches('\u{feff}')).is_ok();
    if (text.contains("<Action>") || text.contains("<Thought>")) && !is_json() {
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
