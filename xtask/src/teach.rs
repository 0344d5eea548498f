//! A small model that learns from logs: episodes of an oracle, their export, training, and the model measured before,
//! after a part of the examples, and after all.
//!
//! Invariants:
//! - Tasks whose names have a SHA-256 that begins with a byte divisible by four are never trained on.
//! - The seeds that are measured are none that was trained on. The threshold of confidence is chosen on another one than
//!   what it does is measured on.
//! - What is there already is not made again: a run that broke off goes on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use xtask::chrome;
use xtask::commands::{BuildProfile, build_cuebook_as, python, root, stage};

use crate::eval;
use crate::models::{self, Model, Server};

/// Suites that are played and measured: MiniWoB++ and the built-in site.
const SUITES: [&str; 4] = ["--suite", "eval/miniwob.toml", "--suite", "site"];
const REQUIREMENTS: &str = "teach/requirements.txt";
const TRAIN: &str = "teach/train.py";
/// The model that is taught.
const BASE: &str = "smollm2";
/// Shares of the examples, in percent, after which the model is also measured.
const CURVE: [u32; 2] = [25, 50];
/// The most episodes that may be silently wrong, of 100: `askBelow` is chosen for it.
const SILENT: f64 = 3.0;
/// Flags of the measurements: a model that does not end a plan within the tokens of ten steps does not know what to do.
const MEASURED: [&str; 6] = ["--limit", "1m", "--answer-tokens", "250", "--plan-timeout", "1m"];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Seeds of each task, from 0, whose episodes the model learns from
    #[arg(long, default_value_t = 8)]
    seeds: u32,
    /// How often the model sees each example
    #[arg(long, default_value_t = 1)]
    epochs: u32,
    /// The seed that the models are measured on, with all tasks; the next one is for the threshold of confidence
    #[arg(long, default_value_t = 1_000)]
    measured: u32,
    /// Directory for episodes, data, the model and the table [default: target/teach]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs all of it. Takes some hours on two cores.
///
/// # Errors
/// If something cannot be fetched, or a part of it fails.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    ensure!(arguments.measured >= arguments.seeds, "--measured {} was trained on", arguments.measured);
    let python = python()?;
    models::fetch(&python)?;
    eval::fetch_miniwob(&python)?;
    let chrome = chrome::find_or_install()?;
    let cuebook = build_cuebook_as(BuildProfile::Release)?;
    let out = arguments.out.clone().unwrap_or_else(|| root().join("target/teach"));
    fs::create_dir_all(&out)?;
    let out = out.canonicalize()?;
    let command = || {
        let mut command = Command::new(&cuebook);
        command.current_dir(root()).env("CHROME", &chrome);
        command
    };

    let seeds = format!("0..{}", arguments.seeds);
    let episodes = out.join("episodes");
    let mut played = command();
    played.arg("eval").args(SUITES).args(["--seeds", &seeds, "--out"]).arg(&episodes);
    stage("episodes of the oracle", &mut played)?;
    let solved: Vec<PathBuf> = read(&episodes)?
        .iter()
        .filter(|episode| episode["outcome"] == "solved" && !is_unseen(&episode["task"]))
        .filter_map(|episode| episode["runDir"].as_str().map(PathBuf::from))
        .collect();
    let data = out.join("data");
    stage("data", command().args(["export", "--to", "hf", "--redact", "none", "--out"]).arg(&data).args(&solved))?;

    let base = models::model(BASE)?;
    let taught = out.join(format!("{BASE}-taught.gguf"));
    if !taught.exists() {
        let learner = environment(&python, &out)?;
        let mut train = Command::new(learner);
        train.arg(root().join(TRAIN)).arg(&data).arg(base.file()).arg(&taught);
        train.args(["--epochs", &arguments.epochs.to_string(), "--curve"]);
        stage("training", train.args(CURVE.map(|percent| (f64::from(percent) / 100.0).to_string())))?;
    }
    let mut measured = vec![("before".to_owned(), base, arguments.measured)];
    for percent in CURVE {
        let part = out.join(format!("{BASE}-taught-{percent}.gguf"));
        measured.push((format!("{percent} %"), models::model(&part.to_string_lossy())?, arguments.measured));
    }
    for (name, seed) in [("all", arguments.measured), ("held out", arguments.measured + 1)] {
        measured.push((name.to_owned(), models::model(&taught.to_string_lossy())?, seed));
    }
    let mut results = Vec::new();
    for (name, model, seed) in &measured {
        let results_of = out.join(name.replace([' ', '%'], ""));
        measure(&python, model, &results_of, *seed, command())?;
        results.push((name.as_str(), read(&results_of)?));
    }
    let [calibrated, applied] = ["heldout", "all"].map(|name| thresholds(&out.join(name)));
    let table = table(&results, solved.len()) + &asked(&calibrated?, &applied?);
    fs::write(out.join("table.md"), &table)?;
    println!("\n{table}\n== in {}", out.display());
    Ok(())
}

/// The interpreter of an environment with what training needs.
fn environment(python: &str, out: &Path) -> Result<PathBuf> {
    let (folder, requirements) = (out.join("venv"), root().join(REQUIREMENTS));
    let (learner, installed) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if fs::read(&installed).ok() != Some(fs::read(&requirements)?) {
        stage("a Python for training", Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
        let mut install = Command::new(&learner);
        install.args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "-r"]).arg(&requirements);
        stage("PyTorch and transformers (3 GB)", &mut install)?;
        fs::copy(&requirements, &installed)?;
    }
    Ok(learner)
}

