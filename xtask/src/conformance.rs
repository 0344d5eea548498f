//! Other people's tests, in neutral form, through the public API: builds the program that runs them, and runs it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use xtask::chrome;
use xtask::commands::{build_trials, root, stage};

/// Where the cases lie beside a checkout, if they do.
pub(crate) const USUAL_FOLDER: &str = "../shared/conformance";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder of cases [default: ../shared/conformance, where that is there]
    folder: Option<PathBuf>,
    /// Only this file (such as `locate`), or cases whose id starts so; may be repeated
    #[arg(long, value_name = "FILE|ID")]
    only: Vec<String>,
    /// Write the figures and failures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Raise the committed ratchet to what was reached
    #[arg(long)]
    update: bool,
    /// Show every failing case with what was expected and seen
    #[arg(short, long)]
    verbose: bool,
    /// Browsers that run at once
    #[arg(long, default_value_t = 3)]
    jobs: usize,
}

/// Runs the cases and compares the figures with `conformance/ratchet.json`.
///
/// # Errors
/// If the ratchet is missed, or nothing could be run.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => {
            let usual = root().join(USUAL_FOLDER);
            if !usual.is_dir() {
                bail!("there is no folder of cases at {USUAL_FOLDER}: name one (docs/conformance.md has the form)");
            }
            usual
        }
    };
    let whole = chrome::find_or_install()?;
    let chrome = chrome::headless_shell().unwrap_or(whole);
    let mut command = Command::new(build_trials()?);
    command.arg("conformance");
    command.arg(folder).args(["--jobs", &arguments.jobs.to_string()]).arg("--chrome").arg(&chrome);
    command.arg("--ratchet").arg(root().join("conformance/ratchet.json"));
    for only in &arguments.only {
        command.args(["--only", only]);
    }
    if let Some(json) = &arguments.json {
        command.arg("--json").arg(json);
    }
    if arguments.update {
        command.arg("--update");
    }
    if arguments.verbose {
        command.arg("--verbose");
    }
    stage("conformance", &mut command)
}
