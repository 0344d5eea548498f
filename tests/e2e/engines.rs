//! Model engines on the built-in site, in a real browser: their servers are simulated, the rest is not.
//!
//! Invariant: no step that the check refuses reaches the page, whatever a model writes.

#[expect(dead_code, reason = "the engines' own tests use the rest")]
#[path = "../../crates/planner/tests/servers/mod.rs"]
pub(super) mod servers;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cuebook::Live;
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::ExecutorOptions;
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::planning::{CallEnd, CallPurpose};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunReport, RunResult};
use cuebook_grammar::seam::{DenyAll, NoSecrets, Planner};
use cuebook_grammar::secret::{DigestKey, Secret};
use cuebook_page_modeler::ModelerOptions;
use cuebook_planner::{Anthropic, ChatEngine, ModelPlanner, Ollama, OpenAi};
use cuebook_repair::{Ladder, Layers, RunRequest, Work};
use cuebook_tests::Stage;
use serde_json::{Value, json};

use self::servers::{Dialect, End, Play, Request, ScriptedReply, Server};

pub(super) const TASK: &str = "Log in as ann with password correct-horse";
pub(super) const KEY: &str = "sk-cuebook-0123456789abcdef";

/// Everything that is sent to a model.
pub(super) fn prompt(request: &Request) -> String {
    fn texts(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
            Value::Object(members) => members.values().for_each(|value| texts(value, out)),
            _ => {}
        }
    }
    let mut out = String::new();
    texts(&request.json()["messages"], &mut out);
    out
}

/// The id of the candidate that the prompt lists under this role and name.
pub(super) fn listed(prompt: &str, title: &str) -> Option<String> {
    let line = prompt.lines().find(|line| line.starts_with("| ") && line.contains(&format!("- {title} [")))?;
    let (_, rest) = line.split_once(&format!("{title} ["))?;
    rest.split(']').next().map(str::to_owned)
}

/// A model that logs in where it sees the form, and is done elsewhere. Its first plan names what is not there.
pub(super) fn clerk(dialect: Dialect, request: &Request) -> Play {
    let prompt = prompt(request);
    let field = |title: &str| listed(&prompt, title);
    let (Some(email), Some(password), Some(button)) =
        (field("textbox \"Email\""), field("textbox \"Password\""), field("button \"Log in\""))
    else {
        return dialect.saying(&dialect.plan(&[json!({ "type": "finish" })]));
    };
    let is_second = prompt.contains("no valid plan") || prompt.contains("broke off");
    let button = if is_second { button } else { "c999".to_owned() };
    dialect.saying(&dialect.plan(&[
        json!({ "type": "setValue", "targetRef": email, "value": "ann" }),
        json!({ "type": "setValue", "targetRef": password, "value": "correct-horse" }),
        json!({ "type": "click", "targetRef": button }),
    ]))
}

/// Carries out the task with a planner, everything else as it is in earnest.
async fn carry_out(stage: &Stage, planner: impl Planner) -> Result<(RunReport, MemoryLog)> {
    let log = MemoryLog::default();
    Ok((carry_out_in(stage, planner, log.clone()).await?, log))
}

/// Like [`carry_out`], with a log that can be read meanwhile.
async fn carry_out_in(stage: &Stage, planner: impl Planner, log: MemoryLog) -> Result<RunReport> {
    let url = stage.url("/login");
    let live = Live::new(stage.browser().clone(), DigestKey::new([7; 32]), Arc::new(ValueRedactor::default()));
    let layers = Layers {
        modeler: live.modeler(ModelerOptions::default()),
        planner: Arc::new(planner),
        executor: live.executor(NoSecrets, MemoryArtifacts::default(), ExecutorOptions::default()),
        repair: Ladder::default(),
        log,
        confirm: DenyAll,
    };
    let request = RunRequest::new(
        RunId::new("engines"),
        Work::Task(TASK.to_owned()),
        PageId::new(stage.tab().context("the stage has a tab")?.target_id().as_str()),
        Policy::default().starting_at(&url)?,
    )
    .starting_at(url);
    Ok(live.controller(layers).run(request).await)
}

async fn logs_in<E: ChatEngine>(dialect: Dialect, engine: impl FnOnce(&str) -> Result<E>) -> Result<()> {
    let stage = Stage::open().await?;
    let server = Server::choosing(move |_, request| Some(clerk(dialect, request))).await;
    let (report, log) = carry_out(&stage, ModelPlanner::new(engine(&server.origin())?)).await?;
    assert_eq!(report.result, RunResult::Ok, "{report:#?}");
    assert_eq!(stage.state()["logins"], json!([{ "user": "ann", "accepted": true }]));

    // Three calls on the form and behind it; what the first one wrote was never begun.
    let calls = log.calls();
    let ends: Vec<bool> = calls.iter().map(|record| record.call.end == CallEnd::Accepted).collect();
    assert_eq!(ends, [false, true, true]);
    // What was whole of the first answer may have run before it went wrong: then its rest is planned anew.
    let steps = log.steps();
    let of_first = steps.iter().filter(|step| step.planning == Some(0)).count();
    let second = if of_first == 0 { CallPurpose::Reformulate } else { CallPurpose::Repair };
    assert_eq!(calls[1].call.purpose, second);
    assert_eq!(server.requests().len(), 3);
    assert!(!serde_json::to_string(&steps)?.contains("c999"));
    let planned: Vec<u32> = steps.iter().filter_map(|step| step.planning).collect();
    assert!(of_first <= 2);
    assert_eq!(planned[of_first..], [1, 1, 1], "each step names the call that it comes from; to finish is none");

    // Neither the key nor the password is in what is kept.
    let kept = format!("{} {}", serde_json::to_string(&calls)?, serde_json::to_string(&steps)?);
    assert!(!kept.contains(KEY) && !kept.contains("correct-horse"), "{kept}");
    Ok(())
}

