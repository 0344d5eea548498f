//! The tools for a page as it is: where it stands, what it holds, and what of it is on.

use cuebook_grammar::wire::Object;
use serde_json::{Value, json};

use crate::arguments::{Arguments, Form, may, needed};
use crate::call::{Call, ContextCall, Fact};
use crate::tool::{ELEMENT, Hint, Order, TAB, TARGET, Tool, act, call, step, text, verb};

pub(crate) const PAGE: [Tool; 12] = [
    Tool {
        name: "browser_navigate_forward",
        verb: verb("forward", &["go-forward"], &[]),
        title: "Go forward",
        about: "Goes forward to the page that was left by going back.",
        hint: Hint::Moves,
        arguments: &[TAB],
        order: |_| act(vec![json!({ "type": "goForward" })]),
    },
    Tool {
        name: "browser_reload",
        verb: verb("reload", &[], &[]),
        title: "Reload",
        about: "Loads the page again.",
        hint: Hint::Moves,
        arguments: &[TAB],
        order: |_| act(vec![json!({ "type": "reload" })]),
    },
    Tool {
        name: "browser_scroll",
        verb: verb("scroll", &[], &["direction", "amount", "target"]),
        title: "Scroll",
        about: "Scrolls the page by most of a view or by pixels. A target alone is scrolled into view; with a direction, it is \
                what scrolls.",
        hint: Hint::Moves,
        arguments: &[
            may("direction", Form::One(&["up", "down", "left", "right", "top", "bottom"]), "Where to; down if absent"),
            may("amount", Form::Number, "Pixels, instead of most of a view"),
            may("target", Form::Text, TARGET.about),
            TAB,
        ],
        order: scroll,
    },
    Tool {
        name: "browser_focus",
        verb: verb("focus", &[], &["target"]),
        title: "Focus",
        about: "Gives an element the focus.",
        hint: Hint::Moves,
        arguments: &[TARGET, ELEMENT, TAB],
        order: |given| act(vec![Value::Object(step("focus", given))]),
    },
    Tool {
        name: "browser_check",
        verb: verb("tick", &[], &["target"]),
        title: "Turn on",
        about: "Turns a check box, radio button or switch on, if it is not.",
        hint: Hint::Acts,
        arguments: &[TARGET, ELEMENT, TAB],
        order: |given| act(vec![Value::Object(step("check", given))]),
    },
    Tool {
        name: "browser_uncheck",
        verb: verb("uncheck", &["untick"], &["target"]),
        title: "Turn off",
        about: "Turns a check box or switch off, if it is not.",
        hint: Hint::Acts,
        arguments: &[TARGET, ELEMENT, TAB],
        order: |given| act(vec![Value::Object(step("uncheck", given))]),
    },
    Tool {
        name: "browser_get",
        verb: verb("get", &[], &["what", "target", "attribute"]),
        title: "Get a fact",
        about: "Gets the address or title of the page, or of an element its text, value, HTML or an attribute, or how many \
                there are. The element need not be one that can be acted on.",
        hint: Hint::Reads,
        arguments: &[
            needed("what", Form::One(&["text", "value", "html", "attr", "title", "url", "count"]), "What to get"),
            may("target", Form::Text, TARGET.about),
            may("attribute", Form::Text, "Name of the attribute, for attr"),
            TAB,
        ],
        order: get,
    },
    Tool {
        name: "browser_is",
        verb: verb("is", &[], &["state", "target"]),
        title: "Ask for a state",
        about: "Says true, or fails with false: an element is visible, enabled or checked now. It need not be one that can be \
                acted on.",
        hint: Hint::Reads,
        arguments: &[needed("state", Form::One(&["visible", "enabled", "checked"]), "The state"), TARGET, TAB],
        order: |given| {
            let condition = json!({ "kind": text(given, "state"), "target": text(given, "target") });
            call(Call::Ask(Fact::Holds(condition)), false)
        },
    },
    Tool {
        name: "browser_diff",
        verb: verb("diff", &[], &[]),
        title: "Show what changed",
        about: "Shows what changed on the page since it was last shown.",
        hint: Hint::Reads,
        arguments: &[TAB],
        order: |_| call(Call::Changes, false),
    },
    Tool {
        name: "browser_evaluate",
        verb: verb("evaluate", &[], &["function"]),
        title: "Evaluate a script",
        about: "Evaluates an expression, or calls a function, in the page. The policy has to open it.",
        hint: Hint::Acts,
        arguments: &[needed("function", Form::Text, "The script, such as () => document.title"), TAB],
        order: |given| {
            let script = format!("(it => typeof it === \"function\" ? it() : it)({})", text(given, "function"));
            act(vec![json!({ "type": "evaluate", "script": script })])
        },
    },
    Tool {
        name: "browser_storage",
        verb: verb("storage", &[], &["area", "key"]),
        title: "Storage",
        about: "Lists the keys that the page stores and the lengths of their values, never the values.",
        hint: Hint::Reads,
        arguments: &[
            needed("area", Form::One(&["local", "session"]), "The storage"),
            may("key", Form::Text, "Only this key"),
            TAB,
        ],
        order: |given| {
            let is_session = given.text("area") == Some("session");
            call(Call::Context(ContextCall::Storage { is_session, key: given.text("key").map(str::to_owned) }), false)
        },
    },
    Tool {
        name: "browser_credentials",
        verb: verb("auth", &["credentials"], &[]),
        title: "Credentials",
        about: "Lists the names of the stored secrets and where each may be entered, never their values.",
        hint: Hint::Reads,
        arguments: &[],
        order: |_| call(Call::Context(ContextCall::Credentials), false),
    },
];

