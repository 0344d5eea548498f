//! `cuebook check`: a plan without a browser.

use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft, Violation, ViolationCode};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{RunError, RunReport, RunResult};

use crate::args::{CheckArgs, Output};
use crate::commands::run::invalid_plan;
use crate::exit::{Exit, Refusal, print_json, print_text};
use crate::input;
use crate::text::plain;

pub(crate) fn run(args: &CheckArgs, output: Output) -> Exit {
    match check(args) {
        Ok(steps) => {
            if output.json {
                let error = RunError::default();
                let report = RunReport { error: None, ..RunReport::without_run(RunResult::Ok, error) };
                print_json(&report);
            } else if !output.quiet {
                print_text(&format!("ok: a plan of {steps} steps\n"));
            }
            Exit::OK
        }
        Err(refusal) => refusal.tell(output),
    }
}

fn check(args: &CheckArgs) -> Result<usize, Refusal> {
    let author = if args.model { Author::Model } else { Author::Operator };
    let draft = PlanDraft::read(&input::text(&args.plan)?, author).map_err(invalid_plan)?;
    let observation = match &args.observation {
        Some(path) => serde_json::from_str(&input::text(path)?).map_err(|error| {
            let shown = plain(&path.display().to_string());
            Refusal::invalid("malformed", format!("expected an observation in {shown}: {}", plain(&error.to_string())))
        })?,
        None => Observation::blank(PageId::new("none"), args.url.as_deref().unwrap_or("about:blank")),
    };
    let mut policy = Policy::new(args.profile.into());
    if let Some(url) = &args.url {
        policy = policy.starting_at(url).map_err(|error| Refusal::invalid("invalidUrl", error.to_string()))?;
    }
    if let Some(path) = &args.policy {
        policy = input::policy(path, policy)?;
    }
    for entry in &args.allow {
        policy = policy.allowing(entry).map_err(|error| Refusal::invalid("invalidPolicy", error.to_string()))?;
    }
    match draft.check(&observation, &policy) {
        Ok(plan) => Ok(plan.steps().len()),
        Err(violations) => Err(refused(violations)),
    }
}

/// What only the policy forbids is blocked; the rest is invalid.
fn refused(violations: Vec<Violation>) -> Refusal {
    let blocked = violations.iter().all(|violation| violation.code == ViolationCode::PolicyBlocked);
    let refusal = invalid_plan(violations);
    if blocked { Refusal { result: RunResult::Blocked, ..refusal } } else { refusal }
}
