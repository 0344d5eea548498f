//! Runs of `cuebook` with the engine on the built-in site.
//!
//! Invariant: a run that has not ended after its time is interrupted as a person would, and counts.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a run may take before it is interrupted: noise seldom says that it is done.
const TIME: Duration = Duration::from_secs(15);
/// How long an interrupted run may take to end.
const GRACE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// Where runs begin, and what they are asked: enough to make prompts and pages differ.
const TASKS: [(&str, &str); 10] = [
    ("login", "Sign in as ann@example.test"),
    ("shop", "Put the notebook into the cart"),
    ("orders", "Open the newest order"),
    ("widgets", "Choose the second option"),
    ("menus", "Open the menu and choose what it offers first"),
    ("frames", "Write a note into the frame"),
    ("checkout", "Fill in the address"),
    ("newsletter", "Subscribe to the newsletter"),
    ("hostile", "Read what the page says"),
    ("virtual", "Find the last row"),
];

/// How the grammar reaches the server, in turn: as a schema that the server makes a grammar of, and as a grammar.
pub(super) const MODES: [&str; 2] = ["schema", "llama-cpp"];

/// The mode of a run.
pub(super) fn mode_of(number: u32) -> &'static str {
    MODES[number as usize / TASKS.len() % MODES.len()]
}

/// Stage that every run shares.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) cuebook: PathBuf,
    pub(super) chrome: PathBuf,
    pub(super) origin: String,
    pub(super) base_url: String,
    pub(super) folder: PathBuf,
}

/// Runs this many times, this many in parallel, and counts how the runs ended: by exit code, or interrupted.
pub(super) fn all(stage: &Stage, runs: u32, jobs: u32) -> Result<BTreeMap<String, u32>> {
    let next = AtomicU32::new(0);
    let work = || -> Result<BTreeMap<String, u32>> {
        let mut ends = BTreeMap::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= runs {
                return Ok(ends);
            }
            let end = one(stage, number)?;
            *ends.entry(end).or_default() += 1;
            if (number + 1).is_multiple_of(10) {
                println!("{} of {runs}", number + 1);
            }
        }
    };
    let parts: Vec<Result<BTreeMap<String, u32>>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| bail!("a worker of the runs panicked")))
            .collect()
    });
    let mut ends = BTreeMap::new();
    for part in parts {
        for (end, count) in part? {
            *ends.entry(end).or_default() += count;
        }
    }
    Ok(ends)
}

fn one(stage: &Stage, number: u32) -> Result<String> {
    let folder = stage.folder.join(number.to_string());
    std::fs::create_dir_all(&folder)?;
    let mut child = command(stage, number, &folder)
        .stdin(Stdio::null())
        .stdout(File::create(folder.join("report.json"))?)
        .stderr(File::create(folder.join("stderr"))?)
        .spawn()
        .with_context(|| format!("cannot run {}", stage.cuebook.display()))?;
    if let Some(code) = wait(&mut child, TIME)? {
        return Ok(code);
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().context("cannot run kill")?;
    if wait(&mut child, GRACE)?.is_some() {
        return Ok("stopped".to_owned());
    }
    let _ = child.kill();
    let _ = child.wait();
    bail!("run {number} went on for {} s after it was interrupted; see {}", GRACE.as_secs(), folder.display())
}

fn command(stage: &Stage, number: u32, folder: &Path) -> Command {
    let (page, task) = TASKS[number as usize % TASKS.len()];
    let mut command = Command::new(&stage.cuebook);
    command.args(["--json", "run", &format!("{task} ({number})")]);
    command.args(["--url", &format!("{}/{page}", stage.origin)]);
    command.args(["--planner", "openai", "--base-url", &stage.base_url, "--model", "noise"]);
    command.args(["--engine-mode", mode_of(number)]);
    command.args(["--timeout", "2s", "--out"]).arg(folder.join("out")).arg("--chrome").arg(&stage.chrome);
    // Nobody is there to ask, and the shop sells nothing.
    for class in ["write", "credential", "send", "money", "destructive"] {
        command.args(["--grant", &format!("{class}@{}", stage.origin)]);
    }
    command
}

/// The exit code, if it ends in time.
#[expect(clippy::disallowed_methods, reason = "a poll interval, in a program without a runtime")]
fn wait(child: &mut Child, time: Duration) -> Result<Option<String>> {
    let began = Instant::now();
    while began.elapsed() < time {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().map_or_else(|| status.to_string(), |code| format!("exit {code}"))));
        }
        thread::sleep(POLL);
    }
    Ok(None)
}
