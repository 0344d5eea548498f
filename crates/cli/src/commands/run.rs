//! `cuebook run`: a task in words.

use std::path::Path;

use cuebook::Engine;
use cuebook_datalayer::{DataError, KnownPlans, RunDir};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::report::ErrorCode;
use cuebook_planner::Scripted;

use crate::args::{PlannerArg, RunArgs};
use crate::browser::fit_viewport;
use crate::commands::dry_run;
use crate::compose::{self, Job};
use crate::engines;
use crate::exit::{Exit, Output, Refusal};
use crate::input;
use crate::planner::AnyPlanner;
use crate::progress;
use crate::text::{plain, with_sources};

/// The most runs that are read for the plans that worked: the last ones.
const KNOWN_RUNS: usize = 500;

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
    let known_plans = match args.known_plans.as_deref().map(known_plans).transpose() {
        Ok(known) => known.unwrap_or_default(),
        Err(refusal) => return refusal.print(output),
    };
    let job = Job {
        explain: args.explain,
        wait_for: args.wait_for,
        known_plans,
        ..Job::task(args.task, planner, secrets, args.url, &args.engine)
    };
    compose::run(job, &args.options, output).await
}

/// The plans of the last runs in a directory. A run that cannot be read is left out, and said.
fn known_plans(runs: &Path) -> Result<KnownPlans, Refusal> {
    let unreadable =
        |error: DataError| Refusal::invalid(ErrorCode::Unreadable, format!("--known-plans: {}", with_sources(&error)));
    let found = RunDir::find(&[runs.to_owned()]).map_err(unreadable)?;
    let mut known = KnownPlans::default();
    for dir in found.iter().rev().take(KNOWN_RUNS).rev() {
        if let Err(error) = known.add(dir) {
            let path = plain(&dir.path().display().to_string());
            progress::say(&format!("note: --known-plans leaves out {path}: {}", plain(&with_sources(&error))));
        }
    }
    Ok(known)
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
