//! The suite of the built-in site through `cuebook mcp --http`: twenty agents at once, each in a session of its own, with the
//! server of each as its judge.
//!
//! The agents know what a client of the protocol knows: the text of the answers. What they do comes from the planner
//! `oracle`, which gets the page as the last snapshot shows it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_eval::{Assignment, BoxError, EvalResults, Options, Oracle, Outcome, Quiet, Subject, Subjects, Suite, run};
use cuebook_grammar::action::Action;
use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, TextKind, TextLine, TextPart};
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, RunError, RunReport, RunResult};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{HistoryEntry, IgnoreSteps, PlanRequest, PlannedStep, Planner as _};
use cuebook_tests::{HttpClient, HttpServer, ToolResult, cuebook};
use serde_json::{Value, json};

/// Agents that work at once.
const AGENTS: usize = 20;
/// Plans of an episode.
const PLANS: u32 = 20;

/// Clients of one server.
struct Clients<'s> {
    server: &'s HttpServer,
    begun: AtomicUsize,
}

/// A client with a session of its own, and what it is to do.
struct Agent<'s> {
    client: HttpClient<'s>,
    session: String,
    oracle: Oracle,
    allow: Vec<String>,
}

impl<'s> Subjects for Clients<'s> {
    type Subject = Agent<'s>;

    async fn subject(&self, assignment: &Assignment) -> Result<Agent<'s>, BoxError> {
        let script = assignment.script.clone().ok_or("the suite does not say how the task is done")?;
        Ok(Agent {
            client: HttpClient::of(self.server).await?,
            session: format!("agent-{}", self.begun.fetch_add(1, Ordering::Relaxed)),
            oracle: Oracle::new(script).knowing(&assignment.suite.alike),
            allow: assignment.allow.clone(),
        })
    }
}

impl Agent<'_> {
    /// Calls a tool in the session, and allows what is asked.
    async fn call(&self, tool: &str, mut arguments: Value) -> Result<ToolResult> {
        arguments["session"] = json!(self.session);
        let mut answer = self.client.call(tool, arguments).await?;
        while let Some((_, rest)) = answer.text.split_once("then answer question ") {
            let id: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            let allowed = json!({ "id": id, "decision": "allow", "session": self.session });
            answer = self.client.call("browser_confirm", allowed).await?;
        }
        Ok(answer)
    }

    async fn work(&self, instruction: &str) -> Result<RunReport> {
        let policy = Policy::default();
        let (mut history, mut state): (Vec<HistoryEntry>, Option<Value>) = (Vec::new(), None);
        for plan in 0..PLANS {
            let page = observed(&self.call("browser_snapshot", json!({})).await?.text)?;
            let request = PlanRequest {
                history: &history,
                plan,
                state: state.as_ref(),
                ..PlanRequest::new(instruction, &page, &policy)
            };
            let deadline = Deadline::after(Instant::now(), Duration::from_secs(1));
            let reply = self.oracle.plan(&request, &mut IgnoreSteps, deadline).await?;
            let draft = reply.drafts.into_iter().next().with_context(|| format!("no plan: {:?}", reply.note))?;
            state = reply.state;
            match draft.steps.first().map(|step| &step.action) {
                Some(Action::Finish(finish)) => {
                    let answer = finish.result.as_ref().map(ToString::to_string);
                    return Ok(RunReport { answer, ..RunReport::without_run(RunResult::Ok, None) });
                }
                Some(Action::Fail(fail)) => return Ok(failed(fail.reason.to_string())),
                _ => {}
            }
            let ran = self.call("browser_run_plan", json!({ "plan": { "steps": draft.steps } })).await?;
            let results = section(&ran.text, "Result");
            let done = results.lines().map(steps_of).sum();
            let data = results.find("\n{").and_then(|at| serde_json::from_str(&results[at..]).ok());
            for (index, step) in draft.steps.iter().enumerate().take(done) {
                let planned = Some(PlannedStep { plan, step: u32::try_from(index)? });
                let data = if index + 1 == done { data.clone() } else { None };
                history.push(HistoryEntry { planned, data, ..HistoryEntry::of(step.clone()) });
            }
            if ran.is_error && !is_unsent(&ran.text) {
                return Ok(failed(section(&ran.text, "Error").to_owned()));
            }
        }
        Ok(failed(format!("not done after {PLANS} plans")))
    }
}

