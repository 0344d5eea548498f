//! Jobs on the built-in site under mixed drifts: builds the program that does them, and runs it.

use std::process::Command;

use anyhow::Result;
use xtask::chrome;
use xtask::commands::{BuildProfile, build_executable, root, stage};

/// Carries out `count` runs, and writes `bench/drifts.json`, which is committed.
///
/// # Errors
/// If a run was silently wrong, or nothing could be run.
pub(super) fn run(count: u32, seed: u64) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let mut command = Command::new(build_executable("cuebook-tests", "cuebook-drifts", BuildProfile::Dev)?);
    command.args(["--runs", &count.to_string(), "--seed", &seed.to_string()]);
    command.arg("--json").arg(root().join("bench/drifts.json")).env("CHROME", chrome);
    stage(&format!("{count} runs under drift, seed {seed}"), &mut command)
}
