//! The tools that a person's hands and eyes come to.

use std::time::Duration;

use cuebook_decoding::read::dom_plan;
use serde_json::{Value, json};

use crate::answer::why_not;
use crate::arguments::{Argument, Arguments, Form, may, needed};
use crate::call::{Call, LONGEST_PAUSE};
use crate::tool::{ELEMENT, Hint, Order, TAB, TARGET, Tool, act, call, entered, read, step, text, verb};

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

pub(crate) const CORE: [Tool; 20] = [
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
        arguments: &[may("filename", Form::File, "File to write it to instead, however long: a plain name"), TAB],
        order: |given| call(given.text("filename").map_or(Call::Look, |name| Call::LookInto(name.to_owned())), true),
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
                let pause = Duration::try_from_secs_f64(time).ok().filter(|pause| *pause <= LONGEST_PAUSE);
                let most = LONGEST_PAUSE.as_secs();
                let pause = pause.ok_or_else(|| {
                    format!("time is from 0 to {most} seconds, not {time}: wait for a text, or call again")
                })?;
                call(Call::Pause(pause), false)
            }
            _ => Err("browser_wait_for takes one of text, textGone and time".to_owned()),
        },
    },
    Tool {
        name: "browser_handle_dialog",
        verb: verb("dialog", &[], &["promptText"]),
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
        verb: verb("tab", &["tabs"], &["action", "tab"]),
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
                // What follows `tab new` in a shell is an address: a tab that is not there has no name.
                (Some("new"), tab) => Call::NewTab(given.text("url").map(str::to_owned).or(tab)),
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
            may(
                "schema",
                Form::Json,
                "JSON Schema of what to read, such as {\"type\": \"object\", \"properties\": {\"price\": {\"type\": \"number\"}}}",
            ),
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
            needed(
                "plan",
                Form::Plan,
                "The plan: {\"steps\": […]}, or a text with one step a line: setValue(c1,\"ann\")",
            ),
            may("dryRun", Form::Flag, "Check it, and run nothing"),
            TAB,
        ],
        order: |given| {
            let plan = given.value("plan").cloned().unwrap_or_default();
            let plan = match dom_plan(&plan) {
                Some(steps) => json!({ "steps": steps.map_err(|violations| why_not(&violations.into()))? }),
                None => plan,
            };
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

pub(crate) const LOOK: Tool = Tool {
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