fn measure(python: &str, model: &Model, out: &Path, seed: u32, mut command: Command) -> Result<()> {
    let server = Server::start(python, model)?;
    command.arg("eval").args(SUITES).args(["--seeds", &format!("{seed}..{}", seed + 1), "--out"]).arg(out);
    let measured = stage(&format!("{} on seed {seed}", model.name()), command.args(MEASURED).args(server.flags(&[])));
    server.stop()?;
    measured
}

fn read(evaluation: &Path) -> Result<Vec<Value>> {
    let path = evaluation.join("episodes.jsonl");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The outcomes of an evaluation by `askBelow`.
fn thresholds(evaluation: &Path) -> Result<Vec<Value>> {
    let path = evaluation.join("summary.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let summary: Value = serde_json::from_str(&text)?;
    let thresholds = summary["calibration"]["thresholds"].as_array();
    thresholds.cloned().with_context(|| format!("{} has no thresholds: no step had a confidence", path.display()))
}

/// The least `askBelow` that leaves few enough silent errors on the seed that was held out, and what it does on another.
fn asked(calibrated: &[Value], applied: &[Value]) -> String {
    let counts =
        |row: &Value| ["asked", "solved", "silentlyWrong", "failed"].map(|name| row[name].as_f64().unwrap_or(0.0));
    let is_safe = |row: &&Value| counts(row)[2] <= SILENT / 100.0 * counts(row).iter().sum::<f64>();
    let Some(chosen) = calibrated.iter().find(is_safe) else { return "\nNo `askBelow` is strict enough.\n".to_owned() };
    let found = applied.iter().find(|row| row["askBelow"] == chosen["askBelow"]);
    let [asked, solved, silent, failed] = found.map(counts).unwrap_or_default();
    format!(
        "\nWith `askBelow` {}, chosen on the seed that was held out: asked about {asked}, solved {solved}, silently wrong \
         {silent}, failed {failed}.\n",
        chosen["askBelow"]
    )
}

/// Returns `true` if a task is one of the quarter that no model is trained on.
fn is_unseen(task: &Value) -> bool {
    Sha256::digest(task.as_str().unwrap_or_default().as_bytes())[0].is_multiple_of(4)
}

/// Tasks that were trained on and tasks that were not, by model: solved, silently wrong, and tokens.
fn table(results: &[(&str, Vec<Value>)], episodes: usize) -> String {
    let mut out = format!(
        "| {episodes} episodes | suite | tasks | solved | silently wrong | unproven | tokens a task, read and written |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: |\n"
    );
    for (name, episodes) in results {
        let mut groups: BTreeMap<(&str, bool), Vec<&Value>> = BTreeMap::new();
        for episode in episodes {
            let suite = episode["suite"].as_str().unwrap_or_default();
            groups.entry((suite, is_unseen(&episode["task"]))).or_default().push(episode);
        }
        for ((suite, unseen), group) in groups {
            let all = group.len();
            let count = |outcome: &str| group.iter().filter(|episode| episode["outcome"] == outcome).count();
            let mean = |of: &str| {
                let sum: u64 = group.iter().filter_map(|episode| episode[of].as_u64()).sum();
                sum / (all.max(1) as u64)
            };
            let tasks = if unseen { "never seen" } else { "seen" };
            let _ = writeln!(
                out,
                "| {name} | {suite} | {tasks} | {} of {all} | {} | {} | {} + {} |",
                count("solved"),
                count("silentlyWrong"),
                count("unproven"),
                mean("inputTokens"),
                mean("outputTokens"),
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quarter_of_the_suite_is_never_trained_on() {
        let suite = fs::read_to_string(root().join(SUITES[1])).unwrap();
        let suite: toml::Table = suite.parse().unwrap();
        let tasks = suite["task"].as_array().unwrap();
        let unseen = tasks.iter().filter(|task| is_unseen(&json!(task["name"].as_str().unwrap()))).count();
        assert!(tasks.len() / 5 < unseen && unseen < tasks.len() / 3, "{unseen} of {}", tasks.len());
    }

    #[test]
    fn the_threshold_is_chosen_where_it_is_not_measured() {
        let row = |below: f64, asked: u64, solved: u64, silent: u64| json!({ "askBelow": below, "asked": asked, "solved": solved, "silentlyWrong": silent, "failed": 0 });
        let calibrated = [row(0.0, 0, 50, 50), row(0.5, 60, 37, 3), row(0.9, 90, 10, 0)];
        let said = asked(&calibrated, &[row(0.0, 0, 40, 60), row(0.5, 55, 40, 5)]);
        assert!(said.contains("`askBelow` 0.5") && said.contains("about 55, solved 40, silently wrong 5"), "{said}");
        assert!(asked(&calibrated[..1], &[]).contains("No `askBelow`"));
    }

    #[test]
    fn the_table_counts_by_outcome_and_task() {
        let episode =
            |task: &str, outcome: &str| json!({ "suite": "s", "task": task, "outcome": outcome, "inputTokens": 10 });
        let unseen = (0..).map(|n| format!("t{n}")).find(|task| is_unseen(&json!(task))).unwrap();
        let seen = (0..).map(|n| format!("t{n}")).find(|task| !is_unseen(&json!(task))).unwrap();
        let episodes = vec![episode(&seen, "solved"), episode(&seen, "silentlyWrong"), episode(&unseen, "failed")];
        let table = table(&[("after", episodes)], 3);
        assert!(table.contains("| after | s | seen | 1 of 2 | 1 | 0 | 10 + 0 |"), "{table}");
        assert!(table.contains("| after | s | never seen | 0 of 1 | 0 | 0 | 10 + 0 |"), "{table}");
    }
}