impl Subject for Agent<'_> {
    async fn open(&mut self, url: &str) -> Result<(), BoxError> {
        // What is opened may be acted on: so the other origins of the task are.
        for url in self.allow.iter().map(String::as_str).chain([url]) {
            let opened = self.call("browser_navigate", json!({ "url": url })).await?;
            if opened.is_error {
                return Err(opened.text.into());
            }
        }
        Ok(())
    }

    async fn run(&mut self, instruction: &str) -> RunReport {
        self.work(instruction).await.unwrap_or_else(|error| failed(error.to_string()))
    }

    async fn follow(&mut self, plan: PlanDraft) -> RunReport {
        match self.call("browser_run_plan", json!({ "plan": plan })).await {
            Ok(ran) if !ran.is_error => RunReport::without_run(RunResult::Ok, None),
            Ok(ran) => failed(ran.text),
            Err(error) => failed(error.to_string()),
        }
    }

    async fn close(self) -> Result<(), BoxError> {
        let closed = self.call("browser_close", json!({})).await?;
        if !closed.text.contains("log: ") {
            return Err(format!("the session was not open: {}", closed.text).into());
        }
        Ok(self.client.leave().await?)
    }
}

fn failed(why: String) -> RunReport {
    RunReport::without_run(RunResult::Failed, Some(RunError::new(ErrorCode::TaskFailed, why)))
}

/// The text of a section of an answer.
fn section<'a>(answer: &'a str, title: &str) -> &'a str {
    let begin = format!("### {title}\n");
    let after = answer.split_once(&begin).map_or("", |(_, after)| after);
    after.split("\n### ").next().unwrap_or_default()
}

/// The steps of the plan that a line says were done: several of one verb are listed by their ids alone.
fn steps_of(line: &str) -> usize {
    if !(line.starts_with("ok") || line.starts_with("no effect")) || line.contains(" (repair)") {
        return 0;
    }
    line.splitn(3, ' ').nth(2).filter(|rest| rest.starts_with('[')).map_or(1, |ids| ids.split(' ').count())
}

/// Returns `true` if the step that failed sent no input.
fn is_unsent(answer: &str) -> bool {
    let causes = ["targetNotFound", "targetStale", "targetOccluded", "targetNotVisible", "is no candidate"];
    causes.iter().any(|cause| answer.contains(cause))
}

/// The page as a snapshot shows it.
fn observed(answer: &str) -> Result<Observation> {
    let shown = section(answer, "Snapshot");
    let mut candidates: Vec<Candidate> = Vec::new();
    for line in shown.lines() {
        let mut one = candidate(line);
        if let Some(context) = one.as_ref().and_then(|one| one["context"].as_str()) {
            let of_other = || {
                let (kind, id) = context.split_once(" of ")?;
                let other = candidates.iter().find(|other| other.id.to_string() == id)?;
                Some(format!("{kind}: {}", other.name))
            };
            let last = || candidates.last()?.context.clone();
            let meant = if context == "same" { last() } else { of_other() };
            if let (Some(meant), Some(one)) = (meant, &mut one) {
                one["context"] = json!(meant);
            }
        }
        let beside = one.as_ref().map(|_| beside(line)).unwrap_or_default();
        for one in one.map_or_else(|| in_text(line), |one| vec![one]).into_iter().chain(beside) {
            candidates.push(serde_json::from_value(one)?);
        }
    }
    ensure!(!shown.is_empty(), "no snapshot: {answer}");
    let line = |line: &str| TextLine {
        kind: TextKind::Text,
        level: 0,
        cells: vec![vec![TextPart::Text(line.to_owned())]],
        more: 0,
        before: None,
        frame: 0,
        placement: Placement::InView,
        behind: false,
    };
    let texts = shown.lines().map(line).collect();
    Ok(Observation { candidates: candidates.into(), texts, ..Observation::blank(PageId::new("page"), "about:blank") })
}

/// The candidates beside the first of a line: `- link "Home" [c1], "Shop" [c2]`.
fn beside(line: &str) -> Vec<Value> {
    let role = line.trim_start().trim_start_matches("- ").split(' ').next().unwrap_or_default();
    let others =
        line.match_indices("], \"").filter_map(|(at, _)| candidate(&format!("- {role} {}", line.get(at + 3..)?)));
    others.collect()
}

