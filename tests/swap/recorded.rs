//! The recorded world: no browser anywhere; each live layer that needs none takes its turn in it.

use std::sync::Arc;

use anyhow::Result;
use cuebook_datalayer::{JsonlLog, RunDir, ValueRedactor};
use cuebook_grammar::id::RunId;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::seam::{Confirm, ConfirmReply, Executor, PageModeler, Planner, Redactor, RepairPolicy, StepLog};
use cuebook_grammar::secret::DigestKey;
use cuebook_planner::{Lexical, Scripted};
use cuebook_repair::{Controller, Ladder, Layers, RunRequest, Work};
use outside_agent::{
    FakeConfirm, FakeExecutor, FakeLog, FakeModeler, FakePlanner, FakeRedactor, FakeRepair, FakeSecrets, LogEntry,
    PASSWORD, Place, Shop, USER,
};

type World = Layers<FakeModeler, FakePlanner, FakeExecutor, FakeRepair, FakeLog, FakeConfirm>;

fn world(shop: &Shop) -> World {
    Layers {
        modeler: FakeModeler::of(shop),
        planner: FakePlanner::default(),
        executor: FakeExecutor::on(shop, FakeSecrets::of_the_shop()),
        repair: FakeRepair::default(),
        log: FakeLog::default(),
        confirm: FakeConfirm::answering([ConfirmReply::Yes(None)]),
    }
}

fn shop_policy(shop: &Shop) -> Result<Policy> {
    let origin = FakeModeler::of(shop).look(cuebook_grammar::observation::Scope::View).url;
    Ok(Policy::default().starting_at(&origin)?)
}

async fn run<M, P, E, R, L, C>(
    shop: &Shop,
    layers: Layers<M, P, E, R, L, C>,
    redactor: Arc<dyn Redactor>,
    work: Work,
) -> Result<RunReport>
where
    M: PageModeler,
    P: Planner,
    E: Executor,
    R: RepairPolicy,
    L: StepLog,
    C: Confirm,
{
    let request = RunRequest {
        run_id: RunId::new("swap"),
        run_dir: None,
        work,
        start_url: None,
        page: Shop::page(),
        policy: shop_policy(shop)?,
        program: "test".to_owned(),
        browser: None,
    };
    Ok(Controller::new(layers, DigestKey::new([1; 32]), redactor).run(request).await)
}

fn task() -> Work {
    Work::Task(format!("Log in as {USER} with password \"{PASSWORD}\" and buy"))
}

fn fake_redactor() -> Arc<dyn Redactor> {
    Arc::new(FakeRedactor::default())
}

fn assert_bought(shop: &Shop, report: &RunReport) {
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(shop.place(), Place::Confirmation);
    assert_eq!(shop.orders(), 1);
}

#[tokio::test]
async fn a_world_of_fakes_runs_the_task_and_logs_every_step_once() -> Result<()> {
    let shop = Shop::new();
    let layers = world(&shop);
    let log = layers.log.clone();
    let report = run(&shop, layers, fake_redactor(), task()).await?;
    assert_bought(&shop, &report);
    let begun = log.entries().iter().filter(|entry| matches!(entry, LogEntry::Begin(_))).count();
    assert_eq!(begun, log.steps().len());
    assert_eq!(log.steps().len(), report.steps.len());
    Ok(())
}

#[tokio::test]
async fn the_lexical_planner_plans_for_the_recorded_world() -> Result<()> {
    let shop = Shop::new();
    let Layers { modeler, executor, repair, log, confirm, .. } = world(&shop);
    let layers = Layers { modeler, planner: Lexical, executor, repair, log, confirm };
    let button = outside_agent::Thing::Buy.name();
    let work = Work::Task(format!("Log in as {USER} with password \"{PASSWORD}\", then press \"{button}\""));
    let report = run(&shop, layers, fake_redactor(), work).await?;
    assert_bought(&shop, &report);
    Ok(())
}

#[tokio::test]
async fn a_scripted_plan_drives_the_recorded_world() -> Result<()> {
    let shop = Shop::new();
    let name = outside_agent::Thing::User.name();
    let plan = serde_json::json!({ "version": "1.0",
        "candidates": { "user": { "strategy": "byRole", "role": "textbox", "name": name } },
        "steps": [{ "type": "type", "targetRef": "user", "text": "x" }] });
    let draft =
        PlanDraft::read_value(plan, Author::Operator).map_err(|violations| anyhow::anyhow!("{violations:?}"))?;
    let Layers { modeler, executor, repair, log, confirm, .. } = world(&shop);
    let layers = Layers { modeler, planner: Scripted::new(draft), executor, repair, log, confirm };
    let report = run(&shop, layers, fake_redactor(), Work::Task("type x".to_owned())).await?;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    let results: Vec<_> = report.steps.iter().map(|step| step.result).collect();
    assert_eq!(results, [cuebook_grammar::record::StepResult::Ok], "{report:#?}");
    Ok(())
}

#[tokio::test]
async fn the_ladder_takes_its_place_in_the_recorded_world() -> Result<()> {
    let shop = Shop::new();
    let Layers { modeler, planner, executor, log, confirm, .. } = world(&shop);
    let layers = Layers { modeler, planner, executor, repair: Ladder, log, confirm };
    let report = run(&shop, layers, fake_redactor(), task()).await?;
    assert_bought(&shop, &report);
    Ok(())
}

#[tokio::test]
async fn the_durable_log_keeps_the_recorded_world_without_its_password() -> Result<()> {
    let shop = Shop::new();
    let folder = tempfile::tempdir()?;
    let dir = RunDir::create(folder.path(), &RunId::new("swap"))?;
    let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::default());
    let Layers { modeler, planner, executor, repair, confirm, .. } = world(&shop);
    let log = JsonlLog::create(&dir, Some(redactor.clone()))?;
    let report = run(&shop, Layers { modeler, planner, executor, repair, log, confirm }, redactor, task()).await?;
    assert_bought(&shop, &report);
    let kept = std::fs::read_to_string(dir.log_path())?;
    let leaks: Vec<&str> = kept.lines().filter(|line| line.contains(PASSWORD)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    let read = cuebook_datalayer::Run::read(&dir.log_path())?;
    assert_eq!(read.steps.len(), report.steps.len());
    assert!(cuebook_datalayer::judge(&read).agrees());
    Ok(())
}

#[tokio::test]
async fn nobody_to_ask_means_nothing_is_bought() -> Result<()> {
    let shop = Shop::new();
    let mut layers = world(&shop);
    layers.confirm = FakeConfirm::answering([ConfirmReply::No]);
    let report = run(&shop, layers, fake_redactor(), task()).await?;
    assert_eq!(report.result, RunResult::Blocked, "{report:#?}");
    assert_eq!(shop.orders(), 0);
    Ok(())
}
