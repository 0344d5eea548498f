//! `cuebook run`: a task in words, or a goal in conditions.

use std::path::Path;

use cuebook::Engine;
use cuebook_datalayer::{DataError, KnownPlans, Run, RunDir};
use cuebook_grammar::plan::Author;
use cuebook_grammar::report::ErrorCode;
use cuebook_planner::Scripted;
use cuebook_planner::goal::{Goal, GoalPlanner, Learned, Ranked};

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

/// The most runs that are read for what controls did: the last ones.
const KNOWN_RUNS: usize = 500;

pub(crate) async fn run(args: RunArgs, output: Output) -> Exit {
    match begin(args, output).await {
        Ok(exit) => exit,
        Err(refusal) => refusal.print(output),
    }
}

async fn begin(mut args: RunArgs, output: Output) -> Result<Exit, Refusal> {
    let goal = args.goal.as_deref().map(goal).transpose()?;
    let task = goal.as_ref().map(Goal::in_words).or_else(|| args.task.clone()).unwrap_or_default();
    if task.trim().is_empty() {
        return Err(Refusal::invalid(ErrorCode::EmptyTask, "the task is empty"));
    }
    let secrets = compose::secrets(&args.options.session, Some(&args.url))?;
    let (planner, known_plans) = match goal {
        None => {
            let planner = planner(&mut args, secrets.names(), output).await?;
            if args.dry_run {
                return Ok(dry_run::run(&args, &task, &planner, output).await);
            }
            let mut known = KnownPlans::default();
            if let Some(runs) = args.known_plans.as_deref() {
                for (dir, error) in known.add_indexed(runs).map_err(unreadable)? {
                    left_out(&dir, &error);
                }
            }
            (planner, known)
        }
        Some(goal) => {
            let mut learned = Learned::default();
            earlier_runs(args.known_plans.as_deref(), |dir| {
                learned.add(&Run::read(&dir.log_path())?.steps);
                Ok(())
            })?;
            let search = GoalPlanner::new(goal).knowing(learned);
            let planner = match &args.planner {
                // Nothing is detected: a search alone needs no model.
                PlannerArg::Auto => AnyPlanner::plain(search),
                _ => AnyPlanner::plain(Ranked::new(search, planner(&mut args, secrets.names(), output).await?)),
            };
            (planner, KnownPlans::default())
        }
    };
    let job = Job {
        planned_repairs: if planner.mends { compose::planned_repairs(&args.options) } else { 0 },
        fills: if args.fill_by_model { compose::FILLS } else { 0 },
        explain: args.explain,
        wait_for: args.wait_for,
        known_plans,
        watch: args.watch.watch.then(|| args.watch.clone()),
        ..Job::task(task, planner, secrets, args.url, &args.engine)
    };
    Ok(compose::run(job, &args.options, output).await)
}

fn goal(path: &Path) -> Result<Goal, Refusal> {
    let shown = plain(&path.display().to_string());
    Goal::read(&input::text(path)?)
        .map_err(|error| Refusal::invalid(ErrorCode::Malformed, format!("{shown}: {}", plain(&error.to_string()))))
}

/// Reads the last runs in a directory, if one is named. A run that cannot be read is left out, and said.
fn earlier_runs(runs: Option<&Path>, mut read: impl FnMut(&RunDir) -> Result<(), DataError>) -> Result<(), Refusal> {
    let Some(runs) = runs else { return Ok(()) };
    let found = RunDir::find(&[runs.to_owned()]).map_err(unreadable)?;
    for dir in found.iter().rev().take(KNOWN_RUNS).rev() {
        if let Err(error) = read(dir) {
            left_out(dir, &error);
        }
    }
    Ok(())
}

fn left_out(dir: &RunDir, error: &DataError) {
    let path = plain(&dir.path().display().to_string());
    progress::say(&format!("note: --known-plans leaves out {path}: {}", plain(&with_sources(error))));
}

#[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
fn unreadable(error: DataError) -> Refusal {
    Refusal::invalid(ErrorCode::Unreadable, format!("--known-plans: {}", with_sources(&error)))
}

async fn planner(args: &mut RunArgs, credentials: Vec<String>, output: Output) -> Result<AnyPlanner, Refusal> {
    match (&args.planner, &args.plan) {
        (PlannerArg::Of(Engine::Scripted), Some(path)) if !args.engine.vision => {
            let draft = input::plan(path, Author::Operator)?;
            draft.without_observation()?;
            fit_viewport(&mut args.options.session.browser, &draft);
            Ok(AnyPlanner::plain(Scripted::new(draft)))
        }
        (arg, _) => engines::planner(arg, args.calls.as_deref(), &args.engine, credentials, output).await,
    }
}
