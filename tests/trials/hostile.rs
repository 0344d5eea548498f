//! Pages that mislead, in large numbers, through the whole loop, with the page as the oracle.
//!
//! `cargo xtask soak --hostile N` builds and runs it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cuebook_tests::hostile::{Kind, Tally, Trials, chrome, pages_folder};
use serde_json::{Map, json};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A kind: late, meaning, ticking, nested, empty, vanishing, answers (all of these unless stated), ids, downloads;
    /// may be repeated
    #[arg(long)]
    kind: Vec<Kind>,
    /// Only cases of this name; may be repeated
    #[arg(long)]
    case: Vec<String>,
    /// Trials of each kind and delay
    #[arg(long, default_value_t = 200)]
    trials: usize,
    /// Seed of the moments of changes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds that the link to the browser takes each way; may be repeated
    #[arg(long, value_name = "MS")]
    delay_ms: Vec<u64>,
    /// Browsers that run at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Threads that keep the machine busy
    #[arg(long, default_value_t = 0)]
    hogs: usize,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where `pages` and `account.js` lie
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The browser; found as `cuebook` finds it unless stated
    #[arg(long)]
    chrome: Option<PathBuf>,
}

/// Returns `true` if there was no fault.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let delays = if arguments.delay_ms.is_empty() { &[0][..] } else { &arguments.delay_ms };
    let mut figures = Map::new();
    let mut faults = 0;
    for &delay in delays {
        let trials = Trials {
            chrome: chrome(arguments.chrome.as_deref())?,
            folder: arguments.folder.clone().unwrap_or_else(pages_folder),
            kinds: if arguments.kind.is_empty() { Kind::of_pages().collect() } else { arguments.kind.clone() },
            names: arguments.case.clone(),
            trials: arguments.trials,
            seed: arguments.seed,
            delay: Duration::from_millis(delay),
            jobs: arguments.jobs.clamp(1, 16),
            hogs: arguments.hogs,
        };
        let tallies = runtime.block_on(trials.run())?;
        println!("\ndelay {delay} ms, seed {}, {} hogs", arguments.seed, arguments.hogs);
        println!(
            "{:10} {:>6} {:>5} {:>7} {:>7} {:>5} {:>5} {:>6} {:>8} {:>6} {:>5} {:>8} {:>6}",
            "kind",
            "trials",
            "done",
            "stopped",
            "skipped",
            "WRONG",
            "FALSE",
            "DOUBLE",
            "NEEDLESS",
            "DENIED",
            "LATE",
            "LEFTOVER",
            "BROKEN"
        );
        for (kind, tally) in &tallies {
            faults += tally.faults();
            println!("{}", line(kind, tally));
        }
        for example in tallies.values().flat_map(|tally| &tally.examples) {
            println!("  {example}");
        }
        figures.insert(format!("delayMs{delay}"), json!(tallies));
    }
    if let Some(path) = &arguments.json {
        let text = format!(
            "{:#}\n",
            json!({ "seed": arguments.seed, "hogs": arguments.hogs, "faults": faults, "links": figures })
        );
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(faults == 0)
}

fn line(kind: &str, tally: &Tally) -> String {
    format!(
        "{kind:10} {:>6} {:>5} {:>7} {:>7} {:>5} {:>5} {:>6} {:>8} {:>6} {:>5} {:>8} {:>6}",
        tally.trials,
        tally.done,
        tally.stopped,
        tally.skipped,
        tally.wrong,
        tally.false_success,
        tally.double,
        tally.needless,
        tally.denied,
        tally.late,
        tally.leftover,
        tally.broken
    )
}
