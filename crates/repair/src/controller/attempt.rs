//! One attempt at one step: bind, consent, begin, act, commit.

use std::pin::pin;
use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, ActionKind, Owner};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{BoundStep, Plan, Violations};
use cuebook_grammar::policy::Consent;
use cuebook_grammar::record::{LoggedEvent, StepOrigin};
use cuebook_grammar::render;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::{Executor as _, Finding, HistoryEntry, PageModeler as _, Query, StepLog as _, StepTicket};
use tokio::sync::Notify;
use tracing::{Instrument as _, debug, info_span};

use super::consent::Asking;
use super::end::{Attempt, Stop, ended_by};
use super::filling::Gate;
use super::layers::Seams;
use super::run::Controller;
use crate::calls::{Calls, Cleaner};
use crate::goal;
use crate::ladder::cause_of;
use crate::pace;
use crate::recording;
use crate::recording::{Place, RecordInput, Sensitivity};
use crate::request::{RunEvent, Work};
use crate::state::RunState;

/// The most time for looking at a page before its step is over.
const PREPARING: Duration = Duration::from_secs(2);

impl<S: Seams> Controller<S> {
    /// One attempt at one step: bind, consent, begin, act, commit.
    pub(super) async fn attempt(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        index: usize,
        place: &Place,
    ) -> Result<Attempt, Stop> {
        let ground = if plan.needs_observation(index) { self.current(run).await? } else { run.ground_or_blank() };
        let bound = match plan.bind(index, &ground) {
            Ok(bound) => bound,
            Err(violations) => return self.unbound(run, plan, index, place, &ground, violations).await,
        };
        let span = info_span!("step", step_index = place.step_index, action = bound.action().kind().meta().name);
        self.attempt_bound(run, &bound, &ground, place).instrument(span).await
    }

    /// A step that no longer binds. If the candidate was valid until recently, a repair may find it again; if the page is
    /// another one, the rest of the plan is dropped.
    async fn unbound(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        index: usize,
        place: &Place,
        ground: &Observation,
        violations: Violations,
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
        run: &mut RunState,
        bound: &BoundStep,
        ground: &Observation,
        place: &Place,
    ) -> Result<Attempt, Stop> {
        if let Some(refusal) = self.consent(run, bound).await? {
            return self.settle(run, bound, ground, place, StepOutcome::Failed(Box::new(refusal)), None).await;
        }
        let deadline = run.deadline.within(Instant::now(), self.budgets.time_for(bound.timeout()));
        let url = run.ground.as_ref().map_or(&ground.url, |ground| &ground.observation.url).clone();
        if let Some(refusal) = self.await_turn(bound, &url, deadline).await? {
            return self.settle(run, bound, ground, place, StepOutcome::Failed(Box::new(refusal)), None).await;
        }
        if recording::uses_observation(bound) && run.kept != Some(ground.id) {
            let seen = self.clean(ground.clone())?;
            self.keep(run, &seen).await?;
        }
        let careful = Sensitivity::before(bound);
        let target = bound.main_target().and_then(|(_, target)| target.candidate()).map(|candidate| candidate.title());
        let target = target.map(|title| self.redactor.redact(&title).into_owned());
        let shown = self.clean(careful.redact(bound.step(), &self.digest))?;
        self.listener.event(RunEvent::StepBegun {
            plan_index: place.plan_index,
            origin: place.origin,
            step: &shown,
            target: target.as_deref(),
        });
        let intent = recording::intent(place, shown);
        let began = (intent.ts_ms, Instant::now());
        let ticket = self.layers.log().begin(&intent).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
        let outcome = self.dispatch(run, bound, ground, deadline).await?;
        self.settle(run, bound, ground, place, outcome, Some((ticket, began))).await
    }

