//! A form of eight fields and a click as users run them: `cuebook exec` and the facade beside Playwright MCP and
//! agent-browser.
//!
//! Invariants:
//! - Every side has its defaults: conditions, waits, and our durable log.
//! - A side fails unless the page holds every value and counted every click. The pages of `exec` are gone when it ends, so
//!   a round of warming up sends what its page holds to the server, and the verdicts of the others are read from their logs.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use xtask::chrome;
use xtask::commands::{build_cuebook_and_benchmark, output_of, root};

use super::measure::{Metrics, Spread, merge, read};
use super::results::shown;
use super::{Arguments, DOCUMENT, document, http, install, order, setting};

const PAGE: &str = include_str!("../../form.html");
const FORM: &str = include_str!("../../form.json");

/// The sides, for people and as members of the document.
const SIDES: [(&str, &str); 3] =
    [("cuebook", "cuebook"), ("Playwright MCP", "playwrightMcp"), ("agent-browser", "agentBrowser")];
const PEERS: [&str; 2] = ["@playwright/mcp", "agent-browser"];
const SCRIPTS: [&str; 2] = ["forms_playwright_mcp.mjs", "forms_agent_browser.mjs"];

/// A metric, what the others call it, and what it is.
const METRICS: [(&str, &str, &str); 6] = [
    ("process", "process", "form, with the start and the end of everything"),
    ("exec.steps", "form.fill", "form, the steps of that `exec` alone"),
    ("form.fill", "form.fill", "form, in an open browser"),
    ("form.look", "form.look", "form, in an open browser, then look"),
    ("click", "click", "click"),
    ("loop", "loop", "look, click, look again"),
];

/// Measures each side in turn, prints a table, and writes what was asked for.
pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let chrome = chrome::find_or_install()?;
    let folder = root().join("target/bench/forms");
    for package in PEERS {
        install(&folder, &format!("{package}@latest"))?;
    }
    let (cuebook, facade) = build_cuebook_and_benchmark("forms")?;
    let page = Page::start()?;
    let bench = Forms { cuebook, facade, chrome, folder, page, rounds: arguments.rounds };
    let mut batches = Vec::new();
    for batch in 0..arguments.batches {
        for side in order(&[0, 1, 2], batch) {
            println!("\n== form, batch {} of {}: {}", batch + 1, arguments.batches, SIDES[side].0);
            let metrics = if side == 0 { bench.ours() } else { bench.theirs(SCRIPTS[side - 1]) };
            batches.push((side, metrics.with_context(|| format!("{} cannot be measured", SIDES[side].0))?));
        }
    }
    let merged = merge(&batches);
    let text = format!("{}\n\n{}", setting(&bench.chrome, &bench.folder, arguments, &PEERS)?, table(&merged));
    println!("\n{text}");
    if let Some(file) = &arguments.json {
        fs::write(file, format!("{:#}\n", to_json(&merged)))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if arguments.docs {
        document::write_block(&root().join(DOCUMENT), "forms", &text)?;
    }
    Ok(())
}

/// Where the sides find what they need.
struct Forms {
    cuebook: PathBuf,
    facade: PathBuf,
    chrome: PathBuf,
    /// `node_modules` is in here, and our plans and runs.
    folder: PathBuf,
    page: Page,
    rounds: u32,
}

impl Forms {
    fn theirs(&self, script: &str) -> Result<Metrics> {
        let mut command = Command::new("node");
        command.arg(root().join("bench").join(script)).arg("--modules").arg(&self.folder).arg("--chrome");
        command.arg(&self.chrome).args(["--url", &self.page.url, "--rounds", &self.rounds.to_string(), "--form"]);
        read(&output_of(command.arg(root().join("bench/form.json")))?)
    }

