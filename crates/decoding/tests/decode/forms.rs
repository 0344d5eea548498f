//! The forms that models write, from the source documents of the language and from providers' wire formats.

use cuebook_decoding::read::{Form, form_of, read, read_as};
use cuebook_decoding::write_lines;
use cuebook_grammar::plan::{Author, PlanDraft};
use serde_json::{Value, json};

fn steps(text: &str) -> Value {
    let draft = read(text, Author::Model).unwrap_or_else(|violations| panic!("{violations:?}: {text}"));
    json!(draft.steps)
}

fn errors(text: &str) -> Vec<(String, String)> {
    let violations = read(text, Author::Model).expect_err("expected violations");
    violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
}

#[test]
fn a_plan_reads_alone_fenced_within_prose_and_with_its_last_step_apart() {
    let step = json!({ "type": "click", "targetRef": "c3" });
    let plan = json!({ "version": "1.0", "steps": [step], "last": { "type": "finish", "result": null } });
    let expected = json!([{ "type": "click", "targetRef": "c3" }, { "type": "finish" }]);
    assert_eq!(steps(&plan.to_string()), expected);
    assert_eq!(steps(&format!("Sure! Here it is:\n```json\n{plan:#}\n```\nAnything else?")), expected);
    assert_eq!(errors(&format!("{plan} {plan}")), [(String::new(), "there is more than one plan".to_owned())]);
    assert_eq!(steps(&format!("Of [1, 2] and {{\"a\": 1}}: {plan}")), expected, "what is no plan is prose");
}

#[test]
fn tool_calls_of_every_provider_read_as_steps() {
    let arguments = json!({ "targetRef": "c1", "text": "demo_user", "pre": null });
    let expected = json!([{ "type": "type", "targetRef": "c1", "text": "demo_user" }]);
    let openai = json!({ "choices": [{ "message": { "role": "assistant", "content": null, "tool_calls": [
        { "id": "call_1", "type": "function", "function": { "name": "type", "arguments": arguments.to_string() } }] } }] });
    let responses =
        json!({ "output": [{ "type": "function_call", "name": "type", "arguments": arguments.to_string() }] });
    let anthropic = json!({ "role": "assistant", "content": [
        { "type": "text", "text": "The name goes in first." },
        { "type": "tool_use", "id": "toolu_1", "name": "type", "input": arguments }] });
    let ollama = json!({ "message": { "role": "assistant", "content": "", "tool_calls": [
        { "function": { "name": "type", "arguments": arguments } }] } });
    for reply in [openai, responses, anthropic.clone(), ollama, json!([{ "name": "type", "arguments": arguments }])] {
        assert_eq!(form_of(&reply.to_string()), Form::ToolCalls, "{reply}");
        assert_eq!(steps(&reply.to_string()), expected, "{reply}");
    }
    let draft = read(&anthropic.to_string(), Author::Model).unwrap();
    assert_eq!(draft.reasoning_summary.as_deref(), Some("The name goes in first."));
    let registered = json!([{ "name": "sendMail", "arguments": { "to": "a@b.test" } }]);
    assert_eq!(
        steps(&registered.to_string()),
        json!([{ "type": "call", "name": "sendMail", "args": { "to": "a@b.test" } }])
    );
}

