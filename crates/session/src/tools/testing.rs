//! The tools that state what a page shows, and those that act at a point of it.

use serde_json::{Value, json};

use crate::arguments::{Form, may, needed};
use crate::call::{Call, Sought};
use crate::tool::{ELEMENT, Hint, TAB, TARGET, Tool, act, call, text};

pub(crate) const TESTING: [Tool; 6] = [
    Tool {
        name: "browser_verify_element_visible",
        verb: None,
        title: "Verify an element",
        about: "Fails unless an element of this role and name is visible now.",
        hint: Hint::Reads,
        arguments: &[
            needed("role", Form::Text, "Its role, such as button"),
            needed("accessibleName", Form::Text, "Its accessible name"),
            TAB,
        ],
        order: |given| {
            let (role, name) = (Some(text(given, "role")), Some(text(given, "accessibleName")));
            call(Call::Verify(vec![Sought { role, name, text: None }]), false)
        },
    },
    Tool {
        name: "browser_verify_text_visible",
        verb: None,
        title: "Verify a text",
        about: "Fails unless a text is visible now, in letters of any case.",
        hint: Hint::Reads,
        arguments: &[needed("text", Form::Text, "The text"), TAB],
        order: |given| call(Call::Verify(vec![Sought { text: Some(text(given, "text")), ..Sought::default() }]), false),
    },
    Tool {
        name: "browser_verify_list_visible",
        verb: None,
        title: "Verify a list",
        about: "Fails unless each of these texts is visible in an item of a list now.",
        hint: Hint::Reads,
        arguments: &[needed("items", Form::Texts, "Texts of the items"), TAB],
        order: |given| {
            let items = given.value("items").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let sought =
                |item: &str| Sought { role: Some("listitem".to_owned()), text: Some(item.to_owned()), name: None };
            let sought: Vec<Sought> = items.map(sought).collect();
            if sought.is_empty() {
                return Err("browser_verify_list_visible needs the text of an item".to_owned());
            }
            call(Call::Verify(sought), false)
        },
    },
    Tool {
        name: "browser_verify_value",
        verb: None,
        title: "Verify a value",
        about: "Fails unless a field has this value now; for a check box or radio button, true or false.",
        hint: Hint::Reads,
        arguments: &[
            TARGET,
            ELEMENT,
            may("type", Form::One(&["textbox", "checkbox", "radio", "combobox", "slider"]), "Kind of the field"),
            needed("value", Form::Text, "The value"),
            TAB,
        ],
        order: |given| {
            let (target, value) = (text(given, "target"), text(given, "value"));
            let condition = match (given.text("type"), value.as_str()) {
                (Some("checkbox" | "radio"), "true" | "false") => {
                    json!({ "kind": "ariaState", "target": target, "name": "checked", "value": value })
                }
                (Some("checkbox" | "radio"), _) => {
                    return Err("the value of a check box or radio button is true or false".to_owned());
                }
                _ => json!({ "kind": "valueEquals", "target": target, "value": value }),
            };
            act(vec![json!({ "type": "assert", "condition": condition })])
        },
    },
    Tool {
        name: "browser_mouse_click_xy",
        verb: None,
        title: "Click at a point",
        about: "Clicks at a point of the view, where the profile opens points; it asks by the risk of what lies there.",
        hint: Hint::Acts,
        arguments: &[
            ELEMENT,
            needed("x", Form::Number, "CSS pixels from the left of the view"),
            needed("y", Form::Number, "CSS pixels from the top of the view"),
            TAB,
        ],
        order: |given| {
            let at = |name: &str| given.number(name).unwrap_or_default();
            act(vec![json!({ "type": "clickPoint", "point": { "x": at("x"), "y": at("y") } })])
        },
    },
    Tool {
        name: "browser_mouse_drag_xy",
        verb: None,
        title: "Drag between points",
        about: "Drags from a point of the view to another, where the profile opens points.",
        hint: Hint::Acts,
        arguments: &[
            ELEMENT,
            needed("startX", Form::Number, "CSS pixels from the left of the view"),
            needed("startY", Form::Number, "CSS pixels from the top of the view"),
            needed("endX", Form::Number, "CSS pixels from the left, at the end"),
            needed("endY", Form::Number, "CSS pixels from the top, at the end"),
            TAB,
        ],
        order: |given| {
            let at = |name: &str| given.number(name).unwrap_or_default();
            let (from, to) =
                (json!({ "x": at("startX"), "y": at("startY") }), json!({ "x": at("endX"), "y": at("endY") }));
            act(vec![json!({ "type": "dragPoints", "from": from, "to": to })])
        },
    },
];
