//! `cuebook run`: a task in words.

use cuebook::Engine;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::report::ErrorCode;
use cuebook_planner::Scripted;
use cuebook_repair::{Recall, Work};

use crate::args::RunArgs;
use crate::browser::fit_viewport;
use crate::commands::dry_run;
use crate::compose::{self, Job};
use crate::engines;
use crate::exit::{Exit, Output, Refusal};
use crate::input;
use crate::planner::AnyPlanner;

pub(crate) async fn run(mut args: RunArgs, output: Output) -> Exit {
    let prepared = compose::secrets(&args.options, Some(&args.url));
    let prepared = prepared.and_then(|secrets| Ok((planner(&mut args, secrets.names())?, secrets)));
    let (planner, secrets) = match prepared {
        Ok(prepared) => prepared,
        Err(refusal) => return refusal.print(output),
    };
    if args.task.trim().is_empty() {
        return Refusal::invalid(ErrorCode::EmptyTask, "the task is empty").print(output);
    }
    if args.dry_run {
        return dry_run::run(&args, &planner, output).await;
    }
    let job = Job {
        work: Work::Task(args.task),
        planner,
        secrets,
        url: Some(args.url),
        plan_timeout: Some(args.engine.plan_timeout),
        explain: args.explain,
        sight: args.engine.sight(),
        wait_for: args.wait_for,
        recall: Recall::default(),
        fixtures: None,
    };
    compose::run(job, &args.options, output).await
}

fn planner(args: &mut RunArgs, credentials: Vec<String>) -> Result<AnyPlanner, Refusal> {
    if args.engine.vision && !args.planner.has_model() {
        let message = format!("--vision needs a planner with a model, and `{}` has none", args.planner.as_str());
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    match (args.planner, &args.plan) {
        (Engine::Scripted, Some(path)) => {
            let draft = PlanDraft::read(&input::text(path)?, Author::Operator)?;
            fit_viewport(&mut args.options.browser, &draft);
            Ok(AnyPlanner::plain(Scripted::new(draft)))
        }
        (engine, _) => engines::planner(engine, &args.engine, credentials),
    }
}
