//! The loop.
//!
//! Invariants:
//! - A step sends input only after the log holds its intent; success is reported only after the log holds its
//!   record. The first error of the log ends the run.
//! - Every way round the loop takes from a budget, so the loop ends.
//! - An interrupted step stays open in the log: nothing is claimed about it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, ActionKind, Navigate, Owner};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{Author, BoundStep, Plan, PlanDraft, Violation};
use cuebook_grammar::policy::Consent;
use cuebook_grammar::record::{RECORD_VERSION, RunEnd, RunHeader, StepOrigin, StepRecord};
use cuebook_grammar::report::{REPORT_VERSION, RunError, RunReport, RunResult, StepReport, Usage};
use cuebook_grammar::seam::{
    Confirm, ConfirmReply, ConfirmRequest, Executor, Finding, HistoryEntry, IgnoreSteps, PageModeler, PlanReply,
    PlanRequest, PlanSink, Planner, Query, Redactor, Repair, RepairBudget, RepairCase, RepairPolicy, StepLog,
};
use cuebook_grammar::secret::DigestKey;
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::UrlText;
use serde_json::Value;
use tracing::{Instrument as _, debug, info_span};

use crate::budget::Budgets;
use crate::history;
use crate::ladder::cause_of;
use crate::recording::{self, Place, RecordInput, Sensitivity, millis};
use crate::request::{Interrupt, Interrupted, Listener, RunEvent, RunRequest, Work};
use crate::state::{Ground, Run};
use crate::stuck::{StuckDetector, Tier};

/// The layers that a controller drives, each by its seam.
#[derive(Debug)]
pub struct Layers<M, P, E, R, L, C> {
    /// Looks.
    pub modeler: M,
    /// Plans; [`NoPlanner`] where a plan is given.
    pub planner: P,
    /// Acts.
    pub executor: E,
    /// Decides what to do about failures.
    pub repair: R,
    /// Keeps.
    pub log: L,
    /// Asks.
    pub confirm: C,
}

/// The planner of runs that have a plan already.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPlanner;

impl Planner for NoPlanner {
    type Error = std::convert::Infallible;

    async fn plan(&self, _: &PlanRequest<'_>, _: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Self::Error> {
        Ok(PlanReply { note: Some("this run has no planner".to_owned()), ..PlanReply::default() })
    }
}

/// Why the loop left its way.
enum Stop {
    Interrupted,
    Broken { code: &'static str, message: String },
    Ended { result: RunResult, error: Option<RunError>, answer: Option<String> },
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl Stop {
    fn broken(code: &'static str, error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        Self::Broken { code, message }
    }

    fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        let error = RunError { code: code.into(), message: message.into(), violations: Vec::new() };
        Self::Ended { result: RunResult::Failed, error: Some(error), answer: None }
    }
}

/// How a step ended for the plan that it belongs to.
enum StepEnd {
    /// It did what it said; whether the page is another one now.
    Done { changed_page: bool },
    /// The page is not the one that the plan was made for: the rest of the plan is dropped.
    GroundGone,
    /// It failed for good.
    Failed(Box<StepFailure>),
}

/// How a plan ended.
enum PlanEnd {
    Completed,
    Dropped,
    Failed(Box<StepFailure>),
}

/// The controller of one run after another.
pub struct Controller<M, P, E, R, L, C> {
    layers: Layers<M, P, E, R, L, C>,
    budgets: Budgets,
    digest: DigestKey,
    redactor: Arc<dyn Redactor>,
    interrupt: Interrupt,
    listener: Box<dyn Listener>,
}

impl<M: fmt::Debug, P, E, R, L, C> fmt::Debug for Controller<M, P, E, R, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("modeler", &self.layers.modeler)
            .field("budgets", &self.budgets)
            .finish_non_exhaustive()
    }
}

