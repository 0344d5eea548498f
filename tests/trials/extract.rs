//! Questions with JSON Schemas on the pages of `eval/extract`: by labels, and with a model also by its quotes.
//!
//! `cargo xtask eval --extract` builds and runs it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use cuebook::prelude::*;
use cuebook_cdp::Browser;
use cuebook_datalayer::MemoryLog;
use cuebook_planner::{Limits, ModelPlanner, OpenAi, OpenAiMode};
use cuebook_repair::Budgets;
use cuebook_tests::extraction::{Counts, Questions, Way, record, table};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// OpenAI-compatible server of a model. Without one, only labels are measured
    #[arg(long, value_name = "URL", requires = "model")]
    base_url: Option<String>,
    /// Name of the model
    #[arg(long, value_name = "NAME", requires = "base_url")]
    model: Option<String>,
    /// How the server gets the grammar
    #[arg(long, default_value = "llama-cpp", value_name = "MODE", value_parser = mode)]
    engine_mode: OpenAiMode,
    /// Tokens of one answer
    #[arg(long, default_value_t = 300)]
    answer_tokens: u32,
    /// Only questions whose page has this in its name
    #[arg(long, default_value = "", value_name = "TEXT")]
    task: String,
    /// Folder for `extract.json` and `extract.md`
    #[arg(long, value_name = "DIR", overrides_with = "out")]
    out: Option<PathBuf>,
}

fn mode(name: &str) -> Result<OpenAiMode, serde_json::Error> {
    serde_json::from_value(name.into())
}

/// Returns `true` if no value was invented, and none by a label is wrong.
#[tokio::main]
pub(crate) async fn run(arguments: &Arguments) -> Result<bool> {
    let questions = Questions::read()?;
    let origin = questions.serve();
    let profiles = tempfile::TempDir::new()?;
    let options = cuebook_testkit::browser(profiles.path());
    let browser = Arc::new(Browser::launch(&options, Instant::now() + PATIENCE).await?);
    let ways: &[Way] =
        if arguments.base_url.is_some() { &[Way::Labels, Way::Model, Way::Both] } else { &[Way::Labels] };
    let (mut sums, mut records): (Vec<(Way, Counts)>, Vec<Value>) = (Vec::new(), Vec::new());
    for way in ways {
        let mut agent = agent(arguments, browser.clone(), *way).await?;
        let mut sum = Counts::default();
        let mut judged = Vec::new();
        for question in questions.all.iter().filter(|question| question.page.contains(&arguments.task)) {
            let one = questions.ask(&mut agent, &origin, question, *way).await?;
            let Counts { right, wrong, unfilled, took, .. } = one.counts;
            let name = format!("{}: {}", question.page, question.name);
            println!("{way:?} {name:50} {right} right, {wrong} wrong, {unfilled} unfilled, {} ms", took.as_millis());
            one.faults.iter().for_each(|fault| println!("    {fault}"));
            sum.add(&one.counts);
            judged.push(one);
        }
        agent.close().await?;
        records.push(record(*way, &sum, &judged));
        sums.push((*way, sum));
    }
    browser.close(Instant::now() + PATIENCE).await?;
    let table = table(&sums);
    println!("\n{table}");
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(folder.join("extract.md"), format!("{table}\n"))?;
        std::fs::write(folder.join("extract.json"), format!("{:#}\n", Value::from(records)))?;
    }
    Ok(sums.iter().all(|(way, sum)| sum.invented == 0 && (*way != Way::Labels || sum.wrong == 0)))
}

async fn agent(arguments: &Arguments, browser: Arc<Browser>, way: Way) -> Result<Agent> {
    let builder = Agent::builder().browser(BrowserSource::Shared(browser)).log(MemoryLog::default());
    let (Some(url), Some(model), Way::Model | Way::Both) = (&arguments.base_url, &arguments.model, way) else {
        return Ok(builder.build().await?);
    };
    let engine = OpenAi::new(url, model.clone())?.with_mode(arguments.engine_mode);
    // A small model on two cores reads a page for a while before it says anything.
    let limits = Limits {
        output_tokens: arguments.answer_tokens,
        plan_time: Duration::from_secs(300),
        run_time: Duration::from_secs(7_200),
        first_byte: Duration::from_secs(240),
        ..Limits::default()
    };
    let planner = ModelPlanner::new(engine).with_limits(limits);
    let budgets = Budgets { fills: 1, planning: Duration::from_secs(300), ..Budgets::default() };
    Ok(builder.planner(planner).budgets(budgets).build().await?)
}
