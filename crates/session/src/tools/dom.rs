//! `browser_dom`: all of a page through one tool, with the action as an argument.

use cuebook_decoding::read::dom_steps;
use serde_json::Value;

use crate::arguments::{Argument, Arguments, Form, may, needed};
use crate::call::Call;
use crate::tool::{Hint, Order, TAB, Tool, act, call, read};

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
            let all: Vec<Vec<Value>> = given.objects("steps").map(|step| steps(&step)).collect::<Result<_, _>>()?;
            let steps = all.concat();
            if steps.is_empty() { Err("execute_sequence needs steps".to_owned()) } else { act(steps) }
        }
        _ => {
            let shows_all = given.text("action") == Some("click");
            call(Call::Act(steps(given)?), shows_all)
        }
    }
}

fn steps(given: &Arguments) -> Result<Vec<Value>, String> {
    match given.text("action") {
        Some("extract") => Err("extract is no step of a sequence: call it by itself".to_owned()),
        _ => dom_steps(&given.members()),
    }
}
