//! Recordings, comparisons and healing, on logs written by hand.

use std::collections::BTreeMap;

use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::record::RECORD_VERSION;
use serde_json::{Value, json};

use super::*;
use crate::error::{DataError, Unreplayable};
use crate::log::Run;

/// A candidate, with its locators.
fn button(id: &str, name: &str, css: &str) -> Value {
    json!({ id: { "observed": {
        "id": id, "role": "button", "name": name,
        "fingerprint": { "role": "button", "name": name, "path": "main" },
        "locators": [{ "strategy": "byRole", "role": "button", "name": name, "exact": true },
                     { "strategy": "css", "selector": css }],
    } } })
}

fn click(id: &str) -> Value {
    json!({ "type": "click", "targetRef": id })
}

/// Changes a record after its defaults.
fn with(mut record: Value, changes: &Value) -> Value {
    for (member, value) in changes.as_object().unwrap() {
        record[member] = value.clone();
    }
    record
}

fn step(index: u32, action: &Value, candidates: &Value) -> Value {
    json!({ "stepIndex": index, "planIndex": index, "origin": "plan", "attempt": 1, "url": "http://a.test/x",
            "risk": "write", "effectClass": "reversible", "action": action, "candidates": candidates,
            "execution": { "tsMs": 1, "durationMs": 1 }, "result": "ok" })
}

fn log(start: &str, steps: &[Value], end: &str) -> Run {
    let entry = |name: &str, more: &Value| {
        let own = json!({ "entry": name, "schemaVersion": RECORD_VERSION, "runId": "r" });
        format!("{}\n", with(own, more))
    };
    let header = json!({ "tsMs": 1, "cuebook": "0", "command": "run", "task": "buy", "url": start });
    let mut log = entry("header", &header);
    for record in steps {
        let begin = json!({ "stepIndex": record["stepIndex"], "origin": record["origin"], "attempt": record["attempt"],
                            "action": record["action"], "tsMs": 1 });
        log += &(entry("begin", &begin) + &entry("commit", record));
    }
    log += &entry("end", &json!({ "tsMs": 2, "result": end }));
    Run::read_bytes(log.as_bytes()).unwrap()
}

fn recorded(run: &Run) -> Recording {
    Recording::of(run, &BTreeMap::new()).unwrap()
}

fn verbs(recording: &Recording) -> Vec<&'static str> {
    recording.plan.steps.iter().map(|step| step.action.kind().meta().name).collect()
}

const START: &str = "http://a.test/";

/// Save failed behind a banner, which was closed; then what follows succeeded.
fn repaired() -> Vec<Value> {
    let save = button("c1", "Save", "#save");
    let failure = json!({ "stage": "act", "cause": "covered", "message": "covered" });
    vec![
        with(step(0, &json!({ "type": "navigate", "url": START }), &json!({})), &json!({ "origin": "start" })),
        with(step(1, &click("c1"), &save), &json!({ "result": "failed", "failure": failure })),
        with(
            step(2, &click("c2"), &button("c2", "Close", "main > button:nth-of-type(2)")),
            &json!({ "origin": "repair" }),
        ),
        with(step(1, &click("c1"), &save), &json!({ "attempt": 2 })),
        with(step(3, &click("c1"), &save), &json!({ "result": "blocked" })),
        with(step(4, &click("c1"), &save), &json!({ "effectClass": "reversible" })),
    ]
}

