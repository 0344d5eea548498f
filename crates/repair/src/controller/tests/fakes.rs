//! Layers that live in memory: a page that is a value, an executor that is a function of it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuebook_grammar::action::Action;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::{ObservationId, PageId, RunId};
use cuebook_grammar::observation::{Challenge, Observation, Pane, Scope};
use cuebook_grammar::outcome::{Cause, EffectRecord, Stage, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{Author, BoundStep, PlanDraft, Violation, ViolationCode};
use cuebook_grammar::planning::{CallEnd, PlanningCall};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::{EventRecord, LoggedEvent, PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::{
    Confirm, ConfirmReply, ConfirmRequest, EffectGate, Executor, Finding, Finished, HistoryEntry, Image, PageModeler,
    PlanReply, PlanRequest, PlanSink, Planner, Query, Redactor, RemainingBudget, StepLog, StepTicket, Stuck,
};
use cuebook_grammar::secret::DigestKey;
use serde_json::{Value, json};

use crate::{Budgets, Controller, Interrupt, Ladder, Layers, RunRequest, Seams, Sight, Work};

/// The page of every test.
pub(super) const SHOP: &str = "https://shop.test/";

/// The parts of a planner's request that the tests look at.
#[derive(Debug)]
pub(super) struct RequestSummary {
    pub(super) stuck: Stuck,
    pub(super) plan: u32,
    pub(super) beam: usize,
    pub(super) state: Option<Value>,
    pub(super) task: String,
    /// Number of candidates that it was shown.
    pub(super) shown: usize,
    pub(super) memory: Option<String>,
    pub(super) left: Option<RemainingBudget>,
    pub(super) failure: Option<Cause>,
    pub(super) history: Vec<HistoryEntry>,
    /// Number of pictures that it was shown.
    pub(super) pictures: usize,
}

/// An event while a planner's answer arrives.
pub(super) enum Write {
    /// A step is complete.
    Step(Value),
    /// Nothing more comes until this was done: a line of the trace.
    Until(&'static str),
    /// The plan is rewritten, if that is allowed; otherwise planning fails.
    Anew,
    /// The connection to the model breaks.
    Break,
    /// The note that the planner wants to read again.
    Note(&'static str),
    /// A model's answer is no plan, also when asked again.
    Nonsense,
}

type Plans = Box<dyn FnMut(u32) -> PlanReply + Send>;
type Acts = Box<dyn FnMut(&BoundStep, &mut Shop) -> StepOutcome + Send>;

/// A page, and everything that the layers did with it.
pub(super) struct Shop {
    /// Candidates: id, role, name, and whether they are in view.
    pub(super) candidates: Vec<(u32, &'static str, &'static str, bool)>,
    /// Panes: pixels above and below what they show.
    pub(super) panes: Vec<(u32, u32)>,
    pub(super) url: String,
    pub(super) fingerprint: String,
    looks: u64,
    /// The challenges that the next observations find; the last one stays.
    pub(super) challenges: VecDeque<Option<Challenge>>,
    /// The calls of the layers, in order: `observe view`, `begin 0.1 click`, `act click`, `commit 0.1 ok`, …
    pub(super) trace: Vec<String>,
    pub(super) records: Vec<StepRecord>,
    pub(super) happened: Vec<LoggedEvent>,
    pub(super) asked: Vec<RequestSummary>,
    pub(super) questions: Vec<ConfirmRequest>,
    pub(super) answers: VecDeque<ConfirmReply>,
    /// The page is as it was when it was looked at.
    pub(super) is_unchanged: bool,
    /// The log fails from this many lines on.
    pub(super) log_breaks_at: Option<usize>,
    /// The next step waits whether its conditions last.
    pub(super) settles: bool,
    /// The executor never answers.
    pub(super) hangs: bool,
    /// The cause that speaks against the next end of the run.
    pub(super) speaks_against_end: Option<Cause>,
    /// No observation succeeds, for this reason if the page is gone.
    pub(super) unseen: Option<Option<Cause>>,
}

/// The error with which a fake breaks.
#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
pub(super) struct Broken;

/// A run over fakes.
pub(super) struct Trial {
    pub(super) shop: Arc<Mutex<Shop>>,
    plans: Plans,
    pub(super) writes: VecDeque<Vec<Write>>,
    acts: Acts,
    pub(super) task: &'static str,
    pub(super) budgets: Budgets,
    pub(super) policy: Policy,
    pub(super) interrupt: Interrupt,
    pub(super) sight: Sight,
}

impl Trial {
    /// A shop of these candidates; every step succeeds, and there is no planner.
    pub(super) fn new(candidates: &[(u32, &'static str, &'static str)]) -> Self {
        let shop = Shop {
            candidates: candidates.iter().map(|(id, role, name)| (*id, *role, *name, true)).collect(),
            panes: Vec::new(),
            url: SHOP.to_owned(),
            fingerprint: "shop".to_owned(),
            looks: 0,
            challenges: VecDeque::new(),
            trace: Vec::new(),
            records: Vec::new(),
            happened: Vec::new(),
            asked: Vec::new(),
            questions: Vec::new(),
            answers: VecDeque::new(),
            is_unchanged: false,
            log_breaks_at: None,
            settles: false,
            hangs: false,
            speaks_against_end: None,
            unseen: None,
        };
        Self {
            shop: Arc::new(Mutex::new(shop)),
            plans: Box::new(|_| PlanReply::none("no more plans")),
            writes: VecDeque::new(),
            acts: Box::new(|_, _| done()),
            task: "buy a pencil",
            budgets: Budgets::default(),
            policy: Policy::default().starting_at(SHOP).unwrap(),
            interrupt: Interrupt::default(),
            sight: Sight::default(),
        }
    }

    /// Answers the planner's `n`th request, from 0.
    pub(super) fn planning(mut self, plans: impl FnMut(u32) -> PlanReply + Send + 'static) -> Self {
        self.plans = Box::new(plans);
        self
    }

    /// Answers the executor's steps with the outcomes of `acts`.
    pub(super) fn acting(mut self, acts: impl FnMut(&BoundStep, &mut Shop) -> StepOutcome + Send + 'static) -> Self {
        self.acts = Box::new(acts);
        self
    }

    /// The first step on a candidate finds it moving; every other step succeeds.
    pub(super) fn failing_first(self) -> Self {
        let mut first = true;
        self.acting(move |step, _| {
            let fails = step.action().target().is_some() && std::mem::take(&mut first);
            if fails { failed(Stage::Actionability, Cause::NotStable) } else { done() }
        })
    }

    pub(super) fn shop(&self) -> MutexGuard<'_, Shop> {
        lock(&self.shop)
    }

    /// `run` with a task.
    pub(super) async fn run(self) -> (RunReport, Arc<Mutex<Shop>>) {
        let task = Work::Task(self.task.to_owned());
        self.work(task).await
    }

    /// `exec` of these steps.
    pub(super) async fn exec(self, steps: Value) -> (RunReport, Arc<Mutex<Shop>>) {
        self.work(Work::Plan(Box::new(draft(steps, Author::Operator)))).await
    }

    /// `exec` of these steps, which may name the declared buttons `save` and `other`.
    pub(super) async fn exec_declared(self, steps: Value) -> (RunReport, Arc<Mutex<Shop>>) {
        let save = json!({ "strategy": "byRole", "role": "button", "name": "Next" });
        let other = json!({ "strategy": "byRole", "role": "option", "name": "Row 80" });
        let plan = json!({ "version": "1.0", "candidates": { "save": save, "other": other }, "steps": steps });
        self.work(Work::Plan(Box::new(PlanDraft::read_value(plan, Author::Operator).unwrap()))).await
    }

    /// An open run that is given these plans one after another, each with its interrupt; the report of each, then
    /// that of the whole.
    pub(super) async fn session(self, plans: Vec<(Value, Interrupt)>) -> (Vec<RunReport>, Arc<Mutex<Shop>>) {
        let (mut controller, request, shop) = self.controller(Work::Session);
        let mut open = controller.begin(request).await.unwrap();
        let mut reports = Vec::new();
        for (steps, interrupt) in plans {
            let work = Work::Plan(Box::new(draft(steps, Author::Operator)));
            controller.interrupt_by(interrupt);
            reports.push(controller.go_on(&mut open, work).await);
        }
        reports.push(controller.end(open).await);
        (reports, shop)
    }

    /// Calls that an open run makes for a click after a look at its page.
    pub(super) async fn click_after_a_look(self) -> Vec<String> {
        let (mut controller, request, shop) = self.controller(Work::Session);
        let mut open = controller.begin(request).await.unwrap();
        controller.look(&mut open, Scope::Full).await.unwrap();
        let before = lock(&shop).trace.len();
        controller.go_on(&mut open, Work::Plan(Box::new(draft(json!([click(1)]), Author::Operator)))).await;
        lock(&shop).trace.split_off(before)
    }

    pub(super) async fn work(self, work: Work) -> (RunReport, Arc<Mutex<Shop>>) {
        let (mut controller, request, shop) = self.controller(work);
        (controller.run(request).await, shop)
    }

    fn controller(self, work: Work) -> (Controller<impl Seams>, RunRequest, Arc<Mutex<Shop>>) {
        let shop = self.shop;
        let fake = || Fake(shop.clone());
        let layers = Layers {
            modeler: fake(),
            planner: Arc::new(FakePlanner {
                shop: shop.clone(),
                plans: Mutex::new(self.plans),
                writes: Mutex::new(self.writes),
            }),
            executor: FakeExecutor { shop: shop.clone(), acts: self.acts },
            repair: Ladder::default(),
            log: fake(),
            confirm: fake(),
        };
        let request = RunRequest::new(RunId::new("run"), work, PageId::new("tab"), self.policy);
        let request = RunRequest { sight: self.sight, ..request };
        let controller = Controller::new(layers, DigestKey::new([1; 32]), Arc::new(Open))
            .with_budgets(self.budgets)
            .with_interrupt(self.interrupt);
        (controller, request, shop)
    }
}

pub(super) fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn draft(steps: Value, author: Author) -> PlanDraft {
    PlanDraft::read_value(json!({ "version": "1.0", "steps": steps }), author).unwrap()
}

/// A model's plan of these steps.
pub(super) fn plan(steps: Value) -> PlanReply {
    PlanReply::of(draft(steps, Author::Model))
}

pub(super) fn click(id: u32) -> Value {
    json!({ "type": "click", "targetRef": format!("c{id}") })
}

pub(super) fn click_on(target: &str) -> Value {
    json!({ "type": "click", "targetRef": target })
}

pub(super) fn done() -> StepOutcome {
    StepOutcome::Succeeded(StepSuccess::default())
}

/// A step that led to another document.
pub(super) fn left() -> StepOutcome {
    let mut success = StepSuccess::default();
    success.evidence.input_sent = true;
    success.evidence.effects = Some(EffectRecord { new_document: true, ..EffectRecord::default() });
    StepOutcome::Succeeded(success)
}

pub(super) fn failed(stage: Stage, cause: Cause) -> StepOutcome {
    StepOutcome::Failed(Box::new(StepFailure::new(stage, cause, "as the test wants it")))
}

impl Shop {
    fn observation(&mut self, scope: Scope) -> Observation {
        self.looks += 1;
        let mut page = Observation::blank(PageId::new("tab"), &self.url);
        page.id = ObservationId(self.looks);
        page.scope = scope;
        page.sketch.challenge = self.challenges.front().copied().flatten();
        if self.challenges.len() > 1 {
            self.challenges.pop_front();
        }
        let pane = |(above, below): &(u32, u32)| Pane { above: *above, below: *below, ..Pane::default() };
        page.panes = self.panes.iter().map(pane).collect();
        page.fingerprint.clone_from(&self.fingerprint);
        let seen = self.candidates.iter().filter(|(_, _, _, in_view)| *in_view || scope == Scope::Full);
        let candidates: Vec<Value> = seen
            .map(|(id, role, name, _)| {
                let control = if *role == "textbox" { "text" } else { "plain" };
                json!({ "id": format!("c{id}"), "role": role, "name": name, "control": control,
                        "fingerprint": { "role": role, "name": name, "path": "main" } })
            })
            .collect();
        page.candidates = serde_json::from_value(Value::Array(candidates)).unwrap();
        page
    }

    fn keep(&mut self, line: String) -> Result<(), Broken> {
        let lines = self.trace.iter().filter(|line| !line.starts_with("observe") && !line.starts_with("act")).count();
        if self.log_breaks_at.is_some_and(|at| lines >= at) {
            return Err(Broken);
        }
        self.trace.push(line);
        Ok(())
    }

    /// The attempts as the log holds them: `0.1 click ok`.
    pub(super) fn attempts(&self) -> Vec<String> {
        let attempt = |record: &StepRecord| {
            let verb = record.action.action.kind().meta().name;
            let end = record.failure.as_ref().map_or("ok", |failure| failure.cause.as_str());
            format!("{}.{} {verb} {end}", record.step_index, record.attempt)
        };
        self.records.iter().map(attempt).collect()
    }

    /// Returns the actions that the executor ran, in order.
    pub(super) fn acted(&self) -> Vec<&str> {
        self.trace.iter().filter_map(|line| line.strip_prefix("act ")).collect()
    }
}

struct Fake(Arc<Mutex<Shop>>);

impl PageModeler for Fake {
    type Error = Broken;

    async fn observe(&mut self, _: &PageId, scope: Scope, _: Deadline) -> Result<Observation, Broken> {
        let mut shop = lock(&self.0);
        shop.trace.push(format!("observe {scope:?}").to_lowercase());
        if shop.unseen.is_some() { Err(Broken) } else { Ok(shop.observation(scope)) }
    }

    async fn is_unchanged(&mut self, _: &Observation, _: Deadline) -> Result<bool, Broken> {
        Ok(lock(&self.0).is_unchanged)
    }

    async fn prepare(&mut self, _: &PageId, scope: Scope, _: Deadline) -> Result<(), Broken> {
        lock(&self.0).trace.push(format!("prepare {scope:?}").to_lowercase());
        Ok(())
    }

    async fn picture(&mut self, _: &PageId, _: &Observation, _: Deadline) -> Result<Option<Image>, Broken> {
        Ok(Some(Image { media_type: "image/png".to_owned(), bytes: Vec::new() }))
    }

    fn lost(&self) -> Option<Cause> {
        lock(&self.0).unseen.flatten()
    }

    async fn explore(&mut self, _: &PageId, _: &Query, _: Deadline) -> Result<Finding, Broken> {
        Ok(Finding::Data(json!("found")))
    }
}

impl StepLog for Fake {
    type Error = Broken;

    async fn open(&mut self, _: &RunHeader) -> Result<(), Broken> {
        lock(&self.0).keep("open".to_owned())
    }
    async fn begin(&mut self, intent: &StepIntent) -> Result<StepTicket, Broken> {
        let verb = intent.action.action.kind().meta().name;
        lock(&self.0).keep(format!("begin {}.{} {verb}", intent.step_index, intent.attempt))?;
        Ok(StepTicket { step_index: intent.step_index, attempt: intent.attempt })
    }
    async fn commit(&mut self, ticket: StepTicket, record: &StepRecord) -> Result<(), Broken> {
        let mut shop = lock(&self.0);
        shop.keep(format!("commit {}.{}", ticket.step_index, ticket.attempt))?;
        shop.records.push(record.clone());
        Ok(())
    }
    async fn planned(&mut self, record: &PlanningRecord) -> Result<(), Broken> {
        lock(&self.0).keep(format!("planned {}", record.planning_index))
    }
    async fn happened(&mut self, record: &EventRecord) -> Result<(), Broken> {
        lock(&self.0).happened.push(record.event.clone());
        Ok(())
    }
    async fn close(&mut self, end: &RunEnd) -> Result<(), Broken> {
        lock(&self.0).keep(format!("close {:?}", end.result).to_lowercase())
    }
}

impl Confirm for Fake {
    async fn confirm(&mut self, request: &ConfirmRequest, _: Deadline) -> ConfirmReply {
        let mut shop = lock(&self.0);
        shop.questions.push(request.clone());
        shop.answers.pop_front().unwrap_or(ConfirmReply::Unanswered)
    }
}

struct FakePlanner {
    shop: Arc<Mutex<Shop>>,
    plans: Mutex<Plans>,
    /// Events of the first answers before they are complete.
    writes: Mutex<VecDeque<Vec<Write>>>,
}

impl FakePlanner {
    async fn write(&self, what: Write, index: &mut usize, sink: &mut dyn PlanSink) -> Result<(), Broken> {
        match what {
            Write::Step(step) => {
                let steps = draft(json!([step]), Author::Model).steps;
                steps.iter().for_each(|step| sink.step_ready(0, *index, step));
                *index += 1;
                lock(&self.shop).trace.push(format!("wrote {index}"));
            }
            Write::Until(line) => {
                while !lock(&self.shop).trace.iter().any(|done| done == line) {
                    tokio::task::yield_now().await;
                }
            }
            Write::Note(memory) => sink.remember(memory),
            Write::Nonsense => {
                let violation = Violation::new(ViolationCode::UnknownTarget, "/last/targetRef", "c9 is no candidate");
                sink.call_ended(PlanningCall { end: CallEnd::Invalid { violations: vec![violation] }, ..call() });
                return Err(Broken);
            }
            Write::Anew if sink.restart() => *index = 0,
            Write::Anew | Write::Break => return Err(Broken),
        }
        Ok(())
    }
}

impl Planner for FakePlanner {
    type Error = Broken;

    async fn plan(&self, request: &PlanRequest<'_>, sink: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Broken> {
        lock(&self.shop).asked.push(RequestSummary {
            stuck: request.stuck,
            plan: request.plan,
            beam: request.beam,
            state: request.state.cloned(),
            task: request.task.to_owned(),
            shown: request.observation.candidates.len(),
            memory: request.memory.map(str::to_owned),
            left: request.left,
            failure: request.failure.map(|failure| failure.cause),
            history: request.history.to_vec(),
            pictures: request.images.len(),
        });
        sink.call_begun();
        let writes = lock(&self.writes).pop_front().unwrap_or_default();
        let mut index = 0;
        for what in writes {
            self.write(what, &mut index, sink).await?;
        }
        sink.call_ended(call());
        Ok((lock(&self.plans))(request.plan))
    }
}

fn call() -> PlanningCall {
    serde_json::from_value(json!({
        "engine": "fake", "purpose": "plan", "input": [], "output": "", "end": "accepted", "inputTokens": 0,
        "outputTokens": 0, "latencyMs": 1, "attempts": 1
    }))
    .unwrap()
}

struct FakeExecutor {
    shop: Arc<Mutex<Shop>>,
    acts: Acts,
}

impl Executor for FakeExecutor {
    type Error = Broken;

    async fn run_step(
        &mut self,
        _: &PageId,
        step: &BoundStep,
        _: &Observation,
        gate: &mut dyn EffectGate,
        _: Deadline,
    ) -> Result<StepOutcome, Broken> {
        if std::mem::take(&mut lock(&self.shop).settles) {
            for _ in 0..2 {
                gate.settling();
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            }
        }
        let outcome = {
            let mut shop = lock(&self.shop);
            shop.trace.push(format!("act {}", line(step)));
            if shop.hangs { None } else { Some((self.acts)(step, &mut shop)) }
        };
        match outcome {
            Some(outcome) => Ok(outcome),
            None => std::future::pending().await,
        }
    }

    async fn prepare(&mut self, _: &PageId, step: &BoundStep, _: Deadline) -> Result<(), Broken> {
        lock(&self.shop).trace.push(format!("await {}", line(step)));
        // A target that never comes.
        std::future::pending().await
    }

    async fn finish(&mut self, _: &PageId, _: bool, _: Deadline) -> Result<Finished, Broken> {
        let against = lock(&self.shop).speaks_against_end.take();
        let against = against.map(|cause| Box::new(StepFailure::new(Stage::Postcondition, cause, "it was dropped")));
        Ok(Finished { against, ..Finished::default() })
    }
}

/// A step in a line: `click c1`.
pub(super) fn line(step: &BoundStep) -> String {
    let verb = step.action().kind().meta().name;
    match (step.action(), step.action().target()) {
        (Action::Press(press), _) => format!("{verb} {}", press.keys),
        (_, Some(target)) => format!("{verb} {target}"),
        _ => verb.to_owned(),
    }
}

struct Open;

impl Redactor for Open {
    fn redact<'a>(&self, text: &'a str) -> std::borrow::Cow<'a, str> {
        text.into()
    }
    fn learn(&self, _: &str) {}
}