impl<M, P, E, R, L, C> Controller<M, P, E, R, L, C>
where
    M: PageModeler,
    P: Planner,
    E: Executor,
    R: RepairPolicy,
    L: StepLog,
    C: Confirm,
{
    /// A controller over these layers. `digest` is the run's key for what must not be kept; `redactor` is shared
    /// with every sink.
    pub fn new(layers: Layers<M, P, E, R, L, C>, digest: DigestKey, redactor: Arc<dyn Redactor>) -> Self {
        Self {
            layers,
            budgets: Budgets::default(),
            digest,
            redactor,
            interrupt: Interrupt::default(),
            listener: Box::new(()),
        }
    }

    /// With other budgets.
    #[must_use]
    pub fn with_budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Tells `listener` what happens.
    #[must_use]
    pub fn with_listener(mut self, listener: impl Listener + 'static) -> Self {
        self.listener = Box::new(listener);
        self
    }

    /// Ends when `interrupt` is triggered.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// The layers, once the run is over.
    pub fn into_layers(self) -> Layers<M, P, E, R, L, C> {
        self.layers
    }

    /// Runs to the end. Whatever happens, there is a report.
    pub async fn run(&mut self, request: RunRequest) -> RunReport {
        let run_id = request.run_id.clone();
        let span = info_span!("run", run_id = %run_id);
        async {
            let deadline = Deadline::after(Instant::now(), self.budgets.run);
            let mut run = Run {
                page: request.page.clone(),
                request,
                ground: None,
                next_index: 0,
                repairs_left: self.budgets.repairs_per_run,
                reports: Vec::new(),
                history: Vec::new(),
                usage: Usage::default(),
                stuck: StuckDetector::default(),
                deadline,
            };
            let stop = match Box::pin(self.drive(&mut run)).await {
                Ok(()) => Stop::Ended { result: RunResult::Ok, error: None, answer: None },
                Err(stop) => stop,
            };
            self.report(run, stop).await
        }
        .instrument(span)
        .await
    }

    async fn report(&mut self, run: Run, stop: Stop) -> RunReport {
        let (result, error, answer) = match stop {
            Stop::Interrupted => {
                (RunResult::Interrupted, Some(run_error("interrupted", "the run was interrupted")), None)
            }
            Stop::Broken { code, message } => {
                (RunResult::Error, Some(run_error(code, self.redactor.redact(&message))), None)
            }
            Stop::Ended { result, error, answer } => (result, error, answer),
        };
        let end = RunEnd { run_id: run.request.run_id.clone(), ts_ms: recording::now_ms(), result };
        if let Err(error) = self.layers.log.close(&end).await {
            debug!(%error, "the log could not be closed");
        }
        RunReport {
            schema_version: REPORT_VERSION.to_owned(),
            run_id: Some(run.request.run_id.to_string()),
            run_dir: run.request.run_dir.clone(),
            result,
            error,
            answer: answer.map(|answer| self.redactor.redact(&answer).into_owned()),
            steps: run.reports,
            usage: run.usage,
            enforcement: "navigation".to_owned(),
        }
    }

    async fn drive(&mut self, run: &mut Run) -> Result<(), Stop> {
        let (command, task) = match &run.request.work {
            Work::Task(task) => ("run", Some(self.redactor.redact(&recording::without_passwords(task)).into_owned())),
            Work::Plan(draft) => {
                let task = draft.context.as_ref().and_then(|context| context.task.as_ref());
                ("exec", task.map(|task| self.redactor.redact(&recording::without_passwords(task)).into_owned()))
            }
        };
        let header = RunHeader {
            schema_version: RECORD_VERSION.to_owned(),
            run_id: run.request.run_id.clone(),
            ts_ms: recording::now_ms(),
            cuebook: run.request.program.clone(),
            browser: run.request.browser.clone(),
            command: command.to_owned(),
            task,
            url: run.request.start_url.clone(),
        };
        self.layers.log.open(&header).await.map_err(|error| Stop::broken("logUnavailable", &error))?;
        self.open_start(run).await?;
        match run.request.work.clone() {
            Work::Plan(draft) => self.run_given_plan(run, &draft).await,
            Work::Task(task) => self.run_task(run, &task).await,
        }
    }

    /// Opens the start URL as a step like any other.
    async fn open_start(&mut self, run: &mut Run) -> Result<(), Stop> {
        let Some(url) = run.request.start_url.clone() else { return Ok(()) };
        let step = Step::from(Action::Navigate(Navigate { url: UrlText::cut(&url) }));
        let blank = Observation::blank(run.page.clone(), "about:blank");
        let plan = PlanDraft::of(Author::Operator, vec![step]).check(&blank, &run.request.policy).map_err(invalid)?;
        run.ground = Some(Ground { observation: blank, is_current: true });
        let end = self.run_step(run, &plan, 0, StepOrigin::Start).await;
        run.ground = None;
        match end? {
            StepEnd::Failed(failure) => Err(ended_by(&failure)),
            StepEnd::Done { .. } | StepEnd::GroundGone => Ok(()),
        }
    }

    async fn run_given_plan(&mut self, run: &mut Run, draft: &PlanDraft) -> Result<(), Stop> {
        let needs_look = draft.steps.iter().any(|step| needs_observation(step, draft));
        let observation = if needs_look {
            self.observe(run, Scope::Full).await?
        } else {
            let url = run.request.start_url.clone().unwrap_or_else(|| "about:blank".to_owned());
            Observation::blank(run.page.clone(), &url)
        };
        let plan = draft.check(&observation, &run.request.policy).map_err(invalid)?;
        self.listener.event(RunEvent::Planned(&plan));
        let end = self.run_plan(run, &plan).await?;
        match end {
            PlanEnd::Completed => Ok(()),
            PlanEnd::Failed(failure) => Err(ended_by(&failure)),
            PlanEnd::Dropped => Err(Stop::failed(
                Cause::TargetStale.as_str(),
                "the page changed under the plan: its remaining steps name candidates of the former page",
            )),
        }
    }

    async fn run_task(&mut self, run: &mut Run, task: &str) -> Result<(), Stop> {
        let mut invalid_in_a_row = 0;
        let mut last_failure: Option<Box<StepFailure>> = None;
        for _ in 0..self.budgets.iterations {
            let observation = self.observe(run, Scope::View).await?;
            let reply = self.ask_planner(run, task, &observation, last_failure.as_deref()).await?;
            run.usage.add(reply.usage);
            if let Some(note) = &reply.note {
                self.listener.event(RunEvent::Noted(note));
            }
            let Some(draft) = reply.drafts.into_iter().next() else {
                if let Some(failure) = last_failure {
                    return Err(ended_by(&failure));
                }
                let message = reply.note.unwrap_or_else(|| "the planner has no plan for this page".to_owned());
                return Err(Stop::failed("noPlan", self.redactor.redact(&message)));
            };
            let plan = match draft.check(&observation, &run.request.policy) {
                Ok(plan) => plan,
                Err(violations) => {
                    self.listener.event(RunEvent::Rejected(&violations));
                    invalid_in_a_row += 1;
                    if invalid_in_a_row >= self.budgets.invalid_drafts {
                        return Err(rejected(violations));
                    }
                    continue;
                }
            };
            invalid_in_a_row = 0;
            self.listener.event(RunEvent::Planned(&plan));
            if run.note_plan(&plan, &observation) == Tier::Stop {
                return Err(Stop::failed("stuck", "the same plan on the same page keeps coming back without progress"));
            }
            match self.run_plan(run, &plan).await? {
                PlanEnd::Completed | PlanEnd::Dropped => last_failure = None,
                PlanEnd::Failed(failure) if failure.cause.is_block() || is_final(failure.cause) => {
                    return Err(ended_by(&failure));
                }
                PlanEnd::Failed(failure) => last_failure = Some(failure),
            }
        }
        Err(last_failure.map_or_else(
            || Stop::failed("budgetExceeded", format!("expected an end within {} plans", self.budgets.iterations)),
            |failure| ended_by(&failure),
        ))
    }

    async fn ask_planner(
        &mut self,
        run: &Run,
        task: &str,
        observation: &Observation,
        failure: Option<&StepFailure>,
    ) -> Result<PlanReply, Stop> {
        let deadline = run.deadline.within(Instant::now(), self.budgets.planning);
        let request = PlanRequest {
            task,
            observation,
            policy: &run.request.policy,
            history: &run.history,
            failure,
            exemplars: &[],
            images: &[],
            beam: 1,
        };
        let mut sink = IgnoreSteps;
        let planning = self.layers.planner.plan(&request, &mut sink, deadline).instrument(info_span!("plan"));
        self.interrupt.guard(planning).await?.map_err(|error| Stop::broken("plannerUnavailable", &error))
    }

    async fn run_plan(&mut self, run: &mut Run, plan: &Plan) -> Result<PlanEnd, Stop> {
        for index in 0..plan.steps().len() {
            if let Some(end) = self.control_step(run, plan, index).await? {
                return Err(end);
            }
            match Box::pin(self.run_step(run, plan, index, StepOrigin::Plan)).await? {
                StepEnd::Done { changed_page } => {
                    let rest = plan.steps().get(index + 1..).unwrap_or_default();
                    if changed_page && rest.iter().any(|checked| names_observed(&checked.step, plan)) {
                        return Ok(PlanEnd::Dropped);
                    }
                }
                StepEnd::GroundGone => return Ok(PlanEnd::Dropped),
                StepEnd::Failed(failure) => return Ok(PlanEnd::Failed(failure)),
            }
        }
        Ok(PlanEnd::Completed)
    }

    /// Carries out what belongs to the loop itself: finish, fail, askUser.
    async fn control_step(&mut self, run: &mut Run, plan: &Plan, index: usize) -> Result<Option<Stop>, Stop> {
        let Some(checked) = plan.steps().get(index) else { return Ok(None) };
        match &checked.step.action {
            Action::Finish(finish) => {
                let answer = finish.result.as_ref().map(ToString::to_string);
                Ok(Some(Stop::Ended { result: RunResult::Ok, error: None, answer }))
            }
            Action::Fail(fail) => Ok(Some(Stop::failed("taskFailed", self.redactor.redact(&fail.reason)))),
            Action::AskUser(ask) => {
                let question = ask.question.to_string();
                let request = ConfirmRequest { question: question.clone(), grant: None };
                let deadline = run.deadline.within(Instant::now(), self.budgets.answer);
                let reply = self.interrupt.guard(self.layers.confirm.confirm(&request, deadline)).await?;
                match reply {
                    ConfirmReply::Yes(Some(answer)) => {
                        run.history.push(HistoryEntry {
                            step: checked.step.clone(),
                            target: None,
                            failure: None,
                            data: Some(Value::String(answer)),
                            changed_page: false,
                        });
                        Ok(None)
                    }
                    _ => Ok(Some(Stop::failed("needsAnswer", self.redactor.redact(&question)))),
                }
            }
            _ => Ok(None),
        }
    }

    /// Runs one step of a plan with its repairs.
    async fn run_step(
        &mut self,
        run: &mut Run,
        plan: &Plan,
        index: usize,
        origin: StepOrigin,
    ) -> Result<StepEnd, Stop> {
        let Some(checked) = plan.steps().get(index) else { return Ok(StepEnd::GroundGone) };
        if checked.step.action.kind().meta().owner == Owner::Controller {
            return Ok(StepEnd::Done { changed_page: false });
        }
        let mut plan = plan.clone();
        let step_index = run.take_index();
        let began = Instant::now();
        let mut repairs = 0_u32;
        loop {
            let place = Place {
                run_id: run.request.run_id.clone(),
                step_index,
                plan_index: (origin == StepOrigin::Plan).then(|| u32::try_from(index).unwrap_or(u32::MAX)),
                origin,
                attempt: repairs + 1,
            };
            let attempt = self.attempt(run, &plan, index, &place).await?;
            let (failure, bound) = match attempt {
                Attempt::Done { record, changed_page } => {
                    run.put_report(StepReport::of(&record, repairs, millis(began.elapsed())));
                    return Ok(StepEnd::Done { changed_page });
                }
                Attempt::GroundGone => return Ok(StepEnd::GroundGone),
                Attempt::Failed { record, failure, bound } => {
                    run.put_report(StepReport::of(&record, repairs, millis(began.elapsed())));
                    (failure, bound)
                }
            };
            let budget = RepairBudget {
                step_attempts_left: self.budgets.repairs_per_step.saturating_sub(repairs),
                run_repairs_left: run.repairs_left,
                can_replan: origin == StepOrigin::Plan && matches!(run.request.work, Work::Task(_)),
            };
            let may_repair = origin == StepOrigin::Plan && !failure.cause.is_block() && !is_final(failure.cause);
            if !may_repair {
                return Ok(StepEnd::Failed(failure));
            }
            let observation = self.observe(run, Scope::View).await?;
            let case = RepairCase { step: &bound, failure: &failure, attempt: repairs };
            let repair = self.layers.repair.next(&case, &observation, &budget);
            if matches!(repair, Repair::Abandon | Repair::Replan) {
                return Ok(StepEnd::Failed(failure));
            }
            if budget.step_attempts_left == 0 || budget.run_repairs_left == 0 {
                // A policy that asks for more than there is gets nothing: the loop ends whatever it says.
                return Ok(StepEnd::Failed(failure));
            }
            self.listener.event(RunEvent::Repairing(&repair));
            repairs += 1;
            run.repairs_left -= 1;
            plan = match self.apply(run, &plan, index, repair).await? {
                Some(plan) => plan,
                None => return Ok(StepEnd::Failed(failure)),
            };
        }
    }

    /// Applies a repair and gives the plan to go on with; `None` if the repair itself is no good.
    async fn apply(&mut self, run: &mut Run, plan: &Plan, index: usize, repair: Repair) -> Result<Option<Plan>, Stop> {
        match repair {
            Repair::Insert(steps) => {
                self.insert(run, plan, steps).await?;
                Ok(Some(plan.clone()))
            }
            Repair::Rewrite { before, step } => {
                self.insert(run, plan, before).await?;
                let observation = self.current(run).await?;
                Ok(plan.amend(index, *step, &observation).ok())
            }
            Repair::Retarget { from, to } => {
                let observation = self.current(run).await?;
                let Some(checked) = plan.steps().get(index) else { return Ok(None) };
                let mut step = checked.step.clone();
                step.retarget(&|target| if *target == from { TargetRef::from(to) } else { target.clone() });
                Ok(plan.amend(index, step, &observation).ok())
            }
            Repair::Reobserve(scope) => {
                self.observe(run, scope).await?;
                Ok(Some(plan.clone()))
            }
            Repair::Replan | Repair::Abandon => Ok(None),
        }
    }

    /// Runs steps of a repair: through the same check, policy, executor and log; they are not repaired themselves.
    async fn insert(&mut self, run: &mut Run, plan: &Plan, steps: Vec<Step>) -> Result<(), Stop> {
        if steps.is_empty() {
            return Ok(());
        }
        let observation = self.current(run).await?;
        let checked = match PlanDraft::of(Author::Controller, steps).check(&observation, plan.policy()) {
            Ok(checked) => checked,
            Err(violations) => {
                self.listener.event(RunEvent::Rejected(&violations));
                return Ok(());
            }
        };
        for index in 0..checked.steps().len() {
            let end = Box::pin(self.run_step(run, &checked, index, StepOrigin::Repair)).await?;
            if !matches!(end, StepEnd::Done { .. }) {
                break;
            }
        }
        Ok(())
    }

    /// One attempt at one step: bind, consent, begin, act, commit.
    async fn attempt(&mut self, run: &mut Run, plan: &Plan, index: usize, place: &Place) -> Result<Attempt, Stop> {
        let Some(checked) = plan.steps().get(index) else { return Ok(Attempt::GroundGone) };
        let needs_look = names_observed(&checked.step, plan);
        let ground = if needs_look { self.current(run).await? } else { run.ground_or_blank() };
        let bound = match plan.bind(index, &ground) {
            Ok(bound) => bound,
            Err(violations) => return self.unbound(run, plan, index, place, &ground, violations).await,
        };
        let span = info_span!("step", step_index = place.step_index, action = bound.action().kind().meta().name);
        self.attempt_bound(run, &bound, &ground, place).instrument(span).await
    }

    /// A step that no longer binds. If the candidate was valid a short while ago, repair may find it again; if
    /// the page is another one, the rest of the plan is dropped.
    async fn unbound(
        &mut self,
        run: &mut Run,
        plan: &Plan,
        index: usize,
        place: &Place,
        ground: &Observation,
        violations: Vec<Violation>,
    ) -> Result<Attempt, Stop> {
        let Some(first) = violations.into_iter().next() else { return Ok(Attempt::GroundGone) };
        let Some(checked) = plan.steps().get(index) else { return Ok(Attempt::GroundGone) };
        let mut former = ground.clone();
        former.candidates.extend(former.recent.drain(..).collect::<Vec<_>>());
        let Ok(bound) = plan.bind(index, &former) else {
            if place.origin == StepOrigin::Plan && cause_of(first.code) != Cause::TargetStale {
                let failure = StepFailure::new(Stage::Bind, cause_of(first.code), first.message);
                return Err(ended_by(&failure));
            }
            return Ok(Attempt::GroundGone);
        };
        let mut failure = StepFailure::new(Stage::Bind, cause_of(first.code), first.message);
        failure.facts.target = checked.step.action.target().cloned();
        self.settle(run, &bound, ground, place, StepOutcome::Failed(Box::new(failure)), None).await
    }

    async fn attempt_bound(
        &mut self,
        run: &mut Run,
        bound: &BoundStep,
        ground: &Observation,
        place: &Place,
    ) -> Result<Attempt, Stop> {
        if let Some(refusal) = self.consent(run, bound).await? {
            return self.settle(run, bound, ground, place, StepOutcome::Failed(Box::new(refusal)), None).await;
        }
        let careful = Sensitivity::before(bound);
        let target = bound.main_target().and_then(|(_, target)| target.candidate()).map(|candidate| candidate.title());
        let shown = careful.redact(bound.step(), &self.digest);
        self.listener.event(RunEvent::StepBegun {
            index: place.step_index,
            origin: place.origin,
            step: &shown,
            target: target.as_deref(),
        });
        let intent = recording::intent(place, shown);
        let began = (intent.ts_ms, Instant::now());
        let ticket = self.layers.log.begin(&intent).await.map_err(|error| Stop::broken("logUnavailable", &error))?;
        let deadline = run.deadline.within(began.1, self.budgets.time_for(bound.timeout()));
        let outcome = self.dispatch(run, bound, ground, deadline).await?;
        self.settle(run, bound, ground, place, outcome, Some((ticket, began))).await
    }

    /// Routes an action to its owner.
    async fn dispatch(
        &mut self,
        run: &Run,
        bound: &BoundStep,
        ground: &Observation,
        deadline: Deadline,
    ) -> Result<StepOutcome, Stop> {
        match bound.action().kind().meta().owner {
            Owner::Executor => {
                // Boxed: the futures of several layers in one another exceed what a compiler lays out by default.
                let acting = Box::pin(self.layers.executor.run_step(&run.page, bound, ground, deadline));
                self.interrupt.guard(acting).await?.map_err(|error| Stop::broken("executorBroken", &error))
            }
            Owner::Modeler => {
                let query = match bound.action() {
                    Action::SearchPage(search) => Query::Search(search.clone()),
                    Action::FindElements(find) => Query::Find(find.clone()),
                    Action::ResolveSelector(resolve) => Query::Resolve(resolve.clone()),
                    Action::Snapshot(snapshot) => Query::Snapshot(snapshot.scope.unwrap_or_default()),
                    _ => return Ok(unsupported(bound.action().kind())),
                };
                let exploring = Box::pin(self.layers.modeler.explore(&run.page, &query, deadline));
                let finding =
                    self.interrupt.guard(exploring).await?.map_err(|error| Stop::broken("modelerBroken", &error))?;
                Ok(match finding {
                    Finding::Data(data) => {
                        StepOutcome::Succeeded(StepSuccess { data: Some(data), ..Default::default() })
                    }
                    Finding::Candidate(id) => StepOutcome::Succeeded(StepSuccess {
                        data: Some(serde_json::json!({ "candidate": id })),
                        ..Default::default()
                    }),
                    Finding::Refused(why) => {
                        StepOutcome::Failed(Box::new(StepFailure::new(Stage::Act, Cause::InvalidArgument, why)))
                    }
                })
            }
            Owner::Handler | Owner::Controller => Ok(unsupported(bound.action().kind())),
        }
    }

    /// Asks for consent where the policy wants it; the failure if nobody gives it.
    async fn consent(&mut self, run: &Run, bound: &BoundStep) -> Result<Option<StepFailure>, Stop> {
        let Consent::Ask { grant } = bound.consent() else { return Ok(None) };
        let target = bound.main_target().and_then(|(_, target)| target.candidate()).map(|candidate| candidate.title());
        let verb = bound.action().kind().meta().name;
        let question = match &target {
            Some(target) => format!("{verb} {target} on {}? It counts as {}.", bound.origin(), bound.risk().as_str()),
            None => format!("{verb} on {}? It counts as {}.", bound.origin(), bound.risk().as_str()),
        };
        let request = ConfirmRequest { question, grant: Some(grant.clone()) };
        let deadline = run.deadline.within(Instant::now(), self.budgets.answer);
        let reply = self.interrupt.guard(self.layers.confirm.confirm(&request, deadline)).await?;
        let why = match reply {
            ConfirmReply::Yes(_) => return Ok(None),
            ConfirmReply::No => "it was denied",
            ConfirmReply::NoOne => "nobody is there to ask",
        };
        let message = format!("expected consent or --grant {grant}, and {why}");
        let mut failure = StepFailure::new(Stage::Confirm, Cause::ConfirmationDenied, message);
        failure.facts.target = bound.action().target().cloned();
        failure.facts.grant = Some(grant.clone());
        Ok(Some(failure))
    }

    /// Writes the record and tells everybody.
    async fn settle(
        &mut self,
        run: &mut Run,
        bound: &BoundStep,
        ground: &Observation,
        place: &Place,
        outcome: StepOutcome,
        begun: Option<(cuebook_grammar::seam::StepTicket, (u64, Instant))>,
    ) -> Result<Attempt, Stop> {
        let sensitivity = Sensitivity::after(bound, &outcome);
        sensitivity.teach(bound, self.redactor.as_ref());
        let step = sensitivity.redact(bound.step(), &self.digest);
        let (ts_ms, took) = match &begun {
            Some((_, (ts_ms, at))) => (*ts_ms, at.elapsed()),
            None => (recording::now_ms(), Duration::ZERO),
        };
        let url = run.ground.as_ref().map_or_else(|| ground.url.clone(), |ground| ground.observation.url.clone());
        let input = RecordInput {
            place,
            bound,
            step: step.clone(),
            ground,
            url: &url,
            ts_ms,
            took,
            redactor: self.redactor.as_ref(),
            sensitivity: &sensitivity,
            digest: &self.digest,
        };
        let record = recording::record(input, &outcome);
        let ticket = match begun {
            Some((ticket, _)) => ticket,
            None => {
                let intent = recording::intent(place, step.clone());
                self.layers.log.begin(&intent).await.map_err(|error| Stop::broken("logUnavailable", &error))?
            }
        };
        self.layers.log.commit(ticket, &record).await.map_err(|error| Stop::broken("logUnavailable", &error))?;
        self.listener.event(RunEvent::StepEnded(&record));
        Ok(match outcome {
            StepOutcome::Succeeded(success) => {
                run.after_success(bound, &success);
                run.history.push(history::of_success(step, bound, &success));
                let switched = success.page.is_some_and(|page| std::mem::replace(&mut run.page, page.clone()) != page);
                let effects = success.evidence.effects.as_ref();
                Attempt::Done { record, changed_page: switched || effects.is_some_and(|e| e.changes_page()) }
            }
            StepOutcome::Failed(failure) => {
                run.age();
                run.history.push(history::of_failure(step, Some(bound), &failure));
                Attempt::Failed { record, failure, bound: Box::new(bound.clone()) }
            }
        })
    }

    /// The observation to bind to: the one at hand if nothing happened since, else a new one.
    async fn current(&mut self, run: &mut Run) -> Result<Observation, Stop> {
        match &run.ground {
            Some(ground) if ground.is_current => Ok(ground.observation.clone()),
            Some(ground) => {
                let scope = ground.observation.scope;
                self.observe(run, scope).await
            }
            None => self.observe(run, Scope::View).await,
        }
    }

    async fn observe(&mut self, run: &mut Run, scope: Scope) -> Result<Observation, Stop> {
        let deadline = run.deadline.within(Instant::now(), self.budgets.observation);
        let observing =
            Box::pin(self.layers.modeler.observe(&run.page, scope, deadline)).instrument(info_span!("observe"));
        let observation =
            self.interrupt.guard(observing).await?.map_err(|error| Stop::broken("modelerBroken", &error))?;
        self.listener.event(RunEvent::Observed(&observation));
        run.ground = Some(Ground { observation: observation.clone(), is_current: true });
        Ok(observation)
    }
}

