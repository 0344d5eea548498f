//! Other people's tests, in neutral form, through the public API.
//!
//! Reads a folder of cases, carries them out with several browsers at once, prints a figure for each file and each
//! kind of failure, and compares them with the committed ratchet. `cargo xtask conformance` builds and runs it.

mod case;
mod kinds;
mod ratchet;
mod server;
mod stage;
mod tally;
mod target;
mod verdict;
mod workers;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use cuebook_cdp::{SearchPlaces, find_chrome};

use crate::conformance::case::Kind;
use crate::conformance::ratchet::Ratchet;
use crate::conformance::tally::Tally;
use crate::conformance::workers::Work;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder of cases
    folder: PathBuf,
    /// Only this file (such as `locate`), or cases whose id starts so; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// Write the figures and failures to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Raise the ratchet to what was reached
    #[arg(long)]
    update: bool,
    /// Show every failing case with what was expected and seen
    #[arg(short, long)]
    verbose: bool,
    /// Browsers that run at once
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// File of the ratchet
    #[arg(long, default_value = "conformance/ratchet.json")]
    ratchet: PathBuf,
    /// The browser; found as `cuebook` finds it unless stated
    #[arg(long)]
    chrome: Option<PathBuf>,
}

/// Returns `true` if the ratchet holds. A part of the cases is not compared with it.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let chrome = find_chrome(&places(arguments.chrome.clone()))?;
    let mut work = Vec::new();
    for kind in Kind::ALL {
        let cases = case::read(&arguments.folder, kind)?;
        let wanted = |id: &str| {
            arguments.only.is_empty()
                || arguments
                    .only
                    .iter()
                    .any(|only| only.trim_end_matches(".jsonl") == kind.name() || id.starts_with(only.as_str()))
        };
        work.extend(cases.into_iter().filter(|case| wanted(&case.id)).map(|case| Work { kind, case }));
    }
    ensure!(!work.is_empty(), "expected cases in {}, saw none that are wanted", arguments.folder.display());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let counted = runtime.block_on(workers::run(&chrome, work, arguments.jobs.clamp(1, 16)))?;
    let tally = Tally::of(&counted);
    if arguments.verbose {
        print!("{}", tally.details());
    }
    print!("{}", tally.text());
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&tally.json())?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let is_whole =
        arguments.only.iter().all(|only| Kind::ALL.iter().any(|kind| kind.name() == only.trim_end_matches(".jsonl")));
    if !is_whole {
        return Ok(tally.figures.values().all(|figure| figure.failing.is_empty()));
    }
    let mut ratchet = Ratchet::read(&arguments.ratchet)?;
    for name in ratchet.uncompared(&tally) {
        println!("not compared with the ratchet, which is about other cases: {name}");
    }
    for risen in ratchet.risen(&tally) {
        println!("passes now: {risen}");
    }
    if arguments.update {
        ratchet = ratchet.raised(&tally);
        ratchet.write(&arguments.ratchet)?;
    }
    let misses = ratchet.misses(&tally);
    for miss in &misses {
        println!("ratchet missed: {miss}");
    }
    Ok(misses.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "this program is its own composition root")]
fn places(explicit: Option<PathBuf>) -> SearchPlaces {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    SearchPlaces { explicit, chrome_variable: std::env::var_os("CHROME"), path: std::env::var_os("PATH"), home }
}
