//! The tests of the workspace, in real Chrome.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use xtask::chrome;
use xtask::commands::{build_tests, cargo, has_subcommand, stage};

/// Features that a source build leaves out, and the tests of them.
pub(crate) const WHOLE: &str = "cuebook-cli/keyring,cuebook-cli/local,cuebook-cli/remote,cuebook-tests/remote";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also what repeats other tests with more pages, seeds or noise (needs cargo-nextest to be left out otherwise)
    #[arg(long)]
    all: bool,
    /// Arguments to hand on to the test runner, such as the name of a test
    #[arg(last = true, value_name = "ARGS")]
    runner: Vec<String>,
}

/// A test waits for Chrome or for time half of its time.
const THREADS_PER_CORE: usize = 2;

/// Browsers that tests share, one for each slot of the test runner: a start costs more than most tests. They end with this.
struct SharedBrowsers {
    opener: Child,
    /// Their addresses, between spaces.
    addresses: String,
}

impl SharedBrowsers {
    fn open(opener: &Path, chrome: &Path, slots: usize) -> Result<Self> {
        let mut command = Command::new(opener);
        command.arg(slots.to_string()).env("CHROME", chrome).stdin(Stdio::piped()).stdout(Stdio::piped());
        let opener = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let mut this = Self { opener, addresses: String::new() };
        let output = this.opener.stdout.take().context("its output is piped")?;
        BufReader::new(output).read_line(&mut this.addresses)?;
        ensure!(!this.addresses.is_empty(), "the browsers of the tests did not start");
        Ok(this)
    }
}

impl Drop for SharedBrowsers {
    fn drop(&mut self) {
        drop(self.opener.stdin.take());
        let _ = self.opener.wait();
    }
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
    // What `remote`, `keyring` and `local` add is left to the longer tier, with their 107 packages.
    let features: &[&str] = match arguments.all {
        true => &["--features", WHOLE],
        false => &[],
    };
    let opener = build_tests(features)?;
    let fast = shell.as_ref().unwrap_or(&chrome);
    let mut tests = cargo(&[]);
    let mut shared = None;
    if has_subcommand("nextest") {
        let slots = THREADS_PER_CORE * std::thread::available_parallelism().map_or(2, usize::from);
        tests.args(["nextest", "run", "--workspace", "--no-fail-fast", "--test-threads", &slots.to_string()]);
        tests.args(arguments.all.then_some("--ignore-default-filter"));
        tests.env("CUEBOOK_TEST_BROWSERS", &shared.insert(SharedBrowsers::open(&opener, fast, slots)?).addresses);
    } else {
        tests.args(["test", "--workspace", "--all-targets", "--no-fail-fast"]);
    }
    stage(
        "tests",
        tests.args(features).args(&arguments.runner).env("CHROME", fast).env("CUEBOOK_TEST_BROWSER", &chrome),
    )?;
    drop(shared);
    if arguments.runner.is_empty() {
        stage("documentation's examples", &mut cargo(&["test", "--doc", "--workspace", "--quiet"]))?;
        // It stands outside the workspace on purpose: the language alone must carry it.
        let outside = ["test", "--quiet", "--manifest-path", "examples/outside-agent/Cargo.toml"];
        stage("the agent outside the workspace", &mut cargo(&outside))?;
    }
    Ok(())
}
