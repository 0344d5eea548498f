//! Small jobs under faults of browser, process, disk, model and server.
//!
//! `cargo xtask soak --faults N` builds and runs it.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use cuebook_tests::faults::{Fault, Trials, figures, undisturbed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The program that is tried
    #[arg(long)]
    cuebook: PathBuf,
    /// Runs in all; the faults take turns
    #[arg(long, default_value_t = 200)]
    runs: usize,
    /// Only faults whose name contains this, such as F-04; may be repeated
    #[arg(long)]
    fault: Vec<String>,
    /// Seed of faults and moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of runs at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Write the figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Returns `true` if no promise was broken.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let is_wanted =
        |fault: &Fault| arguments.fault.is_empty() || arguments.fault.iter().any(|name| fault.name().contains(name));
    // Runs have folders of their own.
    let cuebook = arguments.cuebook.canonicalize().context("no such program")?;
    let usual = undisturbed(&cuebook)?;
    println!("an undisturbed run takes {} ms", usual.as_millis());
    let trials = Trials {
        cuebook,
        faults: Fault::ALL.into_iter().filter(is_wanted).collect(),
        runs: arguments.runs,
        seed: arguments.seed,
        jobs: arguments.jobs.clamp(1, 16),
        usual,
    };
    let done = trials.run(|trial| {
        println!("{:4} {:20} {:6} ms  {}", trial.number, trial.fault.name(), trial.took.as_millis(), trial.outcome);
        for violation in &trial.violations {
            println!("     {violation}");
        }
    })?;
    let figures = figures(arguments.seed, &done);
    println!("{figures:#}");
    if let Some(file) = &arguments.json {
        std::fs::write(file, format!("{figures:#}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(done.iter().all(|trial| trial.violations.is_empty()))
}