fn scroll(given: &Arguments) -> Result<Order, String> {
    let mut step = step("scroll", given);
    match (given.text("direction"), given.number("amount")) {
        (None, None) if step.contains_key("targetRef") => {}
        (direction, None) => {
            step.insert("direction".to_owned(), json!(direction.unwrap_or("down")));
        }
        (Some("top" | "bottom"), Some(_)) => {
            return Err("browser_scroll takes an amount with up, down, left and right".to_owned());
        }
        (direction, Some(amount)) if amount >= 1.0 => {
            let direction = direction.unwrap_or("down");
            let axis = if matches!(direction, "left" | "right") { "deltaX" } else { "deltaY" };
            #[expect(clippy::cast_possible_truncation, reason = "what is beyond saturates, and the check bounds it")]
            let pixels = amount.round() as i64;
            let pixels = if matches!(direction, "up" | "left") { -pixels } else { pixels };
            step.insert(axis.to_owned(), json!(pixels));
        }
        (_, Some(amount)) => return Err(format!("amount is the number of pixels, 1 or more, not {amount}")),
    }
    act(vec![Value::Object(step)])
}

fn get(given: &Arguments) -> Result<Order, String> {
    let (what, target) = (text(given, "what"), given.text("target"));
    let is_of_page = matches!(&*what, "title" | "url");
    if is_of_page && target.is_some() {
        return Err(format!("browser_get takes no target for {what}"));
    }
    if matches!(&*what, "value" | "attr" | "count") && target.is_none() {
        return Err(format!("browser_get needs target for {what}: {}", TARGET.about));
    }
    if (what == "attr") != given.text("attribute").is_some() {
        return Err("browser_get takes the name of an attribute with attr, and only there".to_owned());
    }
    if what == "title" {
        return call(Call::Ask(Fact::Title), false);
    }
    let mut query = Object::from_iter([("kind".to_owned(), json!(if what == "attr" { "attribute" } else { &what }))]);
    query.extend(target.map(|target| ("targetRef".to_owned(), json!(target))));
    query.extend(given.text("attribute").map(|name| ("name".to_owned(), json!(name))));
    call(Call::Ask(Fact::Read(query.into())), false)
}
