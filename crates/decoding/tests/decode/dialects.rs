//! Checks what each dialect expresses of a page, what it loses, and how it stays within its limits.

use std::collections::BTreeSet;

use cuebook_decoding::emit::{self, Body, Degraded, Emission, Loss, Target, emit, emit_within};
use cuebook_decoding::mask::Form;
use cuebook_decoding::{
    Caps, PlanStream, UNWRITTEN, UNWRITTEN_CONDITIONS, UNWRITTEN_EXTRACTS, read, specialise, specialise_with,
    write_lines,
};
use cuebook_grammar::action::{ActionKind, ExtractKind};
use cuebook_grammar::condition::Condition;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{FrameSummary, Observation};
use cuebook_grammar::plan::Author;
use cuebook_grammar::policy::{Policy, RegisteredAction};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::wire::ShortText;
use cuebook_grammar::{Document, schema_of};
use serde_json::{Value, json};

use crate::{accepts, byte_masks, gbnf, text_of};

pub(crate) fn page(buttons: usize) -> Observation {
    let mut candidates = vec![
        json!({ "id": "c1", "role": "textbox", "name": "Name", "control": "text", "states": { "editable": true },
            "fingerprint": { "role": "textbox", "name": "Name", "path": "" } }),
        json!({ "id": "c2", "role": "combobox", "name": "Size", "control": "select",
            "options": [{ "value": "s", "label": "Small" }, { "value": "l", "label": "Large", "disabled": true }],
            "fingerprint": { "role": "combobox", "name": "Size", "path": "" } }),
        json!({ "id": "c3", "role": "radio", "name": "Express", "control": "check",
            "fingerprint": { "role": "radio", "name": "Express", "path": "" } }),
        json!({ "id": "c4", "role": "button", "name": "Edit", "ambiguous": true,
            "fingerprint": { "role": "button", "name": "Edit", "path": "" } }),
        json!({ "id": "c5", "role": "button", "name": "Win", "frame": 1,
            "fingerprint": { "role": "button", "name": "Win", "path": "" } }),
    ];
    candidates.extend((0..buttons).map(|n| {
        json!({ "id": format!("c{}", n + 10), "role": "button", "name": format!("Delete {n}"),
            "fingerprint": { "role": "button", "name": format!("Delete {n}"), "path": "" } })
    }));
    let frame = |origin: &str| FrameSummary {
        parent: None,
        url: format!("{origin}/"),
        origin: origin.to_owned(),
        name: String::new(),
        out_of_process: false,
        omitted: None,
    };
    Observation {
        frames: vec![frame("https://shop.test"), frame("https://ads.test")],
        candidates: serde_json::from_value(candidates.into()).unwrap(),
        ..Observation::blank(PageId::new("tab"), "https://shop.test/")
    }
}

pub(crate) fn policy() -> Policy {
    Policy::new(Profile::Auto).starting_at("https://shop.test/").unwrap()
}

fn json_of(emission: &Emission) -> &Value {
    match &emission.body {
        Body::Json(body) => body,
        Body::Text(text) => panic!("expected JSON, saw {text}"),
    }
}

fn takes(observation: &Observation, text: &str) -> bool {
    accepts(&byte_masks(), &specialise(observation, &policy()), text)
}

/// Returns the error of a stream under the grammar of the page at the last byte of `text`; no byte before it is
/// refused.
fn refused_at_end(observation: &Observation, text: &str) -> String {
    let spec = specialise(observation, &policy());
    let (last, front) = text.as_bytes().split_last().unwrap();
    let mut stream = PlanStream::new(spec.document());
    assert_eq!(stream.push(front), Ok(Vec::new()), "{text}");
    stream.push(&[*last]).unwrap_err().to_string()
}

