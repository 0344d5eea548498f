//! `cuebook observe`: what a page offers to act on.

use std::time::{Duration, Instant};

use cuebook_datalayer::MemoryArtifacts;
use cuebook_executor::{ExecutorOptions, LiveExecutor};
use cuebook_grammar::action::{Action, Navigate};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, StepOutcome};
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::{RunError, RunResult};
use cuebook_grammar::seam::{Executor as _, NoSecrets, PageModeler as _};
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::UrlText;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions, render};

use crate::args::{ObservationFormat, ObserveArgs, Output, ScopeName};
use crate::compose::{Stage, random, with_sources};
use crate::exit::{Exit, Refusal, print_json, print_text};

/// What was asked for.
enum Seen {
    Observation(Box<Observation>),
    /// The accessible structure, as YAML.
    Aria(String),
}

pub(crate) async fn run(args: ObserveArgs, output: Output) -> Exit {
    match observe(&args, output).await {
        Ok(Seen::Aria(yaml)) => {
            print_text(&yaml);
            print_text("\n");
            Exit::OK
        }
        Ok(Seen::Observation(observation)) => {
            let format = if output.json { ObservationFormat::Json } else { args.format };
            // A document is whole unless a budget is stated; text for people and models has one of its own.
            let mut options = render::text::TextOptions::default();
            if let Some(budget) = args.budget {
                options.budget = budget;
            } else if matches!(format, ObservationFormat::Json) {
                options.budget = usize::MAX;
            }
            match format {
                ObservationFormat::Json | ObservationFormat::Aria => {
                    print_json(&render::json::fit(&observation, &options));
                }
                ObservationFormat::Text => print_text(&render::text::render(&observation, &options)),
                ObservationFormat::Yaml => print_text(&render::yaml::render(&observation, &options)),
            }
            Exit::OK
        }
        Err(refusal) => refusal.tell(output),
    }
}

async fn observe(args: &ObserveArgs, output: Output) -> Result<Seen, Refusal> {
    let policy =
        Policy::default().starting_at(&args.url).map_err(|error| Refusal::invalid("invalidUrl", error.to_string()))?;
    let digest = DigestKey::new(random()?);
    let deadline = Deadline::after(Instant::now(), args.timeout);
    let stage = Stage::open(&args.browser).await?;
    let observed = look(&stage, args, output, &policy, digest, deadline).await;
    stage.close().await;
    observed
}

async fn look(
    stage: &Stage,
    args: &ObserveArgs,
    output: Output,
    policy: &Policy,
    digest: DigestKey,
    deadline: Deadline,
) -> Result<Seen, Refusal> {
    let mut modeler = LivePageModeler::new(stage.browser.clone(), digest.clone(), ModelerOptions::default());
    let mut executor = LiveExecutor::new(
        stage.browser.clone(),
        digest,
        NoSecrets,
        MemoryArtifacts::default(),
        ExecutorOptions { screenshots: cuebook_executor::ScreenshotMode::Off, ..ExecutorOptions::default() },
    );
    let blank = Observation::blank(stage.page.clone(), "about:blank");
    let open = Step::from(Action::Navigate(Navigate { url: UrlText::cut(&args.url) }));
    let bound = PlanDraft::of(Author::Operator, vec![open])
        .check(&blank, policy)
        .and_then(|plan| plan.bind(0, &blank))
        .map_err(|violations| Refusal {
            result: RunResult::Blocked,
            error: RunError {
                code: "policyBlocked".to_owned(),
                message: "the URL is not allowed".to_owned(),
                violations,
            },
        })?;
    let outcome = executor
        .run_step(&stage.page, &bound, &blank, deadline)
        .await
        .map_err(|error| Refusal::unusable("browserBroken", with_sources(&error)))?;
    if let StepOutcome::Failed(failure) = outcome
        && failure.cause != Cause::HttpError
    {
        let error = RunError {
            code: failure.cause.as_str().to_owned(),
            message: failure.message.clone(),
            violations: Vec::new(),
        };
        return Err(Refusal { result: RunResult::Failed, error });
    }
    settle(stage, deadline).await;
    let scope = match args.scope {
        ScopeName::View => Scope::View,
        ScopeName::Full => Scope::Full,
    };
    let observation = modeler
        .observe(&stage.page, scope, deadline)
        .await
        .map_err(|error| Refusal::unusable("browserBroken", with_sources(&error)))?;
    if matches!(args.format, ObservationFormat::Aria) && !output.json {
        // After the observation: closed shadow roots are known by then.
        let snapshot = modeler
            .aria_snapshot(&stage.page, None, deadline.instant())
            .await
            .map_err(|error| Refusal::unusable("browserBroken", with_sources(&error)))?;
        return Ok(Seen::Aria(snapshot.yaml));
    }
    Ok(Seen::Observation(Box::new(observation)))
}

/// Gives a page that builds itself by script a moment; a page that never settles is looked at as it is.
async fn settle(_: &Stage, deadline: Deadline) {
    let wait = Duration::from_millis(300).min(deadline.remaining(Instant::now()));
    tokio::time::sleep(wait).await;
}