/// What became of one attempt.
enum Attempt {
    Done { record: StepRecord, changed_page: bool },
    Failed { record: StepRecord, failure: Box<StepFailure>, bound: Box<BoundStep> },
    GroundGone,
}

fn run_error(code: &str, message: impl Into<String>) -> RunError {
    RunError { code: code.to_owned(), message: message.into(), violations: Vec::new() }
}

fn unsupported(kind: ActionKind) -> StepOutcome {
    let message = format!("expected an action that this program carries out, saw `{}`", kind.meta().name);
    StepOutcome::Failed(Box::new(StepFailure::new(Stage::Act, Cause::Unsupported, message)))
}

/// Whether a plan can go on after this cause at all.
const fn is_final(cause: Cause) -> bool {
    matches!(cause, Cause::BrowserGone | Cause::Unsupported)
}

fn ended_by(failure: &StepFailure) -> Stop {
    let result = match failure.cause {
        cause if cause.is_block() => RunResult::Blocked,
        Cause::BrowserGone => RunResult::Error,
        _ => RunResult::Failed,
    };
    let error =
        RunError { code: failure.cause.as_str().to_owned(), message: failure.message.clone(), violations: Vec::new() };
    Stop::Ended { result, error: Some(error), answer: None }
}

fn invalid(violations: Vec<Violation>) -> Stop {
    let only_policy =
        violations.iter().all(|violation| violation.code == cuebook_grammar::plan::ViolationCode::PolicyBlocked);
    let result = if only_policy { RunResult::Blocked } else { RunResult::Invalid };
    let code = violations.first().map_or("invalidPlan", |violation| violation.code.as_str()).to_owned();
    let message = violations.first().map_or_else(|| "the plan is invalid".to_owned(), ToString::to_string);
    Stop::Ended { result, error: Some(RunError { code, message, violations }), answer: None }
}

/// Drafts of a planner that keep failing the check are the planner's failure, not the user's.
fn rejected(violations: Vec<Violation>) -> Stop {
    match invalid(violations) {
        Stop::Ended { result: RunResult::Invalid, error, answer } => {
            Stop::Ended { result: RunResult::Failed, error, answer }
        }
        other => other,
    }
}

/// Whether the step names a candidate by its observed id.
fn names_observed(step: &Step, plan: &Plan) -> bool {
    step.targets().iter().any(|target| !plan.candidates().contains_key(*target))
}

fn needs_observation(step: &Step, draft: &PlanDraft) -> bool {
    step.targets().iter().any(|target| !draft.candidates.contains_key(*target) && target.candidate_id().is_some())
}