#[tokio::test]
async fn ollama_logs_in_with_valid_steps_only() -> Result<()> {
    logs_in(Dialect::Ollama, |origin| Ok(Ollama::new(origin, "tiny")?)).await
}

#[tokio::test]
async fn openai_logs_in_with_valid_steps_only() -> Result<()> {
    let engine = |origin: &str| Ok(OpenAi::new(&format!("{origin}/v1"), "tiny")?.with_key(Secret::new(KEY))?);
    logs_in(Dialect::OpenAi, engine).await
}

#[tokio::test]
async fn anthropic_logs_in_with_valid_steps_only() -> Result<()> {
    let engine = |origin: &str| Ok(Anthropic::new(origin, "tiny")?.with_key(Secret::new(KEY))?);
    logs_in(Dialect::Anthropic, engine).await
}

#[tokio::test]
async fn a_model_that_writes_no_plan_at_all_touches_nothing() -> Result<()> {
    let dialect = Dialect::OpenAi;
    let stage = Stage::open().await?;
    let wrong = dialect.plan(&[json!({ "type": "click", "targetRef": "c999" })]);
    let cases = [
        (vec![dialect.saying(&wrong)], CallEnd::Invalid { violations: Vec::new() }),
        (vec![dialect.saying(&ScriptedReply::text("I click on Log in."))], CallEnd::Invalid { violations: Vec::new() }),
        (vec![dialect.error(401, "invalid key")], CallEnd::Failed { code: String::new(), message: String::new() }),
    ];
    for (plays, kind) in cases {
        let server = Server::playing(plays).await;
        let planner = ModelPlanner::new(OpenAi::new(&format!("{}/v1", server.origin()), "tiny")?);
        let (report, log) = carry_out(&stage, planner).await?;
        let error = report.error.clone().context("expected an error")?;
        match kind {
            CallEnd::Invalid { .. } => {
                assert_eq!((report.result, error.code), (RunResult::Failed, ErrorCode::InvalidPlan), "{report:#?}");
                assert!(!error.violations.is_empty());
            }
            _ => assert_eq!(report.result, RunResult::Error, "{report:#?}"),
        }
        let calls = log.calls();
        ensure!(!calls.is_empty(), "calls that failed are kept as well");
        for record in &calls {
            let end = std::mem::discriminant(&record.call.end);
            assert_eq!(end, std::mem::discriminant(&kind), "{:?}", record.call.end);
        }
        // Nothing ran but the visit of the page.
        assert!(log.steps().iter().all(|step| step.planning.is_none()), "{:#?}", log.steps());
        assert_eq!(stage.state()["logins"], json!([]));
    }
    Ok(())
}

/// Five steps at 50 tokens a second; the third one is never whole.
#[tokio::test]
async fn the_first_step_runs_before_the_third_is_written() -> Result<()> {
    let stage = Stage::open().await?;
    let dialect = Dialect::OpenAi;
    let server = Server::choosing(move |_, request| {
        let email = listed(&prompt(request), "textbox \"Email\"")?;
        let step = |text: &str| json!({ "type": "setValue", "targetRef": email, "value": text });
        let steps: Vec<Value> = ["a@b.test", "b@b.test", "c@b.test", "d@b.test", "e@b.test"].map(step).into();
        let written = plan_text_up_to(&steps, "c@b.t");
        let events = dialect.events(&ScriptedReply::text(&written).ending(End::Unsaid));
        Some(dialect.opening().parts(events).dripping(Duration::from_millis(20)).hold())
    })
    .await;
    let engine = OpenAi::new(&format!("{}/v1", server.origin()), "tiny")?.with_key(Secret::new(KEY))?;
    let log = MemoryLog::default();
    let run = carry_out_in(&stage, ModelPlanner::new(engine), log.clone());
    let planned = || log.steps().iter().any(|step| step.plan_index == Some(0) && step.planning == Some(0));
    let ran = async {
        while !planned() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        ended = run => ensure!(false, "expected the run to go on, saw {ended:?}"),
        waited = tokio::time::timeout(Duration::from_secs(60), ran) => waited?,
    }
    assert!(!server.requests()[0].hung_up, "the answer is still open");
    assert!(log.calls().is_empty(), "its call has not ended");
    Ok(())
}

/// The text of a plan until it says `end`.
fn plan_text_up_to(steps: &[Value], end: &str) -> String {
    let text = json!({ "version": "1.0", "steps": steps }).to_string();
    text.split(end).next().unwrap_or_default().to_owned()
}
