//! Running a given plan, and planning from one observation to the next.

use std::time::Instant;

use cuebook_grammar::action::Action;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, StepFailure};
use cuebook_grammar::plan::{Author, Plan, PlanDraft, Violations};
use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::record::{PlanningRecord, RECORD_VERSION, StepOrigin};
use cuebook_grammar::report::{ErrorCode, RunResult};
use cuebook_grammar::seam::{
    Confirm as _, ConfirmReply, ConfirmRequest, HistoryEntry, PlanReply, PlanRequest, Planner as _, StepLog as _, Stuck,
};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;
use serde_json::Value;
use tracing::{Instrument as _, info_span};

use super::end::{PlanEnd, StepEnd, Stop, ended_by, invalid, is_final, rejected};
use super::layers::Seams;
use super::run::Controller;
use crate::calls::{self, Calls};
use crate::request::RunEvent;
use crate::state::Run;

/// Drafts that a planner may offer to repair a failure.
const REPAIR_DRAFTS: usize = 3;

impl<S: Seams> Controller<S> {
    /// The plan that was given, if it can be judged without looking at a page: what is refused then is refused
    /// before anything is opened.
    pub(super) fn judged_unseen(&self, run: &Run, draft: &PlanDraft) -> Result<Option<Plan>, Stop> {
        if draft.steps.iter().any(|step| needs_observation(step, draft)) {
            return Ok(None);
        }
        let url = run.request.start_url.clone().unwrap_or_else(|| "about:blank".to_owned());
        let blank = Observation::blank(run.page.clone(), &url);
        draft.check(&blank, &run.request.policy).map(Some).map_err(invalid)
    }

    pub(super) async fn run_given_plan(
        &mut self,
        run: &mut Run,
        draft: &PlanDraft,
        judged: Option<Plan>,
    ) -> Result<(), Stop> {
        let plan = match judged {
            Some(plan) => plan,
            None => {
                // Its author names candidates of the whole page, so every later observation is of the whole page too.
                run.scope = Scope::Full;
                let observation = self.observe(run, run.scope).await?;
                let observation = self.past_challenge(run, observation, None).await?;
                draft.check(&observation, &run.request.policy).map_err(invalid)?
            }
        };
        run.plan_id = Some(draft.plan_id.clone().unwrap_or_else(|| ShortText::cut("p0")));
        self.listener.event(RunEvent::Planned(&plan));
        let end = self.run_plan(run, &plan).await?;
        match end {
            PlanEnd::Completed => Ok(()),
            PlanEnd::Failed(failure) => Err(ended_by(&failure)),
            PlanEnd::Dropped => Err(dropped()),
        }
    }

    pub(super) async fn run_task(&mut self, run: &mut Run, task: &str) -> Result<(), Stop> {
        let mut invalid_in_a_row = 0;
        let mut last_failure: Option<Box<StepFailure>> = None;
        for _ in 0..self.budgets.iterations {
            self.in_time(run)?;
            run.scope = Scope::View;
            let observation = self.observe(run, run.scope).await?;
            let observation = self.past_challenge(run, observation, last_failure.as_deref()).await?;
            let reply = self.ask_planner(run, task, &observation, last_failure.as_deref()).await?;
            run.usage.add(reply.usage);
            run.plans = run.plans.saturating_add(1);
            run.planner_state = reply.state;
            if let Some(note) = &reply.note {
                self.listener.event(RunEvent::Noted(&self.redactor.redact(note)));
            }
            let Some((draft, judged)) = best(reply.drafts, &observation, &run.request.policy) else {
                if let Some(failure) = last_failure {
                    return Err(ended_by(&failure));
                }
                let message = reply.note.unwrap_or_else(|| "the planner has no plan for this page".to_owned());
                return Err(Stop::failed(ErrorCode::NoPlan, self.redactor.redact(&message)));
            };
            let plan = match judged {
                Ok(plan) => plan,
                Err(violations) => {
                    let violations = Violations::from(self.clean(violations.into_vec())?);
                    self.listener.event(RunEvent::Rejected(&violations));
                    invalid_in_a_row += 1;
                    if invalid_in_a_row >= self.budgets.invalid_drafts {
                        return Err(rejected(violations));
                    }
                    continue;
                }
            };
            invalid_in_a_row = 0;
            let number = run.plans.saturating_sub(1);
            run.plan_id = Some(draft.plan_id.clone().unwrap_or_else(|| ShortText::cut(&format!("p{number}"))));
            self.listener.event(RunEvent::Planned(&plan));
            run.stuck_now = run.stuck.note(&plan, &observation);
            if run.stuck_now == Stuck::Stop {
                return Err(Stop::failed(
                    ErrorCode::Stuck,
                    "the same plan on the same page keeps coming back without progress",
                ));
            }
            match self.run_plan(run, &plan).await? {
                // No one continues an operator's plan: it runs to its end, or it has failed.
                PlanEnd::Dropped if draft.author == Author::Operator => return Err(dropped()),
                PlanEnd::Completed | PlanEnd::Dropped => last_failure = None,
                PlanEnd::Failed(failure) if failure.cause.is_block() || is_final(failure.cause) => {
                    return Err(ended_by(&failure));
                }
                PlanEnd::Failed(failure) => last_failure = Some(failure),
            }
        }
        Err(last_failure.map_or_else(
            || {
                Stop::failed(
                    ErrorCode::BudgetExceeded,
                    format!("expected an end within {} plans", self.budgets.iterations),
                )
            },
            |failure| ended_by(&failure),
        ))
    }

