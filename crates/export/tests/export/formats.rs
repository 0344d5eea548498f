//! Every format but Parquet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::Path;

use cuebook_export::{Format, Options, Redaction};
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

fn said(example: &Value) -> [&str; 3] {
    let content = |at: usize| example["messages"][at]["content"].as_str().unwrap();
    [content(0), content(1), content(2)]
}

#[test]
fn steps_that_worked_are_examples_in_the_brief_form() {
    let (_runs, files) = exported(Format::Sft, Redaction::None);
    let examples = lines(&files, "sft.jsonl");
    assert_eq!(examples.len(), 2, "the failed step is none");
    let roles: Vec<&Value> =
        examples[1]["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    let [system, asked, answer] = said(&examples[1]);
    assert_eq!(system, cuebook_decoding::brief::SYSTEM);
    assert!(asked.starts_with("Task: Log Zoe-Quux in\nPage:\n") && asked.ends_with("\nNext:"), "{asked}");
    assert!(asked.contains("\"Log in\" [c3]") && asked.contains("click(c2)") && asked.contains(": failed: "));
    assert_eq!(answer, "click(c3) => urlChanges(\"/home\")\n", "with its conditions");
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        ["_cuebook-export.jsonl", "classes.json", "sft.jsonl"],
        "and no tools"
    );
    assert_eq!(said(&examples[0])[2], "type(c1,\"Zoe-Quux\") => valueContains(c1,\"Zoe-Quux\")\n", "no explanation");
    let classes: Value = serde_json::from_slice(&files["classes.json"]).unwrap();
    assert_eq!(classes["point"], json!({ "examples": 1, "weight": 1.0 }));
    assert_eq!(classes["scroll"]["examples"], 0);
}

#[test]
fn chats_with_pictures_are_the_same_chats_in_parts() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    for format in [Format::Sft, Format::HuggingFace] {
        let (text, _) = runs.export(format, Redaction::None);
        let before = files(&text);
        let is_chats = |name: &&String| name.starts_with("data/") || *name == "sft.jsonl";
        let name = before.keys().find(is_chats).unwrap().as_str();
        let plain = lines(&before, name);
        let out = runs.out(&format!("{}-pictures", format.as_str()));
        let options = Options { format, redaction: Redaction::None, out, rewrite: false, pictures: true };
        assert!(runs.export_with(&options).unreadable.is_empty());
        let illustrated = files(&options.out);
        let rows = lines(&illustrated, name);
        assert_eq!(rows.len(), plain.len());
        for (row, plain) in rows.iter().zip(&plain) {
            let path = row["messages"][1]["content"][0]["image"].as_str().unwrap();
            assert!(path.starts_with("images/") && illustrated[path] == PNG, "{row}");
            let text = |at: usize| json!({ "type": "text", "text": plain["messages"][at]["content"] });
            let image = json!({ "type": "image", "image": path });
            let contents = [json!([text(0)]), json!([image, text(1)]), json!([text(2)])];
            for (at, content) in contents.into_iter().enumerate() {
                assert_eq!(row["messages"][at], json!({ "role": plain["messages"][at]["role"], "content": content }));
            }
        }
        assert_eq!(cuebook_export::missing(&options.out).unwrap(), cuebook_export::missing(&text).unwrap());
        // In the same folder, chats without pictures take their place.
        runs.export_with(&Options { pictures: false, ..options.clone() });
        let after = files(&options.out);
        assert_eq!((&after[name], after.keys().any(|name| name.starts_with("images/"))), (&before[name], false));
        // What strict removes, a picture would show.
        let out = runs.out(&format!("{}-strict", format.as_str()));
        let strict = Options { redaction: Redaction::Strict, out, ..options };
        runs.export_with(&strict);
        assert!(files(&strict.out).keys().all(|name| !name.starts_with("images/")));
    }
}

#[test]
fn a_run_without_pictures_has_chats_of_text_parts() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    fs::remove_dir_all(runs.path("r1").join("artifacts")).unwrap();
    let page = crate::sample::login_page();
    runs.observed("r1", 1, &page);
    let out = runs.out("sft");
    let options = Options { format: Format::Sft, redaction: Redaction::None, out, rewrite: false, pictures: true };
    runs.export_with(&options);
    let rows = lines(&files(&options.out), "sft.jsonl");
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["messages"][1]["content"].as_array().map(Vec::len) == Some(1)), "{rows:#?}");
}

