//! One attempt at one step: bind, consent, begin, act, commit.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, ActionKind, Owner};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{BoundStep, Plan, Violations};
use cuebook_grammar::policy::Consent;
use cuebook_grammar::record::StepOrigin;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::{
    Confirm as _, ConfirmReply, ConfirmRequest, Executor as _, Finding, PageModeler as _, Query, StepLog as _,
    StepTicket,
};
use tracing::{Instrument as _, info_span};

use super::end::{Attempt, Stop, ended_by};
use super::layers::Seams;
use super::look::names_observed;
use super::run::Controller;
use crate::history;
use crate::ladder::cause_of;
use crate::recording;
use crate::recording::{Place, RecordInput, Sensitivity};
use crate::request::RunEvent;
use crate::state::Run;

impl<S: Seams> Controller<S> {
    /// One attempt at one step: bind, consent, begin, act, commit.
    pub(super) async fn attempt(
        &mut self,
        run: &mut Run,
        plan: &Plan,
        index: usize,
        place: &Place,
    ) -> Result<Attempt, Stop> {
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

    /// A step that no longer binds. If the candidate was valid until recently, a repair may find it again; if the page is
    /// another one, the rest of the plan is dropped.
    async fn unbound(
        &mut self,
        run: &mut Run,
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
            plan_index: place.plan_index,
            origin: place.origin,
            step: &shown,
            target: target.as_deref(),
        });
        let intent = recording::intent(place, shown);
        let began = (intent.ts_ms, Instant::now());
        let ticket = self.layers.log().begin(&intent).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
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
                let acting = Box::pin(self.layers.executor().run_step(&run.page, bound, ground, deadline));
                self.interrupt.guard(acting).await?.map_err(Stop::broken(ErrorCode::ExecutorBroken))
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
                let finding = self.interrupt.guard(exploring).await?.map_err(Stop::broken(ErrorCode::ModelerBroken))?;
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
            Owner::Handler => {
                let Some(handler) = &mut self.handler else { return Ok(unsupported(bound.action().kind())) };
                let handling = handler.handle(bound, deadline);
                self.interrupt.guard(handling).await?.map_err(Stop::broken(ErrorCode::HandlerBroken))
            }
            Owner::Controller => Ok(unsupported(bound.action().kind())),
        }
    }

    /// Asks for consent if the policy requires it; the failure if it is not given.
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
        let reply = self.interrupt.guard(self.layers.confirm().confirm(&request, deadline)).await?;
        let why = match reply {
            ConfirmReply::Yes(_) => return Ok(None),
            ConfirmReply::No => "it was denied",
            ConfirmReply::NoOne => "there was no one to ask",
        };
        let message = format!("expected consent or --grant {grant}, and {why}");
        let mut failure = StepFailure::new(Stage::Confirm, Cause::ConfirmationDenied, message);
        failure.facts.target = bound.action().target().cloned();
        failure.facts.grant = Some(grant.clone());
        Ok(Some(failure))
    }

    /// Writes the record and reports the end of the step.
    async fn settle(
        &mut self,
        run: &mut Run,
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
            redactor: self.redactor.as_ref(),
            sensitivity: &sensitivity,
            digest: &self.digest,
        };
        let record = recording::record(input, &outcome);
        let ticket = match begun {
            Some((ticket, _)) => ticket,
            None => {
                let intent = recording::intent(place, step.clone());
                self.layers.log().begin(&intent).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?
            }
        };
        self.layers.log().commit(ticket, &record).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
        self.listener.event(RunEvent::StepEnded(&record));
        let planned = place.plan_index.and_then(|index| run.planned(index));
        run.history.push(history::entry(step, bound, &outcome, planned));
        Ok(match outcome {
            StepOutcome::Succeeded(success) => {
                run.after_success(bound, &success);
                let switched = success.page.is_some_and(|page| std::mem::replace(&mut run.page, page.clone()) != page);
                let effects = success.evidence.effects.as_ref();
                Attempt::Done { record, changed_page: switched || effects.is_some_and(|e| e.changes_page()) }
            }
            StepOutcome::Failed(failure) => {
                run.age();
                Attempt::Failed { record, failure, bound: Box::new(bound.clone()) }
            }
        })
    }
}

fn unsupported(kind: ActionKind) -> StepOutcome {
    let message = format!("this program cannot perform `{}`", kind.meta().name);
    StepOutcome::Failed(Box::new(StepFailure::new(Stage::Act, Cause::Unsupported, message)))
}
