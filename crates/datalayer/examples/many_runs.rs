//! Measures metrics over many runs: `cargo run --release --example many_runs -- RUNS [FOLDER]`. Writes runs, each with the
//! log of the newest version in `tests/golden`, and counts them as `cuebook stats` does.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cuebook_datalayer::metrics::Collector;
use cuebook_datalayer::{Entries, Run, RunDir};
use cuebook_grammar::record::RECORD_VERSION;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let runs: u32 = args.next().map_or(Ok(1_000), |runs| runs.parse())?;
    let folder = args.next().map_or_else(std::env::temp_dir, PathBuf::from).join("cuebook-many-runs");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{RECORD_VERSION}.jsonl"));
    let run = Run::read(&golden)?;
    let (log, id) = (fs::read_to_string(&golden)?, run.header.ok_or("the log has no header")?.run_id);
    for number in 0..runs {
        let name = format!("run-{number:06}");
        let dir = folder.join(&name);
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("log.jsonl"), log.replace(id.as_str(), &name))?;
    }
    let start = Instant::now();
    let mut collector = Collector::default();
    for run in RunDir::find(std::slice::from_ref(&folder))? {
        collector.add_run(Entries::open(&run.log_path())?)?;
    }
    let (summary, took) = (collector.summary(), start.elapsed());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!(
        "{} runs of {} steps and {} bytes in {took:?}, peak {peak}",
        summary.runs.total,
        run.steps.len(),
        log.len()
    );
    fs::remove_dir_all(&folder)?;
    Ok(())
}
