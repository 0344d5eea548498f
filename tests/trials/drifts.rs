//! Jobs on the built-in site under mixed drifts.
//!
//! `cargo xtask soak --drifts N` builds and runs it; with `--peers`, every run is one by each side.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use cuebook_tests::Stage;
use cuebook_tests::drifts::beside::{self, Contest, PeerScript, REPAIRING, Turn};
use cuebook_tests::drifts::{Trial, Verdict, figures, trial};
use serde_json::Value;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Runs in all; jobs and ways of naming take turns
    #[arg(long, default_value_t = 1_000)]
    runs: u64,
    /// Seed of the drifts
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// The number of the first run
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Runs at once, each in a browser of its own
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Have this peer do every run too, driven by a script for Node; can be repeated
    #[arg(long, value_name = "NAME=SCRIPT", requires = "modules")]
    peer: Vec<PeerScript>,
    /// Where peers find their packages
    #[arg(long, value_name = "DIR")]
    modules: Option<PathBuf>,
}

/// Returns `true` if none of cuebook's runs was silently wrong.
#[tokio::main]
pub(crate) async fn run(arguments: &Arguments) -> Result<bool> {
    match &arguments.modules {
        Some(modules) => run_beside(arguments, modules).await,
        None => run_alone(arguments).await,
    }
}

async fn run_alone(arguments: &Arguments) -> Result<bool> {
    let (seed, end) = (arguments.seed, arguments.from + arguments.runs);
    let next = Arc::new(AtomicU64::new(arguments.from));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..arguments.jobs.clamp(1, 16) {
        let next = next.clone();
        workers.spawn(async move {
            let stage = Stage::open().await?;
            let mut done: Vec<Trial> = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    return anyhow::Ok(done);
                }
                let trial = trial(&stage, seed, number).await?;
                let kinds: Vec<String> =
                    trial.kinds.iter().map(|(kind, percent)| format!("{kind}:{percent}")).collect();
                println!(
                    "{:4} {:13} {:?} {:6} ms  {}  [{}]  {}",
                    trial.number,
                    format!("{:?}", trial.verdict),
                    trial.naming,
                    trial.took.as_millis(),
                    trial.job,
                    kinds.join(" "),
                    trial.note.chars().take(300).collect::<String>()
                );
                done.push(trial);
            }
        });
    }
    let mut all = Vec::new();
    while let Some(done) = workers.join_next().await {
        all.extend(done??);
    }
    write(arguments, &figures(seed, &all))?;
    Ok(all.iter().all(|trial| trial.verdict != Verdict::SilentlyWrong))
}

fn write(arguments: &Arguments, figures: &Value) -> Result<()> {
    println!("{figures:#}");
    if let Some(file) = &arguments.json {
        std::fs::write(file, format!("{figures:#}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

async fn run_beside(arguments: &Arguments, modules: &Path) -> Result<bool> {
    let (seed, end) = (arguments.seed, arguments.from + arguments.runs);
    let mut contest = Contest::open(&arguments.peer, modules).await?;
    let (sides, versions) = (contest.sides(), contest.versions().await?);
    contest.check_reach(seed).await?;
    println!("{versions}: drift reaches the pages of all; without drift:");
    let calm = contest.calm(seed).await?;
    calm.iter().for_each(report);
    println!("under drift:");
    let next = Arc::new(AtomicU64::new(arguments.from));
    let mut workers = tokio::task::JoinSet::new();
    let mut contests = vec![contest];
    for _ in 1..arguments.jobs.clamp(1, 16) {
        let mut another = Contest::open(&arguments.peer, modules).await?;
        another.check_reach(seed).await?;
        contests.push(another);
    }
    for mut contest in contests {
        let next = next.clone();
        workers.spawn(async move {
            let mut done: Vec<Turn> = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    let closed = contest.close().await;
                    return (done, closed);
                }
                match contest.turns(seed, number).await {
                    Ok(turns) => {
                        turns.iter().for_each(report);
                        done.extend(turns);
                    }
                    Err(error) => return (done, Err(error)),
                }
            }
        });
    }
    let (mut all, mut broken) = (Vec::new(), Ok(()));
    while let Some(ended) = workers.join_next().await {
        let (done, closed) = ended?;
        all.extend(done);
        broken = broken.and(closed);
    }
    all.sort_by_key(|turn| turn.number);
    // What was done before something broke has been measured too.
    write(arguments, &beside::figures(seed, &versions, &sides, &calm, &all))?;
    broken?;
    let mut ours = all.iter().filter(|turn| turn.side.starts_with(REPAIRING));
    Ok(ours.all(|turn| turn.verdict != Verdict::SilentlyWrong))
}

fn report(turn: &Turn) {
    let kinds: Vec<String> = turn.kinds.iter().map(ToString::to_string).collect();
    println!(
        "{:4} {:13} {:19} {:6} ms  {}  [{}]  {}",
        turn.number,
        format!("{:?}", turn.verdict),
        turn.side,
        turn.took.as_millis(),
        turn.job,
        kinds.join(" "),
        turn.note.replace('\n', " ").chars().take(300).collect::<String>()
    );
}