/// The candidates of a line of text, with what it says as their context: `row "Anna" | button "Edit" [c4]`.
fn in_text(line: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut said = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(one) = candidate(&format!("- {rest}")) {
            rest = rest.split_once(']').map_or("", |(_, after)| after);
            found.push(one);
        } else if let Some((words, after)) = text(rest) {
            said.push(words);
            rest = after.trim_start();
        } else {
            rest = rest.split_once(' ').map_or("", |(_, after)| after);
        }
    }
    let row = json!(format!("row: {}", said.join(" ")));
    for one in found.iter_mut().filter(|one| one["context"].is_null()) {
        one["context"] = row.clone();
    }
    found
}

/// `- button "Save" [c2] (row: Anna)`, or `- textbox ("Note") [c3]`.
fn candidate(line: &str) -> Option<Value> {
    let (role, rest) = line.trim_start().strip_prefix("- ")?.split_once(' ')?;
    Role::parse(role)?;
    let (label, rest) = match rest.strip_prefix('(') {
        Some(rest) => {
            let (label, rest) = text(rest)?;
            (Some(label), rest.strip_prefix(") ")?)
        }
        None => (None, rest),
    };
    let (name, rest) = text(rest).map_or_else(|| (String::new(), rest), |(name, rest)| (name, rest.trim_start()));
    let (id, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let context = rest.strip_prefix(" (").and_then(|rest| rest.split_once(')')).map(|(context, _)| context);
    let description = rest.split_once(" description=").and_then(|(_, rest)| text(rest)).map(|(text, _)| text);
    let fingerprint = json!({ "role": role, "name": name, "path": "" });
    let texts = json!({ "label": label, "context": context, "description": description });
    let mut one = json!({ "id": id, "role": role, "name": name, "fingerprint": fingerprint });
    one.as_object_mut()?.extend(texts.as_object()?.clone());
    Some(one)
}

/// A quoted text at the beginning, and the rest.
fn text(from: &str) -> Option<(String, &str)> {
    let mut all = serde_json::Deserializer::from_str(from).into_iter::<String>();
    let text = all.next()?.ok()?;
    Some((text, &from[all.byte_offset()..]))
}

/// Results of the tasks of the suite through one server.
fn through_mcp(tasks: impl Fn(usize) -> bool) -> Result<EvalResults> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("runs").display().to_string();
    // With twenty at once, a step takes its time.
    let server = HttpServer::start(&["--out", &out, "--timeout", "60s"], folder.path())?;
    let mut suite = Suite::built_in("site")?;
    suite.tasks = suite.tasks.iter().enumerate().filter(|(at, _)| tasks(*at)).map(|(_, task)| task.clone()).collect();
    let mut options = Options::default();
    (options.seeds, options.jobs) = (0..1, AGENTS);
    let clients = Clients { server: &server, begun: AtomicUsize::new(0) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(runtime.block_on(run(&clients, &[suite], &options, &Quiet))?)
}

/// The outcomes by task, and the changes that nobody wanted.
fn outcomes(results: &EvalResults) -> BTreeMap<&str, (Outcome, &[String])> {
    results.episodes.iter().map(|one| (one.task.as_str(), (one.outcome, one.unwanted.as_slice()))).collect()
}

#[test]
fn agents_that_work_at_once_do_a_part_of_the_suite_without_crosstalk() -> Result<()> {
    let results = through_mcp(|at| at % 8 == 0)?;
    ensure!(results.episodes.len() > AGENTS / 2, "{}", results.episodes.len());
    assert_eq!(results.failures_to_markdown(), "Every episode was solved.\n", "{}", results.summary().to_markdown());
    Ok(())
}

#[test]
fn twenty_agents_at_once_do_the_suite_as_it_is_done_without_mcp() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("out").display().to_string();
    let ended = cuebook(&["eval", "--seeds", "0..1", "--jobs", "2", "--out", &out, "--json"])?;
    ensure!(ended.code == 0, "{ended:?}");
    let without = EvalResults::read([Path::new(&out)])?;
    let with = through_mcp(|_| true)?;
    assert_eq!(outcomes(&with), outcomes(&without), "{}", with.failures_to_markdown());
    Ok(())
}