    /// `exec` as often as there are rounds, then the facade in one browser.
    fn ours(&self) -> Result<Metrics> {
        let runs = self.folder.join("cuebook-runs");
        if runs.is_dir() {
            fs::remove_dir_all(&runs).with_context(|| format!("cannot remove {}", runs.display()))?;
        }
        let (plan, held) = plan()?;
        let file = self.folder.join("plan.json");
        let mut sending = plan.clone();
        sending["candidates"]["send"] = json!({ "strategy": "byRole", "role": "button", "name": "Send" });
        sending["steps"]
            .as_array_mut()
            .context("a plan has steps")?
            .push(json!({ "type": "click", "targetRef": "send" }));
        self.page.forget();
        write(&file, &sending)?;
        self.exec(&file)?;
        let sent = self.page.held().context("the page of exec was not sent")?;
        ensure!(sent == held, "exec filled in {sent}, not {held}");
        write(&file, &plan)?;
        let (whole, steps) = (0..self.rounds).map(|_| self.exec(&file)).collect::<Result<(Vec<_>, Vec<_>)>>()?;
        let mut command = Command::new(&self.facade);
        command.args([&self.page.url, &self.rounds.to_string()]).arg(&runs).arg(&file).env("CHROME", &self.chrome);
        let mut metrics = read(&output_of(&mut command)?)?;
        metrics.insert("process".to_owned(), Spread::of(whole));
        metrics.insert("exec.steps".to_owned(), Spread::of(steps));
        Ok(metrics)
    }

    /// The whole process and its steps, in milliseconds.
    fn exec(&self, plan: &Path) -> Result<(f64, f64)> {
        let began = Instant::now();
        let output = Command::new(&self.cuebook)
            .arg("exec")
            .arg(plan)
            .args(["--url", &self.page.url, "--json"])
            .env("CHROME", &self.chrome)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {}", self.cuebook.display()))?;
        let whole = began.elapsed().as_secs_f64() * 1_000.0;
        ensure!(output.status.success(), "exec failed: {}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).context("expected a report")?;
        let run = report["runDir"].as_str().context("the report names no folder")?;
        let log = self.folder.join(run).join("log.jsonl");
        let log = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        Ok((whole, steps_of(&log)?))
    }
}

/// From the beginning of the first step of the plan to the end of the last, in milliseconds. Every step must have succeeded
/// with conditions that hold.
fn steps_of(log: &str) -> Result<f64> {
    let mut span: Option<(u64, u64)> = None;
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).context("expected a log of JSON lines")?;
        if entry["entry"] != "commit" || entry["origin"] != "plan" {
            continue;
        }
        let conditions = entry["postCheck"].as_array().map_or(&[][..], Vec::as_slice);
        let held = entry["action"]["type"] == "click" || conditions.iter().all(|one| one["verdict"] == "holds");
        ensure!(entry["result"] == "ok" && held, "a step of exec went wrong: {line}");
        let began = entry["execution"]["tsMs"].as_u64().context("a step has a time")?;
        let ended = began + entry["execution"]["durationMs"].as_u64().context("a step has a duration")?;
        span = Some((span.map_or(began, |(first, _)| first), ended));
    }
    let (began, ended) = span.context("the log has no steps of a plan")?;
    #[expect(clippy::cast_precision_loss, reason = "a run is far shorter than 2^52 milliseconds")]
    Ok((ended - began) as f64)
}

/// A plan with locators by label, as a person writes it, and what the page then holds.
fn plan() -> Result<(Value, Value)> {
    let form: Value = serde_json::from_str(FORM).context("form.json is JSON")?;
    let (mut candidates, mut steps, mut held) = (Map::new(), Vec::new(), Map::new());
    for field in form["fields"].as_array().context("form.json has fields")? {
        let (name, value) = (field["name"].as_str().context("a field has a name")?.to_owned(), &field["value"]);
        steps.push(match field["kind"].as_str() {
            Some("select") => json!({ "type": "select", "targetRef": name, "option": value }),
            Some("check") => json!({ "type": "check", "targetRef": name }),
            _ => json!({ "type": "setValue", "targetRef": name, "value": value }),
        });
        candidates.insert(name.clone(), json!({ "strategy": "byLabel", "text": field["label"] }));
        held.insert(name, if field["kind"] == "check" { "on".into() } else { value.clone() });
    }
    held.insert("nights".to_owned(), 1.into());
    Ok((json!({ "version": "1.0", "candidates": candidates, "steps": steps }), held.into()))
}

fn write(file: &Path, plan: &Value) -> Result<()> {
    fs::write(file, plan.to_string()).with_context(|| format!("cannot write {}", file.display()))
}

/// The page on a port of loopback; its threads end with the process.
struct Page {
    url: String,
    /// The content of the form that the page sent last.
    held: Arc<Mutex<Option<Value>>>,
}

