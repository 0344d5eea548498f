//! `cuebook exec`: a plan from a file.

use cuebook_datalayer::RunDir;
use cuebook_datalayer::traffic::FixtureRules;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::report::ErrorCode;

use crate::args::ExecArgs;
use crate::browser::fit_viewport;
use crate::commands::replay::unreadable;
use crate::compose::{self, Job};
use crate::engines;
use crate::exit::{Exit, Output, Refusal};
use crate::ground;
use crate::input;

pub(crate) async fn run(args: ExecArgs, output: Output) -> Exit {
    let (draft, observed) = match given(&args) {
        Ok(given) => given,
        Err(refusal) => return refusal.print(output),
    };
    let mut options = args.options;
    let opens_observed = options.session.browser.tab.is_none();
    let url = args.url.or_else(|| Some(observed.as_ref().filter(|_| opens_observed)?.url.clone()));
    fit_viewport(&mut options.session.browser, &draft);
    let secrets = match compose::secrets(&options.session, url.as_deref()) {
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
    let mut job = Job::plan(draft, secrets, url);
    job.observed = observed.map(Box::new);
    job.plan = args.plan.file_name().filter(|name| *name != "-").map(|name| name.to_string_lossy().into_owned());
    job.watch = args.watch.watch.then_some(args.watch);
    if let Some(planner) = planner {
        job.planner = planner;
        job.planned_repairs = compose::planned_repairs(&options);
        job.fills = if args.fill_by_model { compose::FILLS } else { 0 };
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

/// The plan, and the observation that it was written for. Without one, a plan names no ids.
fn given(args: &ExecArgs) -> Result<(PlanDraft, Option<Observation>), Refusal> {
    if args.observation.as_ref() == Some(&args.plan) && args.plan.as_os_str() == "-" {
        let message = "the plan and the observation cannot both be read from standard input";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    let draft = input::plan(&args.plan, Author::Operator)?;
    let observed = args.observation.as_deref().map(ground::observation).transpose()?;
    if observed.is_none() {
        draft.without_observation()?;
    }
    Ok((draft, observed))
}