    /// Routes an action to its owner.
    pub(super) async fn dispatch(
        &mut self,
        run: &mut RunState,
        bound: &BoundStep,
        ground: &Observation,
        deadline: Deadline,
    ) -> Result<StepOutcome, Stop> {
        match bound.action().kind().meta().owner {
            Owner::Executor => {
                let (planner, mut calls) = (self.layers.planner(), Calls::default());
                let (executor, confirm, modeler) = self.layers.acting();
                let (redactor, budgets) = (self.redactor.as_ref(), &self.budgets);
                let (questions, deadline_of_run) = (&mut run.questions, run.deadline);
                let settling = &Notify::new();
                let asking = Asking { confirm, redactor, budgets, questions, deadline: deadline_of_run, settling };
                let (fills, fills_left) = (budgets.fills > 0, &mut run.fills_left);
                let mut gate = Gate { asking, planner: &*planner, calls: &mut calls, fills_left, fills };
                // Boxed: the futures of several layers in one another exceed what a compiler lays out by default.
                let mut acting = Box::pin(executor.run_step(&run.page, bound, ground, &mut gate, deadline));
                let (page, scope) = (&run.page, run.scope);
                let is_observed_next = matches!(run.request.work, Work::Task(_)) || recording::uses_observation(bound);
                let acting = async move {
                    loop {
                        tokio::select! {
                            biased;
                            acted = &mut acting => return acted,
                            () = settling.notified(), if is_observed_next => {}
                        }
                        let by = deadline.within(Instant::now(), PREPARING);
                        let mut preparing = pin!(modeler.prepare(page, scope, by).instrument(info_span!("prepare")));
                        let said =
                            |prepared: Result<(), _>| prepared.unwrap_or_else(|error| debug!(%error, "not prepared"));
                        // A look that was begun is finished: what it knows of the page would be lost.
                        tokio::select! {
                            biased;
                            acted = &mut acting => {
                                said(preparing.await);
                                return acted;
                            }
                            prepared = &mut preparing => said(prepared),
                        }
                    }
                };
                let acted = Box::pin(self.interrupt.guard(acting)).await;
                self.keep_fills(run, calls).await?;
                acted?.map_err(Stop::broken(ErrorCode::ExecutorBroken))
            }
            Owner::Modeler => {
                let query = match bound.action() {
                    Action::SearchPage(search) => Query::Search(search.clone()),
                    Action::FindElements(find) => Query::Find(find.clone()),
                    Action::ResolveSelector(resolve) => Query::Resolve(resolve.clone()),
                    Action::Snapshot(snapshot) => Query::Snapshot(snapshot.scope.unwrap_or_default()),
                    _ => return Ok(unsupported(bound.action().kind())),
                };
                let exploring = Box::pin(self.layers.modeler().explore(&run.page, &query, deadline));
                let finding = match self.interrupt.guard(exploring).await? {
                    Ok(finding) => finding,
                    Err(error) => return Err(self.unseen(error)),
                };
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
                    Finding::DialogOpen => StepOutcome::Failed(Box::new(StepFailure::dialog_open())),
                })
            }
            Owner::Handler => {
                let Some(handler) = &mut self.handler else { return Ok(unsupported(bound.action().kind())) };
                let handling = handler.handle(bound, deadline);
                self.interrupt.guard(handling).await?.map_err(Stop::broken(ErrorCode::HandlerBroken))
            }
            Owner::Controller => Ok(unsupported(bound.action().kind())),
        }
    }

    /// Logs the calls of a model that a step made, and counts them.
    async fn keep_fills(&mut self, run: &mut RunState, calls: Calls) -> Result<(), Stop> {
        run.usage.add(calls.usage());
        let task = if let Work::Task(task) = &run.request.work { task.clone() } else { String::new() };
        let redactor = self.redactor.clone();
        let blank = run.ground_or_blank();
        let clean = Cleaner::new(redactor.as_ref(), &task, &blank, &[], &[]);
        self.keep_calls(run, calls, &clean, None).await.map(drop)
    }

    /// Waits until the origin of the step may be used again; the failure if that is after `deadline`.
    async fn await_turn(
        &mut self,
        bound: &BoundStep,
        url: &str,
        deadline: Deadline,
    ) -> Result<Option<StepFailure>, Stop> {
        let Some(origin) = pace::origin_of(bound, url) else { return Ok(None) };
        let now = Instant::now();
        let left = deadline.remaining(now);
        match self.pace.take(&origin, bound.policy().rate(), now, left) {
            Ok(Duration::ZERO) => Ok(None),
            Ok(wait) => {
                self.interrupt.guard(tokio::time::sleep(wait)).await?;
                Ok(None)
            }
            Err(failure) => Ok(Some(*failure)),
        }
    }

    /// The question that has to be agreed to before this step, and the grant that would answer it.
    pub(super) fn question_about(run: &RunState, bound: &BoundStep) -> Option<(String, String)> {
        let task = if let Work::Task(task) = &run.request.work { task } else { "" };
        let carried = run.lineage.carried(bound, task);
        let to_carry = carried.as_ref().map(|carried| bound.policy().consent_to_carry(&carried.to));
        let mut consents = std::iter::once(bound.consent().clone()).chain(to_carry);
        let Some(Consent::Ask { grant }) = consents.find(|consent| *consent != Consent::Granted) else { return None };
        let source =
            carried.map_or_else(String::new, |carried| format!(" It enters what was read on {}.", carried.from));
        Some((render::question(bound) + &source, grant))
    }

    /// Asks for consent if the policy requires it; the failure if it is not given.
    async fn consent(&mut self, run: &mut RunState, bound: &BoundStep) -> Result<Option<StepFailure>, Stop> {
        let Some((question, grant)) = Self::question_about(run, bound) else { return Ok(None) };
        if let Some(at) = run.agreed.iter().position(|agreed| *agreed == question) {
            run.agreed.swap_remove(at);
            return Ok(None);
        }
        let confirm = self.layers.confirm();
        let (redactor, budgets) = (self.redactor.as_ref(), &self.budgets);
        let (questions, deadline) = (&mut run.questions, run.deadline);
        let settling = &Notify::new();
        let mut asking = Asking { confirm, redactor, budgets, questions, deadline, settling };
        Ok(self.interrupt.guard(asking.ask(bound, &question, &grant)).await?.err().map(|failure| *failure))
    }

    /// Writes the record and reports the end of the step.
    async fn settle(
        &mut self,
        run: &mut RunState,
        bound: &BoundStep,
        ground: &Observation,
        place: &Place,
        outcome: StepOutcome,
        begun: Option<(StepTicket, (u64, Instant))>,
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
            sensitivity: &sensitivity,
            digest: &self.digest,
        };
        let effects = match &outcome {
            StepOutcome::Succeeded(success) => success.evidence.effects.as_ref(),
            StepOutcome::Failed(failure) => failure.evidence.effects.as_ref(),
        };
        self.pace.note(effects, Instant::now());
        run.stuck.note_effects(effects);
        goal::note_effects(&mut run.caused, effects);
        run.texts.note_step(bound.action());
        let record = recording::kept(recording::record(input, &outcome), self.redactor.as_ref())
            .map_err(Stop::broken(ErrorCode::LogUnavailable))?;
        let ticket = match begun {
            Some((ticket, _)) => ticket,
            None => {
                let intent = recording::intent(place, step.clone());
                self.layers.log().begin(&intent).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?
            }
        };
        self.layers.log().commit(ticket, &record).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
        self.listener.event(RunEvent::StepEnded(&record));
        if let (Action::Extract(extract), StepOutcome::Succeeded(_)) = (bound.action(), &outcome)
            && extract.query.asks_for_nothing()
        {
            self.keep_event(run, LoggedEvent::ReadAsMarkdown { step_index: record.step_index }).await?;
        }
        let planned = place.plan_index.and_then(|index| run.planned(index));
        run.lineage.note_step(&record);
        run.texts.note_data(record.data.as_ref());
        run.change = run.change.after(&record);
        run.history.push(HistoryEntry::of_record(&record, planned));
        Ok(match outcome {
            StepOutcome::Succeeded(success) => {
                run.after_success(bound, &success);
                let switched = success.page.is_some_and(|page| std::mem::replace(&mut run.page, page.clone()) != page);
                let effects = success.evidence.effects.as_ref();
                Attempt::Done { record, changed_page: switched || effects.is_some_and(|e| e.changes_page()) }
            }
            StepOutcome::Failed(mut failure) => {
                run.age();
                // Planners and reports get what is kept of it.
                if let Some(kept) = &record.failure {
                    failure.message.clone_from(&kept.message);
                    failure.facts = kept.facts.clone();
                }
                failure.evidence.pre.clone_from(&record.pre_check);
                failure.evidence.post.clone_from(&record.post_check);
                Attempt::Failed { record, failure, bound: Box::new(bound.clone()) }
            }
        })
    }
}

fn unsupported(kind: ActionKind) -> StepOutcome {
    let message = format!("this program cannot perform `{}`", kind.meta().name);
    StepOutcome::Failed(Box::new(StepFailure::new(Stage::Act, Cause::Unsupported, message)))
}