fn last(step: &str) -> String {
    format!(r#"{{"version":"1.0","last":{step}}}"#)
}

#[test]
fn what_a_page_or_a_policy_does_not_allow_cannot_be_written() {
    let page = page(1);
    for allowed in [
        r#"{"type":"click","targetRef":"c10"}"#,
        r#"{"type":"type","targetRef":"c1","text":"Ada"}"#,
        r#"{"type":"select","targetRef":"c2","option":"Small"}"#,
        r#"{"type":"check","targetRef":"c3"}"#,
        r#"{"type":"navigate","url":"https://shop.test/cart"}"#,
    ] {
        assert!(takes(&page, &last(allowed)), "{allowed}");
    }
    for step in [
        r#"{"type":"click","targetRef":"c99"}"#,
        r#"{"type":"click","targetRef":"c4"}"#,
        r#"{"type":"click","targetRef":"c5"}"#,
        r#"{"type":"type","targetRef":"c10","text":"x"}"#,
        r#"{"type":"select","targetRef":"c2","option":"Large"}"#,
        r#"{"type":"uncheck","targetRef":"c3"}"#,
        r#"{"type":"navigate","url":"https://evil.test/"}"#,
        r#"{"type":"shell","command":"ls"}"#,
        r#"{"type":"clickPoint","point":{"x":1,"y":1}}"#,
        r#"{"type":"acceptDialog"}"#,
    ] {
        assert!(!takes(&page, &last(step)), "{step}");
    }
}

/// A selector reads, and never becomes a target.
#[test]
fn a_model_may_read_by_css_in_every_profile() {
    for profile in [Profile::Assisted, Profile::SemiAuto, Profile::Auto, Profile::Unleashed] {
        let policy = Policy::new(profile).starting_at("https://shop.test/").unwrap();
        let spec = specialise(&page(1), &policy);
        let takes = |step: &str| accepts(&byte_masks(), &spec, &last(step));
        let find = r#"{"type":"findElements","selector":"td a","attributes":["href"],"within":"c10"}"#;
        assert!(takes(find), "{profile:?}");
        let draft = read::read(&last(find), Author::Model).unwrap();
        assert!(draft.check(&page(1), &policy).is_ok(), "{profile:?}");
        assert_eq!(takes(r#"{"type":"resolveSelector","css":"td a"}"#), profile == Profile::Unleashed);
    }
}

#[test]
fn a_stream_refuses_a_verb_or_a_target_at_its_first_wrong_byte() {
    let page = page(90);
    let open = |step: &str| format!(r#"{{"version":"1.0","last":{step}"#);
    for (step, path, seen) in [
        (r#"{"type":"click","targetRef":"c999"#, "/last/targetRef: expected one of c1, c2, c3, c10", "c999"),
        (r#"{"type":"click","targetRef":"c4""#, "/last/targetRef: expected one of c1, c2, c3, c10", "c4"),
        (r#"{"type":"type","targetRef":"c2"#, "/last/targetRef: expected one of c1, saw", "c2"),
        (r#"{"type":"sh"#, "/last/type: expected one of ", "sh"),
        ("{ \"type\" : \"click\" ,\n \"targetRef\": \"d", "/last/targetRef: expected one of c1, c2, c3, c10", "d"),
    ] {
        let error = refused_at_end(&page, &open(step));
        assert!(error.starts_with(path) && error.ends_with(&format!("saw {seen:?}")), "{step}: {error}");
    }
    let listed = r#"{"version":"1.0","steps":[{"type":"hover","targetRef":"c1"},{"type":"n"#;
    let spec = specialise(&page, &policy());
    let mut stream = PlanStream::new(spec.document());
    let (last, front) = listed.as_bytes().split_last().unwrap();
    assert_eq!(stream.push(front).unwrap().len(), 1);
    assert!(stream.push(&[*last]).unwrap_err().to_string().starts_with("/steps/1/type: expected one of "));
}

#[test]
fn a_stream_reads_the_members_of_a_step_in_any_order() {
    let page = page(1);
    let spec = specialise(&page, &policy());
    let mut stream = PlanStream::new(spec.document());
    let text = last(r#"{"explanation":"{\"type\":\"x","targetRef":"c10","type":"click"}"#);
    assert_eq!(stream.push(text.as_bytes()).unwrap().len(), 1, "{text}");
}

#[test]
fn nothing_follows_the_step_that_may_leave_the_page() {
    let page = page(1);
    let leaving = r#"{"type":"navigate","url":"https://shop.test/"}"#;
    let plan = format!(r#"{{"version":"1.0","steps":[{leaving}],"last":{{"type":"finish"}}}}"#);
    assert!(!takes(&page, &plan));
    let changing = r#"{"type":"click","targetRef":"c10","post":[{"kind":"urlChanges"}]}"#;
    let plan = format!(r#"{{"version":"1.0","steps":[{changing}],"last":{{"type":"finish"}}}}"#);
    assert!(!takes(&page, &plan));
    assert!(takes(&page, &last(changing)));
}

#[test]
fn every_dialect_keeps_its_limits_at_any_size_or_says_that_it_cannot() {
    for buttons in [0, 5, 100, 1_000] {
        let page = page(buttons);
        for target in Target::ALL {
            let (spec, emission, degraded) = emit_within(target, &page, &policy(), &Caps::default());
            let fits = emission.is_within_limits();
            assert!(fits || degraded == Degraded::InPrompt, "{} at {buttons}: {:?}", target.as_str(), emission.limits);
            if matches!(target, Target::Anthropic | Target::AnthropicPage) {
                let tools = json_of(&emission)["tools"].as_array().unwrap();
                let strict = tools.iter().filter(|tool| tool["strict"] == true).count();
                assert_eq!(emission.limits[0].used, strict as u64);
                assert_eq!(emission.lost.contains(&Loss::Strictness), strict < tools.len());
                // What acts is strict; the limits leave out what only reads.
                for tool in ["click", "setValue", "toggle"] {
                    let tool = tools.iter().find(|known| known["name"] == tool);
                    assert!(tool.is_none_or(|tool| tool["strict"] == true), "{tool:?}");
                }
            }
            assert!(spec.offered().len() <= 150);
        }
    }
    let (_, _, degraded) = emit_within(Target::OpenAi, &page(10), &policy(), &Caps::default());
    assert_eq!(degraded, Degraded::Nothing);
}

#[test]
fn openai_requires_every_member_and_knows_no_lengths() {
    fn visit(schema: &Value) {
        match schema {
            Value::Object(object) => {
                for word in ["oneOf", "allOf", "not", "const", "minLength", "maxLength", "default"] {
                    assert!(!object.contains_key(word), "{word} in {schema}");
                }
                if let Some(Value::Object(properties)) = object.get("properties") {
                    let required: BTreeSet<&str> =
                        object["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                    assert_eq!(required, properties.keys().map(String::as_str).collect());
                    assert_eq!(object["additionalProperties"], false);
                    properties.values().for_each(visit);
                }
                for (key, inner) in object {
                    if key != "properties" {
                        visit(inner);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(visit),
            _ => {}
        }
    }
    let spec = specialise(&page(3), &policy());
    let emission = emit(Target::OpenAi, spec.document());
    let schema = &json_of(&emission)["json_schema"]["schema"];
    assert_eq!(schema["type"], "object");
    assert!(schema.get("anyOf").is_none());
    visit(schema);
    assert!(emission.lost.contains(&Loss::Lengths));
}

/// llama.cpp writes what is required before what is not: nothing of a plan may be left to the end.
#[test]
fn a_plan_of_llama_cpp_has_its_thought_first_and_its_last_step_last() {
    for target in [Target::Ollama, Target::Compatible] {
        has_its_thought_first(target);
    }
}

fn has_its_thought_first(target: Target) {
    let spec = specialise(&page(3), &policy());
    let emission = emit(target, spec.document());
    let parts = json!(["version", "reasoningSummary", "goal", "goalReason", "steps", "last"]);
    assert_eq!(json_of(&emission)["required"], parts);
    assert_eq!(
        json_of(&emission)["properties"].as_object().unwrap().keys().collect::<Vec<_>>(),
        parts.as_array().unwrap().iter().collect::<Vec<_>>()
    );
    let schema = jsonschema::draft202012::new(json_of(&emission)).unwrap();
    let plan = json!({
        "version": "1.0", "reasoningSummary": "", "goal": [], "goalReason": "", "steps": [], "last": { "type": "finish" },
    });
    assert!(schema.is_valid(&plan));
    assert!(takes(&page(3), &plan.to_string()), "it is a sentence in every dialect");
}

/// XGrammar compiles a repetition with an upper bound for seconds.
#[test]
fn a_schema_for_compatible_servers_bounds_no_text() {
    let (page, policy, caps) = everything();
    let text = json_of(&emit(Target::Compatible, specialise_with(&page, &policy, &caps).document())).to_string();
    assert!(!text.contains("\"maxLength\"") && !text.contains("\"minLength\""), "{text}");
    let patterns = text.split("\"pattern\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    // The labels of a host are at most 30 characters; that costs nothing.
    let is_bound =
        |inner: &str| inner.split_once(',').is_some_and(|(_, most)| most.parse().is_ok_and(|most: u32| most > 30));
    for pattern in patterns {
        assert!(!pattern.split('{').filter_map(|rest| rest.split('}').next()).any(is_bound), "{pattern}");
    }
}

/// Servers that require a call suppress the text before it.
#[test]
fn every_tool_asks_for_the_thought_first() {
    let (page, policy, caps) = everything();
    let (tools, anthropic) = ("/function/parameters", "/input_schema");
    for (target, of) in [(Target::Tools, tools), (Target::Anthropic, anthropic), (Target::AnthropicPage, anthropic)] {
        let emission = emit_within(target, &page, &policy, &caps).1;
        let tools = json_of(&emission).get("tools").unwrap_or(json_of(&emission)).as_array().unwrap().clone();
        assert!(tools.len() > 15);
        for tool in tools {
            let schema = tool.pointer(of).unwrap();
            assert_eq!(schema["properties"].as_object().unwrap().keys().next().unwrap(), "thought", "{tool}");
            assert_eq!(schema["required"][0], "thought", "{tool}");
            assert_eq!(schema["properties"]["thought"]["type"], "string", "{tool}");
        }
    }
    let call = json!([{ "name": "click", "arguments": { "thought": "The form is full.", "targetRef": "c3" } },
        { "name": "history", "arguments": { "thought": "", "type": "reload" } }]);
    let draft = read::read(&call.to_string(), Author::Model).unwrap();
    assert_eq!(draft.reasoning_summary.as_deref(), Some("The form is full."));
    assert_eq!(json!(draft.steps), json!([{ "type": "click", "targetRef": "c3" }, { "type": "reload" }]));
}

#[test]
fn tools_are_few_and_their_calls_read_back() {
    let (page, policy, caps) = everything();
    let (spec, emission, degraded) = emit_within(Target::Tools, &page, &policy, &caps);
    assert_eq!(degraded, Degraded::Nothing);
    let tools = json_of(&emission).as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(names.len() <= 20, "{names:?}");
    for name in ["click", "type", "select", "navigate", "finish", "wait", "history"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let click = tools.iter().find(|tool| tool["function"]["name"] == "click").unwrap();
    let ids: Vec<String> = spec.offered().iter().map(|offered| offered.id.to_string()).collect();
    assert_eq!(click["function"]["parameters"]["$defs"]["target"]["enum"], json!(ids));
    let size: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    assert!(size < 20_000, "{size} bytes of tools");

    let read = |name: &str, arguments: Value| {
        let call = json!({ "tool_calls": [{ "function": { "name": name, "arguments": arguments.to_string() } }] });
        read::read(&call.to_string(), Author::Model).map(|draft| json!(draft.steps)).map_err(|all| all.to_string())
    };
    let step = json!([{ "type": "switchTab", "tab": 1 }]);
    assert_eq!(read("history", json!({ "type": "switchTab", "tab": 1 })), Ok(step.clone()));
    assert_eq!(read("switchTab", json!({ "tab": 1 })), Ok(step), "the name of a verb is understood too");
    assert_eq!(read("history", json!({ "type": "reload", "tab": null })), Ok(json!([{ "type": "reload" }])));
    for arguments in [json!({}), json!({ "type": "click" }), json!({ "type": 7 })] {
        let error = read("history", arguments).unwrap_err();
        assert!(error.contains("must be one of goBack, goForward, reload, switchTab, closeTab"), "{error}");
    }
}

/// A registered action keeps its name as a tool, unless a tool of several verbs has it.
#[test]
fn registered_actions_are_no_other_tools() {
    let action = |name: &str| RegisteredAction {
        name: ShortText::new(name).unwrap(),
        schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        effect: cuebook_grammar::effect::EffectClass::ReadOnly,
        description: ShortText::new("").unwrap(),
    };
    let policy = policy().registering(action("search")).registering(action("sendMail"));
    let spec = specialise(&page(1), &policy);
    let tools = emit(Target::Tools, spec.document());
    for (tool, name) in [("call_search", "search"), ("sendMail", "sendMail")] {
        assert!(names_tool(json_of(&tools), tool), "{tool}");
        let call = json!({ "name": tool, "arguments": {} }).to_string();
        let steps = json!(read::read(&call, Author::Model).unwrap().steps);
        assert_eq!(steps, json!([{ "type": "call", "name": name, "args": {} }]));
    }
}

#[test]
fn anthropic_tools_are_equal_for_all_pages_and_strict_where_few_are_open() {
    let tools = |page: &Observation, policy: &Policy| emit_within(Target::Anthropic, page, policy, &Caps::default()).1;
    let mut blocked = page(3);
    blocked.dialog = serde_json::from_value(json!({ "kind": "prompt", "message": "?" })).unwrap();
    let one = tools(&page(2), &policy());
    assert_eq!(one.body, tools(&page(70), &policy()).body);
    assert_eq!(one.body, tools(&blocked, &policy()).body);
    assert_eq!(json_of(&one)["tools"][0]["strict"], true, "{:?}", one.limits);
    let (page, open, _) = everything();
    assert!(json_of(&tools(&page, &open))["tools"].as_array().unwrap().len() <= 20);
}

/// An id that the page lacks, or an option that the list lacks, cannot be written in strict tools for one page.
#[test]
fn anthropic_tools_for_a_page_name_only_what_it_has() {
    let emission = emit_within(Target::AnthropicPage, &page(2), &policy(), &Caps::default()).1;
    assert_eq!(json_of(&emission)["tools"][0]["strict"], true, "{:?}", emission.limits);
    let tools = json_of(&emission)["tools"].as_array().unwrap();
    let click = tools.iter().find(|tool| tool["name"] == "click").unwrap();
    let takes = |target: &str| {
        let call = json!({ "thought": "", "targetRef": target });
        jsonschema::draft202012::is_valid(&click["input_schema"], &call)
    };
    assert!(takes("c10") && takes("c11"));
    assert!(!takes("c12") && !takes("c77"), "{click}");
}

#[test]
fn the_hash_is_that_of_the_sentences() {
    let hash = |buttons| specialise(&page(buttons), &policy()).hash().to_owned();
    assert_eq!(hash(3), hash(3));
    assert_ne!(hash(3), hash(4));
}

/// A page and a policy where every verb has a target, but those of a dialog.
fn everything() -> (Observation, Policy, Caps) {
    let mut page = page(2);
    page.tabs = serde_json::from_value(json!([
        { "page": "a", "url": "", "title": "" }, { "page": "b", "url": "", "title": "" }
    ]))
    .unwrap();
    page.candidates.extend(
        serde_json::from_value::<Vec<_>>(json!([
            { "id": "c6", "role": "button", "name": "File", "control": "file", "fingerprint": { "role": "button", "name": "", "path": "" } },
            { "id": "c7", "role": "checkbox", "name": "Box", "control": "check", "fingerprint": { "role": "checkbox", "name": "", "path": "" } },
        ]))
        .unwrap(),
    );
    let policy = Policy::new(Profile::Unleashed).starting_at("https://shop.test/").unwrap().opening(crate::outside());
    let caps = Caps {
        files: vec!["a".to_owned()],
        credentials: vec![cuebook_grammar::id::CredentialRef::new("shop")],
        ..Caps::default()
    };
    (page, policy, caps)
}

/// A verb's parameters are written by the grammar, or listed with a reason.
#[test]
fn the_grammar_writes_every_member_of_the_language_but_those_it_lists() {
    let published = schema_of(Document::Plan);
    let step = &published["$defs"]["Step"]["oneOf"];
    let (page, policy, caps) = everything();
    let mut written = emit::json_schema::write(specialise_with(&page, &policy, &caps).document());
    let mut blocked = page.clone();
    blocked.dialog = serde_json::from_value(json!({ "kind": "prompt", "message": "?" })).unwrap();
    let under_dialog = emit::json_schema::write(specialise_with(&blocked, &policy, &caps).document());
    let more = under_dialog["$defs"]["last"]["anyOf"].as_array().unwrap().clone();
    written["$defs"]["last"]["anyOf"].as_array_mut().unwrap().extend(more);
    let variants = written["$defs"]["last"]["anyOf"].as_array().unwrap();
    for kind in ActionKind::ALL {
        let name = kind.meta().name;
        let known = step.as_array().unwrap().iter().find(|variant| has_tag(&variant["properties"]["type"], name));
        let known =
            known.unwrap_or_else(|| panic!("{name} is not in the published schema"))["properties"].as_object().unwrap();
        let own = variants.iter().filter(|variant| has_tag(&variant["properties"]["type"], name));
        let own: BTreeSet<&str> =
            own.flat_map(|variant| variant["properties"].as_object().unwrap().keys().map(String::as_str)).collect();
        for member in known.keys() {
            let unwritten = UNWRITTEN
                .iter()
                .any(|(verb, left, _)| (*verb == "*" || *verb == name) && (*left == "*" || left == member));
            let registered = name == "call";
            assert!(
                own.contains(member.as_str()) != unwritten
                    || registered
                    || UNWRITTEN.iter().any(|(verb, left, _)| *verb == name && *left == "*"),
                "{name}.{member}: written {}, listed as unwritten {unwritten}",
                own.contains(member.as_str())
            );
        }
        for member in own {
            assert!(known.contains_key(member), "{name}.{member} is not in the language");
        }
    }
}

/// Returns `true` if the name is among those of a tag.
fn has_tag(tag: &Value, name: &str) -> bool {
    tag["const"] == name || tag["enum"].as_array().is_some_and(|names| names.contains(&name.into()))
}

/// Returns `true` if the schema has a variant with this tag.
fn writes(schema: &Value, tag: &str, name: &str) -> bool {
    let inner: Vec<&Value> = match schema {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    has_tag(&schema["properties"][tag], name) || inner.into_iter().any(|inner| writes(inner, tag, name))
}

/// Every verb is written by every dialect, on a page that has a target for it.
#[test]
fn every_dialect_writes_every_verb() {
    let (page, policy, caps) = everything();
    let mut blocked = page.clone();
    blocked.dialog = serde_json::from_value(json!({ "kind": "prompt", "message": "?" })).unwrap();
    for target in Target::ALL {
        let emissions = [&page, &blocked].map(|page| emit_within(target, page, &policy, &caps).1.body);
        for kind in ActionKind::ALL {
            let name = kind.meta().name;
            let is_written = emissions.iter().any(|body| match body {
                // A tool of a verb alone has its name.
                Body::Json(body) => writes(body, "type", name) || names_tool(body, name),
                Body::Text(text) => {
                    [format!(r#""\"{name}\"""#), format!(r#""{name}(""#)].iter().any(|form| text.contains(form))
                }
            });
            // The arguments of a registered action are its tool's.
            assert!(is_written || name == "call", "{name} in {}", target.as_str());
        }
    }
}

/// Every kind of `extract`, and each part of its query, is written by JSON and lines alike, or listed with a reason.
#[test]
fn every_kind_of_extract_is_written_but_those_listed() {
    let page = page(1);
    let spec = specialise(&page, &policy());
    let masks = byte_masks();
    let [judge, ebnf] = [Target::Gbnf, Target::Ebnf].map(|target| gbnf::Gbnf::read(&text_of(target, &spec)));
    let lines = gbnf::Gbnf::read(&text_of(Target::Line, &spec));
    let schema = jsonschema::draft202012::new(json_of(&emit(Target::Compatible, spec.document()))).unwrap();
    let takes = |query: Value| {
        let plan = json!({ "version": "1.0", "last": { "type": "extract", "query": query } });
        let text = plan.to_string();
        let full = json!({
            "version": "1.0", "reasoningSummary": "", "goal": [], "goalReason": "", "steps": [], "last": plan["last"],
        });
        let mut all = vec![accepts(&masks, &spec, &text), schema.is_valid(&full), judge.accepts(&text)];
        // It takes any characters for a pattern.
        assert!(!all[0] || ebnf.accepts(&text), "{text}");
        if let Ok(draft) = read::read(&text, Author::Model) {
            all.push(lines.accepts(&write_lines(&draft)));
            assert!(!all[0] || draft.check(&page, &policy()).is_ok(), "{text}");
        }
        assert!(all.iter().all(|takes| *takes == all[0]), "{text}: {all:?}");
        all[0]
    };
    for kind in ExtractKind::ALL {
        let kind = kind.as_str();
        let is_listed = UNWRITTEN_EXTRACTS.iter().any(|(listed, _)| *listed == kind);
        let mut query = match kind {
            "attribute" => json!({ "kind": kind, "name": "href" }),
            "schema" => json!({ "kind": kind, "schema": [{ "name": "rows[].price", "type": "number" }] }),
            "count" => json!({ "targetRef": "c1", "kind": kind }),
            _ => json!({ "kind": kind }),
        };
        assert_ne!(takes(query.clone()), is_listed, "{kind}");
        query["pattern"] = "id=[0-9]".into();
        assert!(!takes(query.clone()), "a pattern has letters, digits and few signs");
        query["pattern"] = "Total: ".into();
        let is_text = matches!(kind, "text" | "html" | "outerHtml" | "value" | "markdown" | "attribute" | "url");
        assert_eq!(takes(query), is_text, "a part of {kind}");
    }
    let open = json!({ "kind": "schema", "schema": { "type": "object" } });
    assert!(!takes(open), "no grammar bounds an open object");
    let published = schema_of(Document::Plan)["$defs"]["ExtractQuery"]["properties"].clone();
    let parts: BTreeSet<&str> = published.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(parts, BTreeSet::from(["targetRef", "kind", "name", "pattern", "schema"]), "each is looked at above");
}

/// A table and two fields, as each dialect writes them and as they are read back: as a JSON Schema.
#[test]
fn every_dialect_writes_an_extract_by_a_schema() {
    let page = page(1);
    let fields = json!([{ "name": "total", "type": "number" }, { "name": "tags[]", "type": "string" },
        { "name": "rows[].item", "type": "string" }, { "name": "rows[].due", "type": "date" }]);
    let text = json!({ "type": "string" });
    let row =
        json!({ "type": "object", "properties": { "item": text, "due": { "type": "string", "format": "date" } } });
    let schema = json!({ "type": "object", "properties": {
        "total": { "type": "number" }, "tags": { "type": "array", "items": text },
        "rows": { "type": "array", "items": row } } });
    let query = json!({ "kind": "schema", "schema": fields });
    let plan = json!({ "version": "1.0", "last": { "type": "extract", "query": query } });
    let whole = json!({
        "version": "1.0", "reasoningSummary": "", "goal": [], "goalReason": "", "steps": [], "last": plan["last"],
    });
    for target in Target::ALL {
        let (spec, emission, degraded) = emit_within(target, &page, &policy(), &Caps::default());
        assert_ne!(degraded, Degraded::InPrompt, "{}", target.as_str());
        let valid = |schema: &Value, written: &Value| {
            assert!(jsonschema::draft202012::is_valid(schema, written), "{}: {written}\n{schema}", target.as_str());
        };
        let written = match target {
            Target::JsonSchema | Target::Ollama | Target::Compatible => {
                valid(json_of(&emission), &whole);
                whole.to_string()
            }
            Target::OpenAi => {
                let schema = &json_of(&emission)["json_schema"]["schema"];
                let filled = filled(schema, schema, &plan).unwrap_or_default();
                valid(schema, &filled);
                filled.to_string()
            }
            Target::Gemini => {
                let plan = json!({ "version": "1.0",
                    "last": { "type": "extract", "kind": "schema", "schema": fields } });
                valid(&json_of(&emission)["responseSchema"], &plan);
                plan.to_string()
            }
            Target::Tools | Target::Anthropic | Target::AnthropicPage => {
                let of = if target == Target::Tools { "/function/parameters" } else { "/input_schema" };
                let tools = json_of(&emission).get("tools").unwrap_or(json_of(&emission)).as_array().unwrap();
                let mut schemas = tools.iter().filter_map(|tool| tool.pointer(of));
                let schema = schemas.rfind(|schema| writes(schema, "type", "extract")).unwrap();
                let mut call = json!({ "thought": "", "type": "extract", "query": query });
                if target == Target::Tools {
                    call = filled(schema, schema, &call).unwrap_or_default();
                }
                valid(schema, &call);
                json!([{ "name": "look", "arguments": call }]).to_string()
            }
            Target::Gbnf | Target::Ebnf => {
                assert!(gbnf::Gbnf::read(&text_of(target, &spec)).accepts(&plan.to_string()));
                plan.to_string()
            }
            Target::Lark => {
                assert!(accepts(&byte_masks(), &spec, &plan.to_string()));
                plan.to_string()
            }
            Target::Line => {
                let lines = format!("extract({query})\n");
                assert!(gbnf::Gbnf::read(&text_of(target, &spec)).accepts(&lines), "{lines}");
                lines
            }
        };
        let draft = read::read(&written, Author::Model).unwrap_or_else(|error| panic!("{error:?}: {written}"));
        assert_eq!(json!(draft.steps), json!([{ "type": "extract", "query": { "kind": "schema", "schema": schema } }]));
        assert!(draft.check(&page, &policy()).is_ok(), "{}", target.as_str());
        assert!(write_lines(&draft).contains(&fields.to_string()), "a model reads it as it writes it");
    }
}

/// Strict tools of Anthropic have no room for another optional parameter: a list that is not used is empty.
#[test]
fn an_empty_list_of_fields_is_none() {
    let emission = emit_within(Target::Anthropic, &page(1), &policy(), &Caps::default()).1;
    let optional = emission.limits.iter().find(|limit| limit.limit.starts_with("optional")).unwrap();
    assert!(optional.is_within(), "{optional:?}");
    let call = json!([{ "name": "look", "arguments": { "thought": "", "type": "extract",
        "query": { "kind": "markdown", "schema": [] } } }]);
    let draft = read::read(&call.to_string(), Author::Model).unwrap();
    assert_eq!(json!(draft.steps), json!([{ "type": "extract", "query": { "kind": "markdown" } }]));
}

/// Returns `true` if there is a tool of this name.
fn names_tool(tools: &Value, name: &str) -> bool {
    let tools = tools.get("tools").unwrap_or(tools).as_array().cloned().unwrap_or_default();
    tools.iter().any(|tool| tool["name"] == name || tool["function"]["name"] == name)
}

/// A kind of condition is written by every dialect that has conditions, or listed with a reason.
#[test]
fn every_dialect_with_conditions_writes_every_kind_but_those_listed() {
    let mut page = page(2);
    page.candidates.truncate(3);
    let spec = specialise(&page, &policy());
    for target in Target::ALL {
        let emission = emit(target, spec.document());
        if emission.lost.contains(&Loss::Conditions) {
            continue;
        }
        for kind in Condition::TAGS {
            let is_listed = UNWRITTEN_CONDITIONS.iter().any(|(listed, _)| listed == kind);
            let is_written = match &emission.body {
                Body::Json(body) => writes(body, "kind", kind),
                Body::Text(text) => {
                    let forms = [format!(r#""\"{kind}\"""#), format!(r#""{kind}(""#)];
                    forms.iter().any(|form| text.contains(form))
                }
            };
            assert_ne!(is_written, is_listed, "{kind} in {}", target.as_str());
        }
    }
}

/// The page of the source document's login, and its plan with observed ids in two parts: what follows a page change is
/// planned anew.
pub(crate) fn articles_login() -> (Observation, [String; 2]) {
    let mut page = page(1);
    page.candidates[1] = page.candidates[0].clone();
    page.candidates[1].id = cuebook_grammar::id::CandidateId::parse("c2").unwrap();
    let before = r#"{"type":"type","targetRef":"c1","text":"user@example.com","pre":[{"kind":"exists","target":"c1"}],"post":[{"kind":"attrEquals","target":"c1","name":"value","value":"user@example.com"}]},{"type":"type","targetRef":"c2","text":"hunter2","pre":[{"kind":"exists","target":"c2"}]}"#;
    let click = r#"{"type":"click","targetRef":"c10","pre":[{"kind":"visible","target":"c10"}],"post":[{"kind":"networkIdle","timeoutMs":1500},{"kind":"urlChanges"}]}"#;
    let wait = r#"{"type":"waitFor","condition":{"kind":"urlMatches","pattern":"/dashboard"},"timeoutMs":5000}"#;
    (page, [format!(r#"{{"version":"1.0","steps":[{before}],"last":{click}}}"#), last(wait)])
}

/// The value with null for whatever a strict schema requires and the value leaves out; `None` if that does not help.
fn filled(root: &Value, schema: &Value, value: &Value) -> Option<Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        return filled(root, root.pointer(reference.trim_start_matches('#'))?, value);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().find_map(|choice| filled(root, choice, value));
    }
    match value {
        Value::Object(members) => {
            let known = schema["properties"].as_object()?;
            if !members.keys().all(|name| known.contains_key(name)) {
                return None;
            }
            let part = |(name, schema): (&String, &Value)| {
                Some((name.clone(), filled(root, schema, members.get(name).unwrap_or(&Value::Null))?))
            };
            known.iter().map(part).collect::<Option<_>>().map(Value::Object)
        }
        Value::Array(items) => {
            let all: Option<Vec<Value>> = items.iter().map(|item| filled(root, &schema["items"], item)).collect();
            all.map(Value::Array)
        }
        _ => {
            let mut alone = schema.clone();
            alone["$defs"] = root["$defs"].clone();
            jsonschema::draft202012::is_valid(&alone, value).then(|| value.clone())
        }
    }
}

/// Each dialect that has conditions, as the recognisers here read it.
#[test]
fn every_dialect_with_conditions_takes_the_articles_login_plan() {
    let (page, plans) = articles_login();
    let spec = specialise(&page, &policy());
    for target in Target::ALL {
        let emission = emit(target, spec.document());
        if emission.lost.contains(&Loss::Conditions) {
            continue;
        }
        for text in &plans {
            let plan: Value = serde_json::from_str(text).unwrap();
            let takes = match target {
                Target::JsonSchema | Target::Ollama | Target::Compatible => {
                    // The latter two require the parts of a plan that may be empty.
                    let mut whole = json!({
                        "version": "1.0", "reasoningSummary": "", "goal": [], "goalReason": "", "steps": [],
                    });
                    whole.as_object_mut().unwrap().extend(plan.as_object().unwrap().clone());
                    jsonschema::draft202012::is_valid(json_of(&emission), &whole)
                }
                Target::OpenAi => {
                    let schema = &json_of(&emission)["json_schema"]["schema"];
                    let filled = filled(schema, schema, &plan).unwrap_or_default();
                    let read = read::read(&filled.to_string(), Author::Model);
                    assert_eq!(read, read::read(text, Author::Model), "nulls mean nothing");
                    jsonschema::draft202012::is_valid(schema, &filled)
                }
                Target::Gbnf | Target::Ebnf => gbnf::Gbnf::read(&text_of(target, &spec)).accepts(text),
                Target::Lark => accepts(&byte_masks(), &spec, text),
                Target::Line => {
                    let lines = write_lines(&read::read(text, Author::Model).unwrap());
                    gbnf::Gbnf::read(&text_of(target, &spec)).accepts(&lines)
                }
                Target::Tools | Target::Anthropic | Target::AnthropicPage | Target::Gemini => {
                    panic!("no conditions there")
                }
            };
            assert!(takes, "{} of {text}", target.as_str());
        }
    }
}

/// The positions at which a page with many options is chosen from are those that the grammar offers.
#[test]
fn long_selects_are_chosen_from_by_position_and_longer_ones_in_words() {
    for (count, accepted, refused) in [
        (40, json!("o0"), json!(0)),
        (41, json!(40), json!(41)),
        (99, json!(98), json!(99)),
        (100, json!("any"), json!(0)),
    ] {
        let mut page = page(0);
        let option = page.candidates[1].options[0].clone();
        let named = |n| cuebook_grammar::candidate::SelectOption { label: format!("o{n}"), ..option.clone() };
        page.candidates[1].options = (0..count).map(named).collect();
        let select =
            |option: &Value| last(&json!({ "type": "select", "targetRef": "c2", "option": option }).to_string());
        assert!(takes(&page, &select(&accepted)), "{count}: {accepted}");
        assert!(!takes(&page, &select(&refused)), "{count}: {refused}");
    }
}

#[test]
fn the_articles_login_plan_is_a_sentence_in_json_and_lines() {
    let (page, plans) = articles_login();
    let spec = specialise(&page, &policy());
    let masks = byte_masks();
    for text in plans {
        assert!(accepts(&masks, &spec, &text), "{text}");
        let draft = read::read(&text, Author::Model).unwrap();
        let lines = write_lines(&draft);
        let mut mask = masks.start(&spec, Form::Lines).unwrap();
        assert!(lines.bytes().all(|byte| mask.accept(u32::from(byte)).is_ok()) && mask.is_whole(), "{lines}");
        assert_eq!(read::read(&lines, Author::Model).unwrap(), draft);
    }
}
