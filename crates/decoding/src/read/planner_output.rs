//! Steps of `{"tool", "args", "explanation", "estimated_risk", "confidence"}`, with the tool names and
//! argument names of the planner specification.

use cuebook_grammar::action::ActionKind;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, Violations};
use serde_json::{Map, Value};

use super::json;
use super::malformed::malformed;

/// Returns `true` if the value is a step with a `tool`, a list of them, or a plan that holds one.
pub(super) fn is_one(value: &Value) -> bool {
    let steps = if value.is_array() { Some(value) } else { value.get("steps") };
    let is_step = |step: &Value| step.get("tool").is_some();
    is_step(value) || steps.and_then(Value::as_array).is_some_and(|steps| steps.iter().any(is_step))
}

pub(super) fn read(value: Value, author: Author) -> Result<PlanDraft, Violations> {
    let mut plan = match value {
        Value::Object(plan) if !plan.contains_key("tool") => plan,
        Value::Array(steps) => Map::from_iter([("steps".to_owned(), Value::Array(steps))]),
        step @ Value::Object(_) => Map::from_iter([("steps".to_owned(), Value::Array(vec![step]))]),
        other => {
            let message = format!("must be steps of `tool` and `args`, not {}", cuebook_grammar::wire::shape(&other));
            return Err(vec![malformed("", message)].into());
        }
    };
    let mut violations = Vec::new();
    if let Some(Value::Array(steps)) = plan.get_mut("steps") {
        for (index, step) in steps.iter_mut().enumerate() {
            if let Err(violation) = translate(step, &format!("/steps/{index}")) {
                violations.push(violation);
            }
        }
    }
    if let Some(level) = plan.get_mut("autonomy_level")
        && level == "semi_auto"
    {
        *level = "semiAuto".into();
    }
    if violations.is_empty() { json::draft(Value::Object(plan), author) } else { Err(violations.into()) }
}

fn translate(step: &mut Value, path: &str) -> Result<(), Violation> {
    let Value::Object(object) = step else {
        return Err(malformed(path, format!("a step must be an object, not {}", cuebook_grammar::wire::shape(step))));
    };
    let Some(tool) = object.remove("tool") else { return Ok(()) };
    let Value::String(tool) = tool else {
        return Err(malformed(
            format!("{path}/tool"),
            format!("must be a string, not {}", cuebook_grammar::wire::shape(&tool)),
        ));
    };
    let args = match object.remove("args") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args,
        Some(other) => {
            let message = format!("the arguments must be an object, not {}", cuebook_grammar::wire::shape(&other));
            return Err(malformed(format!("{path}/args"), message));
        }
    };
    let mut action = action_of(&tool, args, path)?;
    for (name, value) in std::mem::take(object) {
        set(&mut action, name, value, path)?;
    }
    *object = action;
    Ok(())
}

/// The step of a tool and its arguments; names that the language shares pass through.
fn action_of(tool: &str, args: Map<String, Value>, path: &str) -> Result<Map<String, Value>, Violation> {
    let verb = match tool {
        "wait_for_idle" => "waitForIdle",
        "click_point" => "clickPoint",
        "drag" => "dragPoints",
        "long_press" => "longPressPoint",
        "hotkey" => "press",
        "read_file" => "readFile",
        "write_file" => "writeFile",
        other => other,
    };
    // A tool that is no verb is a registered action, or nothing: `check` knows which.
    if !ActionKind::ALL.iter().any(|kind| kind.meta().name == verb) {
        let call = [("type", "call".into()), ("name", verb.into()), ("args", Value::Object(args))];
        return Ok(call.map(|(name, value)| (name.to_owned(), value)).into_iter().collect());
    }
    let mut step = Map::from_iter([("type".to_owned(), Value::from(verb))]);
    for (name, value) in args {
        let (name, value) = match (verb, name.as_str()) {
            (_, "id" | "ref" | "target") => ("targetRef", reference(value)),
            ("waitForIdle", "ms") => ("quietMs", value),
            ("press", "keys") => ("keys", chord(value)),
            ("shell", "cmd") => ("command", value),
            _ => {
                set(&mut step, name, value, path)?;
                continue;
            }
        };
        set(&mut step, name.to_owned(), value, path)?;
    }
    Ok(step)
}

/// Adds a member that is not there yet: neither arguments nor their other names override one another.
fn set(step: &mut Map<String, Value>, name: String, value: Value, path: &str) -> Result<(), Violation> {
    if step.contains_key(&name) {
        return Err(malformed(format!("{path}/{name}"), format!("`{name}` appears twice")));
    }
    step.insert(name, value);
    Ok(())
}

/// A bare number is the number of a candidate.
fn reference(value: Value) -> Value {
    match &value {
        Value::Number(number) => format!("c{number}").into(),
        _ => value,
    }
}

fn chord(value: Value) -> Value {
    match &value {
        Value::Array(keys) if keys.iter().all(Value::is_string) => {
            keys.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("+").into()
        }
        _ => value,
    }
}
