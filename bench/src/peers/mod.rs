//! Observations and steps of `cuebook`, measured beside those of Playwright and agent-browser.
//!
//! Invariants:
//! - All sides see the same page of the same server in the same Chrome binary with the same viewport.
//! - They take turns in batches, and who begins changes from batch to batch, so that what else the
//!   machine does meets all of them.
//! - Every side measures itself, in its own process, with a round of warming up that does not count.

mod decoding;
mod defences;
mod document;
mod forms;
mod http;
mod measure;
mod results;
mod streaming;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use measure::{Metrics, Side, Spread, merge, read};
use tiktoken_rs::{CoreBPE, o200k_base};
use xtask::chrome;
use xtask::commands::{BuildProfile, build_cuebook_as, output_of, root, stage};
use xtask::site::Site;

/// The document that the table goes to, relative to the root of the workspace.
const DOCUMENT: &str = "docs/benchmarks.md";

const VIEWPORT: &str = "1280x720";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many interactive elements the page has; several sizes are separated by commas
    #[arg(long, default_values_t = [100, 1_000, 10_000], value_delimiter = ',', value_name = "N")]
    elements: Vec<u32>,
    /// How many rounds a batch has
    #[arg(long, default_value_t = 8, value_name = "N")]
    rounds: u32,
    /// How often the sides take turns
    #[arg(long, default_value_t = 3, value_name = "N")]
    batches: u32,
    /// Write the numbers to this file, as a JSON array
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the table into docs/benchmarks.md
    #[arg(long)]
    docs: bool,
    /// Measure grammars for decoders instead of pages: no Node is needed
    #[arg(long)]
    decoding: bool,
    /// Measure what the proxy, the effect gate and masked pictures cost instead: no Node is needed
    #[arg(long, conflicts_with = "decoding")]
    defences: bool,
    /// Measure plans that run while they are written beside the same in sequence: no Node is needed
    #[arg(long, conflicts_with_all = ["decoding", "defences"])]
    streaming: bool,
    /// Measure a form and a click as users run them instead, with every default and a durable log, beside
    /// Playwright MCP and agent-browser
    #[arg(long, conflicts_with_all = ["decoding", "defences", "streaming"])]
    forms: bool,
}

/// Where the sides find what they need.
struct Bench {
    cuebook: PathBuf,
    chrome: PathBuf,
    /// `node_modules` is in here.
    packages: PathBuf,
    url: String,
    rounds: u32,
    tokenizer: CoreBPE,
}

/// Measures, prints the table, and writes what was asked for.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.decoding {
        return decoding::run(arguments);
    }
    if arguments.streaming {
        return streaming::run(arguments);
    }
    ensure!(arguments.batches > 0 && arguments.rounds > 0, "expected at least one batch of one round");
    if arguments.forms {
        return forms::run(arguments);
    }
    let chrome = chrome::find_or_install()?;
    let packages = root().join("target/bench");
    if !arguments.defences {
        install(&packages, "playwright-core")?;
    }
    let cuebook = build_cuebook_as(BuildProfile::Release)?;
    let site = Site::start(&cuebook)?;
    let tokenizer = o200k_base().context("cannot read the tokenizer")?;
    let mut bench = Bench { cuebook, chrome, packages, url: String::new(), rounds: arguments.rounds, tokenizer };
    if arguments.defences {
        return defences::run(&mut bench, &site, arguments);
    }
    // Its package is optional: what cannot be measured here is left out of the table, not guessed.
    let rival = install(&bench.packages, "agent-browser").is_ok();
    let mut sides = vec![Side::Cuebook, Side::Playwright];
    if rival {
        sides.push(Side::AgentBrowser);
    }
    let mut rows = Vec::new();
    let mut text = setting(&bench.chrome, &bench.packages, arguments, &["playwright-core", "agent-browser"])?;
    for elements in &arguments.elements {
        bench.url = format!("{}/grid?n={elements}", site.origin());
        let batches = bench.take_turns(&mut sides, arguments.batches, *elements)?;
        let compared = results::compare(*elements, &merge(&batches));
        text.push_str(&format!("\n\n### {elements} elements\n\n{}", results::table(&compared)));
        rows.extend(compared);
    }
    println!("\n{text}");
    if let Some(file) = &arguments.json {
        fs::write(file, format!("{:#}\n", results::to_json(&rows)))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if arguments.docs {
        document::write_block(&root().join(DOCUMENT), "bench", &text)?;
    }
    Ok(())
}

