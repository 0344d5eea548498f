//! `cuebook bench`: measures observations and steps in this process, without the start of the browser.
//!
//! Invariant: the measured work is that of a run: a step is logged durably before and after, its conditions are checked,
//! and its effects are gathered.

mod samples;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook::{Live, Tab};
use cuebook_cdp::TargetId;
use cuebook_cdp::protocol::js_protocol::runtime::EvaluateParams;
use cuebook_datalayer::{ArtifactStore, JsonlLog, ValueRedactor};
use cuebook_executor::{ExecutorOptions, LiveExecutor, ScreenshotMode};
use cuebook_grammar::action::{Action, Click, Navigate, Screenshot, SetValue, TypeText};
use cuebook_grammar::candidate::{Candidate, ControlKind, Placement};
use cuebook_grammar::condition::{Condition, OnTarget, Valued};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{StepFailure, StepOutcome};
use cuebook_grammar::plan::{Author, BoundStep, PlanDraft};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::{RECORD_VERSION, RunHeader, StepIntent, StepOrigin};
use cuebook_grammar::render::{self, TextOptions};
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::role::Role;
use cuebook_grammar::seam::{
    BoxFuture, EffectGate, Executor as _, HeldRequest, NoSecrets, PageModeler as _, Redactor as _, StepLog as _,
};
use cuebook_grammar::secret::WireText;
use cuebook_grammar::step::Step;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use samples::{Samples, peak_memory};

use crate::args::BenchArgs;
use crate::browser::{close_tab, open_contained};
use crate::compose::{self, digest_key};
use crate::exit::{Exit, Output, Refusal, print_json};
use crate::ground;
use crate::text::with_sources;

const PATIENCE: Duration = Duration::from_secs(60);

/// Text of twenty characters that the benchmark types into the page's field.
const TYPED: &str = "the quick brown fox.";

