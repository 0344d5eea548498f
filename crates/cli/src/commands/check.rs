//! `cuebook check`: checks a plan without a browser.

use cuebook_grammar::plan::{Author, ViolationCode, Violations};
use cuebook_grammar::report::{RunReport, RunResult};

use crate::args::CheckArgs;
use crate::compose::secrets_in;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::ground::ground;
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
        Err(refusal) => refusal.print(output),
    }
}

fn check(args: &CheckArgs) -> Result<usize, Refusal> {
    let author = if args.model { Author::Model } else { Author::Operator };
    let draft = input::plan(&args.plan, author)?;
    if args.ground.observation.is_none() {
        draft.without_observation()?;
    }
    let (observation, policy) = ground(&args.ground)?;
    let policy = secrets_in(args.secrets.as_deref(), Some(&observation.url))?.bind(policy);
    match draft.check(&observation, &policy) {
        Ok(plan) => Ok(plan.steps().len()),
        Err(violations) => Err(refused(violations)),
    }
}

/// A plan that violates only the policy is blocked; any other one is invalid.
fn refused(violations: Violations) -> Refusal {
    let blocked = violations.iter().all(|violation| violation.code == ViolationCode::PolicyBlocked);
    let refusal = Refusal::from(violations);
    if blocked { Refusal { result: RunResult::Blocked, ..refusal } } else { refusal }
}
