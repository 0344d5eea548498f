//! `browser_dom`: all of a page through one tool, with the action as an argument.

use serde_json::{Value, json};

use crate::arguments::{Argument, Arguments, Form, may, needed};
use crate::call::Call;
use crate::tool::{Hint, Order, TAB, Tool, act, call, entered, read, step};

const DOM_STEP: [Argument; 12] = [
    needed(
        "action",
        Form::One(&[
            "goto",
            "click",
            "screenshot",
            "key_press",
            "scroll",
            "extract",
            "get_dom",
            "select",
            "evaluate",
            "execute_sequence",
        ]),
        "What to do",
    ),
    may("selector", Form::Text, "The element: an id such as c3, CSS, text=… or role=button[name=\"Log in\"]"),
    may("url", Form::Text, "Address, for goto"),
    may("text", Form::Text, "Text to enter, for key_press"),
    may("credential_ref", Form::Text, "Name of a stored secret to enter, for key_press"),
    may("key", Form::Text, "Key to press, such as Enter, for key_press"),
    may("value", Form::Text, "Option to choose, for select"),
    may("direction", Form::One(&["up", "down", "left", "right", "top", "bottom"]), "For scroll"),
    may("amount", Form::Number, "Pixels, for scroll"),
    may("mode", Form::One(&["markdown", "text", "html", "form"]), "For extract"),
    may("script", Form::Text, "Script, for evaluate; the policy has to open it"),
    TAB,
];

pub(crate) const DOM_TOOL: Tool = Tool {
    name: "browser_dom",
    verb: None,
    title: "Use the browser",
    about: "Opens pages, acts on them and reads them. Answers with what happened, then with the page or what changed on it. \
            execute_sequence runs steps in order and stops at the first that fails.",
    hint: Hint::Acts,
    arguments: &{
        let mut all = [TAB; 13];
        let mut index = 0;
        while index < DOM_STEP.len() {
            all[index] = DOM_STEP[index];
            index += 1;
        }
        all[12] = may("steps", Form::Objects(&DOM_STEP), "Steps for execute_sequence: each with an action of its own");
        all
    },
    order: dom,
};

/// The call of an action of `browser_dom`.
fn dom(given: &Arguments) -> Result<Order, String> {
    match given.text("action") {
        Some("goto") => match given.text("url").or_else(|| given.text("selector")) {
            Some(url) => call(Call::Open(url.to_owned()), true),
            None => Err("goto needs url".to_owned()),
        },
        Some("extract") => read(given, given.text("mode")),
        Some("execute_sequence") => {
            let steps: Vec<Vec<Value>> =
                given.objects("steps").map(|step| dom_steps(&step)).collect::<Result<_, _>>()?;
            let steps = steps.concat();
            if steps.is_empty() { Err("execute_sequence needs steps".to_owned()) } else { act(steps) }
        }
        _ => {
            let shows_all = given.text("action") == Some("click");
            call(Call::Act(dom_steps(given)?), shows_all)
        }
    }
}

fn dom_steps(given: &Arguments) -> Result<Vec<Value>, String> {
    let needs_selector = |action: &str| match given.text("selector") {
        Some(_) => Ok(()),
        None => Err(format!("{action} needs selector")),
    };
    let action = given.text("action").unwrap_or_default();
    let step = match action {
        "goto" => json!({ "type": "navigate", "url": given.text("url").ok_or("goto needs url")? }),
        "click" => {
            needs_selector(action)?;
            Value::Object(step("click", given))
        }
        "screenshot" => Value::Object(step("screenshot", given)),
        "get_dom" => Value::Object(step("getDom", given)),
        "key_press" => {
            let mut steps = Vec::new();
            if given.text("text").is_some() || given.text("credential_ref").is_some() {
                needs_selector(action)?;
                steps.push(Value::Object(entered(step("setValue", given), "value", "text", given)?));
            }
            if let Some(key) = given.text("key") {
                let mut press = step("press", given);
                press.insert("keys".to_owned(), json!(key));
                steps.push(Value::Object(press));
            }
            return if steps.is_empty() {
                Err("key_press needs text, credential_ref or key".to_owned())
            } else {
                Ok(steps)
            };
        }
        "scroll" => {
            let mut scroll = step("scroll", given);
            match (given.text("direction"), given.number("amount")) {
                (direction @ (None | Some("up" | "down")), Some(amount)) => {
                    let amount = if direction == Some("up") { -amount } else { amount };
                    scroll.insert("deltaY".to_owned(), json!(amount.round()));
                }
                (direction, _) => {
                    scroll.insert("direction".to_owned(), json!(direction.unwrap_or("down")));
                }
            }
            Value::Object(scroll)
        }
        "select" => {
            needs_selector(action)?;
            let mut select = step("select", given);
            select.insert("option".to_owned(), json!(given.text("value").ok_or("select needs value")?));
            Value::Object(select)
        }
        "evaluate" => json!({ "type": "evaluate", "script": given.text("script").ok_or("evaluate needs script")? }),
        "extract" => return Err("extract is no step of a sequence: call it by itself".to_owned()),
        other => return Err(format!("{other} is no step of a sequence")),
    };
    Ok(vec![step])
}