pub(crate) async fn run(args: BenchArgs, output: Output) -> Exit {
    let measured = async {
        let policy = ground::policy(&args.options.session.policy, &args.options.session.grant, Some(&args.url))?;
        let tab = open_contained(&args.options.session, policy.clone()).await?;
        let measured = measure(&tab, &args, policy).await;
        close_tab(tab).await;
        measured
    };
    match measured.await {
        Ok(samples) => {
            print_json(&samples.spreads());
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

/// One run of `cuebook bench`: the tab, the layers over it, and the samples so far.
struct Bench<'a> {
    tab: &'a Tab,
    args: &'a BenchArgs,
    policy: Policy,
    modeler: LivePageModeler,
    executor: LiveExecutor,
    log: JsonlLog,
    run_id: cuebook_grammar::id::RunId,
    steps: u32,
    samples: Samples,
}

fn broken(error: &(dyn std::error::Error + 'static)) -> Refusal {
    Refusal::unusable(ErrorCode::BenchBroken, with_sources(error))
}

fn deadline() -> Deadline {
    Deadline::after(Instant::now(), PATIENCE)
}

async fn measure(tab: &Tab, args: &BenchArgs, policy: Policy) -> Result<Samples, Refusal> {
    let (dir, run_id) = compose::run_dir(&args.options)?;
    let digest = digest_key()?;
    let mut log = JsonlLog::create(&dir, None).map_err(|error| broken(&error))?;
    let header = RunHeader {
        schema_version: RECORD_VERSION.to_owned(),
        run_id: run_id.clone(),
        ts_ms: 0,
        cuebook: env!("CARGO_PKG_VERSION").to_owned(),
        browser: None,
        browser_path: None,
        command: "bench".to_owned(),
        task: None,
        url: Some(args.url.clone()),
        plan: None,
        session: None,
        case: None,
    };
    log.open(&header).await.map_err(|error| broken(&error))?;
    let redactor = Arc::new(ValueRedactor::default());
    let live = Live::on(tab, digest, redactor.clone());
    let modeler = live.modeler(ModelerOptions::default());
    let options = ExecutorOptions { screenshots: ScreenshotMode::Off, ..ExecutorOptions::default() };
    let executor = live.executor(NoSecrets, ArtifactStore::new(&dir, None), options);
    let samples = Samples::default();
    let mut bench = Bench { tab, args, policy, modeler, executor, log, run_id, steps: 0, samples };
    bench.first_observations().await?;
    for (metric, scope) in [("observe.delta", Scope::Full), ("observe.viewDelta", Scope::View)] {
        bench.changed_observations(metric, scope).await?;
    }
    bench.loops().await?;
    bench.steps().await?;
    bench.pictures("picture").await?;
    redactor.learn(&changed_name("observe.viewDelta", args.rounds));
    bench.pictures("picture.masked").await?;
    if let Some(most) = peak_memory() {
        bench.samples.put("rss", most);
    }
    Ok(bench.samples)
}

impl Bench<'_> {
    async fn observe(&mut self, scope: Scope) -> Result<(Observation, Duration), Refusal> {
        let began = Instant::now();
        let seen = self.modeler.observe(&self.tab.page, scope, deadline()).await.map_err(|error| broken(&error))?;
        Ok((seen, began.elapsed()))
    }

    /// Observations of a newly loaded page: nothing is cached.
    async fn first_observations(&mut self) -> Result<(), Refusal> {
        let blank = Observation::blank(self.tab.page.clone(), "about:blank");
        let kinds = [("observe.view", Scope::View), ("observe.prepared", Scope::View), ("observe.full", Scope::Full)];
        for (metric, scope) in kinds {
            for round in 0..=self.args.rounds {
                let open = Step::from(Action::Navigate(Navigate::to(&self.args.url)));
                let began = Instant::now();
                self.perform(&blank, open).await?;
                match metric {
                    "observe.view" => self.samples.time("navigate", round, began.elapsed()),
                    "observe.prepared" => {
                        let prepared = self.modeler.prepare(&self.tab.page, scope, deadline()).await;
                        prepared.map_err(|error| broken(&error))?;
                    }
                    _ => {}
                }
                let (seen, took) = self.observe(scope).await?;
                self.samples.time(metric, round, took);
                if let (Some(file), Scope::Full, 0) = (&self.args.text, scope, round) {
                    let text = render::text(&seen, &TextOptions::WHOLE);
                    fs::write(file, text).map_err(|error| {
                        Refusal::unusable(ErrorCode::CannotWrite, format!("{}: {error}", file.display()))
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Observations after one button of the page changed.
    async fn changed_observations(&mut self, metric: &'static str, scope: Scope) -> Result<(), Refusal> {
        let target = TargetId::from(self.tab.page.as_str());
        let page = self
            .tab
            .browser
            .page(&target)
            .ok_or_else(|| Refusal::unusable(ErrorCode::BenchBroken, "the tab is gone"))?;
        for round in 0..=self.args.rounds {
            let name = changed_name(metric, round);
            let change = format!("void (document.querySelectorAll('button')[1].textContent = '{name}')");
            let until = Instant::now() + PATIENCE;
            page.session().request(EvaluateParams::new(change), until).await.map_err(|error| broken(&error))?;
            let (seen, took) = self.observe(scope).await?;
            if !seen.candidates.iter().any(|candidate| candidate.name == name) {
                return Err(Refusal::unusable(ErrorCode::BenchBroken, format!("the page has no button {name:?}")));
            }
            self.samples.time(metric, round, took);
        }
        Ok(())
    }

    /// The loop of an agent: observe, click a button, observe again.
    async fn loops(&mut self) -> Result<(), Refusal> {
        for round in 0..=self.args.rounds {
            let began = Instant::now();
            let (ground, _) = self.observe(Scope::View).await?;
            let button = in_view(&ground, |candidate| candidate.role == Role::Button, "button")?;
            self.logged(&ground, Step::from(Action::from(Click::on(button)))).await?;
            self.observe(Scope::View).await?;
            self.samples.time("loop", round, began.elapsed());
        }
        Ok(())
    }

    async fn steps(&mut self) -> Result<(), Refusal> {
        let (ground, _) = self.observe(Scope::View).await?;
        let button = in_view(&ground, |candidate| candidate.role == Role::Button, "button")?;
        let field = in_view(&ground, |candidate| candidate.control == ControlKind::Text, "text field")?;
        let click = Action::from(Click::on(button.clone()));
        let set = |value: &str| {
            Action::SetValue(SetValue {
                target_ref: field.clone(),
                value: Some(WireText::cut(value)),
                credential_ref: None,
            })
        };
        let typed = Action::Type(TypeText {
            target_ref: field.clone(),
            text: Some(WireText::cut(TYPED)),
            credential_ref: None,
            delay_ms: None,
        });
        let holds = |value: &str| Condition::ValueEquals(Valued { target: field.clone(), value: WireText::cut(value) });
        for round in 0..=self.args.rounds {
            self.step("click", round, &ground, click.clone(), None).await?;
        }
        for round in 0..=self.args.rounds {
            let value = format!("value {round}");
            self.step("setValue", round, &ground, set(&value), Some(holds(&value))).await?;
        }
        for round in 0..=self.args.rounds {
            self.perform(&ground, Step::from(set(""))).await?;
            self.step("type20", round, &ground, typed.clone(), Some(holds(TYPED))).await?;
        }
        Ok(())
    }

    /// Pictures of the page.
    async fn pictures(&mut self, metric: &'static str) -> Result<(), Refusal> {
        let blank = Observation::blank(self.tab.page.clone(), &self.args.url);
        for round in 0..=self.args.rounds {
            let began = Instant::now();
            self.perform(&blank, Step::from(Action::Screenshot(Screenshot { target_ref: None, full_page: None })))
                .await?;
            self.samples.time(metric, round, began.elapsed());
        }
        Ok(())
    }

    /// One step with its checks and its log entries.
    async fn step(
        &mut self,
        metric: &'static str,
        round: u32,
        ground: &Observation,
        action: Action,
        post: Option<Condition>,
    ) -> Result<(), Refusal> {
        let mut step = Step::from(action);
        if let Some(target) = step.action.targets().first().map(|target| (*target).clone()) {
            step.pre = vec![Condition::visible(target.clone()), Condition::Enabled(OnTarget { target })];
        }
        step.post = post.into_iter().collect();
        let took = self.logged(ground, step).await?;
        self.samples.time(metric, round, took);
        Ok(())
    }

    /// A step as a run does it: logged before and after.
    async fn logged(&mut self, ground: &Observation, step: Step) -> Result<Duration, Refusal> {
        let began = Instant::now();
        let intent = StepIntent {
            schema_version: RECORD_VERSION.to_owned(),
            run_id: self.run_id.clone(),
            step_index: self.steps,
            plan_index: None,
            origin: StepOrigin::Plan,
            attempt: 1,
            planning: None,
            plan_id: None,
            action: step.clone(),
            ts_ms: 0,
        };
        self.steps = self.steps.saturating_add(1);
        let ticket = self.log.begin(&intent).await.map_err(|error| broken(&error))?;
        let (bound, outcome) = self.perform(ground, step).await?;
        let record = cuebook_repair::record_of(&intent, &bound, ground, began.elapsed(), &outcome);
        self.log.commit(ticket, &record).await.map_err(|error| broken(&error))?;
        Ok(began.elapsed())
    }

    /// Checks, binds and runs one step. A failure ends the measurement.
    async fn perform(&mut self, ground: &Observation, step: Step) -> Result<(BoundStep, StepOutcome), Refusal> {
        let bound = PlanDraft::of(Author::Operator, vec![step])
            .check(ground, &self.policy)
            .and_then(|plan| plan.bind(0, ground))
            .map_err(Refusal::from)?;
        let outcome = self
            .executor
            .run_step(&self.tab.page, &bound, ground, &mut Agrees, deadline())
            .await
            .map_err(|error| broken(&error))?;
        match outcome {
            StepOutcome::Failed(failure) => {
                Err(Refusal::unusable(failure.cause, format!("the step failed: {}", failure.message)))
            }
            outcome => Ok((bound, outcome)),
        }
    }
}

/// Returns the name of a button of the page after a change.
fn changed_name(metric: &str, round: u32) -> String {
    format!("Changed {round} for {metric}")
}

/// Agrees to every request that the gate holds: the holding is measured, not a person.
struct Agrees;

impl EffectGate for Agrees {
    fn judge<'a>(&'a mut self, _: &'a BoundStep, _: &'a HeldRequest) -> BoxFuture<'a, Result<(), Box<StepFailure>>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The first unobstructed candidate of a kind in view.
fn in_view(ground: &Observation, is_wanted: fn(&Candidate) -> bool, what: &'static str) -> Result<TargetRef, Refusal> {
    let mut usable = ground.candidates.iter().filter(|candidate| {
        candidate.placement == Placement::InView && candidate.occlusion.is_none() && is_wanted(candidate)
    });
    let found = usable.next().map(|candidate| TargetRef::from(candidate.id));
    found.ok_or_else(|| Refusal::invalid(ErrorCode::NoTarget, format!("the page has no {what} in view")))
}
