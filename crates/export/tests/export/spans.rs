//! OpenTelemetry: what a trace says, and that it says it again.

use std::collections::{BTreeMap, BTreeSet};

use cuebook_export::{Format, Redaction};
use serde_json::{Value, json};

use crate::sample::{NOON, PERSONAL, Runs, files};

/// The spans in the files of an export, by name.
fn spans(files: &BTreeMap<String, Vec<u8>>) -> Vec<Value> {
    let traces = files.iter().filter(|(name, _)| name.ends_with(".otlp.jsonl"));
    let lines = traces.flat_map(|(_, bytes)| std::str::from_utf8(bytes).unwrap().lines());
    let requests = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let all = |request: Value| request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    requests.flat_map(all).collect()
}

fn exported(runs: &Runs, redaction: Redaction) -> Vec<Value> {
    let (out, exported) = runs.export(Format::Otlp, redaction);
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    spans(&files(&out))
}

fn attribute(span: &Value, key: &str) -> Value {
    let all = span["attributes"].as_array().unwrap();
    all.iter().find(|one| one["key"] == key).map_or(Value::Null, |one| one["value"].clone())
}

fn time(span: &Value, which: &str) -> u64 {
    span[which].as_str().unwrap().parse().unwrap()
}

#[test]
fn a_trace_is_a_run_with_its_calls_and_steps_below_it() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let spans = exported(&runs, Redaction::None);
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    let expected =
        ["chat qwen3:8b", "execute_tool type", "execute_tool click", "execute_tool click", "invoke_agent cuebook"];
    assert_eq!(names, expected);
    let [chat, typed, failed, clicked, run] = spans.as_slice() else { panic!("{spans:?}") };

    let ids: BTreeSet<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 5);
    assert!(ids.iter().all(|id| id.len() == 16) && run["traceId"].as_str().unwrap().len() == 32);
    assert!(spans.iter().all(|span| span["traceId"] == run["traceId"]));
    assert_eq!(run.get("parentSpanId"), None);
    for child in [chat, typed, failed, clicked] {
        assert_eq!(child["parentSpanId"], run["spanId"]);
        assert!(time(run, "startTimeUnixNano") <= time(child, "startTimeUnixNano"), "{child}");
        assert!(time(child, "endTimeUnixNano") <= time(run, "endTimeUnixNano"), "{child}");
    }
    let step = (time(typed, "startTimeUnixNano"), time(typed, "endTimeUnixNano"));
    assert_eq!(step, (NOON * 1_000_000, (NOON + 240) * 1_000_000));
    assert_eq!(time(run, "endTimeUnixNano"), (NOON + 9_000) * 1_000_000);
    assert_eq!(typed["links"], json!([{ "traceId": chat["traceId"], "spanId": chat["spanId"] }]));

    assert_eq!(attribute(chat, "gen_ai.operation.name"), json!({ "stringValue": "chat" }));
    assert_eq!(attribute(chat, "gen_ai.provider.name"), json!({ "stringValue": "ollama" }));
    assert_eq!(attribute(chat, "gen_ai.usage.input_tokens"), json!({ "intValue": "100" }));
    assert_eq!(attribute(chat, "error.type"), json!({ "stringValue": "invalidPlan" }));
    assert_eq!(attribute(failed, "error.type"), json!({ "stringValue": "postconditionFailed" }));
    assert_eq!(failed["status"], json!({ "code": 2, "message": format!("{PERSONAL} stayed") }));
    assert_eq!((&clicked["status"], attribute(clicked, "error.type")), (&json!({}), Value::Null));
    assert_eq!(attribute(run, "cuebook.run.result"), json!({ "stringValue": "ok" }));
}

#[test]
fn ids_depend_on_the_run_and_on_nothing_else() {
    let ids = |spans: &[Value]| {
        let id = |span: &Value| format!("{} {} {}", span["traceId"], span["spanId"], span["parentSpanId"]);
        spans.iter().map(id).collect::<Vec<_>>()
    };
    let (one, other) = (Runs::new(), Runs::new());
    one.login("r1", NOON);
    other.login("r1", NOON);
    let first = ids(&exported(&one, Redaction::None));
    assert_eq!(ids(&exported(&other, Redaction::Strict)), first);
    let second = Runs::new();
    second.login("r2", NOON);
    assert!(ids(&exported(&second, Redaction::None)).iter().all(|id| !first.contains(id)));
}

#[test]
fn a_run_that_was_killed_has_a_span_up_to_its_last_step() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let log = runs.path("r1").join("log.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("\"end\",")).collect();
    assert_eq!(kept.len() + 1, text.lines().count());
    std::fs::write(&log, kept.join("\n") + "\n").unwrap();
    let spans = exported(&runs, Redaction::None);
    let run = spans.last().unwrap();
    assert_eq!(attribute(run, "cuebook.run.result"), Value::Null);
    assert_eq!(time(run, "endTimeUnixNano"), (NOON + 2_240) * 1_000_000);
}

#[test]
fn a_long_run_is_several_requests() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let log = runs.path("r1").join("log.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let step: String =
        text.lines().filter(|line| line.contains("\"stepIndex\":0")).map(|line| format!("{line}\n")).collect();
    assert_eq!(step.lines().count(), 2, "its begin and its commit");
    let more: String =
        (3..600).map(|index| step.replace("\"stepIndex\":0", &format!("\"stepIndex\":{index}"))).collect();
    let (head, end) = text.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&log, format!("{head}\n{more}{end}\n")).unwrap();
    let (out, exported) = runs.export(Format::Otlp, Redaction::None);
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    let files = files(&out);
    assert_eq!(spans(&files).len(), 602);
    assert_eq!(files["r1.otlp.jsonl"].iter().filter(|byte| **byte == b'\n').count(), 3);
}
