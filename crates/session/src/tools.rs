//! The abilities of a session, in one table: as tools for models, and as verbs for a shell.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::arguments::{Argument, Arguments, Form, may, needed, schema};
use crate::call::{Call, Request};

/// A choice of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolSet {
    /// One tool for each thing that a person does with a page.
    #[default]
    Core,
    /// Three: look, run a plan, read.
    Slim,
    /// `browser_dom` alone, with the action as an argument.
    Dom,
    /// The tools of all other sets.
    All,
}

/// The meaning of a call of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub enum Order {
    /// A call of the session.
    Call(Request),
    /// The answer to a question that is open.
    Confirm {
        /// Id of the question.
        id: String,
        /// `true` to allow what was asked.
        is_agreed: bool,
    },
    /// The session is to end.
    Close,
}

/// Effect of a tool on the world, for whoever decides whether to ask first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// It looks, and no more.
    Reads,
    /// Goes elsewhere, and changes nothing.
    Moves,
    /// It may change something.
    Acts,
}

/// How a tool is called in a shell.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    /// Its name as typed.
    pub name: &'static str,
    /// Names that it has elsewhere.
    pub aliases: &'static [&'static str],
    /// Arguments that are given by their place, in order. The others are flags.
    pub places: &'static [&'static str],
}

/// Something that a session can do.
#[derive(Debug)]
pub struct Tool {
    /// Its name for models.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its purpose, in one or a few sentences.
    pub about: &'static str,
    /// Its effect on the world.
    pub hint: Hint,
    /// Its name in a shell, if it has one.
    pub verb: Option<Verb>,
    /// The arguments that it takes.
    pub arguments: &'static [Argument],
    order: fn(&Arguments) -> Result<Order, String>,
}

