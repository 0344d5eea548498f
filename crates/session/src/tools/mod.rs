//! The abilities of a session, in one table: as tools for models, and as verbs for a shell.

mod context;
mod core;
mod dom;
mod page;
mod testing;

use self::context::CONTEXT;
use self::core::{CORE, LOOK};
use self::dom::DOM_TOOL;
use self::page::PAGE;
use self::testing::TESTING;
use crate::tool::Tool;

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
            Self::All => CORE.iter().chain(OTHERS).chain(&PAGE).chain(&CONTEXT).chain(&TESTING).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::call::{Call, Fact, Request};
    use crate::tool::Order;

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
        assert_eq!(all.len(), 50);
        let extract = ToolSet::Core.tools().into_iter().find(|spec| spec.name == "browser_extract").unwrap();
        let example = extract.arguments[0].about.split_once("such as ").unwrap().1;
        let schema: Value = serde_json::from_str(example).unwrap();
        assert_eq!(schema["properties"]["price"]["type"], "number");
    }

    fn steps(tool: &str, sent: Value) -> Result<Vec<Value>, String> {
        let spec = ToolSet::All.tools().into_iter().find(|spec| spec.name == tool).unwrap();
        match spec.order(sent.as_object().cloned().unwrap_or_default())? {
            Order::Call(Request { call: Call::Act(steps), .. }) => Ok(steps),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_is_scrolled_by_views_by_pixels_or_to_an_element() {
        for (sent, step) in [
            (json!({}), json!({ "type": "scroll", "direction": "down" })),
            (json!({ "direction": "top" }), json!({ "type": "scroll", "direction": "top" })),
            (json!({ "target": "c3" }), json!({ "type": "scroll", "targetRef": "c3" })),
            (json!({ "direction": "left", "amount": 40.4 }), json!({ "type": "scroll", "deltaX": -40 })),
            (json!({ "amount": 300, "target": "c3" }), json!({ "type": "scroll", "targetRef": "c3", "deltaY": 300 })),
        ] {
            assert_eq!(steps("browser_scroll", sent).unwrap(), [step]);
        }
        for (sent, said) in [
            (json!({ "direction": "top", "amount": 3 }), "with up, down, left and right"),
            (json!({ "amount": -3 }), "1 or more, not -3"),
            (json!({ "direction": "sideways" }), "one of up, down, left, right, top, bottom, not \"sideways\""),
        ] {
            assert!(steps("browser_scroll", sent).unwrap_err().contains(said), "{said}");
        }
    }

    #[test]
    fn a_fact_is_asked_for_with_what_it_is_about() {
        let spec = ToolSet::All.tools().into_iter().find(|spec| spec.name == "browser_get").unwrap();
        let asked = |sent: Value| spec.order(sent.as_object().cloned().unwrap());
        let sent = json!({ "what": "attr", "target": "c3", "attribute": "href" });
        let query = json!({ "kind": "attribute", "targetRef": "c3", "name": "href" });
        match asked(sent).unwrap() {
            Order::Call(Request { call: Call::Ask(Fact::Read(read)), .. }) => assert_eq!(read, query),
            other => panic!("{other:?}"),
        }
        for (sent, said) in [
            (json!({ "what": "attr", "target": "c3" }), "the name of an attribute"),
            (json!({ "what": "text", "target": "c3", "attribute": "href" }), "the name of an attribute"),
            (json!({ "what": "count" }), "needs target for count"),
            (json!({ "what": "title", "target": "c3" }), "takes no target for title"),
            (json!({ "what": "colour" }), "one of text, value, html, attr, title, url, count"),
        ] {
            assert!(asked(sent).unwrap_err().contains(said), "{said}");
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
    fn a_plan_may_be_a_text_in_json_or_in_lines() {
        let spec = ToolSet::All.tools().into_iter().find(|spec| spec.name == "browser_run_plan").unwrap();
        let read = |plan: &str| spec.order(json!({ "plan": plan }).as_object().cloned().unwrap());
        let steps = |plan: &str| match read(plan).unwrap() {
            Order::Call(Request { call: Call::Plan { plan, .. }, .. }) => plan["steps"].clone(),
            other => panic!("{other:?}"),
        };
        let expected = json!([{ "type": "click", "targetRef": "c3" }]);
        assert_eq!(steps(r#"[{"action": "click", "selector": "c3"}]"#), expected);
        for plan in
            ["click(c3)", "# Go on.\nclick(c3)\n", "{\"steps\": [{\"type\": \"click\", \"targetRef\": \"c3\"}]}"]
        {
            assert_eq!(steps(plan)[0]["targetRef"], expected[0]["targetRef"], "{plan}");
        }
        for (plan, said) in [("clack(c3)", "clack"), ("{\"steps\": [", "is no JSON"), ("", "no line with a step")] {
            assert!(read(plan).unwrap_err().contains(said), "{plan}: {:?}", read(plan));
        }
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
