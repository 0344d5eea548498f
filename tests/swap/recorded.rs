//! The recorded world: no browser anywhere; each live layer that needs none takes its turn in it.

use std::sync::Arc;

use anyhow::Result;
use cuebook_datalayer::{JsonlLog, MemoryLog, RunDir, ValueRedactor};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::RunId;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, ViolationCode};
use cuebook_grammar::planning::{CallEnd, CallPurpose, MessageRole, PlanningCall, PromptMessage};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{RunReport, RunResult};
use cuebook_grammar::seam::{ConfirmReply, PlanReply, PlanRequest, PlanSink, Planner, Redactor};
use cuebook_grammar::secret::DigestKey;
use cuebook_planner::{Lexical, Scripted};
use cuebook_repair::{Controller, Ladder, Layers, RunRequest, Seams, Work};
use outside_agent::{
    FakeConfirm, FakeExecutor, FakeLog, FakeModeler, FakePlanner, FakeRedactor, FakeRepair, FakeSecrets, LogEntry,
    PASSWORD, Place, Shop, USER,
};

pub(super) type World = Layers<FakeModeler, FakePlanner, FakeExecutor, FakeRepair, FakeLog, FakeConfirm>;

pub(super) fn world(shop: &Shop) -> World {
    Layers {
        modeler: FakeModeler::of(shop),
        planner: Arc::new(FakePlanner::default()),
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

async fn run(shop: &Shop, layers: impl Seams, redactor: Arc<dyn Redactor>, work: Work) -> Result<RunReport> {
    Ok(Controller::new(layers, DigestKey::new([1; 32]), redactor).run(request(shop, work)?).await)
}

pub(super) fn request(shop: &Shop, work: Work) -> Result<RunRequest> {
    Ok(RunRequest::new(RunId::new("swap"), work, Shop::page(), shop_policy(shop)?))
}

pub(super) fn task() -> Work {
    Work::Task(format!("Log in as {USER} with password \"{PASSWORD}\" and buy"))
}

pub(super) fn fake_redactor() -> Arc<dyn Redactor> {
    Arc::new(FakeRedactor::default())
}

pub(super) fn assert_bought(shop: &Shop, report: &RunReport) {
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
    let layers = Layers { modeler, planner: Arc::new(Lexical), executor, repair, log, confirm };
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
    let layers = Layers { modeler, planner: Arc::new(Scripted::new(draft)), executor, repair, log, confirm };
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
    let layers = Layers { modeler, planner, executor, repair: Ladder::default(), log, confirm };
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
async fn each_call_of_a_model_is_in_the_log_before_the_steps_that_name_it() -> Result<()> {
    let shop = Shop::new();
    let folder = tempfile::tempdir()?;
    let dir = RunDir::create(folder.path(), &RunId::new("swap"))?;
    let redactor: Arc<dyn Redactor> = Arc::new(ValueRedactor::default());
    redactor.learn("shop.test");
    let Layers { modeler, planner, executor, repair, confirm, .. } = world(&shop);
    let asked = planner.clone();
    let log = JsonlLog::create(&dir, None)?;
    let report = run(&shop, Layers { modeler, planner, executor, repair, log, confirm }, redactor, task()).await?;
    assert_bought(&shop, &report);

    let read = cuebook_datalayer::Run::read(&dir.log_path())?;
    assert_eq!(read.calls.len(), asked.requests().len());
    assert!(read.calls.len() > 1 && read.steps.len() > read.calls.len());
    for call in &read.calls {
        assert_eq!(call.call.engine, "fake");
        let mut fate = read.steps.iter().filter(|step| step.planning == Some(call.planning_index)).peekable();
        let is_last = call.planning_index as usize + 1 == read.calls.len();
        assert!(fate.peek().is_some() || is_last, "the last plan only says that the task is done");
        for step in fate {
            assert!(call.call.output.contains(&format!("\"{}\"", step.action.action.kind().meta().name)), "{step:?}");
            assert!(step.observation.is_none() || step.observation >= call.observation);
        }
    }
    assert!(read.steps.iter().all(|step| step.planning.is_some()), "every step stands in the answer of a call");

    let kept = std::fs::read_to_string(dir.log_path())?;
    let calls: Vec<&str> = kept.lines().filter(|line| line.starts_with("{\"entry\":\"planning\"")).collect();
    assert_eq!(calls.len(), read.calls.len());
    for line in calls {
        assert!(!line.contains(PASSWORD) && !line.contains("shop.test"), "{line}");
        assert!(line.contains("[redacted]"), "the password was in the task: {line}");
    }
    Ok(())
}

/// Tells of calls that come to nothing, and fails, or never ends.
struct Failing {
    hangs: Option<cuebook_repair::Interrupt>,
}

impl Planner for Failing {
    type Error = Overloaded;

    async fn plan(&self, _: &PlanRequest<'_>, sink: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Overloaded> {
        let failed = CallEnd::Failed { code: "server".into(), message: "expected 200, saw 500".into() };
        let invalid =
            CallEnd::Invalid { violations: vec![Violation::new(ViolationCode::UnknownTarget, "/steps/0", "saw c99")] };
        for (purpose, end) in [(CallPurpose::Plan, invalid), (CallPurpose::Reformulate, failed)] {
            sink.call_ended(PlanningCall {
                engine: "failing".into(),
                model: Some("m".into()),
                purpose,
                input: vec![PromptMessage { role: MessageRole::User, text: "plan".into() }],
                output: "{".into(),
                reasoning: None,
                confidence: None,
                input_tokens: 10,
                output_tokens: 1,
                latency_ms: 5,
                first_step_ms: None,
                attempts: 3,
                end,
                others: Vec::new(),
                features: Vec::new(),
            });
        }
        let Some(interrupt) = &self.hangs else { return Err(Overloaded) };
        interrupt.trigger();
        std::future::pending().await
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the server answers 500")]
struct Overloaded;

#[tokio::test]
async fn calls_of_a_planning_that_failed_or_was_interrupted_are_in_the_log() -> Result<()> {
    for hangs in [false, true] {
        let shop = Shop::new();
        let Layers { modeler, executor, repair, confirm, .. } = world(&shop);
        let interrupt = cuebook_repair::Interrupt::default();
        let planner = Failing { hangs: hangs.then(|| interrupt.clone()) };
        let log = MemoryLog::default();
        let planner = Arc::new(planner);
        let layers = Layers { modeler, planner, executor, repair, log: log.clone(), confirm };
        let request = request(&shop, task())?;
        let mut controller =
            Controller::new(layers, DigestKey::new([1; 32]), fake_redactor()).with_interrupt(interrupt);
        let report = controller.run(request).await;
        assert_eq!(report.result, if hangs { RunResult::Interrupted } else { RunResult::Error });
        let ends: Vec<_> = log.calls().into_iter().map(|record| (record.planning_index, record.call.end)).collect();
        assert!(matches!(ends.as_slice(), [(0, CallEnd::Invalid { .. }), (1, CallEnd::Failed { .. })]), "{ends:?}");
        assert_eq!((report.usage.planner_calls, report.usage.input_tokens), (2, 20), "what failed was paid for");
        assert!(log.steps().is_empty());
    }
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