    /// Requests a plan. Every call of a model is logged, even if planning fails.
    async fn ask_planner(
        &mut self,
        run: &mut Run,
        task: &str,
        observation: &Observation,
        failure: Option<&StepFailure>,
    ) -> Result<PlanReply, Stop> {
        let images = self.pictures(run, observation).await?;
        let seen = self.read(run, observation.clone()).await?;
        let seen = self.clean(seen)?;
        self.keep(run, &seen).await?;
        let deadline = run.deadline.within(Instant::now(), self.budgets.planning);
        let request = PlanRequest {
            history: &run.history,
            failure,
            images: &images,
            beam: if failure.is_some() { REPAIR_DRAFTS } else { 1 },
            plan: run.plans,
            state: run.planner_state.as_ref(),
            stuck: run.stuck_now,
            ..PlanRequest::new(task, &seen, &run.request.policy)
        };
        let mut calls = Calls::default();
        let planning = self.layers.planner().plan(&request, &mut calls, deadline).instrument(info_span!("plan"));
        let reply = self.interrupt.guard(planning).await;
        if !matches!(reply, Ok(Ok(_))) {
            run.usage.add(calls.usage());
        }
        let drafts = match &reply {
            Ok(Ok(reply)) => reply.drafts.as_slice(),
            _ => &[],
        };
        let clean = calls::Cleaner::new(self.redactor.as_ref(), task, observation, drafts);
        run.planning = None;
        for (ts_ms, call) in calls.into_ended() {
            let record = PlanningRecord {
                schema_version: RECORD_VERSION.to_owned(),
                run_id: run.request.run_id.clone(),
                planning_index: run.calls,
                ts_ms,
                observation: Some(observation.id),
                call: call.kept(&|text| clean.clean(text)),
            };
            self.layers.log().planned(&record).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
            if record.call.end == CallEnd::Accepted {
                run.planning = Some(run.calls);
            }
            run.calls = run.calls.saturating_add(1);
        }
        reply?.map_err(Stop::broken(ErrorCode::PlannerUnavailable))
    }

    /// Ends a run whose time is up, before a layer is asked for something it has no time for.
    pub(super) fn in_time(&self, run: &Run) -> Result<(), Stop> {
        if !run.deadline.has_passed(Instant::now()) {
            return Ok(());
        }
        let message = format!("the run took longer than the {} s that it may take", self.budgets.run.as_secs());
        Err(Stop::failed(ErrorCode::BudgetExceeded, message))
    }

    async fn run_plan(&mut self, run: &mut Run, plan: &Plan) -> Result<PlanEnd, Stop> {
        for index in 0..plan.steps().len() {
            if let Some(end) = self.control_step(run, plan, index).await? {
                return Err(end);
            }
            self.in_time(run)?;
            match Box::pin(self.run_step(run, plan, index, StepOrigin::Plan)).await? {
                StepEnd::Done { changed_page } => {
                    let rest = plan.steps().get(index + 1..).unwrap_or_default();
                    if changed_page && rest.iter().any(|checked| plan.names_observed(&checked.step)) {
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
            Action::Fail(fail) => Ok(Some(Stop::failed(ErrorCode::TaskFailed, self.redactor.redact(&fail.reason)))),
            Action::AskUser(ask) => {
                let question = ask.question.to_string();
                let request = ConfirmRequest { question: question.clone(), grant: None };
                let deadline = run.deadline.within(Instant::now(), self.budgets.answer);
                let reply = self.interrupt.guard(self.layers.confirm().confirm(&request, deadline)).await?;
                match reply {
                    ConfirmReply::Yes(Some(answer)) => {
                        run.history.push(HistoryEntry {
                            data: Some(Value::String(answer)),
                            planned: run.planned(u32::try_from(index).unwrap_or(u32::MAX)),
                            ..HistoryEntry::of(checked.step.clone())
                        });
                        Ok(None)
                    }
                    _ => Ok(Some(Stop::failed(ErrorCode::NeedsAnswer, self.redactor.redact(&question)))),
                }
            }
            _ => Ok(None),
        }
    }
}

/// The first draft that passes the check and whose first step binds to what is seen now, else the first that passes;
/// the first of all if none does.
fn best(
    drafts: Vec<PlanDraft>,
    observation: &Observation,
    policy: &Policy,
) -> Option<(PlanDraft, Result<Plan, Violations>)> {
    let judged = drafts.into_iter().take(REPAIR_DRAFTS).map(|draft| {
        let plan = draft.check(observation, policy);
        (draft, plan)
    });
    judged.min_by_key(|(_, plan)| match plan {
        Ok(plan) if plan.bind(0, observation).is_ok() => 0,
        Ok(_) => 1,
        Err(_) => 2,
    })
}

fn dropped() -> Stop {
    let message = "the page changed under the plan: its remaining steps name candidates of the former page";
    Stop::failed(Cause::TargetStale, message)
}

fn needs_observation(step: &Step, draft: &PlanDraft) -> bool {
    step.targets().iter().any(|target| !draft.candidates.contains_key(*target) && target.candidate_id().is_some())
}