impl Page {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
        let url = format!("http://{}/", listener.local_addr()?);
        let held = Arc::<Mutex<Option<Value>>>::default();
        let kept = held.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                // Chrome opens connections ahead that never carry a request.
                thread::spawn(move || -> Result<()> {
                    let (path, body) = http::request(&stream)?;
                    if path == "/held" {
                        *kept.lock().unwrap_or_else(PoisonError::into_inner) = serde_json::from_slice(&body)?;
                    }
                    http::answer(stream, "200 OK", if path == "/" { PAGE } else { "" })
                });
            }
        });
        Ok(Self { url, held })
    }

    fn held(&self) -> Option<Value> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn forget(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The spreads of a metric, side by side.
fn row(merged: &BTreeMap<usize, Metrics>, ours: &str, theirs: &str) -> [Option<Spread>; 3] {
    [(0, ours), (1, theirs), (2, theirs)].map(|(side, name)| merged.get(&side)?.get(name).copied())
}

/// Medians in milliseconds, with the least and the most in brackets, and ratios of medians.
fn table(merged: &BTreeMap<usize, Metrics>) -> String {
    let mut text = "| median (least–most), ms | cuebook | Playwright MCP | agent-browser | Playwright MCP ÷ cuebook | \
                    agent-browser ÷ cuebook |\n| --- | ---: | ---: | ---: | ---: | ---: |"
        .to_owned();
    for (ours, theirs, title) in METRICS {
        let row = row(merged, ours, theirs);
        let ratio = |side: usize| match (row[0], row[side]) {
            (Some(ours), Some(theirs)) if ours.median > 0.0 => format!("{:.2}", theirs.median / ours.median),
            _ => "–".to_owned(),
        };
        let [cuebook, playwright, agent_browser] = row.map(shown);
        text.push_str(&format!(
            "\n| {title} | {cuebook} | {playwright} | {agent_browser} | {} | {} |",
            ratio(1),
            ratio(2)
        ));
    }
    text
}

/// `[{metric, cuebook, playwrightMcp, agentBrowser, unit}]`: medians.
fn to_json(merged: &BTreeMap<usize, Metrics>) -> Value {
    let line = |(ours, theirs, _): (&str, &str, &str)| {
        let mut line = json!({ "metric": ours });
        for ((_, key), spread) in SIDES.iter().zip(row(merged, ours, theirs)) {
            line[*key] = json!(spread.map(|spread| (spread.median * 100.0).round() / 100.0));
        }
        line["unit"] = "ms".into();
        line
    };
    METRICS.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::measure::{Metrics, Spread};
    use super::{plan, steps_of, table, to_json};

    #[test]
    fn the_steps_of_a_log_take_from_the_first_beginning_to_the_last_end() {
        let commit = |origin: &str, began: u64, verdict: &str| {
            json!({
                "entry": "commit", "origin": origin, "action": { "type": "setValue" }, "result": "ok",
                "execution": { "tsMs": began, "durationMs": 40 }, "postCheck": [{ "verdict": verdict }],
            })
            .to_string()
        };
        let good = [commit("start", 0, "holds"), commit("plan", 100, "holds"), commit("plan", 150, "holds")];
        assert_eq!(steps_of(&good.join("\n")).unwrap(), 90.0);
        assert!(steps_of(&commit("plan", 100, "unknown")).is_err());
        assert!(steps_of(&commit("start", 0, "holds")).is_err());
    }

    #[test]
    fn the_plan_fills_in_every_field() {
        let (plan, held) = plan().unwrap();
        assert_eq!(plan["steps"].as_array().unwrap().len(), 8);
        assert_eq!((&held["breakfast"], &held["room"]), (&json!("on"), &json!("Suite")));
    }

    #[test]
    fn the_steps_of_exec_stand_beside_the_form_of_the_others() {
        let metrics = |named: &[(&str, f64)]| -> Metrics {
            named.iter().map(|(name, number)| ((*name).to_owned(), Spread::of(vec![*number]))).collect()
        };
        let merged = BTreeMap::from([
            (0, metrics(&[("exec.steps", 400.0), ("form.fill", 300.0)])),
            (1, metrics(&[("form.fill", 200.0)])),
        ]);
        assert!(table(&merged).contains("alone | **400** | **200** | – | 0.50 | – |"));
        assert_eq!(
            to_json(&merged)[1],
            json!({
                "metric": "exec.steps", "cuebook": 400.0, "playwrightMcp": 200.0, "agentBrowser": null, "unit": "ms",
            })
        );
    }
}
