//! The examples of the source documents of the language, read byte for byte as they stand there
//! (`crates/decoding/tests/golden/`).

use std::collections::BTreeMap;

use cuebook_decoding::emit::{self, Target};
use cuebook_decoding::read::{Form, form_of, read};
use cuebook_decoding::specialise;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::{Document, schema_of};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::dialects;

const PLAN: &str = include_str!("../golden/plan.txt");
const PLAN_SCHEMA: &str = include_str!("../golden/plan-schema.txt");
const CANDIDATES: &str = include_str!("../golden/candidates.txt");
const STEP_LOG: &str = include_str!("../golden/step-log.txt");
const TOOL_CALLS: &str = include_str!("../golden/tool-calls.json");
const PLANNER_OUTPUT: &str = include_str!("../golden/planner-output.txt");
const THOUGHT_ACTION: &str = include_str!("../golden/thought-action.txt");

/// The JSON of an example, which stands behind the name of its language.
fn json_of(example: &str) -> Value {
    serde_json::from_str(example.trim_start_matches("json")).unwrap()
}

fn draft(steps: Value, author: Author) -> PlanDraft {
    PlanDraft::of(author, serde_json::from_value(steps).unwrap())
}

fn articles_schema() -> Validator {
    jsonschema::draft202012::new(&json_of(PLAN_SCHEMA)).unwrap()
}

#[test]
fn the_articles_plan_reads_as_it_stands() {
    let expected = json!({
        "version": "1.0",
        "candidates": {
            "email": { "strategy": "byTestId", "testId": "email-input" },
            "password": { "strategy": "byTestId", "testId": "password-input" },
            "submit": { "strategy": "byRole", "role": "button", "name": "Log in" }
        },
        "steps": [
            { "type": "type", "targetRef": "email", "text": "user@example.com",
              "pre": [{ "kind": "exists", "target": "email" }],
              "post": [{ "kind": "attrEquals", "target": "email", "name": "value", "value": "user@example.com" }] },
            { "type": "type", "targetRef": "password", "text": "hunter2",
              "pre": [{ "kind": "exists", "target": "password" }] },
            { "type": "click", "targetRef": "submit", "pre": [{ "kind": "visible", "target": "submit" }],
              "post": [{ "kind": "networkIdle", "timeoutMs": 1500 }, { "kind": "urlChanges" }] },
            { "type": "waitFor", "condition": { "kind": "urlMatches", "pattern": "/dashboard" }, "timeoutMs": 5000 }
        ]
    });
    for text in [PLAN, PLAN.trim_start_matches("json")] {
        assert_eq!(form_of(text), Form::Plan);
        let draft = read(text, Author::Operator).unwrap();
        assert_eq!(serde_json::to_value(&draft).unwrap(), expected);
        let same: PlanDraft = serde_json::from_value(expected.clone()).unwrap();
        assert_eq!(draft, PlanDraft { author: Author::Operator, ..same });
    }
    let published = jsonschema::draft202012::new(&schema_of(Document::Plan)).unwrap();
    assert!(published.is_valid(&expected));
    // Its own schema has `attrEquals` before a step only, and its own plan states it after one.
    let article = articles_schema();
    let refused: Vec<String> = article.iter_errors(&expected).map(|error| error.instance_path().to_string()).collect();
    assert_eq!(refused, ["/steps/0"]);
}

/// Whatever the article's schema knows is in the language, with the same names.
#[test]
fn every_step_locator_and_condition_of_the_articles_schema_is_supported() {
    let articles = articles_schema();
    let published = jsonschema::draft202012::new(&schema_of(Document::Plan)).unwrap();
    let locators = [
        json!({ "strategy": "byTestId", "testId": "a" }),
        json!({ "strategy": "byRole", "role": "menuitem", "name": "Open" }),
        json!({ "strategy": "byRole", "role": "combobox" }),
        json!({ "strategy": "css", "selector": "#a" }),
        json!({ "strategy": "text", "text": "Open", "exact": true }),
    ];
    let pre = json!([
        { "kind": "exists", "target": "a" },
        { "kind": "visible", "target": "a" },
        { "kind": "enabled", "target": "a" },
        { "kind": "urlMatches", "pattern": "/checkout" },
        { "kind": "attrEquals", "target": "a", "name": "value", "value": "x" },
    ]);
    let post = json!([
        { "kind": "urlChanges" },
        { "kind": "urlChanges", "to": "/next" },
        { "kind": "elementTextContains", "target": "a", "text": "x" },
        { "kind": "ariaState", "target": "a", "name": "expanded", "value": "true" },
        { "kind": "networkIdle", "timeoutMs": 1000 },
    ]);
    let steps = json!([
        { "type": "navigate", "url": "https://example.com/", "pre": pre, "post": post },
        { "type": "click", "targetRef": "a", "pre": pre, "post": post },
        { "type": "type", "targetRef": "a", "text": "x", "pre": pre, "post": post },
        { "type": "select", "targetRef": "a", "option": "x", "pre": pre, "post": post },
        { "type": "select", "targetRef": "a", "option": 2 },
        { "type": "waitFor", "condition": { "kind": "visible", "target": "a" }, "timeoutMs": 0 },
        { "type": "extract", "query": { "targetRef": "a", "kind": "text" } },
        { "type": "extract", "query": { "targetRef": "a", "kind": "html" } },
        { "type": "extract", "query": { "targetRef": "a", "kind": "value" } },
    ]);
    for locator in locators {
        let plan = json!({
            "version": "1.0",
            "context": { "task": "t", "allowedDomains": ["example.com"], "viewport": { "width": 200, "height": 200 } },
            "candidates": { "a": locator },
            "steps": steps,
        });
        assert!(articles.is_valid(&plan) && published.is_valid(&plan), "{plan}");
        let draft = read(&plan.to_string(), Author::Operator).unwrap_or_else(|error| panic!("{error:?}: {plan}"));
        assert_eq!(serde_json::to_value(&draft).unwrap(), plan);
    }
}

