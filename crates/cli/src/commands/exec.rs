//! `cuebook exec`: a plan from a file.

use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_repair::{NoPlanner, Sight, Work};

use crate::args::ExecArgs;
use crate::browser::fit_viewport;
use crate::compose::{self, Job};
use crate::exit::{Exit, Output, Refusal};
use crate::input;
use crate::planner::AnyPlanner;

pub(crate) async fn run(args: ExecArgs, output: Output) -> Exit {
    let draft =
        input::text(&args.plan).and_then(|text| PlanDraft::read(&text, Author::Operator).map_err(Refusal::from));
    let draft = match draft {
        Ok(draft) => draft,
        Err(refusal) => return refusal.print(output),
    };
    let mut options = args.options;
    fit_viewport(&mut options.browser, &draft);
    let job = Job {
        work: Work::Plan(Box::new(draft)),
        planner: AnyPlanner::plain(NoPlanner),
        url: args.url,
        plan_timeout: None,
        explain: false,
        sight: Sight::Words,
        wait_for: None,
    };
    compose::run(job, &options, output).await
}
