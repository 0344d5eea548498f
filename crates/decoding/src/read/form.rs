//! The form of a text, and the reader of each.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::plan::{Author, PlanDraft, Violations};

use serde_json::Value;

use super::likeness::is_tool_call;
use super::malformed::malformed;
use super::{browser_dom, json, line, planner_output, thought_action, tool_call};

/// The forms that are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A plan as JSON, with or without a `last` step, alone or within prose.
    Plan,
    /// Calls of tools, as OpenAI, Anthropic or Ollama write them.
    ToolCalls,
    /// Steps of `{"tool", "args"}`.
    PlannerOutput,
    /// Actions of the tool `browser_dom`: `{"action", "selector"}`.
    BrowserDom,
    /// Tags around a thought and a step: `<Thought>…</Thought><Action>click(223)</Action>`.
    ThoughtAction,
    /// A verb and its arguments a line.
    Lines,
}

/// Reads text of any form.
///
/// # Errors
/// [`Violations`] of the form that the text resembles most.
pub fn read(text: &str, author: Author) -> Result<PlanDraft, Violations> {
    match form_in(text) {
        Some(form) => read_as(form, text, author),
        None => {
            let text = json::plain(text);
            let seen = if text.is_empty() { "an empty text".to_owned() } else { format!("`{}`", json::seen(text)) };
            let forms = "a plan: JSON, calls of tools, <Action>…</Action>, or a line such as click(c3)";
            Err(vec![malformed("", format!("{seen} is not {forms}"))].into())
        }
    }
}

/// Reads text of a known form.
///
/// # Errors
/// [`Violations`] of form, each with its path.
pub fn read_as(form: Form, text: &str, author: Author) -> Result<PlanDraft, Violations> {
    match form {
        Form::Plan => json::read(text, author),
        Form::ToolCalls => tool_call::read(&json::value(text, author)?, author),
        Form::PlannerOutput => planner_output::read(json::value(text, author)?, author),
        Form::BrowserDom => browser_dom::read(json::value(text, author)?, author),
        Form::ThoughtAction => thought_action::read(text, author),
        Form::Lines => line::read(text, author),
    }
}

/// The form that a text resembles most.
#[must_use]
pub fn form_of(text: &str) -> Form {
    form_in(text).unwrap_or(Form::Lines)
}

/// `None` if it resembles none.
fn form_in(text: &str) -> Option<Form> {
    let text = json::plain(text);
    // A model's document may have prose behind it.
    let found = json::find(text, Author::Model).ok();
    // What a document quotes is no action.
    let outside = found.map_or([text, ""], |document| [document.before, document.after]);
    if outside.iter().any(|text| thought_action::is_in(text)) {
        return Some(Form::ThoughtAction);
    }
    let verb = line::first_verb(text);
    if verb.is_some_and(|verb| ActionKind::ALL.iter().any(|kind| kind.meta().name == verb)) {
        return Some(Form::Lines);
    }
    let Some(value) = found.and_then(|document| serde_json::from_str::<Value>(document.text).ok()) else {
        let looks_like_json = text.starts_with(['{', '[']) || text.contains("```json") || text.contains("```\n{");
        return if looks_like_json || found.is_some() { Some(Form::Plan) } else { verb.map(|_| Form::Lines) };
    };
    if planner_output::is_one(&value) {
        return Some(Form::PlannerOutput);
    }
    if browser_dom::is_one(&value) {
        return Some(Form::BrowserDom);
    }
    let has_steps = value.get("steps").is_some() || value.get("last").is_some();
    Some(if !has_steps && is_tool_call(&value) { Form::ToolCalls } else { Form::Plan })
}