#[test]
fn the_articles_map_of_candidates_is_one_of_locators() {
    let map = json_of(CANDIDATES);
    let locators: BTreeMap<String, Locator> = serde_json::from_value(map["candidates"].clone()).unwrap();
    assert_eq!(locators.keys().collect::<Vec<_>>(), ["email", "loginBtn", "password", "submit"]);
    assert_eq!(serde_json::to_value(&locators).unwrap(), map["candidates"]);
    let paths: Vec<String> = read(CANDIDATES, Author::Operator).unwrap_err().into_iter().map(|v| v.path).collect();
    assert!(!paths.is_empty(), "candidates alone are no plan");
}

#[test]
fn the_step_of_the_articles_log_reads_as_a_step() {
    let step = json_of(STEP_LOG)["action"].clone();
    let plan = json!({ "version": "1.0", "candidates": json_of(STEP_LOG)["candidates"], "steps": [step] });
    let draft = read(&plan.to_string(), Author::Operator).unwrap();
    assert_eq!(json!(draft.steps), json!([step]));
}

#[test]
fn calls_of_the_articles_tools_read_as_steps_and_its_tools_are_among_ours() {
    let expected = draft(
        json!([
            { "type": "type", "targetRef": "email", "text": "user@example.com" },
            { "type": "click", "targetRef": "submit" },
        ]),
        Author::Model,
    );
    assert_eq!(read(TOOL_CALLS, Author::Model), Ok(expected));

    let spec = specialise(&dialects::page(1), &dialects::policy());
    let emit::Body::Json(tools) = emit::emit(Target::Tools, spec.document()).body else { panic!("expected JSON") };
    for (name, required, ids) in [
        ("click", &["targetRef"][..], json!(["c1", "c2", "c3", "c10"])),
        ("type", &["targetRef", "text"], json!(["c1"])),
    ] {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["function"]["name"] == name).unwrap();
        assert_eq!(tool["type"], "function");
        let parameters = &tool["function"]["parameters"];
        let reference = parameters["properties"]["targetRef"]["$ref"].as_str().unwrap().trim_start_matches('#');
        assert_eq!(parameters.pointer(reference).unwrap()["enum"], ids, "{parameters}");
        for parameter in required {
            assert!(parameters["required"].as_array().unwrap().contains(&json!(parameter)), "{parameters}");
        }
    }
}

/// The planner's form stands there with words in place of values: it is told apart, and each of them is refused
/// where it stands. With values in their places it reads.
#[test]
fn the_planner_output_is_refused_as_a_template_and_reads_once_filled_in() {
    assert_eq!(form_of(PLANNER_OUTPUT), Form::PlannerOutput);
    let violations = read(PLANNER_OUTPUT, Author::Model).unwrap_err();
    let told: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(told, ["/steps/0/estimatedRisk", "/autonomyLevel"], "{violations:?}");

    let filled = PLANNER_OUTPUT
        .replace("assisted|semi_auto|auto", "semi_auto")
        .replace("low|medium|high", "low")
        .replace("\"float(0–1)\"", "0.9")
        .replace("\"tool\": \"string\"", "\"tool\": \"click\"")
        .replace("\"args\": {}", "\"args\": { \"id\": \"c3\" }");
    let expected = PlanDraft {
        reasoning_summary: serde_json::from_value(json!("string")).unwrap(),
        plan_id: serde_json::from_value(json!("string")).unwrap(),
        autonomy_level: serde_json::from_value(json!("semiAuto")).unwrap(),
        ..draft(
            json!([{ "type": "click", "targetRef": "c3", "explanation": "string", "estimatedRisk": "low", "confidence": 0.9 }]),
            Author::Model,
        )
    };
    assert_eq!(read(&filled, Author::Model), Ok(expected));
}

#[test]
fn the_thought_and_action_read_as_they_stand() {
    let expected = PlanDraft {
        reasoning_summary: serde_json::from_value(json!("I should click the Create Invoice button")).unwrap(),
        ..draft(json!([{ "type": "click", "targetRef": "c223" }]), Author::Model)
    };
    assert_eq!(form_of(THOUGHT_ACTION), Form::ThoughtAction);
    for text in [THOUGHT_ACTION, THOUGHT_ACTION.trim_end().trim_end_matches("</Action>")] {
        assert_eq!(read(text, Author::Model).as_ref(), Ok(&expected), "{text}");
    }
}
