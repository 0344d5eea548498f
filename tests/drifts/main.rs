//! `cuebook-drifts`: jobs on the built-in site under mixed drifts.
//!
//! `cargo xtask soak --drifts N` builds and runs it.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal that started it")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use clap::Parser;
use cuebook_tests::Stage;
use cuebook_tests::drifts::{Trial, Verdict, figures, trial};

#[derive(Debug, Parser)]
#[command(name = "cuebook-drifts")]
struct Arguments {
    /// Runs in all; jobs and ways of naming take turns
    #[arg(long, default_value_t = 1_000)]
    runs: u64,
    /// What the drifts are drawn from
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
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("failed: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// How many runs were silently wrong.
async fn run(arguments: &Arguments) -> Result<usize> {
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
    let figures = figures(seed, &all);
    println!("{figures:#}");
    if let Some(file) = &arguments.json {
        std::fs::write(file, format!("{figures:#}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(all.iter().filter(|trial| trial.verdict == Verdict::SilentlyWrong).count())
}
