//! Pages that mislead, many times over, on a busy machine and over a slow link: builds the program that tries them, and
//! runs it.

use std::process::Command;

use anyhow::Result;
use xtask::chrome;
use xtask::commands::{build_trials, root, stage};

/// Runs `count` trials of each kind over a quick and a slow link, and writes `bench/hostile.json`, which is committed.
///
/// # Errors
/// If there was a fault, or nothing could be run.
pub(super) fn run(count: u32, seed: u64) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let mut command = Command::new(build_trials()?);
    command.arg("hostile");
    command.args(["--trials", &count.to_string(), "--seed", &seed.to_string(), "--hogs", "2"]);
    command.args(["--delay-ms", "0", "--delay-ms", "40"]);
    command.arg("--json").arg(root().join("bench/hostile.json")).arg("--chrome").arg(chrome);
    stage(&format!("{count} trials of each kind, seed {seed}"), &mut command)
}
