//! Steps as calls of the tool `browser_dom`: `{"action": "key_press", "selector": "#email", "credential_ref": "email"}`,
//! alone, in a list, among `steps`, or under `execute_sequence`.
//!
//! The plan declares the elements that selectors describe, so selectors in CSS are for the plans of operators.

use cuebook_grammar::plan::{Author, PlanDraft, Violations};
use cuebook_grammar::wire;
use serde_json::{Map, Value, json};

use super::element::ElementName;
use super::json;
use super::malformed::malformed;

/// Members of an action.
const MEMBERS: [&str; 11] =
    ["action", "selector", "url", "text", "credential_ref", "key", "value", "direction", "amount", "mode", "script"];

/// Returns `true` if the value is an action, a list of them, or a plan that holds one.
pub(super) fn is_one(value: &Value) -> bool {
    let steps = if value.is_array() { Some(value) } else { value.get("steps") };
    let is_action = |step: &Value| {
        step.get("action").is_some_and(Value::is_string) && step.get("type").is_none() && step.get("tool").is_none()
    };
    is_action(value) || steps.and_then(Value::as_array).is_some_and(|steps| steps.iter().any(is_action))
}

pub(super) fn read(mut value: Value, author: Author) -> Result<PlanDraft, Violations> {
    let mut steps = steps(&value)?;
    let mut names: Vec<String> = Vec::new();
    let mut declared = Map::new();
    for (index, step) in steps.iter_mut().enumerate() {
        for place in ["/targetRef", "/query/targetRef"] {
            let Some(target) = step.pointer_mut(place) else { continue };
            let text = target.as_str().unwrap_or_default().to_owned();
            let name = ElementName::read(&text)
                .map_err(|message| vec![malformed(format!("/steps/{index}/selector"), message)])?;
            let Some(locator) = name.locator() else { continue };
            let at = names.iter().position(|known| *known == text).unwrap_or_else(|| {
                names.push(text);
                names.len() - 1
            });
            let name = format!("element{}", at + 1);
            *target = name.as_str().into();
            declared.insert(name, locator);
        }
    }
    let mut plan = match value.as_object_mut() {
        Some(plan) if !plan.contains_key("action") => std::mem::take(plan),
        _ => Map::new(),
    };
    plan.insert("steps".to_owned(), steps.into());
    if !declared.is_empty() {
        plan.insert("candidates".to_owned(), declared.into());
    }
    json::draft(Value::Object(plan), author)
}

/// The steps of a plan in this form, their `targetRef` as the selector was written; `None` in another form.
#[must_use]
pub fn dom_plan(value: &Value) -> Option<Result<Vec<Value>, Violations>> {
    is_one(value).then(|| steps(value))
}

fn steps(value: &Value) -> Result<Vec<Value>, Violations> {
    let alone = std::slice::from_ref(value);
    let is_sequence = value.get("action").is_none_or(|action| action == "execute_sequence");
    let actions = match value.get("steps") {
        _ if value.is_array() => value.as_array().map(Vec::as_slice),
        Some(steps) if is_sequence => steps.as_array().map(Vec::as_slice),
        _ => Some(alone),
    };
    let mut all = Vec::new();
    let mut violations = Vec::new();
    for (index, action) in actions.unwrap_or_default().iter().enumerate() {
        let path = format!("/steps/{index}");
        let Some(action) = action.as_object() else {
            violations.push(malformed(path, format!("an action must be an object, not {}", wire::shape(action))));
            continue;
        };
        if let Some(unknown) = action.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let message = format!("unknown field, expected one of {}", MEMBERS.join(", "));
            violations.push(malformed(format!("{path}/{unknown}"), message));
            continue;
        }
        match dom_steps(action) {
            Ok(steps) => all.extend(steps),
            Err(message) => violations.push(malformed(path, message)),
        }
    }
    if violations.is_empty() { Ok(all) } else { Err(violations.into()) }
}

/// The steps of one action, one or two. Their `targetRef` is the selector as it was written.
///
/// # Errors
/// If the action lacks a parameter; the text names it.
pub fn dom_steps(given: &Map<String, Value>) -> Result<Vec<Value>, String> {
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    let action = text("action").unwrap_or_default();
    let needed = |name: &str| text(name).ok_or_else(|| format!("{action} needs {name}"));
    let step = |verb: &str| {
        let target = text("selector").map(|selector| ("targetRef".to_owned(), json!(selector)));
        Map::from_iter([("type".to_owned(), json!(verb))].into_iter().chain(target))
    };
    let with = |verb: &str, name: &str, value: Value| {
        let mut step = step(verb);
        step.insert(name.to_owned(), value);
        step
    };
    let step = match action {
        "goto" => Map::from_iter([("type".to_owned(), json!("navigate")), ("url".to_owned(), json!(needed("url")?))]),
        "click" => {
            needed("selector")?;
            step("click")
        }
        "screenshot" => step("screenshot"),
        "get_dom" => step("getDom"),
        "key_press" => {
            let mut steps = Vec::new();
            let entered = match (text("text"), text("credential_ref")) {
                (Some(text), None) => Some(("value", text)),
                (None, Some(name)) => Some(("credentialRef", name)),
                (None, None) => None,
                (Some(_), Some(_)) => return Err("give one of text and a credential".to_owned()),
            };
            if let Some((member, value)) = entered {
                needed("selector")?;
                steps.push(with("setValue", member, json!(value)).into());
            }
            if let Some(key) = text("key") {
                steps.push(with("press", "keys", json!(key)).into());
            }
            if steps.is_empty() {
                return Err("key_press needs text, credential_ref or key".to_owned());
            }
            return Ok(steps);
        }
        "scroll" => match (text("direction"), given.get("amount").and_then(Value::as_f64)) {
            (direction @ (None | Some("up" | "down")), Some(amount)) => {
                let amount = if direction == Some("up") { -amount } else { amount };
                with("scroll", "deltaY", json!(pixels(amount)))
            }
            (direction, _) => with("scroll", "direction", json!(direction.unwrap_or("down"))),
        },
        "select" => {
            needed("selector")?;
            with("select", "option", json!(needed("value")?))
        }
        "evaluate" => {
            let script = json!(needed("script")?);
            Map::from_iter([("type".to_owned(), json!("evaluate")), ("script".to_owned(), script)])
        }
        "extract" => {
            let mut query = step("extract");
            query.insert("kind".to_owned(), json!(text("mode").unwrap_or("markdown")));
            query.remove("type");
            Map::from_iter([("type".to_owned(), json!("extract")), ("query".to_owned(), query.into())])
        }
        other => return Err(format!("{other} is no step of a sequence")),
    };
    Ok(vec![Value::Object(step)])
}

#[expect(clippy::cast_possible_truncation, reason = "what is beyond saturates, and the check bounds it")]
fn pixels(amount: f64) -> i64 {
    amount.round() as i64
}
