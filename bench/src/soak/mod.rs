//! Large counts that a test run has no time for: `cuebook` is killed again and again, and its log and
//! the server's count are compared; pages change under the pointer again and again; noise decodes plans under a
//! grammar again and again; addresses are read by the policy and by Chrome.
//!
//! Invariants:
//! - The server counts clicks itself; `cuebook` is asked for nothing but its log.
//! - What a killed process left behind is looked for after the next start that ends normally.
//! - A broken promise does not stop the others from being tried; all of them are reported.

mod drifts;
mod episodes;
mod faults;
mod hostile;
mod ledger;
mod leftovers;
mod plans;
mod races;
mod random;
mod trial;
mod urls;

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use random::Random;
use serde_json::{Value, json};
use trial::{Stage, Trial};
use xtask::chrome;
use xtask::commands::{build_cuebook, root};
use xtask::site::Site;

/// How many clicks a plan has: each is a chance to be killed between two durable lines.
const CLICKS: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How often cuebook is killed
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    kills: u32,
    /// How often a page changes under the pointer instead; nothing is killed then
    #[arg(long, value_name = "N", conflicts_with = "kills")]
    races: Option<u32>,
    /// How many plans noise decodes under a grammar instead; nothing is killed then
    #[arg(long, value_name = "N", conflicts_with_all = ["kills", "races"])]
    plans: Option<u32>,
    /// How many trials of each kind on pages that mislead instead; nothing is killed then
    #[arg(long, value_name = "N", conflicts_with_all = ["kills", "races", "plans"])]
    hostile: Option<u32>,
    /// How many addresses the policy and Chrome read instead; nothing is killed then
    #[arg(long, value_name = "N", conflicts_with_all = ["kills", "races", "plans", "hostile"])]
    urls: Option<u32>,
    /// How many runs under faults of browser, process, disk, model and server instead (200 unless stated)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "200",
        conflicts_with_all = ["kills", "races", "plans", "hostile", "urls"])]
    faults: Option<u32>,
    /// How many runs under drift of pages and requests instead (1,000 unless stated)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000",
        conflicts_with_all = ["kills", "races", "plans", "hostile", "urls", "faults"])]
    drifts: Option<u32>,
    /// Have Playwright and agent-browser do the same runs under the same drift; needs Node
    #[arg(long, requires = "drifts")]
    peers: bool,
    /// How many episodes of an evaluation, taken from a queue by eight workers of which some are killed, instead (10,000
    /// unless stated)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10000",
        conflicts_with_all = ["kills", "races", "plans", "hostile", "urls", "faults", "drifts"])]
    episodes: Option<u32>,
    /// Suite of the episodes
    #[arg(long, value_name = "SUITE", default_value = "site", requires = "episodes")]
    suite: String,
    /// Only tasks with this text in their names
    #[arg(long, value_name = "TEXT", requires = "episodes")]
    task: Option<String>,
    /// Store of their queue, as for `cuebook eval`; a directory unless stated
    #[arg(long, value_name = "URL", requires = "episodes")]
    queue: Option<String>,
    /// Use this `cuebook` instead of one that is built, where it is killed
    #[arg(long, value_name = "FILE")]
    cuebook: Option<PathBuf>,
    /// Seed of the moments of the kills; the clock unless stated
    #[arg(long)]
    seed: Option<u64>,
}

impl Arguments {
    fn named_cuebook(&self) -> Result<Option<PathBuf>> {
        let named = self.cuebook.as_ref();
        named.map(|built| built.canonicalize().with_context(|| format!("cannot find {}", built.display()))).transpose()
    }
}

