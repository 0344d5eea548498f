//! Jobs on the built-in site under mixed drifts: builds the program that does them, and runs it.

use std::process::Command;

use anyhow::Result;
use xtask::chrome;
use xtask::commands::{build_trials, root, stage};

use crate::peers::install;

/// Carries out `count` runs, and writes `bench/drifts.json`, which is committed.
///
/// # Errors
/// If a run was silently wrong, or nothing could be run.
pub(super) fn run(count: u32, seed: u64) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let mut command = Command::new(build_trials()?);
    command.arg("drifts");
    command.args(["--runs", &count.to_string(), "--seed", &seed.to_string()]);
    command.arg("--json").arg(root().join("bench/drifts.json")).env("CHROME", chrome);
    stage(&format!("{count} runs under drift, seed {seed}"), &mut command)
}

/// Like [`run`], by cuebook with and without repairs, Playwright, and agent-browser where its package installs; writes
/// `bench/peers-drift.json`, which is committed.
///
/// # Errors
/// If a run of cuebook's was silently wrong, or nothing could be run.
pub(super) fn run_beside(count: u32, seed: u64) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let packages = root().join("target/bench");
    install(&packages, "playwright-core")?;
    let mut peers = vec![("playwright-core", "drift_playwright.mjs")];
    match install(&packages, "agent-browser") {
        Ok(()) => peers.push(("agent-browser", "drift_agent_browser.mjs")),
        Err(error) => println!("agent-browser is left out: {error:#}"),
    }
    let mut command = Command::new(build_trials()?);
    command.arg("drifts");
    command.args(["--runs", &count.to_string(), "--seed", &seed.to_string(), "--modules"]).arg(packages);
    for (name, script) in peers {
        command.arg("--peer").arg(format!("{name}={}", root().join("bench").join(script).display()));
    }
    command.arg("--json").arg(root().join("bench/peers-drift.json")).env("CHROME", chrome);
    stage(&format!("{count} runs by each side under drift, seed {seed}"), &mut command)
}
