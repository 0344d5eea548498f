//! `cuebook check`: a plan without a browser.

use cuebook_grammar::plan::{Author, PlanDraft, ViolationCode, Violations};
use cuebook_grammar::report::{RunReport, RunResult};

use crate::args::CheckArgs;
use crate::commands::run::invalid_plan;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::input;
use crate::progress::counted;

pub(crate) fn run(args: &CheckArgs, output: Output) -> Exit {
    match check(args) {
        Ok(steps) => {
            if output.json {
                print_json(&RunReport::without_run(RunResult::Ok, None));
            } else if !output.quiet {
                print_text(&format!("ok: a plan of {}\n", counted(steps, "step")));
            }
            Exit::OK
        }
        Err(refusal) => refusal.tell(output),
    }
}

fn check(args: &CheckArgs) -> Result<usize, Refusal> {
    let author = if args.model { Author::Model } else { Author::Operator };
    let draft = PlanDraft::read(&input::text(&args.plan)?, author).map_err(invalid_plan)?;
    let (observation, policy) = input::ground(&args.ground)?;
    match draft.check(&observation, &policy) {
        Ok(plan) => Ok(plan.steps().len()),
        Err(violations) => Err(refused(violations)),
    }
}

/// What only the policy forbids is blocked; the rest is invalid.
fn refused(violations: Violations) -> Refusal {
    let blocked = violations.iter().all(|violation| violation.code == ViolationCode::PolicyBlocked);
    let refusal = invalid_plan(violations);
    if blocked { Refusal { result: RunResult::Blocked, ..refusal } } else { refusal }
}
