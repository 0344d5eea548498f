//! `cuebook bench`: what an observation and a click cost in process, without the start of the browser.

use std::time::{Duration, Instant};

use cuebook_datalayer::{ArtifactStore, JsonlLog};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::action::{Action, Click, Navigate};
use cuebook_grammar::candidate::Placement;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::StepOutcome;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::{RECORD_VERSION, RunHeader, StepIntent, StepOrigin};
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{Executor, NoSecrets, PageModeler as _, StepLog as _};
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::UrlText;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use serde::Serialize;
use std::collections::BTreeMap;

use crate::args::{BenchArgs, Output};
use crate::compose::{self, Stage, random, with_sources};
use crate::exit::{Exit, Refusal, print_json};

/// One metric over all rounds, in milliseconds.
#[derive(Serialize)]
struct Spread {
    median_ms: f64,
    min: f64,
    max: f64,
    n: usize,
}

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn run(args: BenchArgs, output: Output) -> Exit {
    let stage = match Stage::open(&args.options.browser).await {
        Ok(stage) => stage,
        Err(refusal) => return refusal.tell(output),
    };
    let measured = measure(&stage, &args).await;
    stage.close().await;
    match measured {
        Ok(metrics) => {
            print_json(&metrics);
            Exit::OK
        }
        Err(refusal) => refusal.tell(output),
    }
}

async fn measure(stage: &Stage, args: &BenchArgs) -> Result<BTreeMap<&'static str, Spread>, Refusal> {
    let policy = compose::policy(&args.options, Some(&args.url))?;
    let (dir, run_id) = compose::run_dir(&args.options)?;
    let broken = |error: &dyn std::error::Error| Refusal::unusable("benchBroken", with_sources(error));
    let digest = DigestKey::new(random()?);
    let mut log = JsonlLog::create(&dir, None).map_err(|error| broken(&error))?;
    let mut modeler = LivePageModeler::new(stage.browser.clone(), digest.clone(), ModelerOptions::default());
    let options = ExecutorOptions { screenshots: ScreenshotMode::Off, ..ExecutorOptions::default() };
    let mut executor =
        LiveExecutor::new(stage.browser.clone(), digest, NoSecrets, ArtifactStore::new(&dir, None), options);
    let header = RunHeader {
        schema_version: RECORD_VERSION.to_owned(),
        run_id: run_id.clone(),
        ts_ms: 0,
        cuebook: env!("CARGO_PKG_VERSION").to_owned(),
        browser: None,
        command: "bench".to_owned(),
        task: None,
        url: Some(args.url.clone()),
    };
    log.open(&header).await.map_err(|error| broken(&error))?;
    let blank = Observation::blank(stage.page.clone(), "about:blank");
    let open = Step::from(Action::Navigate(Navigate { url: UrlText::cut(&args.url) }));
    perform(stage, &mut executor, &policy, &blank, open, Author::Operator).await?;

    let mut samples: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let deadline = || Deadline::after(Instant::now(), PATIENCE);
    for (metric, scope) in [("observe.view", Scope::View), ("observe.full", Scope::Full)] {
        for round in 0..=args.rounds {
            // A page that was loaded afresh: nothing of the former observation helps.
            let open = Step::from(Action::Navigate(Navigate { url: UrlText::cut(&args.url) }));
            perform(stage, &mut executor, &policy, &blank, open, Author::Operator).await?;
            let began = Instant::now();
            modeler.observe(&stage.page, scope, deadline()).await.map_err(|error| broken(&error))?;
            if round > 0 {
                samples.entry(metric).or_default().push(millis(began.elapsed()));
            }
            let again = match scope {
                Scope::View => "observe.view.again",
                Scope::Full => "observe.full.again",
            };
            let began = Instant::now();
            modeler.observe(&stage.page, scope, deadline()).await.map_err(|error| broken(&error))?;
            if round > 0 {
                samples.entry(again).or_default().push(millis(began.elapsed()));
            }
        }
    }
    let ground = modeler.observe(&stage.page, Scope::View, deadline()).await.map_err(|error| broken(&error))?;
    let button = ground
        .candidates
        .iter()
        .find(|candidate| {
            candidate.role == Role::Button && candidate.placement == Placement::InView && candidate.occlusion.is_none()
        })
        .ok_or_else(|| Refusal::invalid("noButton", "expected a button in view, saw none"))?;
    let target = TargetRef::from(button.id);
    for round in 0..=args.rounds {
        let mut step = Step::from(Action::Click(Click {
            target_ref: target.clone(),
            button: None,
            count: None,
            modifiers: None,
            position: None,
            dry_run: None,
        }));
        step.pre = vec![
            Condition::visible(target.clone()),
            Condition::Enabled(cuebook_grammar::condition::OnTarget { target: target.clone() }),
        ];
        step.post = vec![Condition::visible(target.clone())];
        let began = Instant::now();
        let intent = StepIntent {
            schema_version: RECORD_VERSION.to_owned(),
            run_id: run_id.clone(),
            step_index: round,
            plan_index: None,
            origin: StepOrigin::Plan,
            attempt: 1,
            action: step.clone(),
            ts_ms: 0,
        };
        let ticket = log.begin(&intent).await.map_err(|error| broken(&error))?;
        let record = perform(stage, &mut executor, &policy, &ground, step, Author::Operator).await?;
        let record = cuebook_repair::record_of(&intent, &record.0, &ground, began.elapsed(), &record.1);
        log.commit(ticket, &record).await.map_err(|error| broken(&error))?;
        if round > 0 {
            samples.entry("click").or_default().push(millis(began.elapsed()));
        }
    }
    Ok(samples.into_iter().map(|(metric, samples)| (metric, spread(samples))).collect())
}

/// Checks, binds and runs one step; a failure of the step ends the measurement.
async fn perform<E: Executor>(
    stage: &Stage,
    executor: &mut E,
    policy: &Policy,
    ground: &Observation,
    step: Step,
    author: Author,
) -> Result<(cuebook_grammar::plan::BoundStep, StepOutcome), Refusal> {
    let bound = PlanDraft::of(author, vec![step])
        .check(ground, policy)
        .and_then(|plan| plan.bind(0, ground))
        .map_err(crate::commands::run::invalid_plan)?;
    let deadline = Deadline::after(Instant::now(), PATIENCE);
    let outcome = executor
        .run_step(&stage.page, &bound, ground, deadline)
        .await
        .map_err(|error| Refusal::unusable("benchBroken", with_sources(&error)))?;
    match outcome {
        StepOutcome::Failed(failure) => {
            Err(Refusal::unusable(failure.cause.as_str(), format!("the step failed: {}", failure.message)))
        }
        outcome => Ok((bound, outcome)),
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn spread(mut samples: Vec<f64>) -> Spread {
    samples.sort_by(f64::total_cmp);
    let middle = samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN);
    Spread {
        median_ms: middle,
        min: samples.first().copied().unwrap_or(f64::NAN),
        max: samples.last().copied().unwrap_or(f64::NAN),
        n: samples.len(),
    }
}
