//! Measures an export to Parquet: `cargo run --release --example throughput -- STEPS [FOLDER]`. Writes runs of 1,000 steps
//! with 10 candidates each, exports them, and prints steps per second, bytes per step and the peak of memory.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use cuebook_datalayer::RunDir;
use cuebook_export::{Format, Options, Redaction, export};
use cuebook_grammar::record::RECORD_VERSION;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Steps of a run.
const STEPS: u64 = 1_000;
const START: u64 = 1_736_424_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let steps: u64 = args.next().map_or(Ok(100_000), |steps| steps.parse())?;
    let folder = args.next().map_or_else(std::env::temp_dir, PathBuf::from).join("cuebook-throughput");
    let (runs, out) = (folder.join("runs"), folder.join("out"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let count = steps.div_ceil(STEPS);
    for run in 0..count {
        write_run(&runs, run)?;
    }
    let found = RunDir::find(&[runs])?;
    let options = Options {
        format: Format::Parquet,
        redaction: Redaction::None,
        out: out.clone(),
        rewrite: false,
        pictures: false,
    };
    let start = Instant::now();
    let exported = export(&found, &options, &mut |_, _| {})?;
    let took = start.elapsed();
    let bytes: u64 = exported.written.iter().filter_map(|name| Some(fs::metadata(out.join(name)).ok()?.len())).sum();
    let steps = count * STEPS;
    let per_second = u128::from(steps) * 1_000 / took.as_millis().max(1);
    println!("{steps} steps in {took:?}: {per_second} steps/s, {} bytes/step, peak {}", bytes / steps, peak());
    let start = Instant::now();
    export(&found, &options, &mut |_, _| {})?;
    println!("again, with nothing to do: {:?}", start.elapsed());
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The peak of memory, where the system says.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}

fn write_run(runs: &Path, number: u64) -> Result<(), Box<dyn Error>> {
    let id = format!("run-{number:06}");
    let folder = runs.join(&id);
    let page = page(number);
    let content = serde_json::to_vec(&page)?;
    let sha256: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("artifacts/{}/{sha256}.json", sha256.get(..2).unwrap_or_default());
    let file = folder.join(&path);
    fs::create_dir_all(file.parent().unwrap_or(&folder))?;
    fs::write(file, &content)?;
    let content = json!({ "kind": "observation", "sha256": sha256, "mediaType": "application/json",
                          "bytes": content.len(), "path": path });
    let mut log = BufWriter::new(File::create(folder.join("log.jsonl"))?);
    let start = START + number * 60_000;
    let header = json!({ "entry": "header", "schemaVersion": RECORD_VERSION, "runId": id, "tsMs": start, "cuebook": "0.1.0",
                         "command": "run", "task": "order a pen", "url": "http://shop.test/" });
    writeln!(log, "{header}")?;
    for step in 0..STEPS {
        let target = page["candidates"].get(usize::try_from(step % 10)?).cloned().unwrap_or_default();
        for entry in step_entries(&id, start + step * 200, step, &target, &content) {
            writeln!(log, "{entry}")?;
        }
    }
    writeln!(log, "{}", json!({ "entry": "end", "runId": id, "tsMs": start + STEPS * 200, "result": "ok" }))?;
    log.flush()?;
    Ok(())
}

/// Returns the log entries of a step: the page, the start and the record.
fn step_entries(run: &str, ts_ms: u64, step: u64, target: &Value, content: &Value) -> [Value; 3] {
    let id = &target["id"];
    // What differs from step to step in real logs: ids in URLs.
    let path: String =
        Sha256::digest(format!("{run}/{step}")).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let action = json!({ "type": "click", "targetRef": id, "post": [{ "kind": "urlChanges" }] });
    let common = json!({ "schemaVersion": RECORD_VERSION, "runId": run, "stepIndex": step, "origin": "plan", "attempt": 1,
                         "planId": "p0", "planIndex": step, "action": action, "tsMs": ts_ms, "entry": "begin" });
    let mut commit = common.clone();
    let record = json!({
        "entry": "commit", "observation": step + 1, "candidates": { id.as_str().unwrap_or("c1"): { "observed": target } },
        "url": format!("http://shop.test/orders/{path}"), "risk": "write", "effectClass": "reversible",
        "execution": { "tsMs": ts_ms, "durationMs": 100 + step % 77, "timings": { "resolveMs": 3, "actMs": 20 },
                       "cdp": { "events": 12 } },
        "preCheck": [{ "condition": { "kind": "visible", "target": id }, "verdict": "holds" }],
        "postCheck": [{ "condition": { "kind": "urlChanges" }, "verdict": "holds", "latencyMs": 20 + step % 13 }],
        "effects": { "urlAfter": format!("http://shop.test/orders/{path}/next"), "newDocument": true,
                     "mutations": { "added": step % 9 },
                     "requests": [{ "method": "GET", "url": format!("http://shop.test/orders/{path}?step={step}"), "status": 200 }] },
        "result": "ok", "inputSent": true,
    });
    if let (Value::Object(commit), Value::Object(record)) = (&mut commit, record) {
        commit.remove("tsMs");
        commit.extend(record);
    }
    let observed = json!({ "entry": "observed", "schemaVersion": RECORD_VERSION, "runId": run, "tsMs": ts_ms,
                           "observation": step + 1, "url": "http://shop.test/", "content": content });
    [observed, common, commit]
}

fn page(number: u64) -> Value {
    let candidates: Vec<Value> = (1..=10)
        .map(|at| {
            let name = format!("Order pen {at} of page {number}");
            json!({ "id": format!("c{at}"), "role": "button", "name": name, "control": "plain", "testId": format!("pen-{at}"),
                    "box": { "x": 10, "y": at * 40, "width": 120, "height": 32 },
                    "locators": [{ "strategy": "byTestId", "testId": format!("pen-{at}") }],
                    "fingerprint": { "role": "button", "name": name, "path": "html body main button" } })
        })
        .collect();
    json!({ "schemaVersion": "1.0", "id": 0, "page": "p1", "scope": "view", "url": "http://shop.test/", "title": "Pens",
            "viewport": { "width": 1280, "height": 720, "scrollX": 0, "scrollY": 0, "pageWidth": 1280, "pageHeight": 720,
                          "devicePixelRatio": 1 },
            "frames": [], "candidates": candidates, "fingerprint": "0123456789abcdef" })
}
