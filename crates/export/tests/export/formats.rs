//! Every format but Parquet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::Path;

use cuebook_export::{Format, Redaction};
use cuebook_grammar::secret::MASK;
use serde_json::{Value, json};
use zip::ZipArchive;

use crate::sample::{NOON, PERSONAL, PNG, Runs, files};

/// Exports one run twice, checks that the second export changes nothing, and returns the files by path.
fn exported(format: Format, redaction: Redaction) -> (Runs, BTreeMap<String, Vec<u8>>) {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let (out, exported) = runs.export(format, redaction);
    assert!(exported.unreadable.is_empty() && exported.runs == 1, "{exported:?}");
    let before = files(&out);
    let (_, again) = runs.export(format, redaction);
    assert_eq!((again.written.len(), again.kept), (0, exported.written.len()));
    assert!(files(&out) == before, "{} changes nothing the second time", format.as_str());
    (runs, before)
}

fn lines(files: &BTreeMap<String, Vec<u8>>, name: &str) -> Vec<Value> {
    let text = String::from_utf8(files[name].clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_step_log_has_the_fields_of_the_article_and_no_others() {
    let (_runs, files) = exported(Format::StepLog, Redaction::None);
    let records = lines(&files, "steps.jsonl");
    assert_eq!(records.len(), 3);
    let record = &records[1];
    let names: Vec<&String> = record.as_object().unwrap().keys().collect();
    let expected =
        ["action", "artifacts", "candidates", "execution", "postCheck", "preCheck", "result", "runId", "stepIndex"];
    assert_eq!(names.into_iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(expected));
    assert_eq!(
        (&record["runId"], &record["stepIndex"], &record["result"]),
        (&json!("r1"), &json!(1), &json!("failed"))
    );
    assert_eq!(record["postCheck"], json!({ "urlChanged": false }));
    assert_eq!(records[0]["preCheck"], json!({ "visible": true }));
    assert_eq!(record["execution"], json!({ "ts": NOON / 1_000 + 1, "durationMs": 240, "cdp": { "events": 12 } }));
    assert_eq!(records[0]["candidates"]["c1"], json!({ "strategy": "byTestId", "testId": "user" }));
    assert_eq!(record["action"]["type"], "click");
    assert!(record["artifacts"]["screenshot"].as_str().unwrap().starts_with("artifacts/"), "{record}");
}

fn called(message: &Value) -> (String, Value) {
    let function = &message["tool_calls"][0]["function"];
    let arguments = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
    (function["name"].as_str().unwrap().to_owned(), arguments)
}

#[test]
fn steps_that_worked_are_examples_with_a_tool_call() {
    let (_runs, files) = exported(Format::Sft, Redaction::None);
    let examples = lines(&files, "sft.jsonl");
    assert_eq!(examples.len(), 2, "the failed step is none");
    let roles: Vec<&Value> =
        examples[1]["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    let asked = examples[1]["messages"][1]["content"].as_str().unwrap();
    assert!(asked.contains("button \"Log in\" [c3]") && asked.contains("postconditionFailed"), "{asked}");
    let (name, arguments) = called(&examples[1]["messages"][2]);
    assert_eq!((name.as_str(), &arguments["targetRef"]), ("click", &json!("c3")));
    assert!(examples[0].get("tools").is_none(), "tools are the same for all");
    let tools: Value = serde_json::from_slice(&files["tools.json"]).unwrap();
    let tools = tools.as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["function"]["name"] == "click" && tool["type"] == "function"), "{tools:?}");
}

/// The examples of the log of a login that `change` has changed.
fn examples_of(change: impl Fn(Value) -> Value) -> Vec<Value> {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let log = runs.path("r1").join("log.jsonl");
    let entries: Vec<Value> =
        fs::read_to_string(&log).unwrap().lines().map(|line| change(serde_json::from_str(line).unwrap())).collect();
    runs.log("r1", &entries);
    let (out, exported) = runs.export(Format::Sft, Redaction::None);
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    let files = files(&out);
    if files.contains_key("sft.jsonl") { lines(&files, "sft.jsonl") } else { Vec::new() }
}

#[test]
fn the_end_of_a_task_is_an_example_and_a_run_without_a_task_has_none() {
    let finished = examples_of(|mut entry| {
        if entry["entry"] == "end" {
            entry["conclusion"] = json!({ "step": { "type": "finish", "result": "Logged in" }, "observation": 1 });
        }
        entry
    });
    assert_eq!(finished.len(), 3);
    let (name, arguments) = called(&finished[2]["messages"][2]);
    assert_eq!((name.as_str(), &arguments["result"]), ("finish", &json!("Logged in")));
    let untold = examples_of(|mut entry| {
        entry.as_object_mut().unwrap().remove("task");
        entry
    });
    assert_eq!(untold, Vec::<Value>::new());
}

#[test]
fn a_call_whose_steps_all_worked_is_an_example_as_sent_and_answered() {
    let answered = |planned_repair: bool, output: &str| {
        examples_of(|mut entry| {
            if entry["entry"] == "planning" {
                let call = entry["call"].as_object_mut().unwrap();
                call.insert("end".to_owned(), json!("accepted"));
                call.insert("output".to_owned(), json!(output));
                let message = |role: &str, text: &str| json!({ "role": role, "text": text });
                let again = [message("assistant", "no plan"), message("user", "again")];
                let asked = [message("system", "You plan."), message("user", "Task\nLog in")];
                call.insert("input".to_owned(), asked.into_iter().chain(again).collect());
            }
            if entry["result"] == "failed" || (entry["origin"] == "repair" && planned_repair) {
                entry["planning"] = json!(1);
            } else if entry["origin"] == "repair" {
                entry.as_object_mut().unwrap().remove("planning");
            }
            entry
        })
    };
    let contents = |example: &Value| -> Vec<Value> {
        example["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect()
    };
    let examples = answered(false, "type(c1,\"ann\")");
    assert_eq!(contents(&examples[0]), ["You plan.", "Task\nLog in", "type(c1,\"ann\")"]);
    let (name, _) = called(&examples[1]["messages"][2]);
    assert_eq!((examples.len(), name.as_str()), (2, "click"), "what no model planned is a tool call: {examples:#?}");

    let after_failure = answered(true, "type(c1,\"ann\")");
    assert_eq!(after_failure.len(), 2, "a call with a step that failed has its steps: {after_failure:#?}");
    assert_eq!(called(&after_failure[1]["messages"][2]).0, "click");
    let hidden = answered(false, &format!("type(c1,\"{MASK}\")"));
    assert_eq!(called(&hidden[0]["messages"][2]).0, "type", "an answer that lacks a part is none: {hidden:#?}");
}

#[test]
fn what_the_controller_says_of_a_repair_is_not_said_by_the_assistant() {
    let examples = examples_of(|mut entry| {
        if entry["entry"] == "commit" && entry["origin"] == "repair" {
            entry["action"]["explanation"] = json!("repair 1 of step 1, which failed: covered; rung: dismiss");
        }
        entry
    });
    assert!(examples[0]["messages"][2]["content"].is_string(), "the planner's words stay: {examples:#?}");
    assert_eq!(examples[1]["messages"][2]["content"], Value::Null);
}

#[test]
fn a_repair_is_a_preference() {
    let (_runs, files) = exported(Format::Preferences, Redaction::None);
    let pairs = lines(&files, "preferences.jsonl");
    assert_eq!(pairs.len(), 1);
    let target = |of: &str| called(&pairs[0][of][0]).1["targetRef"].clone();
    assert_eq!((target("chosen"), target("rejected")), (json!("c3"), json!("c2")));
    assert_eq!(pairs[0]["prompt"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_dataset_has_a_card_and_no_task_in_two_splits() {
    let runs = Runs::new();
    for number in 0..30 {
        let name = format!("r{number}");
        runs.login(&name, NOON + number);
        let log = runs.path(&name).join("log.jsonl");
        let task = format!("Task {}", number % 15);
        let text = fs::read_to_string(&log).unwrap().replace(&format!("Log {PERSONAL} in"), &task);
        fs::write(log, text).unwrap();
    }
    let (out, exported) = runs.export(Format::HuggingFace, Redaction::None);
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    let files = files(&out);
    let card = String::from_utf8(files["README.md"].clone()).unwrap();
    assert!(
        card.starts_with("---\n") && card.contains("configs:\n  - config_name: default\n    data_files:\n"),
        "{card}"
    );
    let mut tasks = BTreeMap::<String, BTreeSet<&str>>::new();
    let mut rows = 0;
    for split in ["train", "validation", "test"] {
        let name = format!("data/{split}.jsonl");
        assert_eq!(files.contains_key(&name), card.contains(&format!("path: {name}")), "{card}");
        for row in files.get(&name).map(|_| lines(&files, &name)).unwrap_or_default() {
            rows += 1;
            tasks.entry(row["task"].as_str().unwrap().to_owned()).or_default().insert(split);
            assert!(row["messages"].is_array(), "{row}");
        }
    }
    assert_eq!((rows, tasks.len()), (60, 15));
    assert!(tasks.values().all(|splits| splits.len() == 1), "{tasks:?}");
    let used: BTreeSet<_> = tasks.values().flatten().collect();
    assert!(used.len() > 1, "{used:?}");
}

#[test]
fn an_archive_has_every_request_and_invents_nothing() {
    let (_runs, files) = exported(Format::Har, Redaction::None);
    let har: Value = serde_json::from_slice(&files["r1.har"]).unwrap();
    let log = &har["log"];
    assert_eq!((&log["version"], &log["browser"]["name"]), (&json!("1.2"), &json!("Chrome")));
    let entries = log["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 3);
    let pages: Vec<&Value> = log["pages"].as_array().unwrap().iter().map(|page| &page["id"]).collect();
    for entry in entries {
        assert!(pages.contains(&&entry["pageref"]), "{entry}");
        assert_eq!(entry["startedDateTime"], "2025-01-09T12:00:02.000Z");
        for part in ["request", "response"] {
            assert_eq!((&entry[part]["bodySize"], &entry[part]["headersSize"]), (&json!(-1), &json!(-1)));
        }
        assert_eq!(entry["response"]["content"]["size"], -1);
    }
    assert_eq!(entries[0]["request"]["queryString"], json!([{ "name": "next", "value": PERSONAL }]));
    assert_eq!(
        (&entries[2]["response"]["status"], &entries[2]["response"]["_error"]),
        (&json!(0), &json!("net::ERR_ABORTED"))
    );
}

#[test]
fn rows_of_mind2web_have_the_right_candidate_apart() {
    let (_runs, files) = exported(Format::Mind2Web, Redaction::None);
    let rows = lines(&files, "mind2web.jsonl");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["operation"], json!({ "original_op": "TYPE", "op": "TYPE", "value": PERSONAL }));
    assert_eq!(rows[1]["action_reprs"][1], "[button]  Log in -> CLICK");
    assert_eq!((&rows[1]["target_action_index"], &rows[1]["website"]), (&json!(1), &json!("shop.test")));
    assert_eq!(rows[1]["pos_candidates"].as_array().map(Vec::len), Some(1));
    assert_eq!(rows[1]["neg_candidates"].as_array().map(Vec::len), Some(2));
    let attributes = rows[1]["pos_candidates"][0]["attributes"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(attributes).unwrap()["data_testid"], "login");
    assert_eq!(files[rows[1]["screenshot"].as_str().unwrap()], PNG);
}

/// Judges a trace by the rules of the viewers' loader.
fn check_trace(bytes: &[u8]) -> (Vec<Value>, Vec<Value>, BTreeSet<String>) {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let names: BTreeSet<String> = zip.file_names().map(ToOwned::to_owned).collect();
    let mut text = |name: &str| {
        let mut text = String::new();
        zip.by_name(name).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.ends_with('\n'), "{name} has a whole last line");
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    let (events, network) = (text("trace.trace"), text("trace.network"));
    assert_eq!((&events[0]["type"], &events[0]["version"]), (&json!("context-options"), &json!(8)));
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for event in &events {
        let id = event["callId"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap() {
            "before" => assert!(begun.insert(id), "{event}"),
            "input" => assert!(begun.contains(&id), "{event}"),
            "after" => assert!(begun.contains(&id) && ended.insert(id), "{event}"),
            "frame-snapshot" => {
                let snapshot = &event["snapshot"];
                assert!(ended.contains(snapshot["callId"].as_str().unwrap()), "after its `after`: {event}");
                let over = &snapshot["resourceOverrides"][0];
                let shown = network.iter().any(|one| one["snapshot"]["request"]["url"] == over["url"]);
                assert!(shown && names.contains(&format!("resources/{}", over["sha1"].as_str().unwrap())), "{event}");
            }
            _ => {}
        }
    }
    assert_eq!(begun, ended);
    (events, network, names)
}

#[test]
fn a_trace_opens_with_its_actions_pictures_and_requests() {
    let (_runs, files) = exported(Format::PlaywrightTrace, Redaction::None);
    let (events, network, names) = check_trace(&files["r1.zip"]);
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    assert_eq!((of("before").len(), of("input").len(), network.len()), (3, 3, 4));
    assert_eq!(of("before")[2]["title"], "click button \"Log in\"");
    assert_eq!(of("before")[2]["params"]["selector"], "internal:testid=[data-testid=\"login\"s]");
    assert!(of("after")[1]["error"]["message"].as_str().unwrap().starts_with("postconditionFailed"), "{events:?}");
    assert!(of("frame-snapshot").len() >= 3 && names.iter().any(|name| name.starts_with("resources/")), "{names:?}");
}

#[test]
fn a_test_repeats_what_worked_and_expects_what_held() {
    let (_runs, files) = exported(Format::PlaywrightTest, Redaction::None);
    let test = String::from_utf8(files["r1.spec.ts"].clone()).unwrap();
    let expected = format!(
        r#"import {{ expect, test }} from "@playwright/test";

test("Log {PERSONAL} in", async ({{ page }}) => {{
  await page.goto("http://shop.test/login?user={PERSONAL}");
  await page.getByTestId("user").pressSequentially("{PERSONAL}");
  await expect(page.getByTestId("user")).toHaveValue(new RegExp("Zoe\\-Quux"));
  await page.getByTestId("login").click();
  await expect(page).toHaveURL(new RegExp("\\/home"));
}});
"#
    );
    assert_eq!(test, expected);
}

/// The body of the test of a run that is cut after `steps` steps.
fn body(steps: usize, change: &Value, result: Option<&str>, redaction: Redaction) -> Vec<String> {
    let runs = Runs::new();
    runs.login_until("r1", steps, change, result);
    let (out, _) = runs.export(Format::PlaywrightTest, redaction);
    let test = String::from_utf8(files(&out)["r1.spec.ts"].clone()).unwrap();
    test.lines().skip_while(|line| !line.starts_with("test(")).skip(1).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_test_of_a_failed_run_ends_with_the_step_that_failed_and_is_marked() {
    let step = json!({ "action": { "type": "click", "targetRef": "c2", "post": [{ "kind": "urlChanges" }] } });
    let test = body(2, &step, Some("failed"), Redaction::None);
    let expected = [
        format!(r#"test.fail(true, "postconditionFailed: {PERSONAL} stayed");"#),
        format!(r#"await page.getByRole("button", {{ name: "Cancel {PERSONAL}", exact: true }}).click();"#),
        format!(r#"await expect(page).not.toHaveURL("http://shop.test/login?user={PERSONAL}");"#),
        "});".to_owned(),
    ];
    assert_eq!(test[test.len() - 4..], expected, "{test:#?}");
    let strict = body(2, &step, Some("failed"), Redaction::Strict).join("\n");
    assert!(strict.contains("test.fail(true, \"postconditionFailed") && !strict.contains(PERSONAL), "{strict}");
}

#[test]
fn what_playwright_would_not_fail_at_is_marked_to_be_fixed() {
    let because =
        |cause: &str| json!({ "failure": { "stage": "resolve", "cause": cause, "message": "m" }, "postCheck": [] });
    for (cause, mark) in [
        ("covered", "fail"),
        ("targetNotFound", "fail"),
        ("targetStale", "fixme"),
        ("confirmationDenied", "fixme"),
        ("postconditionFailed", "fixme"),
    ] {
        let test = body(2, &because(cause), Some("failed"), Redaction::None);
        let at = test.len() - 3;
        assert_eq!(test[at], format!(r#"test.{mark}(true, "{cause}: m");"#), "{test:#?}");
        assert!(test[at + 1].ends_with(".click();"), "{test:#?}");
    }
}

#[test]
fn a_run_without_a_good_end_never_exports_to_a_test_that_passes() {
    let unchanged = json!({});
    for (steps, result, reason) in [
        (1, Some("failed"), "the run ended: failed"),
        (1, Some("interrupted"), "the run ended: interrupted"),
        (1, None, "the log breaks off"),
    ] {
        let test = body(steps, &unchanged, result, Redaction::None);
        let expected = format!(r#"test.fixme(true, "{reason}, after the steps above");"#);
        assert_eq!(test[test.len() - 2], expected, "{test:#?}");
    }
    let ended = body(3, &unchanged, Some("ok"), Redaction::None).join("\n");
    assert!(!ended.contains("fixme") && !ended.contains("test.fail"), "{ended}");
}

#[test]
fn strict_exports_of_every_format_hold_no_personal_text_and_no_picture() {
    for format in Format::ALL {
        let (_runs, files) = exported(format, Redaction::Strict);
        for (name, bytes) in files {
            let mut all = bytes.clone();
            if Path::new(&name).extension().is_some_and(|extension| extension == "zip") {
                check_trace(&bytes);
                let mut zip = ZipArchive::new(Cursor::new(&bytes)).unwrap();
                for index in 0..zip.len() {
                    zip.by_index(index).unwrap().read_to_end(&mut all).unwrap();
                }
            }
            let found = |part: &[u8]| all.windows(part.len()).any(|window| window == part);
            assert!(!found(PERSONAL.as_bytes()), "{}: {name}", format.as_str());
            assert!(!found(PNG), "{}: {name} holds a picture", format.as_str());
        }
    }
}

#[test]
fn what_a_run_calls_itself_is_no_path() {
    for format in [Format::Har, Format::PlaywrightTrace, Format::PlaywrightTest, Format::Mind2Web] {
        let runs = Runs::new();
        runs.login("r1", NOON);
        let log = runs.path("r1").join("log.jsonl");
        let text = fs::read_to_string(&log).unwrap().replace("\"r1\"", "\"../../evil\"");
        fs::write(&log, text).unwrap();
        let (out, exported) = runs.export(format, Redaction::None);
        assert!(exported.written.iter().all(|name| !name.contains("evil")), "{exported:?}");
        assert!(!out.join("../../evil").exists());
    }
}
