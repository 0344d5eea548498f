//! `cuebook run --dry-run`: plans for the real page and checks the plan, without running it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook::{Live, Tab};
use cuebook_datalayer::ValueRedactor;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::{Plan, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{ErrorCode, REPORT_VERSION, RunError, RunResult, Usage};
use cuebook_grammar::seam::{IgnoreSteps, PlanReply, PlanRequest, Planner as _};
use cuebook_grammar::secret::DigestKey;

use serde::Serialize;

use crate::args::RunArgs;
use crate::browser::{close_tab, open_contained};
use crate::compose::digest_key;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::explain::{ExplainedStep, explained, lines};
use crate::ground;
use crate::interrupt::Signals;
use crate::opening;
use crate::planner::{AnyPlanner, NoAnswer};
use crate::progress::{self, counted};
use crate::text::{plain, with_sources};

/// Time limit for opening and observing the page, unless `--timeout` sets one.
const OPENING: Duration = Duration::from_secs(30);

/// Document that `--json` prints for a dry run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DryRun<'a> {
    schema_version: &'static str,
    dry_run: bool,
    result: RunResult,
    error: Option<RunError>,
    url: &'a str,
    candidates: usize,
    note: Option<&'a str>,
    steps: Vec<ExplainedStep>,
    usage: Usage,
}

pub(crate) async fn run(args: &RunArgs, task: &str, planner: &AnyPlanner, output: Output) -> Exit {
    match plan(args, task, planner).await {
        Ok(planned) => planned.print(output),
        Err(refusal) => refusal.print(output),
    }
}

/// A plan, and the page it was made for.
struct Planned {
    observation: Observation,
    reply: PlanReply,
    checked: Result<Plan, Refusal>,
    key: DigestKey,
}

async fn plan(args: &RunArgs, task: &str, planner: &AnyPlanner) -> Result<Planned, Refusal> {
    let policy = ground::policy(&args.options.session.policy, &args.options.session.grant, Some(&args.url))?;
    let key = digest_key()?;
    let mut signals = Signals::listen();
    let tab = signals.guard(open_contained(&args.options.session, policy.clone())).await?;
    let planned = signals.guard(plan_on(&tab, args, task, planner, &policy, key)).await;
    close_tab(tab).await;
    planned
}

async fn plan_on(
    tab: &Tab,
    args: &RunArgs,
    task: &str,
    planner: &AnyPlanner,
    policy: &Policy,
    key: DigestKey,
) -> Result<Planned, Refusal> {
    let opening = Deadline::after(Instant::now(), args.options.session.timeout.unwrap_or(OPENING));
    let live = Live::on(tab, key.clone(), Arc::new(ValueRedactor::default()));
    opening::open(tab, &live, Some(&args.url), policy, args.wait_for.as_ref(), opening).await?;
    let mut modeler = opening::modeler(&live);
    let mut observation = opening::observe(&mut modeler, tab, Scope::View, opening).await?;
    opening::read(&mut modeler, &mut observation, opening).await;
    let images = match args.engine.sight().pictured(&observation, false) {
        Some(shown) => opening::picture(&mut modeler, &shown, opening).await,
        None => Vec::new(),
    };
    let request = PlanRequest { images: &images, ..PlanRequest::new(task, &observation, policy) };
    let planning = Deadline::after(Instant::now(), args.engine.plan_timeout);
    let reply = planner.plan(&request, &mut IgnoreSteps, planning).await.map_err(unanswered)?;
    let checked = match reply.drafts.first() {
        Some(draft) => draft.check(&observation, policy).map_err(Refusal::from),
        None => Err(no_plan(&reply)),
    };
    Ok(Planned { observation, reply, checked, key })
}

fn unanswered(error: NoAnswer) -> Refusal {
    let mut refusal = Refusal::unusable(ErrorCode::PlannerUnavailable, with_sources(&error));
    refusal.error.violations = error.violations().to_vec();
    refusal
}

fn no_plan(reply: &PlanReply) -> Refusal {
    let message = reply.note.as_deref().unwrap_or("the planner has no plan for this page");
    let error = RunError { code: ErrorCode::NoPlan, message: plain(message), violations: Vec::new() };
    Refusal { result: RunResult::Failed, error }
}

impl Planned {
    fn print(self, output: Output) -> Exit {
        let steps =
            self.checked.as_ref().map_or_else(|_| Vec::new(), |plan| explained(plan, &self.observation, &self.key));
        let note = self.reply.note.as_deref().filter(|note| !note.is_empty());
        if !output.json {
            let url = plain(&self.observation.url);
            let mut text = format!("{} for {url}; nothing was carried out\n", title(self.reply.drafts.first()));
            for line in note.into_iter().flat_map(str::lines) {
                text.push_str(&format!("  {}\n", plain(line)));
            }
            for step in &steps {
                for line in lines(step) {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
            print_text(&text);
        }
        let (result, error) = match self.checked {
            Ok(_) => (RunResult::Ok, None),
            Err(Refusal { result, error }) => (result, Some(error)),
        };
        if let Some(error) = &error {
            progress::say(&format!("error: {}", error.message));
            progress::say_violations(&error.violations);
        }
        if output.json {
            print_json(&DryRun {
                schema_version: REPORT_VERSION,
                dry_run: true,
                result,
                error,
                url: &self.observation.url,
                candidates: self.observation.candidates.len(),
                note,
                steps,
                usage: self.reply.usage,
            });
        }
        Exit::of(result)
    }
}

fn title(draft: Option<&PlanDraft>) -> String {
    draft.map_or_else(|| "no plan".to_owned(), |draft| format!("a plan of {}", counted(draft.steps.len(), "step")))
}