#[test]
fn classes_without_an_example_are_named() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    let (out, _) = runs.export(Format::HuggingFace, Redaction::None);
    let missing = cuebook_export::missing(&out).unwrap();
    assert!(missing.contains(&"finishWithAnswer".to_owned()) && missing.contains(&"fail".to_owned()), "{missing:?}");
    assert!(!missing.contains(&"enter".to_owned()) && !missing.contains(&"other".to_owned()), "{missing:?}");
    let (out, _) = runs.export(Format::StepLog, Redaction::None);
    assert!(cuebook_export::missing(&out).is_err(), "a step log is no data set");
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
    let ended = |step: Value, result: &'static str| {
        examples_of(move |mut entry| {
            if entry["entry"] == "end" {
                entry["conclusion"] = json!({ "step": step, "observation": 1 });
                entry["result"] = json!(result);
            }
            // The page stays the one that the log has.
            if entry["effects"].is_object() {
                entry["effects"] = json!({});
            }
            entry
        })
    };
    let finished = ended(json!({ "type": "finish", "result": "Logged in" }), "ok");
    assert_eq!(finished.len(), 3);
    assert_eq!(said(&finished[2])[2], "finish(\"Logged in\")\n");
    let failed = ended(json!({ "type": "fail", "reason": "There is no such user" }), "failed");
    let answers: Vec<&str> = failed.iter().map(|example| said(example)[2]).collect();
    assert_eq!(answers, ["fail(\"There is no such user\")\n"], "what led there is no example");
    assert_eq!(ended(json!({ "type": "finish" }), "unproven"), Vec::<Value>::new());
    let untold = examples_of(|mut entry| {
        entry.as_object_mut().unwrap().remove("task");
        entry
    });
    assert_eq!(untold, Vec::<Value>::new());
}

/// The answers of a run whose planner's call, accepted, was `output`, and planned the steps that `is_planned` says.
fn answers_of(output: &str, is_planned: impl Fn(&Value) -> bool) -> Vec<String> {
    let examples = examples_of(|mut entry| {
        if entry["entry"] == "planning" {
            entry["call"]["end"] = json!("accepted");
            entry["call"]["output"] = json!(output);
        } else if entry["entry"] == "commit" && !is_planned(&entry) {
            entry.as_object_mut().unwrap().remove("planning");
            entry.as_object_mut().unwrap().remove("planId");
        }
        entry
    });
    examples.iter().map(|example| said(example)[2].to_owned()).collect()
}

#[test]
fn a_plan_whose_steps_all_worked_is_one_example_as_far_as_it_ran() {
    let first = |entry: &Value| entry["stepIndex"] == 0;
    let json = r#"{"version":"1.0","reasoningSummary":"The name is missing.","goal":[{"kind":"urlChanges","to":"/home"}],
        "steps":[{"type":"type","targetRef":"c1","text":"ann","explanation":"it is empty"},
                 {"type":"click","targetRef":"c3"}]}"#;
    let answers = answers_of(json, first);
    assert_eq!(answers[0], "goal: urlChanges(\"/home\")\ntype(c1,\"ann\")\n", "without the step that did not run");
    assert_eq!(answers[1..], ["click(c3) => urlChanges(\"/home\")\n"], "nor the step that failed: {answers:#?}");

    let answers = answers_of("type(c1,\"ann\")", |_| true);
    assert_eq!(answers.len(), 2, "a plan with a step that failed has its steps: {answers:#?}");
    assert!(answers[0].starts_with("type(c1,\"Zoe-Quux\")"), "{answers:#?}");
    let answers = answers_of(&format!("type(c1,\"{MASK}\")"), first);
    assert!(!answers.iter().any(|answer| answer.contains(MASK)), "an answer that lacks a part is none: {answers:#?}");
    let answers = answers_of("shell(\"rm -rf /\")", first);
    assert!(!answers.iter().any(|answer| answer.contains("rm")), "nor one that leaves the page: {answers:#?}");
}

#[test]
fn what_a_planner_knew_and_the_log_does_not_is_in_no_example() {
    let asked = answers_of("type(c1,\"ann\")\naskUser(\"Which account?\")", |entry| entry["stepIndex"] == 0);
    assert_eq!(asked, ["type(c1,\"ann\")\naskUser(\"Which account?\")\n"], "the answer of the user is not in the log");
}

#[test]
fn features_of_a_picture_are_in_the_request_that_had_them() {
    let feature = json!({ "label": "Magnifier", "kind": "icon", "center": { "x": 420.0, "y": 400.0 },
        "box": { "x": 410.0, "y": 390.0, "width": 20.0, "height": 20.0 } });
    let examples = |planned: usize| {
        examples_of(|mut entry| {
            if entry["entry"] == "planning" {
                entry["call"]["features"] = json!([feature]);
                entry["call"]["end"] = json!("accepted");
                entry["call"]["output"] = json!("type(c1,\"ann\")");
            } else if entry["entry"] == "commit" && entry["stepIndex"].as_u64() >= Some(planned as u64) {
                entry.as_object_mut().unwrap().remove("planning");
                entry.as_object_mut().unwrap().remove("planId");
            }
            entry
        })
    };
    let one = examples(1);
    assert!(said(&one[0])[1].contains("\nSeen:\nicon \"Magnifier\" at (420, 400)\nNext:"), "{}", said(&one[0])[1]);
    assert!(!said(&one[1])[1].contains("Seen:"), "another request, without them");
    // Steps of a plan that failed in part are no examples: their own requests would lack what it was made from.
    assert_eq!(examples(9), Vec::<Value>::new());
}

