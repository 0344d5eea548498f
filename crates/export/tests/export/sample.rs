//! Runs as `cuebook` logs them.

use std::fs;
use std::path::{Path, PathBuf};

use cuebook_datalayer::RunDir;
use cuebook_export::{Exported, Format, Options, Redaction, export};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_grammar::sample::page;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// Noon of 2025-01-09 UTC, in milliseconds since 1970.
pub(crate) const NOON: u64 = 1_736_424_000_000;

/// A PNG of one pixel.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x05\0\0\0\x02\xd0\x08\x06\0\0\0";

/// Text that must not survive the profile `strict`.
pub(crate) const PERSONAL: &str = "Zoe-Quux";

pub(crate) struct Runs {
    folder: TempDir,
}

impl Runs {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("runs").join(name)
    }

    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the log of a run.
    pub(crate) fn log(&self, name: &str, entries: &[Value]) {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        fs::write(path.join("log.jsonl"), lines).unwrap();
    }

    /// Stores an artifact of a run.
    pub(crate) fn artifact(&self, run: &str, kind: &str, media_type: &str, extension: &str, bytes: &[u8]) -> Value {
        let sha256: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = format!("artifacts/{}/{sha256}.{extension}", &sha256[..2]);
        let file = self.path(run).join(&path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
        json!({ "kind": kind, "sha256": sha256, "mediaType": media_type, "bytes": bytes.len(), "path": path })
    }

    pub(crate) fn observed(&self, run: &str, id: u64, page: &Observation) -> Value {
        let content = serde_json::to_vec(&page).unwrap();
        let content = self.artifact(run, "observation", "application/json", "json", &content);
        json!({ "entry": "observed", "schemaVersion": RECORD_VERSION, "runId": run, "tsMs": NOON + 1, "observation": id,
                "url": page.url, "content": content })
    }

    /// A run that typed a name, failed at a button that was not there, and clicked the right one.
    pub(crate) fn login(&self, run: &str, started: u64) {
        let page = login_page();
        let shot = self.artifact(run, "screenshotBefore", "image/png", "png", PNG);
        let candidate = |at: usize| json!({ "observed": page.candidates[at] });
        let step = |index: u64, attempt: u64, action: Value, more: Value| {
            let mut record = json!({
                "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": run, "stepIndex": index, "origin": "plan",
                "attempt": attempt, "planning": 0, "planId": "p0", "observation": 1, "action": action,
                "candidates": { "c1": candidate(0), "c2": candidate(1), "c3": candidate(2) },
                "url": format!("http://shop.test/login?user={PERSONAL}"), "risk": "write", "effectClass": "reversible",
                "execution": { "tsMs": started + 1_000 * index, "durationMs": 240, "cdp": { "events": 12 },
                               "timings": { "resolveMs": 1, "actionableMs": 2, "actMs": 3, "postMs": 4 } },
                "artifacts": [shot], "result": "ok", "inputSent": true,
            });
            record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            record
        };
        let begin = |record: &Value| {
            json!({ "entry": "begin", "schemaVersion": RECORD_VERSION, "runId": run, "stepIndex": record["stepIndex"],
                    "origin": record["origin"], "attempt": record["attempt"], "action": record["action"],
                    "tsMs": started })
        };
        let typed = step(
            0,
            1,
            json!({ "type": "type", "targetRef": "c1", "text": PERSONAL, "explanation": format!("for {PERSONAL}"),
                    "post": [{ "kind": "valueContains", "target": "c1", "value": PERSONAL }] }),
            json!({ "preCheck": [{ "condition": { "kind": "visible", "target": "c1" }, "verdict": "holds" }],
                    "postCheck": [{ "condition": { "kind": "valueContains", "target": "c1", "value": PERSONAL },
                                    "verdict": "holds", "latencyMs": 5 }],
                    "postFacts": { "samples": [{ "atMs": 1, "url": "http://shop.test/", "title": PERSONAL }] } }),
        );
        let failed = step(
            1,
            1,
            json!({ "type": "click", "targetRef": "c2", "post": [{ "kind": "urlChanges" }] }),
            json!({ "result": "failed", "postCheck": [{ "condition": { "kind": "urlChanges" }, "verdict": "fails" }],
                    "failure": { "stage": "postcondition", "cause": "postconditionFailed",
                                 "message": format!("{PERSONAL} stayed"), "facts": { "seen": PERSONAL } } }),
        );
        let clicked = step(
            2,
            1,
            json!({ "type": "click", "targetRef": "c3", "post": [{ "kind": "urlChanges", "to": "/home" }] }),
            json!({ "origin": "repair",
                    "postCheck": [{ "condition": { "kind": "urlChanges", "to": "/home" }, "verdict": "holds",
                                    "latencyMs": 80 }],
                    "data": { "said": PERSONAL },
                    "effects": {
                        "urlBefore": "http://shop.test/login", "urlAfter": "http://shop.test/home", "newDocument": true,
                        "requests": [
                            { "method": "POST", "url": format!("http://shop.test/login?next={PERSONAL}"), "status": 303 },
                            { "method": "GET", "url": "http://shop.test/home", "status": 200 },
                            { "method": "GET", "url": "http://shop.test/gone.png", "failure": "net::ERR_ABORTED" } ],
                        "denied": [{ "listener": 1, "sequence": 0, "tsMs": started, "method": "GET", "host": "ads.test",
                                     "port": 80, "rule": "origin" }],
                        "consoleErrors": [PERSONAL],
                        "dialogs": [{ "kind": "alert", "message": PERSONAL }] } }),
        );
        let mut entries = vec![
            json!({ "entry": "header", "schemaVersion": RECORD_VERSION, "runId": run, "tsMs": started,
                    "cuebook": "0.1.0", "browser": "Chrome/156", "browserPath": "/usr/bin/chromium", "command": "run",
                    "task": format!("Log {PERSONAL} in"), "url": "http://shop.test/login" }),
            self.observed(run, 1, &page),
            json!({ "entry": "planning", "schemaVersion": RECORD_VERSION, "runId": run, "planningIndex": 0,
                    "tsMs": started + 1, "observation": 1,
                    "call": { "engine": "ollama", "model": "qwen3:8b", "purpose": "plan",
                              "input": [{ "role": "user", "text": format!("log {PERSONAL} in") }],
                              "output": format!("type {PERSONAL}"), "reasoning": PERSONAL, "confidence": 0.75,
                              "inputTokens": 100, "outputTokens": 20, "latencyMs": 30, "attempts": 1,
                              "end": { "invalid": { "violations": [
                                  { "code": "unknownTarget", "path": "/steps/0", "message": PERSONAL }] } } } }),
        ];
        for record in [typed, failed, clicked] {
            entries.extend([begin(&record), record]);
        }
        entries.push(json!({ "entry": "end", "runId": run, "tsMs": started + 9_000, "result": "ok" }));
        self.log(run, &entries);
    }

    /// A run whose log is that of [`Self::login`] up to its `steps`-th step, with `change` made to that step, and with
    /// this end.
    pub(crate) fn login_until(&self, run: &str, steps: usize, change: &Value, result: Option<&str>) {
        self.login(run, NOON);
        let log = self.path(run).join("log.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let mut entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_step = |entry: &Value| entry["entry"] == "commit";
        let last = entries.iter().enumerate().filter(|(_, entry)| is_step(entry)).nth(steps - 1).unwrap().0;
        entries.truncate(last + 1);
        entries[last].as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        entries.extend(
            result.map(|result| json!({ "entry": "end", "runId": run, "tsMs": NOON + 9_000, "result": result })),
        );
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        fs::write(log, lines).unwrap();
    }

    pub(crate) fn export_with(&self, options: &Options) -> Exported {
        let runs = RunDir::find(&[self.folder.path().join("runs")]).unwrap();
        export(&runs, options, &mut |_, _| {}).unwrap()
    }

    /// Exports all runs to a folder of the format's name.
    pub(crate) fn export(&self, format: Format, redaction: Redaction) -> (PathBuf, Exported) {
        let out = self.out(&format!("{}-{}", format.as_str(), redaction.as_str()));
        let options = Options { format, redaction, out: out.clone(), rewrite: false, pictures: false };
        let exported = self.export_with(&options);
        (out, exported)
    }
}

pub(crate) fn login_page() -> Observation {
    let mut page = page(&format!(
        "heading {PERSONAL}
         textbox \"User\" testid=user
         button \"Cancel {PERSONAL}\"
         button \"Log in\" testid=login"
    ));
    page.title = PERSONAL.to_owned();
    page
}

/// The files below a folder, with their content, by relative path.
pub(crate) fn files(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}
