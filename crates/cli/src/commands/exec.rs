//! `cuebook exec`: a plan from a file.

use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_repair::{NoPlanner, Sight, Work};

use crate::args::ExecArgs;
use crate::commands::run::invalid_plan;
use crate::compose::{self, Job, Telling};
use crate::exit::{Exit, Output};
use crate::input;
use crate::planner::AnyPlanner;

pub(crate) async fn run(args: ExecArgs, output: Output) -> Exit {
    let draft = input::text(&args.plan).and_then(|text| PlanDraft::read(&text, Author::Operator).map_err(invalid_plan));
    let draft = match draft {
        Ok(draft) => draft,
        Err(refusal) => return refusal.tell(output),
    };
    let mut options = args.options;
    compose::fit_viewport(&mut options.browser, &draft);
    let job = Job {
        work: Work::Plan(Box::new(draft)),
        planner: AnyPlanner::plain(NoPlanner),
        url: args.url,
        plan_timeout: None,
        telling: Telling::Steps,
        sight: Sight::Words,
        wait_for: None,
    };
    compose::run(job, &options, output).await
}
