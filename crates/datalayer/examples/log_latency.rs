//! Measures what the log adds to a step: `cargo run --release --example log_latency -- FOLDER`. Two entries are durable for
//! each, `begin` before its input and `commit` before its success is reported.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cuebook_datalayer::{JsonlLog, Run, RunDir, run_id};
use cuebook_grammar::record::{RECORD_VERSION, StepIntent};
use cuebook_grammar::seam::StepLog;

const STEPS: u32 = 2_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{RECORD_VERSION}.jsonl"));
    let run = Run::read(&golden)?;
    let mut header = run.header.ok_or("the log has no header")?;
    let mut record = run.steps.last().ok_or("the log has no step")?.clone();
    let id = run_id(0, [0; 3]);
    (header.run_id, record.run_id) = (id.clone(), id.clone());
    let dir = RunDir::create(&out, &id)?;
    let mut log = JsonlLog::create(&dir, None)?;
    log.open(&header).await?;
    let mut micros = Vec::new();
    for step_index in 0..STEPS {
        record.step_index = step_index;
        record.planning = None;
        let intent = StepIntent {
            schema_version: RECORD_VERSION.into(),
            run_id: id.clone(),
            step_index,
            plan_index: record.plan_index,
            origin: record.origin,
            attempt: record.attempt,
            planning: None,
            plan_id: None,
            action: record.action.clone(),
            ts_ms: 0,
        };
        let start = Instant::now();
        let ticket = log.begin(&intent).await?;
        log.commit(ticket, &record).await?;
        micros.push(start.elapsed().as_micros());
    }
    micros.sort_unstable();
    let at = |percent: usize| micros.get(micros.len() * percent / 100).copied().unwrap_or_default();
    let bytes = std::fs::metadata(dir.log_path())?.len() / u64::from(STEPS);
    println!("{STEPS} steps of {bytes} bytes: p50 {} us, p90 {} us, p99 {} us", at(50), at(90), at(99));
    std::fs::remove_dir_all(dir.path())?;
    Ok(())
}
