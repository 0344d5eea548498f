//! `cuebook run`: a task in words.

use cuebook::Engine;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::report::ErrorCode;
use cuebook_planner::Scripted;
use cuebook_repair::{Recall, Work};

use crate::args::{PlannerArg, RunArgs};
use crate::browser::fit_viewport;
use crate::commands::dry_run;
use crate::compose::{self, Job};
use crate::engines;
use crate::exit::{Exit, Output, Refusal};
use crate::input;
use crate::planner::AnyPlanner;

pub(crate) async fn run(mut args: RunArgs, output: Output) -> Exit {
    if args.task.trim().is_empty() {
        return Refusal::invalid(ErrorCode::EmptyTask, "the task is empty").print(output);
    }
    let secrets = match compose::secrets(&args.options, Some(&args.url)) {
        Ok(secrets) => secrets,
        Err(refusal) => return refusal.print(output),
    };
    let planner = match planner(&mut args, secrets.names(), output).await {
        Ok(planner) => planner,
        Err(refusal) => return refusal.print(output),
    };
    if args.dry_run {
        return dry_run::run(&args, &planner, output).await;
    }
    let job = Job {
        work: Work::Task(args.task),
        planner,
        secrets,
        url: Some(args.url),
        planned_repairs: 0,
        plan_timeout: Some(args.engine.plan_timeout),
        explain: args.explain,
        sight: args.engine.sight(),
        wait_for: args.wait_for,
        recall: Recall::default(),
        fixtures: None,
    };
    compose::run(job, &args.options, output).await
}

async fn planner(args: &mut RunArgs, credentials: Vec<String>, output: Output) -> Result<AnyPlanner, Refusal> {
    match (&args.planner, &args.plan) {
        (PlannerArg::Of(Engine::Scripted), Some(path)) if !args.engine.vision => {
            let draft = PlanDraft::read(&input::text(path)?, Author::Operator)?;
            fit_viewport(&mut args.options.browser, &draft);
            Ok(AnyPlanner::plain(Scripted::new(draft)))
        }
        (arg, _) => engines::planner(arg, args.calls.as_deref(), &args.engine, credentials, output).await,
    }
}
