//! `cuebook exec`: a plan from a file.

use cuebook_datalayer::RunDir;
use cuebook_datalayer::traffic::FixtureRules;
use cuebook_grammar::plan::Author;

use crate::args::ExecArgs;
use crate::browser::fit_viewport;
use crate::commands::replay::unreadable;
use crate::compose::{self, Job};
use crate::engines;
use crate::exit::{Exit, Output};
use crate::input;

pub(crate) async fn run(args: ExecArgs, output: Output) -> Exit {
    let draft = match input::plan(&args.plan, Author::Operator) {
        Ok(draft) => draft,
        Err(refusal) => return refusal.print(output),
    };
    let mut options = args.options;
    fit_viewport(&mut options.browser, &draft);
    let secrets = match compose::secrets(&options, args.url.as_deref()) {
        Ok(secrets) => secrets,
        Err(refusal) => return refusal.print(output),
    };
    let planner = match &args.repair_planner {
        None => None,
        Some(arg) => match engines::planner(arg, args.calls.as_deref(), &args.engine, secrets.names(), output).await {
            Ok(planner) => Some(planner),
            Err(refusal) => return refusal.print(output),
        },
    };
    let mut job = Job::plan(draft, secrets, args.url);
    if let Some(planner) = planner {
        job.planner = planner;
        job.planned_repairs = compose::planned_repairs(&options);
        job.plan_timeout = Some(args.engine.plan_timeout);
        job.sight = args.engine.sight();
    }
    if let Some(folder) = &args.fixtures {
        match RunDir::open(folder) {
            Ok(dir) => job.fixtures = Some((dir, FixtureRules::default())),
            Err(error) => return unreadable(&error).print(output),
        }
    }
    compose::run(job, &options, output).await
}
