//! The tests of the workspace, in real Chrome.

use anyhow::Result;
use xtask::chrome;
use xtask::commands::{cargo, has_subcommand, stage};

/// Features that a source build leaves out, and the tests of them.
pub(crate) const WHOLE: &str = "cuebook-cli/keyring,cuebook-cli/remote,cuebook-tests/remote";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also what repeats other tests with more pages, seeds or noise (needs cargo-nextest to be left out otherwise)
    #[arg(long)]
    all: bool,
    /// Arguments to hand on to the test runner, such as the name of a test
    #[arg(last = true, value_name = "ARGS")]
    runner: Vec<String>,
}

/// Builds `cuebook`, and runs the tests and the examples in the documentation.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    println!("Chrome: {}", chrome.display());
    let shell = chrome::headless_shell();
    if let Some(shell) = &shell {
        println!("most tests: {}", shell.display());
    }
    // With the features of the tests, in which the end-to-end tests find `cuebook` beside their own folder: a build of it
    // alone would compile most of the workspace a second time.
    // What `remote` and `keyring` add is left to the longer tier, with their 57 packages.
    let features: &[&str] = match arguments.all {
        true => &["--features", WHOLE],
        false => &[],
    };
    stage("build", cargo(&["build", "--workspace", "--bins", "--tests"]).args(features))?;
    let fast = shell.as_ref().unwrap_or(&chrome);
    let mut tests = match has_subcommand("nextest") {
        true => {
            // A test waits for Chrome or for time a quarter of its time.
            let cores = std::thread::available_parallelism().map_or(2, usize::from);
            let mut command = cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--test-threads"]);
            command.arg((cores + cores / 2).to_string()).args(arguments.all.then_some("--ignore-default-filter"));
            command
        }
        false => cargo(&["test", "--workspace", "--all-targets", "--no-fail-fast"]),
    };
    stage(
        "tests",
        tests.args(features).args(&arguments.runner).env("CHROME", fast).env("CUEBOOK_TEST_BROWSER", &chrome),
    )?;
    if arguments.runner.is_empty() {
        stage("documentation's examples", &mut cargo(&["test", "--doc", "--workspace", "--quiet"]))?;
        // It stands outside the workspace on purpose: the language alone must carry it.
        let outside = ["test", "--quiet", "--manifest-path", "examples/outside-agent/Cargo.toml"];
        stage("the agent outside the workspace", &mut cargo(&outside))?;
    }
    Ok(())
}
