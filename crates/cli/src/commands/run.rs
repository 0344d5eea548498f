//! `cuebook run`: a task in words.

use cuebook::Engine;
use cuebook_grammar::plan::{Author, PlanDraft, Violations};
use cuebook_grammar::report::{ErrorCode, RunError, RunResult};
use cuebook_lexical::Lexical;
use cuebook_planner::Scripted;
use cuebook_repair::{Sight, Work};

use crate::args::{EngineArgs, PlannerName, RunArgs};
use crate::commands::dry_run;
use crate::compose::{self, Job, Telling};
use crate::engines;
use crate::exit::{Exit, Output, Refusal};
use crate::input;
use crate::planner::AnyPlanner;

pub(crate) async fn run(mut args: RunArgs, output: Output) -> Exit {
    let planner = match planner(&mut args) {
        Ok(planner) => planner,
        Err(refusal) => return refusal.tell(output),
    };
    if args.task.trim().is_empty() {
        return Refusal::invalid(ErrorCode::EmptyTask, "expected a task in words, saw nothing").tell(output);
    }
    if args.dry_run {
        return dry_run::run(&args, &planner, output).await;
    }
    let job = Job {
        work: Work::Task(args.task),
        planner,
        url: Some(args.url),
        plan_timeout: Some(args.engine.plan_timeout),
        telling: if args.explain { Telling::Reasons } else { Telling::Steps },
        sight: sight(&args.engine),
        wait_for: args.wait_for,
    };
    compose::run(job, &args.options, output).await
}

/// What the planner is to get of a page. The flag is the operator's consent to send pictures to its server.
pub(crate) fn sight(engine: &EngineArgs) -> Sight {
    if engine.vision { Sight::Pictures } else { Sight::Words }
}

fn planner(args: &mut RunArgs) -> Result<AnyPlanner, Refusal> {
    if args.engine.vision && matches!(args.planner, PlannerName::Lexical | PlannerName::Scripted) {
        let message =
            "expected --vision with a planner that is a model (ollama, openai, anthropic), saw one that has none";
        return Err(Refusal::invalid(ErrorCode::Usage, message));
    }
    match (args.planner, &args.plan) {
        (PlannerName::Lexical, _) => Ok(AnyPlanner::plain(Lexical)),
        (PlannerName::Scripted, Some(path)) => {
            let draft = PlanDraft::read(&input::text(path)?, Author::Operator).map_err(invalid_plan)?;
            compose::fit_viewport(&mut args.options.browser, &draft);
            Ok(AnyPlanner::plain(Scripted::new(draft)))
        }
        (PlannerName::Scripted, None) => {
            Err(Refusal::invalid(ErrorCode::Usage, "expected --plan FILE with the scripted planner"))
        }
        (PlannerName::Ollama, _) => engines::planner(Engine::Ollama, &args.engine),
        (PlannerName::OpenAi, _) => engines::planner(Engine::OpenAi, &args.engine),
        (PlannerName::Anthropic, _) => engines::planner(Engine::Anthropic, &args.engine),
    }
}

/// A plan whose form is wrong, with every violation.
pub(crate) fn invalid_plan(violations: Violations) -> Refusal {
    let violations = violations.into_vec();
    let code = violations.first().map_or(ErrorCode::InvalidPlan, |violation| violation.code.into());
    let message = match violations.len() {
        1 => "the plan has a violation".to_owned(),
        many => format!("the plan has {many} violations"),
    };
    Refusal { result: RunResult::Invalid, error: RunError { code, message, violations } }
}
