//! An evaluation whose episodes several workers take from a queue, while workers are killed: every episode has exactly one
//! result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::chrome;
use xtask::commands::{build_remote_cuebook, root};

use super::random::Random;

const WORKERS: usize = 8;
/// Episodes between two deaths, on average.
const BETWEEN_DEATHS: u64 = 100;
/// Time limit of an episode. What a dead worker had claimed is free after twice this time.
const LIMIT: &str = "20s";
const POLL: Duration = Duration::from_millis(500);

/// Episodes to evaluate, and their source.
pub(super) struct Plan<'a> {
    /// At least this many episodes; a task has the same number of seeds as every other.
    pub(super) episodes: u32,
    pub(super) seed: u64,
    /// The store of the queue; a directory unless stated.
    pub(super) queue: Option<&'a str>,
    /// The suite, and a part of the names of its tasks; all of the built-in site unless stated.
    pub(super) suite: &'a str,
    pub(super) task: Option<&'a str>,
    /// The program; built unless stated.
    pub(super) cuebook: Option<PathBuf>,
    pub(super) folder: &'a Path,
}

/// Evaluates, kills, and writes `bench/episodes.json`, which is committed.
///
/// # Errors
/// If an episode has no result or more than one, or nothing could be run.
pub(super) fn run(plan: &Plan<'_>) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let cuebook = match &plan.cuebook {
        Some(built) => built.clone(),
        None => build_remote_cuebook()?,
    };
    let mut fleet = Fleet { plan, cuebook, chrome, seeds: 1, started: 0 };
    let tasks = fleet.tasks()?;
    fleet.seeds = u64::from(plan.episodes).div_ceil(tasks);
    let wanted = tasks * fleet.seeds;
    println!("\n== {wanted} episodes over {WORKERS} workers, seed {}", plan.seed);
    let began = Instant::now();
    let mut random = Random::new(plan.seed);
    let mut workers = (0..WORKERS).map(|_| fleet.start()).collect::<Result<Vec<_>>>()?;
    let (mut deaths, mut next_death) = (0_u64, drawn(&mut random));
    let last = loop {
        #[expect(clippy::disallowed_methods, reason = "a poll interval, where nothing can be awaited")]
        std::thread::sleep(POLL);
        let done = fleet.done()?;
        let mut ended = None;
        for worker in &mut workers {
            if let Some(status) = worker.child.try_wait()? {
                ensure!(status.success(), "a worker ended with {status}; see {}", worker.out.display());
                ended = Some(worker.out.clone());
            }
        }
        if let Some(out) = ended {
            break out;
        }
        if done >= next_death && done < wanted {
            let index = usize::try_from(random.below(WORKERS as u64)).unwrap_or_default();
            let victim = workers.get_mut(index).context("no worker")?;
            victim.child.kill()?;
            victim.child.wait()?;
            *victim = fleet.start()?;
            deaths += 1;
            next_death = done + drawn(&mut random);
            println!("{done} of {wanted}, {deaths} deaths, {} s", began.elapsed().as_secs());
        }
    };
    let took = began.elapsed();
    for worker in &mut workers {
        ensure!(worker.child.wait()?.success(), "a worker failed; see {}", worker.out.display());
    }
    let report = fleet.judged(&last, wanted)?;
    let minutes = took.as_secs_f64() / 60.0;
    let document = json!({
        "episodes": wanted, "workers": WORKERS, "seed": plan.seed, "deaths": deaths, "suite": plan.suite,
        "queue": plan.queue.map_or("directory", |url| url.split(':').next().unwrap_or_default()),
        "minutes": (minutes * 10.0).round() / 10.0,
        "results": report,
    });
    let file = root().join("bench/episodes.json");
    fs::write(&file, format!("{document:#}\n"))?;
    println!("{document:#}\n{}", file.display());
    Ok(())
}

fn drawn(random: &mut Random) -> u64 {
    1 + random.below(2 * BETWEEN_DEATHS)
}

