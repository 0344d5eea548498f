//! Code that the end-to-end tests share: the built-in site in this process, and `cuebook` as a user runs it.

pub mod drifts;
pub mod extraction;
pub mod faults;
pub mod hostile;
mod mcp;
mod mcp_http;
mod person;
mod script;
mod stage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use cuebook_site::{Site, SiteHandle};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub use mcp::{McpClient, ToolResult};
pub use mcp_http::{HttpClient, HttpServer};
pub use person::Person;
pub use script::Script;
pub use stage::Stage;

/// The built-in site on a free port, and a folder for runs.
#[derive(Debug)]
pub struct Shop {
    site: SiteHandle,
    runs: TempDir,
    runtime: Runtime,
}

impl Shop {
    /// Opens it.
    ///
    /// # Errors
    /// If no port or no folder can be had.
    pub fn open() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let site = runtime.block_on(Site::builder().build().bind(0))?;
        Ok(Self { site, runs: TempDir::new()?, runtime })
    }

    /// The site's URL for a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.site.url(path)
    }

    /// Origin of the built-in site, without a slash at its end.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.site.origin()
    }

    /// The origin that is another site to the browser.
    #[must_use]
    pub fn second_origin(&self) -> &str {
        self.site.second_origin()
    }

    /// Returns the server's account of the events so far.
    #[must_use]
    pub fn state(&self) -> Value {
        let _inside = self.runtime.enter();
        self.site.state()
    }

    /// Returns the number of times that something reported itself under this name.
    #[must_use]
    pub fn hits(&self, name: &str) -> u64 {
        self.state()["hits"][name].as_u64().unwrap_or(0)
    }

    /// Returns `true` if `holds` comes true within five seconds: requests that a killed browser had sent may still
    /// arrive.
    pub fn eventually(&self, holds: impl Fn(&Self) -> bool) -> bool {
        let until = Instant::now() + Duration::from_secs(5);
        while !holds(self) {
            if Instant::now() >= until {
                return false;
            }
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
        }
        true
    }

    /// Sleeps for `time`; the site serves on meanwhile.
    pub fn pause(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    /// The folder for runs.
    #[must_use]
    pub fn runs(&self) -> &Path {
        self.runs.path()
    }

    /// Writes a plan and executes it on a page of the site.
    ///
    /// # Errors
    /// If `cuebook` cannot be run.
    pub fn exec(&self, path: &str, plan: &Value, flags: &[&str]) -> Result<CliOutput> {
        let file = tempfile::NamedTempFile::new_in(self.runs())?;
        serde_json::to_writer(file.as_file(), plan)?;
        let url = self.url(path);
        let plan = file.path().to_string_lossy().into_owned();
        let mut args = vec!["exec", &plan, "--url", &url];
        args.extend(flags);
        self.cuebook(&args)
    }

    /// Carries out a task on a page of the site with the lexical planner.
    ///
    /// # Errors
    /// If `cuebook` cannot be run.
    pub fn run(&self, path: &str, task: &str, flags: &[&str]) -> Result<CliOutput> {
        let url = self.url(path);
        let mut args = vec!["run", task, "--url", &url];
        args.extend(flags);
        self.cuebook(&args)
    }

    /// Runs `cuebook` with `--json` and this folder for runs.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn cuebook(&self, args: &[&str]) -> Result<CliOutput> {
        let keeps_runs = matches!(args.first(), Some(&("run" | "exec" | "replay" | "test")));
        let out = self.runs().to_string_lossy().into_owned();
        let mut all: Vec<&str> = args.to_vec();
        if keeps_runs && !args.contains(&"--out") {
            all.extend(["--out", &out]);
        }
        all.push("--json");
        cuebook(&all)
    }
}

/// Result of a run of the `cuebook` program.
#[derive(Debug)]
pub struct CliOutput {
    /// The exit code; -1 after a signal.
    pub code: i32,
    /// Standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error; bytes that are not UTF-8 are replaced.
    pub stderr: String,
}

impl CliOutput {
    /// The document on standard output.
    ///
    /// # Errors
    /// If standard output is not one JSON document.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("stdout is not one JSON document: {self:?}"))
    }

    /// The folder of the run.
    ///
    /// # Errors
    /// If the report names none.
    pub fn run_dir(&self) -> Result<PathBuf> {
        Ok(PathBuf::from(self.json()?["runDir"].as_str().context("the report names no folder")?))
    }
}

/// Runs `cuebook` [in a shared browser](in_shared_browser) and waits for its end.
///
/// # Errors
/// If it is not built or cannot be run.
pub fn cuebook(args: &[&str]) -> Result<CliOutput> {
    finished(in_shared_browser(&mut command()?).args(args))
}

/// Runs `cuebook` in a browser that it launches, and waits for its end.
///
/// # Errors
/// As [`cuebook()`].
pub fn cuebook_alone(args: &[&str]) -> Result<CliOutput> {
    finished(command()?.args(args))
}

/// Has a `cuebook` open its tab in the browser of the test's slot, if there is one, in a context of its own: a start of
/// Chrome costs more than most of what tests do in it. A flag for a browser that is launched has it launch one.
pub fn in_shared_browser(command: &mut Command) -> &mut Command {
    command.envs(cuebook_testkit::browser_of_slot().map(|address| ("CUEBOOK_CDP", address)))
}

/// Runs a command that reads nothing, and waits for its end.
///
/// # Errors
/// If it cannot be run.
pub fn finished(command: &mut Command) -> Result<CliOutput> {
    let output = command.stdin(Stdio::null()).output().context("cuebook cannot be run")?;
    Ok(CliOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// `cuebook`, to be started.
///
/// # Errors
/// If it is not built.
pub fn command() -> Result<Command> {
    // target/<profile>/deps/all-… or target/<profile>/cuebook-trials
    let here = std::env::current_exe()?;
    let mut folders = here.ancestors().skip(1).filter(|folder| !folder.ends_with("deps"));
    let built = folders.next().map(|folder| folder.join(format!("cuebook{}", std::env::consts::EXE_SUFFIX)));
    let built = built.context("the test binary lies in no target folder")?;
    ensure!(built.is_file(), "expected {} (cargo build -p cuebook-cli makes it)", built.display());
    let mut command = Command::new(built);
    // What answers on this machine, which keys its environment has and what its user set is nothing that a test depends on.
    command.env("CUEBOOK_PLANNER", "lexical").env("CUEBOOK_CONFIG", "none");
    Ok(command)
}

/// The port and path of the websocket, which Chrome writes into its profile.
///
/// # Errors
/// If no profile below the folder is in use by a browser with a websocket.
pub fn endpoint(profiles: &Path) -> Result<(u16, String)> {
    for profile in std::fs::read_dir(profiles)? {
        if let Ok(text) = std::fs::read_to_string(profile?.path().join("DevToolsActivePort")) {
            let (port, path) = text.split_once('\n').context("expected a port and a path")?;
            return Ok((port.trim().parse()?, path.trim().to_owned()));
        }
    }
    bail!("expected DevToolsActivePort in a profile")
}
