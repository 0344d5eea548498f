//! Measures how long an entry takes until it is durable: `cargo run --example log_latency -- FOLDER`.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use cuebook_datalayer::{JsonlLog, RunDir, run_id};
use cuebook_grammar::record::{RECORD_VERSION, RunHeader, StepIntent};
use cuebook_grammar::seam::StepLog;

const ENTRIES: u32 = 2_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let run = run_id(0, [0; 3]);
    let dir = RunDir::create(&out, &run)?;
    let mut log = JsonlLog::create(&dir, None)?;
    let header = RunHeader {
        schema_version: RECORD_VERSION.into(),
        run_id: run.clone(),
        ts_ms: 0,
        cuebook: env!("CARGO_PKG_VERSION").into(),
        browser: None,
        browser_path: None,
        command: "exec".into(),
        task: None,
        url: None,
    };
    log.open(&header).await?;
    let explanation = "x".repeat(400);
    let action = serde_json::json!({ "type": "click", "targetRef": "c1", "explanation": explanation });
    let mut micros = Vec::new();
    for step_index in 0..ENTRIES {
        let intent: StepIntent = serde_json::from_value(serde_json::json!({
            "schemaVersion": RECORD_VERSION, "runId": run, "stepIndex": step_index, "origin": "plan",
            "attempt": 1, "action": action, "tsMs": 0
        }))?;
        let start = Instant::now();
        log.begin(&intent).await?;
        micros.push(start.elapsed().as_micros());
    }
    micros.sort_unstable();
    let at = |percent: usize| micros.get(micros.len() * percent / 100).copied().unwrap_or_default();
    println!("{ENTRIES} entries: p50 {} us, p90 {} us, p99 {} us", at(50), at(90), at(99));
    std::fs::remove_dir_all(dir.path())?;
    Ok(())
}