struct Worker {
    child: Child,
    out: PathBuf,
}

/// Kills what still runs when the soak fails.
impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Fleet<'a> {
    plan: &'a Plan<'a>,
    cuebook: PathBuf,
    chrome: PathBuf,
    seeds: u64,
    started: usize,
}

impl Fleet<'_> {
    fn command(&self, out: &Path) -> Command {
        let mut command = Command::new(&self.cuebook);
        command.args(["eval", "--suite", self.plan.suite, "--planner", "oracle", "--limit", LIMIT, "--json"]);
        command.args(["--quiet", "--jobs", "1", "--seeds", &format!("0..{}", self.seeds), "--out"]).arg(out);
        if let Some(task) = self.plan.task {
            command.args(["--task", task]);
        }
        // Browsers' files of a worker that was killed stay in the folder of the soak.
        command.current_dir(root()).env("CHROME", &self.chrome).env("TMPDIR", self.plan.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// How many tasks there are: an evaluation with one seed says it.
    fn tasks(&self) -> Result<u64> {
        let out = self.plan.folder.join("tasks");
        let status = self.command(&out).status()?;
        ensure!(status.success(), "an evaluation with one seed failed: {status}");
        Ok(summary(&out)?["tasks"].as_array().map_or(0, Vec::len) as u64)
    }

    fn start(&mut self) -> Result<Worker> {
        self.started += 1;
        let out = self.plan.folder.join(format!("worker-{}", self.started));
        let url = format!("file://{}", self.plan.folder.join("queue").display());
        let mut command = self.command(&out);
        command.args(["--queue", self.plan.queue.unwrap_or(&url)]);
        Ok(Worker { child: command.spawn()?, out })
    }

    /// Results so far, those of dead workers included.
    fn done(&self) -> Result<u64> {
        let mut done = 0;
        for number in 1..=self.started {
            let path = self.plan.folder.join(format!("worker-{number}/episodes.jsonl"));
            done += fs::read(path).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
        }
        Ok(done)
    }

    /// Compares what the last worker read from the queue with what all wrote themselves.
    fn judged(&self, last: &Path, wanted: u64) -> Result<Value> {
        let summary = summary(last)?;
        let totals = &summary["totals"];
        let counted = totals["episodes"].as_u64().unwrap_or(0) + totals["broken"].as_u64().unwrap_or(0);
        ensure!(counted == wanted, "{counted} episodes have a result, not {wanted}");
        let mut keys = BTreeMap::<String, u64>::new();
        for number in 1..=self.started {
            let path = self.plan.folder.join(format!("worker-{number}/episodes.jsonl"));
            for line in fs::read_to_string(path).unwrap_or_default().lines() {
                // A line that a kill cut off is of an episode that its queue knows.
                let Ok(result) = serde_json::from_str::<Value>(line) else { continue };
                let key = format!("{}/{} {}", result["suite"], result["task"], result["seed"]);
                *keys.entry(key).or_default() += 1;
            }
        }
        let twice: BTreeSet<&String> = keys.iter().filter(|(_, count)| **count > 1).map(|(key, _)| key).collect();
        ensure!(twice.is_empty(), "these episodes have more than one result: {twice:?}");
        let results = totals.clone();
        Ok(json!({ "totals": results, "inLogsOfWorkers": keys.len(), "takenOver": self.taken_over() }))
    }

    /// Episodes that were claimed again after their worker had died. Known for directories only.
    fn taken_over(&self) -> Option<u64> {
        let claims = self.plan.folder.join("queue/claims");
        let episodes = fs::read_dir(claims).ok()?.filter_map(Result::ok);
        let episodes = episodes.filter_map(|suite| fs::read_dir(suite.path()).ok()).flatten().filter_map(Result::ok);
        Some(episodes.filter(|episode| episode.path().join("1.json").is_file()).count() as u64)
    }
}

fn summary(out: &Path) -> Result<Value> {
    let path = out.join("summary.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(serde_json::from_str(&text)?)
}
