//! Tool calls, as the wire formats of several providers write them.
//!
//! OpenAI: `{"tool_calls": [{"function": {"name", "arguments": "{…}"}}]}`, or `{"type": "function_call",
//! "name", "arguments"}` among the output of its responses. Anthropic: `{"content": [{"type": "tool_use",
//! "name", "input"}]}`. Ollama: as OpenAI, with arguments as an object. Any of these alone, or in an array.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, Violations};
use cuebook_grammar::wire::{self, LongText};
use serde_json::{Map, Value};

use super::json;
use super::malformed::malformed;
use crate::toolset::{GOAL, GOAL_TOOL, THOUGHT, registered_of, verbs_of};

/// Reads the calls, in order, as the steps of one plan; text beside them and the thoughts among
/// their arguments are its reasoning.
pub(super) fn read(value: &Value, author: Author) -> Result<PlanDraft, Violations> {
    let mut found = DecodedCalls::default();
    found.collect(value, "", 0);
    if found.steps.is_empty() && found.goal.is_empty() && found.violations.is_empty() {
        found.violations.push(malformed("", "there is no tool call"));
    }
    if !found.violations.is_empty() {
        return Err(found.violations.into());
    }
    let mut plan = Map::from_iter([("steps".to_owned(), Value::Array(found.steps))]);
    if !found.goal.is_empty() {
        plan.insert("goal".to_owned(), Value::Array(found.goal));
    }
    let mut draft = json::draft(Value::Object(plan), author)?;
    // A paragraph for each.
    let said: Vec<&str> = found.said.iter().map(|said| said.trim()).filter(|said| !said.is_empty()).collect();
    if !said.is_empty() {
        draft.reasoning_summary = Some(LongText::cut(&said.join("\n\n")));
    }
    Ok(draft)
}

#[derive(Default)]
struct DecodedCalls {
    steps: Vec<Value>,
    goal: Vec<Value>,
    said: Vec<String>,
    violations: Vec<Violation>,
}

impl DecodedCalls {
    fn collect(&mut self, value: &Value, path: &str, depth: usize) {
        /// Wrappers around wrappers: responses, choices, messages, contents.
        const DEPTH: usize = 8;
        match value {
            _ if depth > DEPTH => self.violations.push(malformed(path, "expected tool calls less deeply nested")),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.collect(item, &format!("{path}/{index}"), depth + 1);
                }
            }
            Value::Object(object) => {
                let is_call = object.contains_key("arguments") || object.contains_key("input");
                let is_twice = object.contains_key("arguments") && object.contains_key("input");
                if is_twice || (object.contains_key("function") && is_call) {
                    return self.violations.push(malformed(path, "the arguments of a call appear twice"));
                }
                if let Some(function) = object.get("function") {
                    return self.collect(function, &format!("{path}/function"), depth + 1);
                }
                let arguments = object.get("arguments").map(|a| ("arguments", a));
                let arguments = arguments.or_else(|| object.get("input").map(|a| ("input", a)));
                if let (Some(name), Some((field, arguments))) = (object.get("name"), arguments) {
                    return self.call(name, arguments, &format!("{path}/{field}"), path);
                }
                if let Some(Value::String(text)) = object.get("text") {
                    self.said.push(text.clone());
                }
                for wrapper in ["output", "choices", "message", "content", "tool_calls"] {
                    match object.get(wrapper) {
                        Some(Value::Array(choices)) if wrapper == "choices" && choices.len() > 1 => {
                            let message = format!("there are {} choices, not one", choices.len());
                            self.violations.push(malformed(format!("{path}/choices"), message));
                        }
                        Some(Value::String(text)) => self.said.push(text.clone()),
                        Some(inner) => self.collect(inner, &format!("{path}/{wrapper}"), depth + 1),
                        None => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, name: &Value, arguments: &Value, field: &str, path: &str) {
        let Some(name) = name.as_str() else {
            return self.violations.push(malformed(format!("{path}/name"), "expected a string"));
        };
        let parsed = match arguments {
            Value::String(text) if text.trim().is_empty() => Ok(Value::Object(Map::new())),
            Value::String(text) => wire::parse(text).map_err(|error| error.message),
            other => Ok(other.clone()),
        };
        match parsed {
            Ok(Value::Object(mut arguments)) => {
                // That of a registered action may be an argument of its own.
                let is_own = verbs_of(name).is_some() || is_verb(name);
                if is_own && let Some(Value::String(thought)) = arguments.get(THOUGHT) {
                    self.said.push(thought.clone());
                    arguments.remove(THOUGHT);
                }
                if name == GOAL_TOOL && arguments.get("type").is_some_and(|kind| kind == GOAL) {
                    match arguments.remove("condition") {
                        Some(condition @ Value::Object(_)) => self.goal.push(condition),
                        _ => self.violations.push(malformed(field, "expected a `condition` that will hold in the end")),
                    }
                    return;
                }
                match step(name, arguments) {
                    Ok(step) => self.steps.push(Value::Object(step)),
                    Err(message) => self.violations.push(malformed(format!("{field}/type"), message)),
                }
            }
            Ok(other) => {
                let message = format!("the arguments must be an object, not {}", cuebook_grammar::wire::shape(&other));
                self.violations.push(malformed(field, message));
            }
            Err(error) => {
                self.violations.push(malformed(field, format!("the arguments cannot be read: {error}")));
            }
        }
    }
}

/// The step of a call, or what is wrong with its `type`.
fn step(name: &str, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let verb = match (verbs_of(name), arguments.get("type")) {
        (None, Some(_)) if is_verb(name) => {
            return Err(format!("expected no `type` among the arguments of `{name}`, which names the action"));
        }
        (Some(verbs), Some(Value::String(verb))) if verbs.contains(&&**verb) => verb.clone(),
        (Some(verbs), seen) => {
            let seen = seen.map_or_else(|| "none".to_owned(), |seen| seen.to_string().chars().take(60).collect());
            return Err(format!("must be one of {}, not {seen}", verbs.join(", ")));
        }
        (None, _) if is_verb(name) => name.to_owned(),
        // A tool that is no verb is a registered action, or nothing: `check` knows which.
        (None, _) => {
            return Ok(Map::from_iter([
                ("type".to_owned(), "call".into()),
                ("name".to_owned(), registered_of(name).into()),
                ("args".to_owned(), Value::Object(arguments)),
            ]));
        }
    };
    let mut step = Map::from_iter([("type".to_owned(), Value::from(verb))]);
    step.extend(arguments.into_iter().filter(|(key, value)| key != "type" && !value.is_null()));
    Ok(step)
}

fn is_verb(name: &str) -> bool {
    ActionKind::ALL.iter().any(|kind| kind.meta().name == name)
}
