//! Agents from the facade alone: the examples as they stand, and what a run leaves to the next one.

use std::process::Command;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use cuebook::grammar::seam::boxed::BoxedPlanner;
use cuebook::grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook::grammar::{deadline::Deadline, id::CandidateId};
use cuebook::prelude::*;
use cuebook_tests::Shop;

/// Runs a program and returns what it prints.
fn printed(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output().with_context(|| format!("cannot run {program}"))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    anyhow::ensure!(output.status.success(), "{program}: {}\n{stdout}\n{stderr}", output.status);
    Ok(stdout.into_owned())
}

#[test]
fn the_example_of_ten_lines_logs_in() -> Result<()> {
    let printed = printed(env!("CARGO_BIN_EXE_example-agent"), &[])?;
    assert!(printed.contains("textbox \"Email\""), "{printed}");
    assert!(printed.contains("/dashboard"), "{printed}");
    Ok(())
}

#[test]
fn the_example_with_layers_of_its_own_clicks_once_and_logs_every_step() -> Result<()> {
    let shop = Shop::open()?;
    let printed = printed(env!("CARGO_BIN_EXE_example-own-layers"), &[&shop.url("/counter"), "Count"])?;
    assert_eq!(shop.hits("counter"), 1, "{printed}");
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["navigate: Ok", "click: Ok", "call: Ok"]);
    Ok(())
}

#[test]
fn the_example_with_a_planner_of_its_own_clicks_what_the_task_names() -> Result<()> {
    let shop = Shop::open()?;
    printed(env!("CARGO_BIN_EXE_example-own-planner"), &[&shop.url("/counter"), "Count"])?;
    assert_eq!(shop.hits("counter"), 1);
    Ok(())
}

/// Keeps the names of the candidates that it was shown, and has no plan.
#[derive(Clone, Default)]
struct Watching(Arc<Mutex<Vec<String>>>);

impl Planner for Watching {
    type Error = std::convert::Infallible;

    async fn plan(&self, asked: &PlanRequest<'_>, _: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Self::Error> {
        let names = asked.observation.candidates.iter().map(|candidate| candidate.name.clone());
        self.0.lock().expect("not poisoned").extend(names);
        Ok(PlanReply::none("it only looks"))
    }
}

#[tokio::test]
async fn ids_tab_and_policy_go_on_from_run_to_run_and_each_run_has_a_folder() -> Result<()> {
    let site = cuebook_site::Site::builder().build().bind(0).await?;
    let runs = tempfile::tempdir()?;
    let seen = Watching::default();
    let planner: Box<dyn BoxedPlanner> = Box::new(seen.clone());
    let mut agent = Agent::builder().planner(planner).runs_in(runs.path()).build().await?;

    agent.open(&site.url("/login")).await.into_result()?;
    let page = agent.observe(Scope::View).await?;
    let field: CandidateId = page.candidates.iter().find(|candidate| candidate.name == "Email").context("no field")?.id;
    let report = agent.act(SetValue::to(field, "ann")).await.into_result()?;
    let run_dir = report.run_dir.context("no folder")?;
    let log = std::fs::read_to_string(std::path::Path::new(&run_dir).join("log.jsonl"))?;
    assert!(log.contains("setValue"), "{log}");

    // A planner that has no plan fails the task, and says why.
    let report = agent.run("anything").await;
    assert_eq!(report.result, RunResult::Failed);
    assert_eq!(report.into_result().unwrap_err().message, "it only looks");
    assert!(seen.0.lock().unwrap().iter().any(|name| name == "Email"));

    // A page that was neither opened nor allowed stays closed.
    let refused = agent.act(Navigate::to("https://elsewhere.test/")).await;
    assert_eq!(refused.result, RunResult::Blocked, "{refused:?}");
    assert_eq!(std::fs::read_dir(runs.path())?.count(), 4);
    agent.close().await?;
    Ok(())
}