#[test]
fn a_recording_has_what_succeeded_with_the_repairs_and_names_its_targets() {
    let recording = recorded(&log(START, &repaired(), "ok"));
    assert_eq!(recording.url.as_deref(), Some(START));
    assert_eq!(verbs(&recording), ["click", "click", "click"]);
    let targets: Vec<_> = recording.plan.steps.iter().map(|step| step.action.target().unwrap().to_string()).collect();
    assert_eq!(targets, ["button-Close", "button-Save", "button-Save"]);
    let known = |name: &str| recording.targets.iter().find(|(target, _)| target.as_str() == name).unwrap().1;
    assert_eq!(known("button-Save").locators.len(), 1, "its own id");
    assert!(known("button-Close").locators.is_empty(), "a place among others finds nothing again");
    let json = serde_json::to_string(&recording).unwrap();
    let read = Recording::read(&json).unwrap();
    assert_eq!((&read.plan, &read.targets), (&recording.plan, &recording.targets));
    assert!(Recording::read(&json.replace("\"1.1\",\"url\"", "\"2.0\",\"url\"")).is_err());
    assert_eq!(read, recording, "what came of the steps is part of the document");
    let steps: Vec<_> = recording.traces.iter().map(|trace| (trace.step, trace.step_index)).collect();
    assert_eq!(steps, [(0, 0), (1, 2), (2, 1), (3, 4)]);
    let former = json.replace("\"1.1\",\"url\"", "\"1.0\",\"url\"");
    let mut former: Value = serde_json::from_str(&former).unwrap();
    for member in ["recorded", "traces"] {
        former.as_object_mut().unwrap().remove(member);
    }
    let former = Recording::read(&former.to_string()).unwrap();
    let comparison = compare(&former, &log(START, &[], "ok"), None, &Likeness::default()).unwrap();
    assert_eq!(comparison.divergences.len(), 1, "of a recording of 1.0 only steps that were not reached are known");
    assert_eq!(recording.keeping(&[1]).traces.iter().map(|trace| trace.step).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_destructive_step_gets_no_other_target() {
    let all = repaired();
    let destructive = with(all[5].clone(), &json!({ "effectClass": "destructive" }));
    let recording = recorded(&log(START, &[&all[..5], &[destructive]].concat(), "ok"));
    assert!(!recording.targets.keys().any(|target| target.as_str() == "button-Save"), "{:?}", recording.targets);
}

#[test]
fn the_failure_that_ended_the_run_is_kept_and_no_other() {
    let mut steps = repaired();
    steps.truncate(2);
    assert_eq!(verbs(&recorded(&log(START, &steps, "failed"))), ["click"]);
    let empty = Recording::of(&log(START, &steps, "ok"), &BTreeMap::new()).unwrap_err();
    assert!(matches!(empty, DataError::Unreplayable { why: Unreplayable::Empty, .. }), "{empty}");
}

#[test]
fn what_was_kept_secret_is_replaced_or_refused() {
    let digest = json!({ "redacted": "0123456789abcdef0123456789abcdef" });
    let field = json!({ "c1": { "observed": {
        "id": "c1", "role": "textbox", "name": "Password", "control": "password",
        "fingerprint": { "role": "textbox", "name": "Password", "path": "main" },
        "locators": [{ "strategy": "css", "selector": "#p" }],
    } } });
    let typed = json!({ "type": "type", "targetRef": "c1", "text": digest,
                        "post": [{ "kind": "valueEquals", "target": "c1", "value": digest },
                                 { "kind": "visible", "target": "c1" }] });
    let run = log(START, &[step(0, &typed, &field)], "ok");
    let name = CredentialRef::new("shop_password");
    let refused =
        |credentials: &[(u32, CredentialRef)]| match Recording::of(&run, &credentials.iter().cloned().collect())
            .unwrap_err()
        {
            DataError::Unreplayable { why, .. } => why,
            other => panic!("{other}"),
        };
    assert_eq!(refused(&[]), Unreplayable::Text);
    let longer = log(START, &[step(0, &typed, &field), step(1, &click("c1"), &button("c1", "Log in", "#go"))], "ok");
    let last = Recording::of_last(&longer, &BTreeMap::new(), 1).unwrap().plan;
    assert_eq!((last.steps.len(), last.candidates.len()), (1, 1), "what is left out asks for no secret");
    assert!(Recording::of_last(&longer, &BTreeMap::new(), 2).is_err());
    assert_eq!(refused(&[(1, name.clone()), (2, name.clone())]), Unreplayable::NeedsNone);
    let recording = Recording::of(&run, &BTreeMap::from([(1, name.clone())])).unwrap();
    let step = &recording.plan.steps[0];
    assert_eq!((step.action.credential(), step.action.text(), step.post.len()), (Some(&name), None, 1));
    let masked = json!({ "type": "navigate", "url": "http://a.test/?t=[redacted]" });
    let masked = Recording::of(&log(START, &[step_of(&masked)], "ok"), &BTreeMap::new()).unwrap_err();
    assert!(matches!(masked, DataError::Unreplayable { why: Unreplayable::Redacted, .. }), "{masked}");
}

fn step_of(action: &Value) -> Value {
    step(0, action, &json!({}))
}

#[test]
fn another_start_moves_what_lies_on_its_origin() {
    let there = json!({ "type": "navigate", "url": "http://a.test/cart?x=1" });
    let elsewhere = json!({ "type": "navigate", "url": "http://a.test.evil/" });
    let run = log(START, &[step(0, &there, &json!({})), step(1, &elsewhere, &json!({}))], "ok");
    let moved = recorded(&run).starting_on("http://b.test:81/");
    let urls: Vec<Value> =
        moved.plan.steps.iter().map(|step| serde_json::to_value(step).unwrap()["url"].clone()).collect();
    assert_eq!(urls, ["http://b.test:81/cart?x=1", "http://a.test.evil/"]);
}

/// Returns the kinds of the differences of a replay as `now` of the one step of `then`.
fn kinds(then: &Value, now: &[Value]) -> Vec<DivergenceKind> {
    let run = log(START, std::slice::from_ref(then), "ok");
    let replayed = log("http://b.test/", now, "ok");
    let comparison = compare(&recorded(&run), &replayed, None, &Likeness::default()).unwrap();
    assert_eq!(comparison.is_equal(), comparison.divergences.is_empty());
    comparison.divergences.iter().map(|divergence| divergence.kind).collect()
}

#[test]
fn each_difference_has_its_kind() {
    use DivergenceKind as Kind;
    let declared = json!({ "button-Save": { "declared": { "strategy": "byRole", "role": "button", "name": "Save" } } });
    let then = step(0, &click("c1"), &button("c1", "Save", "#save"));
    let now = with(step(0, &click("button-Save"), &declared), &json!({ "url": "http://b.test/x" }));
    let effects = |effects: Value| json!({ "effects": effects });
    let request = |url: &str, status: u16| json!({ "method": "GET", "url": url, "status": status });
    assert_eq!(kinds(&then, std::slice::from_ref(&now)), [], "the origins are those of the start");
    assert_eq!(kinds(&then, &[]), [Kind::Missing]);
    assert_eq!(kinds(&then, &[with(now.clone(), &json!({ "url": "http://b.test/y" }))]), [Kind::Url]);
    assert_eq!(kinds(&then, &[with(now.clone(), &effects(json!({ "consoleErrors": ["boom"] })))]), [Kind::Console]);
    let unloaded = |url: &str| effects(json!({ "consoleErrors": [format!("Failed to load resource: 404 ({url})")] }));
    let icon = unloaded("http://b.test/favicon.ico");
    assert_eq!(kinds(&then, &[with(now.clone(), &icon)]), [], "Chrome asks for it by itself");
    let lacks = |then: &str, now_url: &str| {
        kinds(
            &with(step(0, &click("c1"), &button("c1", "Save", "#save")), &unloaded(then)),
            &[with(now.clone(), &unloaded(now_url))],
        )
    };
    assert_eq!(lacks("http://a.test/x.png", "http://b.test/x.png"), [], "the origins are those of the start");
    assert_eq!(lacks("http://a.test/x.png", "http://b.test/y.png"), [Kind::Console]);
    let failure = json!({ "stage": "act", "cause": "covered", "message": "x" });
    let failed = with(now.clone(), &json!({ "result": "failed", "failure": failure }));
    assert_eq!(kinds(&then, &[failed]), [Kind::Outcome]);
    let then_asked = with(then.clone(), &effects(json!({ "requests": [request("http://a.test/a", 200)] })));
    for (url, status, expected) in [
        ("http://b.test/a", 200, vec![]),
        ("http://b.test/a", 500, vec![Kind::Requests]),
        ("http://b.test/b", 200, vec![Kind::Requests]),
    ] {
        let now = with(now.clone(), &effects(json!({ "requests": [request(url, status)] })));
        assert_eq!(kinds(&then_asked, &[now]), expected, "{url} {status}");
    }
    let other = step(0, &click("c9"), &button("c9", "Keep", "#save"));
    let other = with(other, &json!({ "attempt": 2, "url": "http://b.test/x" }));
    assert_eq!(kinds(&then, &[with(now, &json!({ "result": "failed", "failure": failure })), other]), [Kind::Target]);
}

#[test]
fn requests_are_compared_by_the_parts_that_are_asked_for() {
    let asked = |url: &str, status: u16, text: &str| {
        let traced = json!({ "method": "POST", "url": url, "status": status,
                             "body": { "mediaType": "application/json", "bytes": 9, "sha256": "0", "text": text } });
        let run = log(START, &[step(0, &click("c1"), &button("c1", "Save", "#save"))], "ok");
        let mut recording = recorded(&run);
        recording.traces.last_mut().unwrap().requests = vec![serde_json::from_value(traced).unwrap()];
        recording
    };
    let then = asked("http://a.test/save?t=1", 200, r#"{"id": 7, "at": 1}"#);
    let volatile = serde_json::from_value(json!({ "query": ["t"], "body": ["$.at"] })).unwrap();
    let volatile = crate::traffic::Volatile::new([&volatile]).unwrap();
    let differs = |parts: &str, url: &str, status: u16, text: &str| {
        let likeness = Likeness::default().comparing(Aspect::read_list(parts).unwrap()).without(volatile.clone());
        let now = asked(url, status, text);
        compare::differences_of(&then.traces, &now.traces, &likeness)
    };
    use DivergenceKind as Kind;
    let all = "method,url,status,body";
    assert_eq!(differs(all, "http://a.test/save?t=2", 200, r#"{"at": 2, "id": 7}"#), []);
    assert_eq!(differs(all, "http://a.test/save", 200, r#"{"at": 2, "id": 8}"#), [Kind::Bodies]);
    assert_eq!(differs(all, "http://a.test/save", 201, r#"{"id": 7, "at": null}"#), [Kind::Requests]);
    assert_eq!(differs("method,url", "http://a.test/save", 201, "other"), []);
    assert_eq!(differs("method,url", "http://a.test/other", 200, ""), [Kind::Requests]);
    assert_eq!(differs("method,status", "http://a.test/other", 200, ""), []);
    for wrong in ["", "status", "url,bodies"] {
        assert!(Aspect::read_list(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn healing_changes_the_targets_that_moved_and_adds_the_repairs() {
    let run = log(START, &repaired()[3..4], "ok");
    let recording = recorded(&run);
    let mut now = repaired();
    now[3] = with(step(1, &click("c9"), &button("c9", "Keep", "#save")), &json!({ "attempt": 2, "planIndex": 0 }));
    now[1]["planIndex"] = json!(0);
    let healed = recording.healed(&log(START, &now[..4], "ok")).unwrap();
    assert_eq!(verbs(&healed), ["click", "click"]);
    let json = serde_json::to_string(&healed.plan).unwrap();
    assert!(json.contains("Keep") && json.contains("Close") && !json.contains("\"name\":\"Save\""), "{json}");
    assert_eq!(healed.plan.steps[1].action.target().unwrap().as_str(), "button-Save", "names stay, for a short diff");
    assert_eq!(recording.healed(&log(START, &[], "ok")), None);
}