/// Kills, compares, and writes `target/soak/kills.json`; races, and writes `bench/races.json`; decodes, and writes
/// `bench/plans.json`; misleads, and writes `bench/hostile.json`; reads addresses, and writes `bench/urls.json`; breaks
/// what is beneath, and writes `bench/faults.json`; works under drift, and writes `bench/drifts.json`, beside peers
/// `bench/peers-drift.json`; or evaluates while workers die, and writes `bench/episodes.json`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(count) = arguments.races {
        return races::run(count, arguments.seed.unwrap_or_else(seed_of_now), &fresh_folder()?);
    }
    if let Some(count) = arguments.plans {
        return plans::run(count, arguments.seed.unwrap_or_else(seed_of_now), &fresh_folder()?);
    }
    if let Some(count) = arguments.hostile {
        return hostile::run(count, arguments.seed.unwrap_or_else(seed_of_now));
    }
    if let Some(count) = arguments.urls {
        return urls::run(count, arguments.seed.unwrap_or_else(seed_of_now));
    }
    if let Some(count) = arguments.faults {
        return faults::run(count, arguments.seed.unwrap_or_else(seed_of_now));
    }
    if let Some(count) = arguments.drifts {
        let seed = arguments.seed.unwrap_or_else(seed_of_now);
        return if arguments.peers { drifts::run_beside(count, seed) } else { drifts::run(count, seed) };
    }
    if let Some(count) = arguments.episodes {
        let (seed, folder) = (arguments.seed.unwrap_or_else(seed_of_now), fresh_folder()?);
        return episodes::run(&episodes::Plan {
            episodes: count,
            seed,
            queue: arguments.queue.as_deref(),
            suite: &arguments.suite,
            task: arguments.task.as_deref(),
            cuebook: arguments.named_cuebook()?,
            folder: &folder,
        });
    }
    let chrome = chrome::find_or_install()?;
    let cuebook = arguments.named_cuebook()?.map_or_else(build_cuebook, Ok)?;
    let site = Site::start(&cuebook)?;
    let folder = fresh_folder()?;
    let seed = arguments.seed.unwrap_or_else(seed_of_now);
    let plan = folder.join("plan.json");
    fs::write(&plan, plan_of(CLICKS, site.origin()).to_string())?;

    let stage = Stage { cuebook, chrome, site, plan, folder: folder.clone() };
    let calm = stage.run_undisturbed()?;
    ensure!(
        calm.counted == CLICKS as u64 && calm.committed == calm.counted,
        "an undisturbed run committed {} clicks and the server counted {}, not {CLICKS} each",
        calm.committed,
        calm.counted
    );
    println!("\n== {} kills, seed {seed}; an undisturbed run takes {} ms", arguments.kills, calm.took.as_millis());

    let mut random = Random::new(seed);
    let mut trials = Vec::new();
    for number in 0..arguments.kills {
        let trial = stage.kill_once(number, calm.took, &mut random)?;
        for violation in &trial.violations {
            println!("kill {number}: {violation}");
        }
        if (number + 1) % 50 == 0 {
            println!("{} of {}", number + 1, arguments.kills);
        }
        trials.push(trial);
    }
    let summary = summary(seed, &trials);
    let file = folder.join("kills.json");
    fs::write(&file, format!("{summary:#}\n"))?;
    println!("{:#}\n{}", summary["totals"], file.display());
    match summary["totals"]["violations"].as_u64() {
        Some(0) => Ok(()),
        _ => bail!("a promise was broken; see {}", file.display()),
    }
}

/// `target/soak`, emptied: what a former soak left would be taken for what this one left.
fn fresh_folder() -> Result<PathBuf> {
    let folder = root().join("target/soak");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    // As Chrome's command line will name it.
    folder.canonicalize().context("cannot resolve the folder of the soak")
}

fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| u64::from(since.subsec_nanos()) ^ since.as_secs())
}

/// A plan that clicks a counter. A click is committed only when the server answered it. The button has two
/// names, in turn: a run that does the very same thing six times on a page is stopped as stuck.
fn plan_of(clicks: usize, origin: &str) -> Value {
    let click = |target: &str| {
        json!({
            "type": "click",
            "targetRef": target,
            "pre": [{ "kind": "visible", "target": target }, { "kind": "enabled", "target": target }],
            "post": [{ "kind": "requestObserved", "method": "POST", "url": "/hit\\?", "status": 200 }],
        })
    };
    let steps: Vec<Value> = ["byRole", "byCss"].into_iter().cycle().take(clicks).map(click).collect();
    json!({
        "version": "1.0",
        "context": { "task": format!("Count {clicks} times at {origin}") },
        "candidates": {
            "byRole": { "strategy": "byRole", "role": "button", "name": "Count", "exact": true },
            "byCss": { "strategy": "css", "selector": "#hit" },
        },
        "steps": steps,
    })
}

fn summary(seed: u64, trials: &[Trial]) -> Value {
    let sum = |of: fn(&Trial) -> u64| trials.iter().map(of).sum::<u64>();
    json!({
        "totals": {
            "kills": trials.len(),
            "seed": seed,
            "endedBeforeTheKill": sum(|trial| u64::from(trial.ended_itself)),
            "killedBetweenBeginAndCommit": sum(|trial| u64::from(trial.clicks.begun > trial.clicks.committed)),
            "tornLastLines": sum(|trial| u64::from(trial.clicks.is_torn)),
            "begun": sum(|trial| trial.clicks.begun),
            "counted": sum(|trial| trial.counted),
            "committed": sum(|trial| trial.clicks.committed),
            "violations": sum(|trial| trial.violations.len() as u64),
        },
        "trials": trials.iter().map(Trial::to_json).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::plan_of;

    #[test]
    fn every_click_waits_for_the_server() {
        let plan = plan_of(3, "http://127.0.0.1:1");
        let steps = plan["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(steps.len(), 3);
        assert!(steps.iter().all(|step| step["post"][0]["kind"] == "requestObserved"));
    }
}
