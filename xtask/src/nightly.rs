//! The tests that a gate has no time for, in bounded counts: every test, other people's tests, trials, and suites beside their
//! committed baselines. Writes a dated result.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;
use xtask::chrome;
use xtask::commands::{build_cuebook, build_trials, cargo, output_of, root, stage};

use crate::conformance::USUAL_FOLDER;
use crate::eval::MINIWOB_PAGES;
use crate::models;
use crate::test::WHOLE;

/// Runs all stages, whatever fails, and writes `target/nightly/DATE.json`.
///
/// # Errors
/// If a stage failed, or the programs cannot be built.
pub(crate) fn run() -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let date = chrono::Utc::now().format("%Y-%m-%dT%H%MZ").to_string();
    let folder = root().join("target/nightly");
    std::fs::create_dir_all(&folder)?;
    let (cuebook, trials) = (build_cuebook()?, build_trials()?);

    // The counts bound the time: about two hours on two cores.
    let run = |program: &Path, arguments: &str| {
        let mut command = Command::new(program);
        command.args(arguments.split(' ')).current_dir(root()).env("CHROME", &chrome);
        command
    };
    let miniwob = if root().join(MINIWOB_PAGES).is_dir() { " --suite eval/miniwob.toml" } else { "" };
    let measured = |baseline: &str, more: &str| {
        let mut command =
            run(&cuebook, &format!("eval --suite site{more} --baseline eval/baseline/{baseline} --fresh"));
        command.arg("--out").arg(folder.join(baseline));
        command
    };
    let mut faults = run(&trials, "faults --runs 100 --cuebook");
    faults.arg(&cuebook);
    let lints = ["clippy", "--workspace", "--all-targets", "--features", WHOLE, "--", "--deny=warnings"];
    let mut stages = vec![
        ("hostile pages", run(&trials, "hostile --trials 20 --seed 7 --jobs 2 --hogs 2")),
        ("drifts", run(&trials, "drifts --runs 200")),
        ("faults", faults),
        ("suites", measured("plain", &format!("{miniwob} --seeds 0..1"))),
        ("site under drift", measured("drift", " --seeds 0..2 --drift mixed")),
    ];
    // Last: it builds `cuebook` again, with every feature.
    stages.extend([("lints of all features", cargo(&lints)), ("tests", cargo(&["xtask", "test", "--all"]))]);
    if models::is_fetched() {
        let mut model = cargo(&["xtask", "eval", "--planner", "model:smollm2", "--suite", "site", "--seeds", "0..1"]);
        model.args(["--task", "toast", "--task", "accept cookies", "--fresh", "--out"]).arg(folder.join("model"));
        stages.push(("a real model", model));
    }
    if root().join(USUAL_FOLDER).is_dir() {
        stages.push(("conformance", cargo(&["xtask", "conformance"])));
    }
    let mut results = Vec::new();
    for (title, mut command) in stages {
        let began = Instant::now();
        let failure = stage(title, &mut command).err().map(|error| format!("{error:#}"));
        results.push(json!({ "stage": title, "seconds": began.elapsed().as_secs(), "failure": failure }));
    }
    let result = json!({ "date": date, "commit": head(), "stages": results });
    let file = folder.join(format!("{date}.json"));
    std::fs::write(&file, format!("{result:#}\n"))?;
    println!("\n{result:#}\n{}", file.display());
    let failed: Vec<_> = results.iter().filter(|one| !one["failure"].is_null()).map(|one| &one["stage"]).collect();
    ensure!(failed.is_empty(), "failed: {failed:?}");
    Ok(())
}

/// The commit of the checkout; empty without git.
fn head() -> String {
    let mut git = Command::new("git");
    output_of(git.args(["rev-parse", "HEAD"]).current_dir(root()))
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}