#[test]
fn a_repair_is_a_preference() {
    let (_runs, files) = exported(Format::Preferences, Redaction::None);
    let pairs = lines(&files, "preferences.jsonl");
    assert_eq!(pairs.len(), 1);
    let answer = |of: &str| pairs[0][of][0]["content"].as_str().unwrap().to_owned();
    assert_eq!(answer("chosen"), "click(c3) => urlChanges(\"/home\")\n");
    assert_eq!(answer("rejected"), "click(c2) => urlChanges()\n");
    assert_eq!(pairs[0]["prompt"].as_array().map(Vec::len), Some(2));
}

/// The preferences of runs of the same login: the plan of each, and the result of the run.
fn preferred(told: &[(&str, &str)]) -> Vec<(String, String)> {
    let runs = Runs::new();
    for (number, (plan, result)) in told.iter().enumerate() {
        let name = format!("r{number}");
        runs.login(&name, NOON);
        let text = fs::read_to_string(runs.path(&name).join("log.jsonl")).unwrap();
        let entries = text.lines().map(|line| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            match entry["entry"].as_str() {
                Some("planning") => {
                    entry["call"]["end"] = json!("accepted");
                    entry["call"]["output"] = json!(plan);
                }
                Some("end") => entry["result"] = json!(result),
                // Only whole plans are looked at here.
                Some("commit") => {
                    entry["result"] = json!("ok");
                    entry["effectClass"] = json!("readOnly");
                }
                _ => {}
            }
            entry
        });
        runs.log(&name, &entries.collect::<Vec<_>>());
    }
    let (out, exported) = runs.export(Format::Preferences, Redaction::None);
    assert!(exported.unreadable.is_empty(), "{exported:?}");
    let files = files(&out);
    let pairs = if files.contains_key("preferences.jsonl") { lines(&files, "preferences.jsonl") } else { Vec::new() };
    let answer = |pair: &Value, of: &str| pair[of][0]["content"].as_str().unwrap().to_owned();
    pairs.iter().map(|pair| (answer(pair, "chosen"), answer(pair, "rejected"))).collect()
}

#[test]
fn a_plan_that_led_to_the_end_is_preferred_to_one_that_did_not() {
    const GOOD: &str = "type(c1,\"ann\")\nclick(c3)\n";
    let pair = |good: &str, bad: &str| (good.to_owned(), bad.to_owned());
    // In either order, with one more that is the same.
    for told in [[("click(c2)\n", "failed"), (GOOD, "ok")], [(GOOD, "ok"), ("click(c2)\n", "unproven")]] {
        assert_eq!(preferred(&told), [pair(GOOD, "click(c2)\n")], "{told:?}");
    }
    assert_eq!(preferred(&[("click(c2)\n", "failed"), ("click(c2)\n", "failed"), (GOOD, "ok")]).len(), 1);
    // A beginning of it, the same under conditions, and what was stopped are no worse.
    for (plan, result) in [
        ("type(c1,\"ann\")\n", "failed"),
        ("type(c1,\"ann\")\nclick(c3) => urlChanges()\n", "failed"),
        ("click(c2)\n", "blocked"),
        ("click(c2)\n", "ok"),
        ("no plan", "failed"),
    ] {
        assert_eq!(preferred(&[(plan, result), (GOOD, "ok")]), [], "{plan:?} {result}");
    }
}

#[test]
fn what_an_evaluation_found_silently_wrong_teaches_nothing() {
    let runs = Runs::new();
    runs.login("r1", NOON);
    runs.login("r2", NOON);
    let examples = || {
        let (out, exported) = runs.export(Format::Sft, Redaction::None);
        assert_eq!((exported.runs, exported.unreadable), (2, Vec::new()));
        lines(&files(&out), "sft.jsonl").len()
    };
    let before = examples();
    // As an evaluation leaves it that is interrupted.
    let judge = |outcome: &str| {
        let result = json!({ "task": "login", "outcome": outcome, "runDir": "elsewhere/runs/r2" });
        fs::write(runs.out("episodes.jsonl"), format!("{result}\n{{\"outc")).unwrap();
    };
    for (outcome, expected) in [("solved", before), ("silentlyWrong", before / 2), ("solved", before)] {
        judge(outcome);
        assert_eq!(examples(), expected, "{outcome}");
    }
    assert!(before >= 2 && before % 2 == 0, "{before}");
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
    assert!(card.contains("| point | 30 | 1 |") && card.contains("| `shop.test` | 60 |"), "{card}");
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
            assert!(row["messages"].is_array() && row["classes"].is_array(), "{row}");
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
    // Without its texts a recording would replay nothing: it is refused.
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Recording) {
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
