//! Whatever a log says, an export ends, and what it writes is well formed.

use cuebook_datalayer::RunDir;
use cuebook_export::{ExportError, Format, Options, Redaction, export};
use cuebook_grammar::arbitrary::any;
use cuebook_grammar::record::RECORD_VERSION;
use cuebook_grammar::step::Step;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sample::{NOON, Runs, files, login_page};

/// Texts that would break out of a string, a line or a path.
const TEXTS: &[&str] =
    &["\"); process.exit(1) //", "\n});\u{2028}", "../../etc/passwd", "\u{0}\u{202e}", "${x}`", "'; drop table"];

fn entries(runs: &Runs, steps: &[Step], text: &str) -> Vec<Value> {
    let page = login_page();
    let mut entries = vec![
        json!({ "entry": "header", "schemaVersion": RECORD_VERSION, "runId": text, "tsMs": NOON, "cuebook": text,
                "browser": text, "command": text, "task": text, "url": text }),
        runs.observed("r1", 1, &page),
    ];
    for (index, step) in steps.iter().enumerate() {
        let targets = step.targets().into_iter().enumerate().map(|(at, target)| {
            let declared = json!({ "declared": { "strategy": "text", "text": text, "hasText": text, "nth": -1 } });
            let observed = json!({ "observed": page.candidates[at % page.candidates.len()] });
            (target.to_string(), if at % 2 == 0 { declared } else { observed })
        });
        let judged: Vec<Value> =
            step.pre.iter().chain(&step.post).map(|one| json!({ "condition": one, "verdict": "holds" })).collect();
        let begin = json!({ "entry": "begin", "schemaVersion": RECORD_VERSION, "runId": text, "stepIndex": index,
                            "origin": "plan", "attempt": 1, "action": step, "tsMs": NOON });
        let commit = json!({
            "entry": "commit", "schemaVersion": RECORD_VERSION, "runId": text, "stepIndex": index, "origin": "plan",
            "attempt": 1, "observation": 1, "action": step, "candidates": targets.collect::<serde_json::Map<_, _>>(),
            "url": text, "risk": "write", "effectClass": "reversible", "inputSent": true,
            "execution": { "tsMs": u64::MAX, "durationMs": u64::MAX }, "preCheck": judged, "postCheck": judged,
            "result": "ok",
            "artifacts": [{ "kind": "screenshotBefore", "sha256": text, "mediaType": text, "bytes": 1, "path": text }],
            "effects": { "urlAfter": text, "requests": [{ "method": text, "url": text }], "consoleErrors": [text],
                         "dialogs": [{ "kind": "alert", "message": text }] },
        });
        entries.extend([begin, commit]);
    }
    entries.push(json!({ "entry": "end", "runId": text, "tsMs": 0, "result": "ok" }));
    for entry in &mut entries {
        entry["runId"] = text.into();
    }
    entries
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_step_in_any_words_is_exported(
        steps in prop::collection::vec(any::<Step>(), 1..6),
        text in prop::sample::select(TEXTS),
        cut in 0.0..1.5_f64,
    ) {
        let runs = Runs::new();
        let entries = entries(&runs, &steps, text);
        runs.log("r1", &entries);
        // Half of them are cut somewhere, as by a crash.
        let log = runs.path("r1").join("log.jsonl");
        let whole = std::fs::read(&log).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share")]
        let end = ((whole.len() as f64 * cut) as usize).min(whole.len());
        std::fs::write(&log, &whole[..end]).unwrap();
        let found = RunDir::find(&[runs.path("r1")]).unwrap();
        for format in Format::ALL {
            for redaction in Redaction::ALL {
                let out = runs.out(&format!("{}-{}", format.as_str(), redaction.as_str()));
                let options = Options { format, redaction, out: out.clone(), rewrite: false, pictures: false };
                let exported = match export(&found, &options, &mut |_, _| {}) {
                    // It needs its texts.
                    Err(ExportError::Redaction { .. }) if format == Format::Recording => continue,
                    exported => exported.unwrap(),
                };
                for (name, bytes) in files(&out) {
                    if name.ends_with(".jsonl") {
                        let lines = std::str::from_utf8(&bytes).unwrap().lines();
                        lines.for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap()));
                    } else if name.ends_with(".har") {
                        serde_json::from_slice::<Value>(&bytes).unwrap();
                    } else if name.ends_with(".ts") {
                        let test = std::str::from_utf8(&bytes).unwrap();
                        let is_ours = |line: &str| {
                            ["import ", "const SECRET_", "// ", "test(", "});", "  "].iter().any(|start| line.starts_with(start))
                        };
                        prop_assert!(test.lines().all(|line| line.is_empty() || is_ours(line)), "{}", test);
                    }
                }
                prop_assert!(exported.written.iter().all(|name| !name.contains("..")), "{:?}", exported);
            }
        }
    }
}
