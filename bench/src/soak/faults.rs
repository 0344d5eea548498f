//! Faults of browser, process, disk, model and server at drawn moments: builds the program that tries them, and runs it.

use std::process::Command;

use anyhow::Result;
use xtask::chrome;
use xtask::commands::{build_cuebook, build_trials, root, stage};

/// Carries out `count` runs, and writes `bench/faults.json`, which is committed.
///
/// # Errors
/// If a promise was broken, or nothing could be run.
pub(super) fn run(count: u32, seed: u64) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let cuebook = build_cuebook()?;
    let mut command = Command::new(build_trials()?);
    command.arg("faults");
    command.args(["--runs", &count.to_string(), "--seed", &seed.to_string()]).arg("--cuebook").arg(cuebook);
    command.arg("--json").arg(root().join("bench/faults.json")).env("CHROME", chrome);
    stage(&format!("{count} runs under faults, seed {seed}"), &mut command)
}