const fn verb(name: &'static str, aliases: &'static [&'static str], places: &'static [&'static str]) -> Option<Verb> {
    Some(Verb { name, aliases, places })
}

const ELEMENT: Argument = may("element", Form::Text, "What it is in words, for the person who may be asked");
const TARGET: Argument = needed(
    "target",
    Form::Text,
    "Id of the element in the snapshot, such as c3; or role=button[name=\"Log in\"], text=…, label=…, css=…",
);
const TAB: Argument = may("tab", Form::Text, "The tab, such as t2; by default the current one");

const FIELD: [Argument; 5] = [
    TARGET,
    may("name", Form::Text, "Name of the field in words"),
    may(
        "type",
        Form::One(&["textbox", "checkbox", "radio", "combobox", "slider"]),
        "Kind of the field; textbox if absent",
    ),
    may("value", Form::Text, "Value to set; true or false for a checkbox; the label of an option for a combobox"),
    may("credential", Form::Text, "Name of a stored secret to enter instead of a value"),
];

const CORE: [Tool; 20] = [
    Tool {
        name: "browser_navigate",
        verb: verb("open", &["goto", "navigate"], &["url"]),
        title: "Open an address",
        about: "Opens a URL and shows the page.",
        hint: Hint::Moves,
        arguments: &[needed("url", Form::Text, "The address"), TAB],
        order: |given| call(Call::Open(text(given, "url")), true),
    },
    Tool {
        name: "browser_navigate_back",
        verb: verb("back", &["go-back"], &[]),
        title: "Go back",
        about: "Goes back to the page before.",
        hint: Hint::Moves,
        arguments: &[TAB],
        order: |_| act(vec![json!({ "type": "goBack" })]),
    },
    Tool {
        name: "browser_snapshot",
        verb: verb("snapshot", &["look"], &[]),
        title: "Show the page",
        about: "Shows the whole page: text, and every element that can be acted on with its id. Other tools show only what \
                changed.",
        hint: Hint::Reads,
        arguments: &[TAB],
        order: |_| call(Call::Look, true),
    },
    Tool {
        name: "browser_find",
        verb: verb("find", &[], &["text"]),
        title: "Find a text",
        about: "Finds where a text stands on the page, beyond what a snapshot has room for.",
        hint: Hint::Reads,
        arguments: &[
            may("text", Form::Text, "The text, in letters of any case"),
            may("regex", Form::Text, "Or a pattern"),
            TAB,
        ],
        order: |given| match (given.text("text"), given.text("regex")) {
            (Some(text), None) => act(vec![json!({ "type": "searchPage", "query": text })]),
            (None, Some(regex)) => act(vec![json!({ "type": "searchPage", "query": regex, "regex": true })]),
            _ => Err("browser_find takes one of text and regex".to_owned()),
        },
    },
    Tool {
        name: "browser_click",
        verb: verb("click", &[], &["target"]),
        title: "Click",
        about: "Clicks an element. The answer says what the click did, or `no effect`.",
        hint: Hint::Acts,
        arguments: &[
            TARGET,
            ELEMENT,
            may("doubleClick", Form::Flag, "Click twice"),
            may("button", Form::One(&["left", "right", "middle"]), "Button of the mouse"),
            may("modifiers", Form::Texts, "Keys to hold: Alt, Control, ControlOrMeta, Meta, Shift"),
            TAB,
        ],
        order: |given| {
            let mut step = step("click", given);
            if given.is_set("doubleClick") {
                step.insert("count".to_owned(), json!(2));
            }
            for name in ["button", "modifiers"] {
                if let Some(value) = given.value(name) {
                    step.insert(name.to_owned(), value.clone());
                }
            }
            act(vec![Value::Object(step)])
        },
    },
    Tool {
        name: "browser_type",
        verb: verb("type", &["fill"], &["target", "text"]),
        title: "Enter text",
        about: "Sets the text of a field. With `slowly`, types it key by key after what is there.",
        hint: Hint::Acts,
        arguments: &[
            TARGET,
            ELEMENT,
            may("text", Form::Text, "The text"),
            may("credential", Form::Text, "Name of a stored secret to enter instead of a text"),
            may("submit", Form::Flag, "Press Enter afterwards"),
            may("slowly", Form::Flag, "Type key by key"),
            TAB,
        ],
        order: |given| {
            let (verb, member) = if given.is_set("slowly") { ("type", "text") } else { ("setValue", "value") };
            let mut steps = vec![Value::Object(entered(step(verb, given), member, "text", given)?)];
            if given.is_set("submit") {
                let mut press = step("press", given);
                press.insert("keys".to_owned(), json!("Enter"));
                steps.push(Value::Object(press));
            }
            act(steps)
        },
    },
    Tool {
        name: "browser_fill_form",
        verb: None,
        title: "Fill a form",
        about: "Sets several fields in one call. All of them are checked before the first is set.",
        hint: Hint::Acts,
        arguments: &[needed("fields", Form::Objects(&FIELD), "The fields, in order"), TAB],
        order: |given| act(given.objects("fields").map(|field| filled(&field)).collect::<Result<_, _>>()?),
    },
    Tool {
        name: "browser_select_option",
        verb: verb("select", &[], &["target", "values"]),
        title: "Choose an option",
        about: "Chooses options of a list by label or value.",
        hint: Hint::Acts,
        arguments: &[TARGET, ELEMENT, needed("values", Form::Texts, "Labels or values of the options"), TAB],
        order: |given| {
            let mut step = step("select", given);
            let values = given.value("values").and_then(Value::as_array).cloned().unwrap_or_default();
            let option = if let [only] = &values[..] { only.clone() } else { Value::Array(values) };
            step.insert("option".to_owned(), option);
            act(vec![Value::Object(step)])
        },
    },
    Tool {
        name: "browser_hover",
        verb: verb("hover", &[], &["target"]),
        title: "Point at an element",
        about: "Moves the pointer over an element, and shows what that opens.",
        hint: Hint::Moves,
        arguments: &[TARGET, ELEMENT, TAB],
        order: |given| act(vec![Value::Object(step("hover", given))]),
    },
    Tool {
        name: "browser_drag",
        verb: verb("drag", &[], &["startTarget", "endTarget"]),
        title: "Drag",
        about: "Drags an element onto another.",
        hint: Hint::Acts,
        arguments: &[
            needed("startTarget", Form::Text, "The element to drag, as `target` of browser_click"),
            needed("endTarget", Form::Text, "The element to drop it on"),
            TAB,
        ],
        order: |given| {
            act(vec![
                json!({ "type": "dragTo", "targetRef": text(given, "startTarget"), "to": text(given, "endTarget") }),
            ])
        },
    },
    Tool {
        name: "browser_press_key",
        verb: verb("press", &["key"], &["key"]),
        title: "Press keys",
        about: "Presses a key or a combination, such as Enter or Control+A, on an element or on what has the focus.",
        hint: Hint::Acts,
        arguments: &[needed("key", Form::Text, "The keys"), may("target", Form::Text, TARGET.about), TAB],
        order: |given| {
            let mut step = step("press", given);
            step.insert("keys".to_owned(), json!(text(given, "key")));
            act(vec![Value::Object(step)])
        },
    },
    Tool {
        name: "browser_wait_for",
        verb: verb("wait", &["wait-for"], &[]),
        title: "Wait",
        about: "Waits until a text is there or gone, or for some seconds.",
        hint: Hint::Reads,
        arguments: &[
            may("text", Form::Text, "Text to wait for"),
            may("textGone", Form::Text, "Text to wait for until it is gone"),
            may("time", Form::Number, "Seconds, at most 30"),
            TAB,
        ],
        order: |given| match (given.text("text"), given.text("textGone"), given.number("time")) {
            (Some(text), None, None) => call(Call::Wait { text: text.to_owned(), is_gone: false }, false),
            (None, Some(text), None) => call(Call::Wait { text: text.to_owned(), is_gone: true }, false),
            (None, None, Some(time)) => {
                let time = Duration::try_from_secs_f64(time).map_err(|error| format!("time: {error}"))?;
                call(Call::Pause(time), false)
            }
            _ => Err("browser_wait_for takes one of text, textGone and time".to_owned()),
        },
    },
    Tool {
        name: "browser_handle_dialog",
        verb: verb("dialog", &[], &[]),
        title: "Answer a dialog",
        about: "Accepts or dismisses the JavaScript dialog that blocks the page.",
        hint: Hint::Acts,
        arguments: &[
            needed("accept", Form::Flag, "Accept it, or dismiss it"),
            may("promptText", Form::Text, "Answer to a prompt"),
            TAB,
        ],
        order: |given| match (given.is_set("accept"), given.text("promptText")) {
            (true, Some(text)) => act(vec![json!({ "type": "acceptDialog", "text": text })]),
            (true, None) => act(vec![json!({ "type": "acceptDialog" })]),
            (false, _) => act(vec![json!({ "type": "dismissDialog" })]),
        },
    },
    Tool {
        name: "browser_file_upload",
        verb: verb("upload", &[], &["target", "paths"]),
        title: "Upload files",
        about: "Gives files to a file field. They must lie in a directory that the server was started with.",
        hint: Hint::Acts,
        arguments: &[TARGET, ELEMENT, needed("paths", Form::Texts, "Paths of the files"), TAB],
        order: |given| {
            let mut step = step("upload", given);
            step.insert("files".to_owned(), given.value("paths").cloned().unwrap_or_default());
            act(vec![Value::Object(step)])
        },
    },
    Tool {
        name: "browser_tabs",
        verb: verb("tab", &["tabs"], &["action"]),
        title: "Tabs",
        about: "Lists, opens, selects or closes tabs. A tab keeps its name, such as t2.",
        hint: Hint::Moves,
        arguments: &[
            needed("action", Form::One(&["list", "new", "select", "close"]), "What to do"),
            may("tab", Form::Text, "The tab to select or to close; by default the current one is closed"),
            may("url", Form::Text, "Address to open in a new tab"),
        ],
        order: |given| {
            let tab = given.text("tab").map(str::to_owned);
            let what = match (given.text("action"), tab) {
                (Some("new"), _) => Call::NewTab(given.text("url").map(str::to_owned)),
                (Some("select"), Some(tab)) => Call::SelectTab(tab),
                (Some("select"), None) => return Err("browser_tabs needs tab to select one".to_owned()),
                (Some("close"), tab) => Call::CloseTab(tab),
                _ => Call::Tabs,
            };
            call(what, true)
        },
    },
    Tool {
        name: "browser_take_screenshot",
        verb: verb("screenshot", &[], &["target"]),
        title: "Take a picture",
        about: "Takes a picture of the view, of an element or of the whole page. Fields with secrets are painted over.",
        hint: Hint::Reads,
        arguments: &[may("target", Form::Text, TARGET.about), may("fullPage", Form::Flag, "The whole page"), TAB],
        order: |given| {
            let mut step = step("screenshot", given);
            if given.is_set("fullPage") {
                step.insert("fullPage".to_owned(), json!(true));
            }
            act(vec![Value::Object(step)])
        },
    },
    Tool {
        name: "browser_extract",
        verb: verb("read", &["extract"], &["target"]),
        title: "Read from the page",
        about: "Reads the page or an element as Markdown; with a JSON Schema, the values that the page gives its members.",
        hint: Hint::Reads,
        arguments: &[
            may("schema", Form::Json, "JSON Schema of what to read"),
            may("target", Form::Text, TARGET.about),
            TAB,
        ],
        order: |given| read(given, None),
    },
    Tool {
        name: "browser_run_plan",
        verb: verb("batch", &[], &["plan"]),
        title: "Run a plan",
        about: "Checks a whole plan against the page, then runs its steps in order and stops at the first that fails. Steps are \
                objects such as {\"type\": \"click\", \"targetRef\": \"c3\"}, {\"type\": \"setValue\", \"targetRef\": \
                \"c1\", \"value\": \"ann\"}, {\"type\": \"select\", \"targetRef\": \"c4\", \"option\": \"Blue\"}; each may \
                state conditions: \"post\": [{\"kind\": \"urlChanges\"}].",
        hint: Hint::Acts,
        arguments: &[
            needed("plan", Form::Json, "The plan: {\"steps\": […]}"),
            may("dryRun", Form::Flag, "Check it, and run nothing"),
            TAB,
        ],
        order: |given| {
            let plan = given.value("plan").cloned().unwrap_or_default();
            call(Call::Plan { plan, is_dry: given.is_set("dryRun") }, false)
        },
    },
    Tool {
        name: "browser_confirm",
        verb: None,
        title: "Answer a question",
        about: "Answers the question of a step that needs a person's consent. Ask the person; do not decide for them.",
        hint: Hint::Acts,
        arguments: &[
            needed("id", Form::Text, "Id of the question"),
            needed("decision", Form::One(&["allow", "deny"]), "What the person decided"),
        ],
        order: |given| Ok(Order::Confirm { id: text(given, "id"), is_agreed: given.text("decision") == Some("allow") }),
    },
    Tool {
        name: "browser_close",
        verb: verb("close", &[], &[]),
        title: "Close the browser",
        about: "Ends the session and closes its browser. The next call starts a new one.",
        hint: Hint::Moves,
        arguments: &[],
        order: |_| Ok(Order::Close),
    },
];

const LOOK: Tool = Tool {
    name: "browser_look",
    verb: None,
    title: "Show a page",
    about: "Shows the page, after opening an address if one is given: text, and every element that can be acted on with its \
            id.",
    hint: Hint::Reads,
    arguments: &[may("url", Form::Text, "Address to open first"), TAB],
    order: |given| {
        let what = given.text("url").map_or(Call::Look, |url| Call::Open(url.to_owned()));
        call(what, true)
    },
};

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

const DOM_TOOL: Tool = Tool {
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

impl ToolSet {
    /// The tools, in the order in which they are shown.
    #[must_use]
    pub fn tools(self) -> Vec<&'static Tool> {
        const OTHERS: [&Tool; 2] = [&LOOK, &DOM_TOOL];
        let of_core = |name: &str| CORE.iter().find(|tool| tool.name == name);
        match self {
            Self::Core => CORE.iter().collect(),
            Self::Slim => {
                [Some(&LOOK), of_core("browser_run_plan"), of_core("browser_extract")].into_iter().flatten().collect()
            }
            Self::Dom => vec![&DOM_TOOL],
            Self::All => CORE.iter().chain(OTHERS).collect(),
        }
    }
}

impl Tool {
    /// The JSON Schema of its arguments: one flat object.
    #[must_use]
    pub fn schema(&self) -> Map<String, Value> {
        schema(self.arguments)
    }

    /// The meaning of a call with these arguments.
    ///
    /// # Errors
    /// The argument that does not fit, and what the tool takes.
    pub fn order(&self, sent: Map<String, Value>) -> Result<Order, String> {
        let given = Arguments::read(self.name, self.arguments, sent)?;
        let mut order = (self.order)(&given)?;
        if let Order::Call(request) = &mut order {
            // A tool for tabs names the tab that it is about, not the one to work in.
            let of_tab = !matches!(request.call, Call::SelectTab(_) | Call::CloseTab(_) | Call::NewTab(_) | Call::Tabs);
            request.tab = given.text("tab").filter(|_| of_tab).map(str::to_owned);
        }
        Ok(order)
    }
}

fn text(given: &Arguments, name: &str) -> String {
    given.text(name).unwrap_or_default().to_owned()
}

/// A call, which shows the whole page afterwards or what changed.
fn call(call: Call, shows_all: bool) -> Result<Order, String> {
    Ok(Order::Call(Request { tab: None, call, shows_all }))
}

fn act(steps: Vec<Value>) -> Result<Order, String> {
    call(Call::Act(steps), false)
}

/// A step on the target of a call, explained by the words for it.
fn step(verb: &str, given: &Arguments) -> Map<String, Value> {
    let mut step = Map::from_iter([("type".to_owned(), json!(verb))]);
    if let Some(target) = given.text("target").or_else(|| given.text("selector")) {
        step.insert("targetRef".to_owned(), json!(target));
    }
    if let Some(element) = given.text("element").or_else(|| given.text("name")) {
        step.insert("explanation".to_owned(), json!(element));
    }
    step
}

/// With the text that is entered, or the name of the secret.
fn entered(
    mut step: Map<String, Value>,
    member: &str,
    from: &str,
    given: &Arguments,
) -> Result<Map<String, Value>, String> {
    let credential = given.text("credential").or_else(|| given.text("credential_ref"));
    match (given.text(from), credential) {
        (Some(text), None) => step.insert(member.to_owned(), json!(text)),
        (None, Some(name)) => step.insert("credentialRef".to_owned(), json!(name)),
        _ => return Err(format!("give one of {from} and a credential")),
    };
    Ok(step)
}

fn filled(field: &Arguments) -> Result<Value, String> {
    let value = field.text("value");
    let step = match field.text("type").unwrap_or("textbox") {
        "checkbox" => {
            let verb = match value {
                Some("true" | "on" | "checked") => "check",
                Some("false" | "off" | "unchecked") => "uncheck",
                _ => return Err("the value of a checkbox is true or false".to_owned()),
            };
            step(verb, field)
        }
        "radio" => step("check", field),
        "combobox" => {
            let mut step = step("select", field);
            step.insert(
                "option".to_owned(),
                json!(value.ok_or("a combobox needs the label of an option as its value")?),
            );
            step
        }
        _ => entered(step("setValue", field), "value", "value", field)?,
    };
    Ok(Value::Object(step))
}

/// Reads the page or an element. A schema that states nothing is read as Markdown.
fn read(given: &Arguments, mode: Option<&str>) -> Result<Order, String> {
    let schema = given.value("schema").filter(|schema| schema.as_object().is_none_or(|members| !members.is_empty()));
    let mut query = match schema {
        Some(schema) => json!({ "kind": "schema", "schema": schema }),
        None => json!({ "kind": mode.unwrap_or("markdown") }),
    };
    let mut step = json!({ "type": "extract" });
    if let (Some(target), Some(query)) =
        (given.text("target").or_else(|| given.text("selector")), query.as_object_mut())
    {
        query.insert("targetRef".to_owned(), json!(target));
    }
    step["query"] = query;
    act(vec![step])
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_flat_objects_that_every_client_takes() {
        for spec in ToolSet::All.tools() {
            let schema = Value::Object(spec.schema());
            assert_eq!(
                (&schema["type"], &schema["additionalProperties"]),
                (&json!("object"), &json!(false)),
                "{}",
                spec.name
            );
            let text = schema.to_string();
            for word in ["oneOf", "anyOf", "allOf", "$ref", "null"] {
                assert!(!text.contains(word), "{} has {word}", spec.name);
            }
            jsonschema::validator_for(&schema).unwrap();
            assert!(spec.about.len() > 20 && !spec.title.is_empty());
            let places = spec.verb.iter().flat_map(|verb| verb.places);
            assert!(places.into_iter().all(|place| spec.arguments.iter().any(|it| it.name == *place)), "{}", spec.name);
        }
    }

    #[test]
    fn sets_have_the_tools_that_they_promise() {
        let names = |set: ToolSet| set.tools().iter().map(|spec| spec.name).collect::<Vec<_>>();
        assert!(names(ToolSet::Core).len() <= 20);
        assert_eq!(names(ToolSet::Slim), ["browser_look", "browser_run_plan", "browser_extract"]);
        assert_eq!(names(ToolSet::Dom), ["browser_dom"]);
        let mut all = names(ToolSet::All);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 22);
    }

    fn steps(tool: &str, sent: Value) -> Result<Vec<Value>, String> {
        let spec = ToolSet::All.tools().into_iter().find(|spec| spec.name == tool).unwrap();
        match spec.order(sent.as_object().cloned().unwrap_or_default())? {
            Order::Call(Request { call: Call::Act(steps), .. }) => Ok(steps),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_set_by_what_they_are() {
        let fields = json!([
            { "target": "c1", "name": "User", "value": "ann" },
            { "target": "c2", "type": "checkbox", "value": true },
            { "target": "c3", "type": "combobox", "value": "Blue" },
            { "target": "c4", "credential": "shop" },
        ]);
        let filled = steps("browser_fill_form", json!({ "fields": fields })).unwrap();
        let expected = [
            json!({ "type": "setValue", "targetRef": "c1", "explanation": "User", "value": "ann" }),
            json!({ "type": "check", "targetRef": "c2" }),
            json!({ "type": "select", "targetRef": "c3", "option": "Blue" }),
            json!({ "type": "setValue", "targetRef": "c4", "credentialRef": "shop" }),
        ];
        assert_eq!(filled, expected);
        let both = json!({ "target": "c1", "text": "a", "credential": "b" });
        assert!(steps("browser_type", both).unwrap_err().contains("one of text and a credential"));
    }

    #[test]
    fn a_sequence_of_browser_dom_is_one_plan() {
        let sequence = json!({ "action": "execute_sequence", "steps": [
            { "action": "key_press", "selector": "#email", "credential_ref": "email" },
            { "action": "key_press", "selector": "#code", "text": "1", "key": "Tab" },
            { "action": "click", "selector": "button[type=submit]" },
        ] });
        let types: Vec<Value> =
            steps("browser_dom", sequence).unwrap().iter().map(|step| step["type"].clone()).collect();
        assert_eq!(types, ["setValue", "setValue", "press", "click"]);
        let nested = json!({ "action": "execute_sequence", "steps": [{ "action": "execute_sequence" }] });
        assert!(steps("browser_dom", nested).unwrap_err().contains("no step of a sequence"));
    }
}