/// Every batch begins with another side.
fn order<S: Copy>(sides: &[S], batch: u32) -> Vec<S> {
    let mut order = sides.to_vec();
    let shift = usize::try_from(batch).unwrap_or(0) % order.len().max(1);
    order.rotate_left(shift);
    order
}

/// Installs an npm package into `folder` unless it is there. Without `@latest` npm takes the newest one that supports this
/// Node.
pub(crate) fn install(folder: &Path, package: &str) -> Result<()> {
    let name = package.strip_suffix("@latest").unwrap_or(package);
    if folder.join("node_modules").join(name).is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    stage(
        &format!("npm install {package}"),
        Command::new(npm)
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(folder)
            .arg(package)
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"),
    )
}

impl Bench {
    /// All batches on one page. A side that cannot be measured is taken off the list, if it is optional.
    fn take_turns(&self, sides: &mut Vec<Side>, batches: u32, elements: u32) -> Result<Vec<(Side, Metrics)>> {
        let mut taken: Vec<(Side, Metrics)> = Vec::new();
        for batch in 0..batches {
            for side in order(sides, batch) {
                println!("\n== {elements} elements, batch {} of {batches}: {}", batch + 1, side.name());
                match self.measure(side) {
                    Ok(metrics) => taken.push((side, metrics)),
                    Err(error) if side == Side::AgentBrowser => {
                        println!("agent-browser cannot be measured here: {error:#}");
                        sides.retain(|kept| *kept != side);
                        taken.retain(|(kept, _)| *kept != side);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(taken)
    }

    /// `cuebook bench` with some flags.
    fn cuebook(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(&self.cuebook);
        command.args(["bench", "--json", "--quiet", "--viewport", VIEWPORT]).args(flags).arg("--out");
        command.arg(self.packages.join("runs"));
        command
    }

    /// One batch of one side.
    fn measure(&self, side: Side) -> Result<Metrics> {
        let command = match side {
            Side::Cuebook => self.cuebook(&["--direct"]),
            Side::Playwright | Side::AgentBrowser => {
                let script = if side == Side::Playwright { "playwright.mjs" } else { "agent_browser.mjs" };
                let mut command = Command::new("node");
                command.arg(root().join("bench").join(script)).args(["--viewport", VIEWPORT, "--modules"]);
                command.arg(&self.packages);
                command
            }
        };
        self.measured(command).with_context(|| format!("{} cannot be measured", side.name()))
    }

    /// Runs a command that measures itself.
    fn measured(&self, mut command: Command) -> Result<Metrics> {
        let rounds = self.rounds.to_string();
        command.args(["--url", &self.url, "--rounds", &rounds, "--chrome"]).arg(&self.chrome);
        let text = self.packages.join("observation.txt");
        command.arg("--text").arg(&text);
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("it ended with {}: {}", output.status, printed.trim());
        }
        let mut metrics = read(&printed).context("it printed no measurements")?;
        let seen = fs::read_to_string(&text).with_context(|| format!("cannot read {}", text.display()))?;
        metrics.insert("observe.bytes".to_owned(), Spread::once(seen.len()));
        metrics.insert("observe.tokens".to_owned(), Spread::once(self.tokenizer.encode_ordinary(&seen).len()));
        Ok(metrics)
    }
}

/// Returns the setting of the measurement in a sentence or two: machine, browser and versions.
fn setting(chrome: &Path, packages: &Path, arguments: &Arguments, peers: &[&str]) -> Result<String> {
    let chrome = output_of(Command::new(chrome).arg("--version"))?;
    // Distributions add what they are after Chrome's own name and version.
    let chrome: Vec<&str> = chrome.split_whitespace().take_while(|word| *word != "built").collect();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let peers: String =
        peers.iter().filter_map(|package| Some(format!("{package} {}, ", version_of(packages, package)?))).collect();
    Ok(format!(
        "{} batches of {} rounds a side; {cores} cores, {system}; {}; {peers}cuebook in a release build.",
        arguments.batches,
        arguments.rounds,
        chrome.join(" "),
    ))
}

fn version_of(folder: &Path, package: &str) -> Option<String> {
    let manifest = fs::read_to_string(folder.join("node_modules").join(package).join("package.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
    manifest["version"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::measure::Side;
    use super::order;

    #[test]
    fn every_side_begins_in_turn() {
        let sides = [Side::Cuebook, Side::Playwright];
        assert_eq!(order(&sides, 0), [Side::Cuebook, Side::Playwright]);
        assert_eq!(order(&sides, 1), [Side::Playwright, Side::Cuebook]);
        assert_eq!(order(&sides, 2), [Side::Cuebook, Side::Playwright]);
    }
}
