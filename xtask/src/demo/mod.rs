//! The demonstration: the built-in site, a task in words, a plan from a file, and what happened.
//!
//! Invariant: the site is always stopped, and its server decides whether
//! the order was placed.

mod oracle;
mod report;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use xtask::chrome;
use xtask::commands::{build_cuebook, root};
use xtask::site::Site;

/// Task that the planner gets.
const TASK: &str = "Log in as ann with password correct-horse, then select Large and press Order";

/// Classes of actions that the demonstration allows on the site without being asked.
const GRANTS: [&str; 1] = ["money"];

/// A plan written by hand, relative to the root of the workspace.
const PLAN: &str = "examples/plans/login.json";

/// Runs both, and fails if either did not do what it was asked to.
pub(crate) fn run() -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let cuebook = build_cuebook()?;
    let site = Site::start(&cuebook)?;
    println!("\nThe shop is open at {}", site.origin());

    let login = format!("{}/login", site.origin());
    let mut task = Command::new(&cuebook);
    task.args(["run", TASK, "--url", &login, "--planner", "lexical", "--json"]);
    for class in GRANTS {
        task.args(["--grant", &format!("{class}@{}", site.origin())]);
    }
    let task_done = show("A task in words", &mut task, &chrome)?;

    let plan = root().join(PLAN);
    ensure!(plan.is_file(), "there is no plan at {}", plan.display());
    let mut file = Command::new(&cuebook);
    file.arg("exec").arg(&plan).args(["--url", &login, "--json"]);
    let plan_done = show("A plan from a file", &mut file, &chrome)?;

    let witnessed = oracle::read(&site.state()?);
    println!("\nThe server saw {witnessed}.");
    ensure!(task_done, "the task did not end well");
    ensure!(plan_done, "the plan did not end well");
    ensure!(witnessed.large_orders > 0, "the server saw no order of size Large");
    Ok(())
}

/// Runs `cuebook` and prints its report step by step. True if it says that all went well.
fn show(title: &str, command: &mut Command, chrome: &Path) -> Result<bool> {
    println!("\n== {title}");
    let output = command
        .current_dir(root())
        .env("CHROME", chrome)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match serde_json::from_str(&printed) {
        Ok(document) => print!("{}", report::lines(&document)),
        // The best explanation available.
        Err(_) => println!("{printed}"),
    }
    Ok(output.status.success())
}