#[test]
fn planner_output_reads_every_tool_of_its_vocabulary() {
    let tools = json!([
        { "tool": "navigate", "args": { "url": "https://shop.test/" } },
        { "tool": "click", "args": { "id": "c1" } },
        { "tool": "type", "args": { "id": "c2", "text": "hi" }, "explanation": "The name", "estimated_risk": "low", "confidence": 0.9 },
        { "tool": "scroll", "args": { "deltaY": 400 } },
        { "tool": "wait_for_idle", "args": { "ms": 800 } },
        { "tool": "snapshot" },
        { "tool": "click_point", "args": { "point": { "x": 5, "y": 6 } } },
        { "tool": "drag", "args": { "from": { "x": 1, "y": 2 }, "to": { "x": 3, "y": 4 }, "durationMs": 250 } },
        { "tool": "long_press", "args": { "point": { "x": 5, "y": 6 }, "durationMs": 700 } },
        { "tool": "hotkey", "args": { "keys": ["Control", "Shift", "K"] } },
        { "tool": "fetch", "args": { "url": "https://shop.test/api", "method": "POST", "body": "{}" } },
        { "tool": "read_file", "args": { "path": "a.txt" } },
        { "tool": "write_file", "args": { "path": "b.txt", "content": "x" } },
        { "tool": "shell", "args": { "cmd": "ls" } },
    ]);
    let reply = json!({ "reasoning_summary": "Why", "plan_id": "p1", "autonomy_level": "semi_auto", "steps": tools });
    let draft = read(&reply.to_string(), Author::Model).unwrap();
    assert_eq!(draft.plan_id.as_deref(), Some("p1"));
    assert_eq!(draft.autonomy_level.map(|level| level.as_str()), Some("semiAuto"));
    let kinds: Vec<&str> = draft.steps.iter().map(|step| step.action.tag()).collect();
    assert_eq!(
        kinds,
        [
            "navigate",
            "click",
            "type",
            "scroll",
            "waitForIdle",
            "snapshot",
            "clickPoint",
            "dragPoints",
            "longPressPoint",
            "press",
            "fetch",
            "readFile",
            "writeFile",
            "shell",
        ]
    );
    assert_eq!(json!(draft.steps[9]), json!({ "type": "press", "keys": "Control+Shift+K" }));
    assert_eq!(draft.steps[2].explanation.as_deref(), Some("The name"));
    assert_eq!(
        errors(r#"{"steps": [{"tool": "click", "args": 3}]}"#),
        [("/steps/0/args".to_owned(), "the arguments must be an object, not a number".to_owned(),)]
    );
}

#[test]
fn thought_and_action_read_with_bare_numbers_and_without_a_closing_tag() {
    let text = "<Thought>I should click the Create Invoice button</Thought>\n<Action>click(223)</Action>";
    let draft = read(text, Author::Model).unwrap();
    assert_eq!(json!(draft.steps), json!([{ "type": "click", "targetRef": "c223" }]));
    assert_eq!(draft.reasoning_summary.as_deref(), Some("I should click the Create Invoice button"));
    let value = steps("<Thought>t</Thought><Action>setValue(7, \"a, (b)\")");
    assert_eq!(value, json!([{ "type": "setValue", "targetRef": "c7", "value": "a, (b)" }]));
    assert_eq!(steps("<Action>finish()</Action>"), json!([{ "type": "finish" }]));
    assert_eq!(errors("<Thought>hm</Thought>")[0].0, "/action");
    assert_eq!(errors("<Action>clack(1)</Action>")[0].1, "expected a verb of the grammar at column 1, saw `clack(1)`");
}

#[test]
fn a_failure_without_a_reason_is_read_in_every_form() {
    for text in [
        "fail()",
        "<Action>fail()</Action>",
        r#"{"steps":[{"type":"fail"}]}"#,
        r#"{"last":{"type":"fail","reason":null}}"#,
        r#"{"steps":[{"tool":"fail"}]}"#,
        r#"{"tool_calls":[{"function":{"name":"fail","arguments":"{}"}}]}"#,
        r#"{"content":[{"type":"tool_use","name":"fail","input":{}}]}"#,
    ] {
        let draft = read(text, Author::Model).unwrap();
        assert_eq!(json!(draft.steps), json!([{ "type": "fail", "reason": "no reason given" }]), "{text}");
    }
    assert_eq!(steps("fail(\"sold out\")"), json!([{ "type": "fail", "reason": "sold out" }]));
}

#[test]
fn lines_read_with_thoughts_and_conditions() {
    let text = "# Log in.\nsetValue(@c1,\"ada\")\nclick(c3, count=2) if enabled(c3) => urlChanges(\"/dashboard\")\n\nscroll(down)\nwaitFor(not(visible(c9)))\nscrollUntil(\"Row 80\",container=c5)\nscrollUntil(condition=elementTextContains(c5,\"Row 80\"),direction=up)\nselect(c4,[\"Red\",\"Blue\"])";
    let expected = json!([
        { "type": "setValue", "targetRef": "c1", "value": "ada" },
        { "type": "click", "targetRef": "c3", "count": 2, "pre": [{ "kind": "enabled", "target": "c3" }],
          "post": [{ "kind": "urlChanges", "to": "/dashboard" }] },
        { "type": "scroll", "direction": "down" },
        { "type": "waitFor", "condition": { "kind": "not", "condition": { "kind": "visible", "target": "c9" } } },
        { "type": "scrollUntil", "text": "Row 80", "container": "c5" },
        { "type": "scrollUntil", "direction": "up",
          "condition": { "kind": "elementTextContains", "target": "c5", "text": "Row 80" } },
        { "type": "select", "targetRef": "c4", "option": ["Red", "Blue"] },
    ]);
    let draft = read(text, Author::Model).unwrap();
    assert_eq!(json!(draft.steps), expected);
    assert_eq!(draft.reasoning_summary.as_deref(), Some("Log in."));
    assert_eq!(
        errors("click(c3\nclick c4\nclick(c3) => "),
        [
            ("/steps/0".to_owned(), "expected `,` at column 9, saw the end of the line".to_owned()),
            ("/steps/1".to_owned(), "expected `(` at column 7, saw `c4`".to_owned()),
            ("/steps/2".to_owned(), "expected a condition at column 13, saw the end of the line".to_owned()),
        ]
    );
}

#[test]
fn what_is_no_plan_is_an_error_that_says_so() {
    for (text, path, part) in [
        ("", "", "an empty text is not a plan"),
        ("# Only a thought.", "", "`# Only a thought.` is not a plan"),
        ("I cannot help with that.", "", "is not a plan: JSON, calls of tools"),
        ("clack(c1)", "/steps/0", "a verb of the grammar"),
        ("{version: 1}", "", "key must be a string at line 1 column 2"),
        ("{\"steps\": [{\"type\": \"reload\"}, {\"ty", "", "EOF while parsing a string at line 1 column 35"),
        ("{\"steps\": [", "", "EOF while parsing a list"),
        ("{\"last\": {\"type\": \"clack\"}}", "/last/type", "clack"),
        ("{\"steps\": 3}", "/steps", "must be an array of steps, not a number"),
        ("{\"steps\": [{\"type\": \"click\", \"targetRef\": true}]}", "/steps/0/targetRef", "expected a string"),
        ("[{\"name\": \"click\", \"arguments\": \"{\"}]", "/0/arguments", "the arguments cannot be read"),
        ("{\"tool_calls\": []}", "", "there is no tool call"),
    ] {
        let (seen, message) = errors(text).remove(0);
        assert_eq!(seen, path, "{text}: {message}");
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn a_known_form_is_read_as_that_form() {
    let lines = read_as(Form::Lines, "goBack()", Author::Operator).unwrap();
    assert_eq!(lines.author, Author::Operator);
    assert_eq!(lines, PlanDraft { steps: lines.steps.clone(), ..PlanDraft::of(Author::Operator, Vec::new()) });
    assert!(read_as(Form::Plan, "goBack()", Author::Operator).is_err());
}

#[test]
fn nothing_is_read_that_was_written_twice() {
    for text in [
        r#"{"steps":[{"type":"click","targetRef":"c1","targetRef":"c2"}]}"#,
        r#"{"tool_calls":[{"function":{"name":"click","arguments":"{\"targetRef\":\"c1\",\"targetRef\":\"c2\"}"}}]}"#,
        r#"{"name":"hover","arguments":{"type":"click","targetRef":"c1"}}"#,
        r#"{"choices":[{"message":{"tool_calls":[]}},{"message":{"tool_calls":[]}}]}"#,
        r#"{"steps":[{"tool":"click","args":{"id":1,"targetRef":"c2"}}]}"#,
        r#"{"steps":[{"tool":"hover","args":{"id":1},"type":"click"}]}"#,
        "<Action>click(1)</Action><Action>click(2)</Action>",
        "click(c1,targetRef=c2)",
        r#"click(c1,position={"x":1,"x":2,"y":3})"#,
        r#"{"steps":[{"type":"click","targetRef":"c1","target_ref":"c2"}]}"#,
        r#"{"steps":[{"tool":"click","args":{"targetRef":"c1","target_ref":"c2"}}]}"#,
        r#"{"steps":[{"type":"click","targetRef":"c1"}],"tool_calls":[{"name":"reload","arguments":{}}]}"#,
        r#"{"steps":[{"type":"click","targetRef":"c1"}],"plan_id":"a","planId":"b"}"#,
        r#"{"name":"click","arguments":{"targetRef":"c1"},"input":{"targetRef":"c2"}}"#,
        r#"{"function":{"name":"reload","arguments":{}},"name":"click","arguments":{"targetRef":"c1"}}"#,
        "```json\n{\"steps\":[{\"type\":\"reload\"}]}\n```\n```json\n{\"steps\":[{\"type\":\"goBack\"}]}\n```",
        "{\"steps\":[{\"type\":\"reload\"}]} or else <Action>click(1)</Action>",
        "<Action>click(1)</Action> or {\"steps\":[{\"type\":\"reload\"}]}",
        "<Thought>a</Thought><Thought>b</Thought><Action>click(1)</Action>",
    ] {
        assert!(read(text, Author::Model).is_err(), "{text}");
        assert!(read(text, Author::Operator).is_err(), "{text}");
    }
}

#[test]
fn a_plan_is_found_among_brackets_and_quoted_actions() {
    let plan = r#"{"steps":[{"type":"finish","result":"<Action>click(1)</Action>"}]}"#;
    let expected = read(plan, Author::Model).unwrap();
    assert_eq!(expected.steps.len(), 1);
    for text in [
        format!("\u{feff}{plan}"),
        format!("The list [c1, c2] and {{this}} come first:\n```json\n{}\n```", plan.replace("<Action>", "")),
        format!("Of [c1, c2] {{one}}: {}", plan.replace("<Action>", "")),
    ] {
        assert_eq!(read(&text, Author::Model).unwrap().steps.len(), 1, "{text}");
    }
}

/// A file is read as it stands: what an extra bracket cuts off is not dropped, and an error is that of Plan 1.0.
#[test]
fn a_file_that_begins_as_json_is_json_to_its_end() {
    let plan = r#"{"version":"1.0","steps":[{"type":"reload"}]}"#;
    for (text, part) in [
        (format!("{plan}, \"candidates\": {{}} }}"), "trailing characters at line 1 column 46"),
        (format!("{plan} That is all."), "trailing characters"),
        (plan.replace("}]}", "}],}"), "trailing comma at line 1 column 46"),
        (plan.replace("reload\"", "click\",\"targetRef\":null"), "/steps/0/targetRef"),
        (plan.replace("]}", "],\"stps\":[]}"), "unknown field `stps`"),
        (plan.replace("reload\"}", "reload\",\"speed\":3}"), "unknown field `speed`"),
    ] {
        let violations = read(&text, Author::Operator).expect_err(&text);
        assert_eq!(violations, PlanDraft::read(&text, Author::Operator).unwrap_err(), "{text}");
        assert!(violations.to_string().contains(part), "{text}: {violations:?}");
    }
    assert_eq!(steps(&format!("{plan} That is all.")), json!([{ "type": "reload" }]));
}

#[test]
fn names_that_the_language_does_not_give_may_differ_by_an_underscore() {
    let locator = json!({ "strategy": "css", "selector": "input" });
    let call = json!({ "type": "call", "name": "pay", "args": { "by_card": 1, "byCard": 2 } });
    let plan = json!({ "version": "1.0", "candidates": { "log_in": locator, "logIn": locator }, "steps": [call] });
    assert_eq!(read(&plan.to_string(), Author::Operator).unwrap().candidates.len(), 2);
}

#[test]
fn steps_of_tools_read_as_a_list_and_alone() {
    let step = json!({ "tool": "click", "args": { "id": 3 } });
    let expected = json!([{ "type": "click", "targetRef": "c3" }]);
    for text in [step.to_string(), json!([step]).to_string(), format!("```\n{}\n```", json!([step]))] {
        assert_eq!(form_of(&text), Form::PlannerOutput, "{text}");
        assert_eq!(steps(&text), expected, "{text}");
    }
}

#[test]
fn lines_in_a_fence_are_lines_whatever_their_arguments_hold() {
    let text = "```\nextract({\"schema\":{\"type\":\"object\"}})\nreload()\n```";
    assert_eq!(form_of(text), Form::Lines);
    assert_eq!(form_of("clack({\"steps\": 1})"), Form::Plan, "no verb, but a document");
}

#[test]
fn actions_of_browser_dom_read_as_a_plan_of_an_operator() {
    let key_press = json!({ "action": "key_press", "selector": "#email", "credential_ref": "email" });
    let all = json!([
        { "action": "goto", "url": "https://a.test/" },
        key_press,
        { "action": "key_press", "selector": "#email", "text": "1", "key": "Tab" },
        { "action": "click", "selector": "role=button[name=\"Log in\"]" },
        { "action": "select", "selector": "label=Size", "value": "M" },
        { "action": "scroll", "direction": "up", "amount": 300 },
        { "action": "extract", "selector": "text=Total", "mode": "text" },
        { "action": "click", "selector": "c7" },
    ]);
    for plan in [all.clone(), json!({ "action": "execute_sequence", "steps": all }), json!({ "steps": all })] {
        assert_eq!(form_of(&plan.to_string()), Form::BrowserDom);
        let draft = read(&plan.to_string(), Author::Operator).unwrap();
        assert_eq!(
            json!(draft.steps),
            json!([
                { "type": "navigate", "url": "https://a.test/" },
                { "type": "setValue", "targetRef": "element1", "credentialRef": "email" },
                { "type": "setValue", "targetRef": "element1", "value": "1" },
                { "type": "press", "targetRef": "element1", "keys": "Tab" },
                { "type": "click", "targetRef": "element2" },
                { "type": "select", "targetRef": "element3", "option": "M" },
                { "type": "scroll", "deltaY": -300 },
                { "type": "extract", "query": { "targetRef": "element4", "kind": "text" } },
                { "type": "click", "targetRef": "c7" },
            ])
        );
        let declared: Vec<String> = draft.candidates.values().map(ToString::to_string).collect();
        assert_eq!(declared, ["css=\"#email\"", "role=button name=\"Log in\"", "byLabel=\"Size\"", "text=\"Total\""]);
    }
    assert_eq!(read(&key_press.to_string(), Author::Operator).unwrap().steps.len(), 1);
    for (plan, path, said) in [
        (json!({ "action": "click" }), "/steps/0", "click needs selector"),
        (json!([key_press, { "action": "fly" }]), "/steps/1", "fly is no step"),
        (json!([{ "action": "click", "selector": "the button" }]), "/steps/0/selector", "names no element"),
        (json!([{ "action": "click", "selector": "#a", "tab": "t2" }]), "/steps/0/tab", "unknown field"),
        (json!([key_press, 7]), "/steps/1", "an action must be an object"),
    ] {
        let violations = read(&plan.to_string(), Author::Operator).unwrap_err();
        assert_eq!(violations[0].path, path, "{plan}");
        assert!(violations[0].message.contains(said), "{plan}: {violations:?}");
    }
}

#[test]
fn the_text_of_a_condition_is_quoted_where_an_id_is_not() {
    let plan = r#"{"version":"1.0","steps":[
        {"type":"dragTo","targetRef":"c1","to":"c2","post":[{"kind":"urlChanges","to":"home"}]}]}"#;
    let draft = read(plan, Author::Model).unwrap();
    assert_eq!(write_lines(&draft), "dragTo(c1,c2) => urlChanges(\"home\")\n");
}
