//! Measures the waits of a user of the facade: a form that one plan fills, and look, click, look. The layers and
//! conditions are the default ones, and every run has its durable log.
//!
//! `cargo xtask bench --forms` builds and runs it: `forms URL ROUNDS RUNS PLAN` prints `{"<metric>": {"median", "min",
//! "max", "n"}, …}`, in milliseconds. PLAN has locators by label, for which the ids of an observation are put here.

#![expect(clippy::print_stdout, reason = "it reports to the program that started it")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use cuebook::cdp::TargetId;
use cuebook::cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook::prelude::*;
use cuebook::serde_json::{Map, Value, json};

/// Samples by metric, in milliseconds.
#[derive(Default)]
struct Samples(BTreeMap<&'static str, Vec<f64>>);

impl Samples {
    /// Round 0 warms up and does not count.
    fn time(&mut self, metric: &'static str, round: u32, began: Instant) {
        if round > 0 {
            self.0.entry(metric).or_default().push(began.elapsed().as_secs_f64() * 1_000.0);
        }
    }

    fn spreads(self) -> Map<String, Value> {
        let spread = |mut samples: Vec<f64>| {
            samples.sort_by(f64::total_cmp);
            let at = |index: usize| samples.get(index).copied();
            let count = samples.len();
            let median = [at((count - 1) / 2), at(count / 2)].into_iter().flatten().sum::<f64>() / 2.0;
            json!({ "median": median, "min": samples.first(), "max": samples.last(), "n": count })
        };
        self.0.into_iter().map(|(metric, samples)| (metric.to_owned(), spread(samples))).collect()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (url, rounds, runs, plan) = match words[..] {
        [url, rounds, runs, plan] => (url, rounds.parse::<u32>()?, runs, plan),
        // Cargo runs every benchmark of a package without arguments.
        [] => return Ok(()),
        _ => bail!("{words:?} are not the words of `forms URL ROUNDS RUNS PLAN`"),
    };
    let plan: Value = cuebook::serde_json::from_str(&std::fs::read_to_string(plan)?)?;
    let mut agent = Agent::builder().runs_in(runs).build().await?;
    let mut samples = Samples::default();
    for round in 0..=rounds {
        agent.open(url).await?;
        let first = agent.observe(Scope::View).await?;
        let (draft, expected) = bound(&plan, &first)?;
        let began = Instant::now();
        agent.follow(draft).await?;
        samples.time("form.fill", round, began);
        agent.observe(Scope::View).await?;
        samples.time("form.look", round, began);
        let held = held(&agent).await?;
        for (name, value) in &expected {
            ensure!(held[name] == *value, "{name} is to be {value}, and is {}", held[name]);
        }
    }
    for round in 0..=rounds {
        let began = Instant::now();
        let seen = agent.observe(Scope::View).await?;
        let button = id_of(&seen, "Add a night")?;
        let clicking = Instant::now();
        agent.act(Click::on(button)).await?;
        samples.time("click", round, clicking);
        agent.observe(Scope::View).await?;
        samples.time("loop", round, began);
        let (nights, expected) = (held(&agent).await?["nights"].clone(), round + 2);
        ensure!(nights == expected, "{nights} nights in place of {expected}");
    }
    println!("{}", Value::Object(samples.spreads()));
    Ok(agent.close().await?)
}

/// The plan with ids of this observation, and what the page holds after it.
fn bound(plan: &Value, seen: &Observation) -> Result<(PlanDraft, Map<String, Value>)> {
    let mut steps = plan["steps"].as_array().context("a plan has steps")?.clone();
    let mut expected = Map::new();
    for step in &mut steps {
        let name = step["targetRef"].as_str().context("a step has a target")?.to_owned();
        let label = plan["candidates"][&name]["text"].as_str().context("a target has a label")?;
        step["targetRef"] = id_of(seen, label)?.to_string().into();
        let value = step.get("value").or_else(|| step.get("option"));
        expected.insert(name, value.cloned().unwrap_or_else(|| "on".into()));
    }
    let plan = json!({ "version": plan["version"], "steps": steps });
    Ok((PlanDraft::read_value(plan, Author::Operator)?, expected))
}

fn id_of(seen: &Observation, name: &str) -> Result<CandidateId> {
    let candidate = seen.candidates.iter().find(|candidate| candidate.name == name);
    Ok(candidate.with_context(|| format!("the page has no {name}"))?.id)
}

/// Returns the content of the form, from the page itself.
async fn held(agent: &Agent) -> Result<Value> {
    let browser = agent.browser().context("the agent has no browser")?;
    let page = browser.page(&TargetId::from(agent.page().as_str())).context("the tab is gone")?;
    let until = Instant::now() + Duration::from_secs(10);
    let reply = page.session().request(EvaluateParams::new("held()"), until).await?;
    let reply: Value = reply.parse()?;
    let held = reply["result"]["value"].as_str().context("the page does not say what it holds")?;
    Ok(cuebook::serde_json::from_str(held)?)
}
