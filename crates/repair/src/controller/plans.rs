//! Running a given plan, and planning from one observation to the next.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{Action, AskUser};
use cuebook_grammar::id::ObservationId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::plan::{Author, Plan, PlanDraft, ViolationCode, Violations};
use cuebook_grammar::planning::{CallEnd, CallPurpose};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::record::{Conclusion, LoggedEvent, PlanningRecord, RECORD_VERSION, StepOrigin};
use cuebook_grammar::render::{cut, quoted, with_sources};
use cuebook_grammar::report::{ErrorCode, RunResult};
use cuebook_grammar::seam::{
    Confirm as _, ConfirmReply, ConfirmRequest, Executor as _, HistoryEntry, MEMORY, PlanReply, PlanRequest,
    RemainingBudget, StepLog as _, Stuck,
};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;
use serde_json::Value;

use super::ahead::StreamedPrefix;
use super::drafts::{PlanKind, PlannerReply, best, choice};
use super::end::{PlanEnd, StepEnd, Stop, ended_by, invalid, is_final, is_skipped, rejected};
use super::layers::Seams;
use super::mending::Mended;
use super::run::Controller;
use crate::again::judged_again;
use crate::calls::{Calls, Cleaner};
use crate::recording;
use crate::request::{RunEvent, Work};
use crate::state::RunState;

/// Drafts that a planner may offer to repair a failure.
const REPAIR_DRAFTS: usize = 3;

/// Pause before a page is looked at again that does not yet have what a plan names.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl<S: Seams> Controller<S> {
    /// The plan that was given, if it can be judged without looking at a page: what is refused then is refused
    /// before anything is opened. What is not an operator's is judged by the page that it is for.
    pub(super) fn judged_unseen(&self, run: &RunState, draft: &PlanDraft) -> Result<Option<Plan>, Stop> {
        if draft.author != Author::Operator || draft.steps.iter().any(|step| needs_observation(step, draft)) {
            return Ok(None);
        }
        let url = run.request.start_url.clone().unwrap_or_else(|| "about:blank".to_owned());
        let blank = Observation::blank(run.page.clone(), &url);
        draft.check(&blank, &run.request.policy).map(Some).map_err(invalid)
    }

    pub(super) async fn run_given_plan(
        &mut self,
        run: &mut RunState,
        draft: &PlanDraft,
        judged: Option<Plan>,
    ) -> Result<(), Stop> {
        let plan = match judged {
            Some(plan) => plan,
            None => {
                // Its author names candidates of the whole page, so every later observation is of the whole page too.
                run.scope = Scope::Full;
                let observation = self.current(run).await?;
                let observation = self.past_challenge(run, observation, None).await?;
                match run.request.observed.clone() {
                    None => draft.check(&observation, &run.request.policy).map_err(invalid)?,
                    Some(former) => self.bound_plan(run, draft, &former, observation).await?,
                }
            }
        };
        run.plan_id = Some(draft.plan_id.clone().unwrap_or_else(|| ShortText::cut(&format!("p{}", run.plans))));
        self.listener.event(RunEvent::Planned(&plan));
        if !plan.goal().is_empty() {
            let page = self.current(run).await?;
            self.take_goal(run, &plan, &page);
        }
        match self.run_from(run, &plan, 0).await? {
            PlanEnd::Completed => {
                let against = match self.finish(run).await? {
                    None => self.proven(run, &plan, None).await?,
                    failure => failure,
                };
                against.map_or(Ok(()), |failure| Err(ended_by(&failure)))
            }
            PlanEnd::Dropped => Err(dropped()),
            PlanEnd::Failed(failure) => Err(ended_by(&failure)),
        }
    }

    /// The plan with the ids of the page as it is now, for one that was written for an earlier observation. A page that
    /// is still being built is looked at again.
    async fn bound_plan(
        &mut self,
        run: &mut RunState,
        draft: &PlanDraft,
        former: &Observation,
        mut live: Observation,
    ) -> Result<Plan, Stop> {
        draft.check(former, &run.request.policy).map_err(invalid)?;
        let by = run.deadline.within(Instant::now(), self.budgets.step);
        loop {
            let unbound = match draft.bound_to(former, &live) {
                Ok(bound) => return bound.check(&live, &run.request.policy).map_err(invalid),
                Err(unbound) => unbound,
            };
            let may_come = unbound.iter().any(|violation| violation.code == ViolationCode::UnknownTarget);
            if !may_come || by.has_passed(Instant::now()) {
                return Err(invalid(unbound));
            }
            self.interrupt.guard(tokio::time::sleep(LOOK_AGAIN)).await?;
            live = self.observe(run, run.scope).await?;
        }
    }

    /// Reason against a good end of the run: a value that was lost, a request or a download that is open, a request that was
    /// refused late.
    pub(super) async fn finish(&mut self, run: &mut RunState) -> Result<Option<Box<StepFailure>>, Stop> {
        let finishing = self.layers.executor().finish(&run.page, run.request.goes_on, run.deadline);
        let finished = self.interrupt.guard(finishing).await?.map_err(Stop::broken(ErrorCode::ExecutorBroken))?;
        run.ending.late = finished.late;
        Ok(finished.against.map(|mut failure| {
            failure.message = self.redactor.redact(&failure.message).into_owned();
            failure
        }))
    }

    pub(super) async fn run_task(&mut self, run: &mut RunState, task: &str) -> Result<(), Stop> {
        let mut invalid_in_a_row = 0;
        let mut last_failure: Option<Box<StepFailure>> = None;
        for spent in 0..self.budgets.iterations {
            self.in_time(run)?;
            run.scope = Scope::View;
            let observation = self.observe(run, run.scope).await?;
            let observation = self.past_challenge(run, observation, last_failure.as_deref()).await?;
            let plans = self.budgets.iterations.saturating_sub(spent);
            let heard =
                self.ask_planner(run, PlanKind::Plan, task, &observation, last_failure.as_deref(), plans).await?;
            let (reply, mut ahead) = match heard {
                PlannerReply::Answer(reply, ahead) => (reply, ahead),
                PlannerReply::Invalid(violations) => {
                    self.ask_instead(run, violations).await?;
                    continue;
                }
            };
            run.usage.add(reply.usage);
            let former = run.planner_state.clone();
            if reply.state.is_some() || ahead.end.is_none() {
                run.planner_state = reply.state;
            }
            if let Some(note) = &reply.note {
                self.listener.event(RunEvent::Noted(&self.redactor.redact(note)));
            }
            if let Some(mut end) = ahead.end.take() {
                // What ran is all of the plan that there will be, unless the answer was complete by then.
                let whole = reply.drafts.into_iter().next().filter(|draft| ahead.begins(draft));
                let at = whole.as_ref().and_then(|_| ahead.ran.len().checked_sub(1));
                let ran = whole.unwrap_or_else(|| PlanDraft::of(Author::Model, std::mem::take(&mut ahead.ran)));
                if let Ok(plan) = ran.check(&observation, &run.request.policy) {
                    self.take_goal(run, &plan, &observation);
                    note_repetition(run, &plan, &observation)?;
                    if let Some(at) = at {
                        end = self.mended_from(run, &plan, end, at).await?;
                    }
                }
                last_failure = after(end)?;
                continue;
            }
            let mut drafts = reply.drafts;
            // Only the first draft can have run in part.
            drafts.truncate(if ahead.ran.is_empty() { REPAIR_DRAFTS } else { 1 });
            let Some((draft, judged)) = best(drafts, &observation, &run.request.policy) else {
                if let Some(failure) = last_failure {
                    return Err(ended_by(&failure));
                }
                let message = reply.note.unwrap_or_else(|| "the planner has no plan for this page".to_owned());
                return Err(Stop::failed(ErrorCode::NoPlan, self.redactor.redact(&message)));
            };
            let plan = match judged {
                Ok(plan) => plan,
                Err(violations) if !ahead.ran.is_empty() => {
                    let violations = Violations::from(self.clean(violations.into_vec())?);
                    self.listener.event(RunEvent::Rejected(&violations));
                    last_failure = None;
                    continue;
                }
                Err(violations) => {
                    let violations = Violations::from(self.clean(violations.into_vec())?);
                    invalid_in_a_row += 1;
                    if invalid_in_a_row >= self.budgets.invalid_drafts {
                        self.ask_instead(run, violations).await?;
                        invalid_in_a_row = 0;
                    } else {
                        self.listener.event(RunEvent::Rejected(&violations));
                    }
                    continue;
                }
            };
            invalid_in_a_row = 0;
            if !ahead.begins(&draft) {
                last_failure = None;
                continue;
            }
            if let Some(id) = draft.plan_id.clone().filter(|_| ahead.ran.is_empty()) {
                run.plan_id = Some(id);
            }
            self.listener.event(RunEvent::Planned(&plan));
            self.take_goal(run, &plan, &observation);
            note_repetition(run, &plan, &observation)?;
            last_failure = match self.run_plan(run, &plan, ahead).await? {
                // No one continues an operator's plan: it runs to its end, or it has failed.
                PlanEnd::Dropped if draft.author == Author::Operator => return Err(dropped()),
                // An end that is not believed is no reason for a planner to forget what it did.
                PlanEnd::Failed(failure) if failure.cause == Cause::Unproven && run.planner_state.is_none() => {
                    run.planner_state = former;
                    Some(failure)
                }
                end => after(end)?,
            };
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
    pub(super) async fn ask_planner(
        &mut self,
        run: &mut RunState,
        wanted: PlanKind,
        task: &str,
        observation: &Observation,
        failure: Option<&StepFailure>,
        plans: u32,
    ) -> Result<PlannerReply, Stop> {
        let is_in_trouble = failure.is_some() || run.stuck_now != Stuck::No;
        let images = self.pictures(run, observation, is_in_trouble).await?;
        let seen = match wanted {
            PlanKind::Plan => self.read(run, observation.clone()).await?,
            PlanKind::Mending => observation.clone(),
        };
        let seen = self.clean(seen)?;
        if wanted == PlanKind::Plan {
            run.stuck.note_texts(&seen);
        }
        self.keep(run, &seen).await?;
        let deadline = run.deadline.within(Instant::now(), self.budgets.planning);
        // Copies: steps that run while the answer arrives change the run.
        let (history, state, policy) = (run.history.clone(), run.planner_state.clone(), run.request.policy.clone());
        let (memory, case) = (run.memory.clone(), run.request.case.clone());
        let failed_now = failure.map(|failure| judged_again(&failure.evidence, &seen)).unwrap_or_default();
        let request = PlanRequest {
            history: &history,
            failure,
            images: &images,
            beam: if failure.is_some() { REPAIR_DRAFTS } else { 1 },
            plan: run.plans,
            state: state.as_ref(),
            memory: memory.as_deref(),
            stuck: run.stuck_now,
            failed_now: &failed_now,
            now_ms: Some(recording::now_ms()),
            left: Some(RemainingBudget { plans, time: run.deadline.remaining(Instant::now()) }),
            case: case.as_ref(),
            ..PlanRequest::new(task, &seen, &policy)
        };
        run.plan_id = Some(ShortText::cut(&format!("p{}", run.plans)));
        if wanted == PlanKind::Plan {
            run.of_plan = Some(run.plans);
        }
        run.plans = run.plans.saturating_add(1);
        // Who repeats himself is read to the end before anything runs, and so is what mends a step.
        let (mut calls, arriving) = match run.stuck_now {
            Stuck::No if wanted == PlanKind::Plan => {
                let (calls, arriving) = Calls::live();
                (calls, Some(arriving))
            }
            _ => (Calls::default(), None),
        };
        let (mut reply, ahead) = Box::pin(self.hear(run, &request, &mut calls, arriving, deadline)).await;
        let mut chosen = None;
        if let Some(Ok(Ok(reply))) = &mut reply
            && reply.drafts.len() > 1
            && ahead.as_ref().is_ok_and(|ahead| ahead.ran.is_empty())
        {
            reply.drafts.truncate(REPAIR_DRAFTS);
            let (taken, others) = choice(&reply.drafts, &seen, &policy);
            let draft = reply.drafts.remove(taken);
            reply.drafts.insert(0, draft);
            calls.take_draft(taken);
            chosen = Some((taken, others));
        }
        if !matches!(reply, Some(Ok(Ok(_)))) {
            run.usage.add(calls.usage());
        }
        let drafts = match &reply {
            Some(Ok(Ok(reply))) => reply.drafts.as_slice(),
            _ => &[],
        };
        let written = calls.take_written();
        let said = match &reply {
            Some(Ok(Ok(PlanReply { memory: Some(memory), .. }))) => Some(memory.clone()),
            _ => calls.take_memory(),
        };
        let refused = calls.refused();
        let redactor = self.redactor.clone();
        let clean = Cleaner::new(redactor.as_ref(), task, observation, drafts, &written);
        if let Some(said) = said {
            run.memory = Some(cut(&clean.clean(&said), MEMORY)).filter(|memory| !memory.is_empty());
        }
        run.planning = None;
        run.planning = self.keep_calls(run, calls, &clean, Some(observation.id)).await?;
        if let Some((taken, others)) = chosen {
            let others = others.iter().map(|why| clean.clean(why)).collect();
            let taken = u32::try_from(taken).unwrap_or(u32::MAX);
            self.keep_event(run, LoggedEvent::DraftTaken { taken, others }).await?;
        }
        let mut ahead = ahead?;
        match reply.transpose()? {
            // The rest is not wanted any more.
            None => Ok(PlannerReply::Answer(PlanReply::default(), ahead)),
            Some(Ok(reply)) => Ok(PlannerReply::Answer(reply, ahead)),
            // What ran is in the log: the planner is asked again, with that as its history.
            Some(Err(error)) if !ahead.ran.is_empty() => {
                let why = self.redactor.redact(&with_sources(&error)).into_owned();
                let message = format!("the plan broke off after {} steps, which ran: {why}", ahead.ran.len());
                let failure = StepFailure::new(Stage::Bind, Cause::InvalidArgument, message);
                ahead.end = Some(PlanEnd::Failed(Box::new(failure)));
                Ok(PlannerReply::Answer(PlanReply::default(), ahead))
            }
            Some(Err(error)) => match refused {
                Some(violations) => Ok(PlannerReply::Invalid(Violations::from(self.clean(violations)?))),
                None => Err(Stop::broken(ErrorCode::PlannerUnavailable)(error)),
            },
        }
    }

    /// Logs calls of a model. Returns the number of the last accepted one.
    pub(super) async fn keep_calls(
        &mut self,
        run: &mut RunState,
        calls: Calls,
        clean: &Cleaner<'_>,
        observation: Option<ObservationId>,
    ) -> Result<Option<u32>, Stop> {
        let mut accepted = None;
        for (ts_ms, call) in calls.into_ended() {
            let record = PlanningRecord {
                schema_version: RECORD_VERSION.to_owned(),
                run_id: run.request.run_id.clone(),
                planning_index: run.calls,
                ts_ms,
                observation,
                call: call.kept(&|text| clean.clean(text)),
            };
            self.layers.log().planned(&record).await.map_err(Stop::broken(ErrorCode::LogUnavailable))?;
            if record.call.end == CallEnd::Accepted && record.call.purpose != CallPurpose::Look {
                accepted = Some(run.calls);
            }
            run.calls = run.calls.saturating_add(1);
        }
        Ok(accepted)
    }

    /// Asks the person how to go on where no valid plan was written; the answer is history. Ends the run if nobody answers.
    async fn ask_instead(&mut self, run: &mut RunState, violations: Violations) -> Result<(), Stop> {
        self.listener.event(RunEvent::Rejected(&violations));
        let may_ask = run.request.policy.profile() != Profile::Unleashed && run.questions < self.budgets.questions;
        let only_policy = violations.iter().all(|violation| violation.code == ViolationCode::PolicyBlocked);
        if !may_ask || only_policy {
            return Err(rejected(violations));
        }
        run.questions += 1;
        let what = violations.first().map(|violation| quoted(&violation.message, 300)).unwrap_or_default();
        let question = format!("No valid plan was written: {what}. What should be done next?");
        let request = ConfirmRequest { question: self.redactor.redact(&question).into_owned(), grant: None };
        let deadline = run.deadline.within(Instant::now(), self.budgets.answer);
        match self.interrupt.guard(self.layers.confirm().confirm(&request, deadline)).await? {
            ConfirmReply::Yes(Some(answer)) => {
                let step = Step::from(Action::AskUser(AskUser { question: ShortText::cut(&request.question) }));
                run.texts.note_data(Some(&Value::String(answer.clone())));
                run.history.push(HistoryEntry { data: Some(Value::String(answer)), ..HistoryEntry::of(step) });
                Ok(())
            }
            _ => Err(rejected(violations)),
        }
    }

    /// Ends a run whose time is up, before a layer is asked for something it has no time for.
    pub(super) fn in_time(&self, run: &RunState) -> Result<(), Stop> {
        if !run.deadline.has_passed(Instant::now()) {
            return Ok(());
        }
        let message = format!("the run took longer than the {} s that it may take", self.budgets.run.as_secs());
        Err(Stop::failed(ErrorCode::BudgetExceeded, message))
    }

    /// Runs the steps of a plan that did not run ahead.
    async fn run_plan(&mut self, run: &mut RunState, plan: &Plan, ahead: StreamedPrefix) -> Result<PlanEnd, Stop> {
        if ahead.changed_page && names_observed(plan, ahead.ran.len()) {
            return Ok(PlanEnd::Dropped);
        }
        self.consent_to_plan(run, plan, ahead.ran.len()).await?;
        self.run_from(run, plan, ahead.ran.len()).await
    }

    /// Runs the steps of a plan from one on. What fails for good in spite of the ladder is given to the planner to mend.
    async fn run_from(&mut self, run: &mut RunState, plan: &Plan, from: usize) -> Result<PlanEnd, Stop> {
        let (end, at) = self.run_unmended(run, plan, from).await?;
        self.mended_from(run, plan, end, at).await
    }

    /// Goes on with a plan that ended at a step, as long as what failed is mended.
    async fn mended_from(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        mut end: PlanEnd,
        mut at: usize,
    ) -> Result<PlanEnd, Stop> {
        loop {
            let PlanEnd::Failed(failure) = end else { return Ok(end) };
            let from = match self.mend(run, plan, at, &failure).await? {
                Mended::Done => at + 1,
                Mended::Again => at,
                Mended::No => return Ok(PlanEnd::Failed(failure)),
            };
            (end, at) = self.run_unmended(run, plan, from).await?;
        }
    }

    /// Runs the steps of a plan from one on. How that ended, and at which step.
    async fn run_unmended(&mut self, run: &mut RunState, plan: &Plan, from: usize) -> Result<(PlanEnd, usize), Stop> {
        for index in from..plan.steps().len() {
            if let Some(Action::Finish(finish)) = plan.steps().get(index).map(|checked| &checked.step.action) {
                let against = match self.finish(run).await? {
                    Some(failure) => Some(failure),
                    None => match self.proven(run, plan, Some(finish)).await {
                        Ok(failure) => failure,
                        Err(stop) => {
                            if matches!(stop, Stop::Ended { .. }) {
                                self.conclude(run, plan, index)?;
                            }
                            return Err(stop);
                        }
                    },
                };
                if let Some(failure) = against {
                    return Ok((PlanEnd::Failed(failure), index));
                }
            }
            if let Some(end) = self.control_step(run, plan, index).await? {
                return Err(end);
            }
            self.in_time(run)?;
            match Box::pin(self.run_step(run, plan, index, StepOrigin::Plan)).await? {
                StepEnd::Done { changed_page } => {
                    if changed_page && names_observed(plan, index + 1) {
                        return Ok((PlanEnd::Dropped, index));
                    }
                }
                StepEnd::GroundGone => return Ok((PlanEnd::Dropped, index)),
                StepEnd::Failed(failure) if self.skips(run, plan, index, &failure) => {}
                StepEnd::Failed(failure) => return Ok((PlanEnd::Failed(failure), index)),
            }
        }
        Ok((PlanEnd::Completed, plan.steps().len()))
    }

    /// Returns `true` if a planner's plan goes on behind this step as if the step had not been in it, and emits a note
    /// of it.
    pub(super) fn skips(&mut self, run: &RunState, plan: &Plan, index: usize, failure: &StepFailure) -> bool {
        let skips = matches!(run.request.work, Work::Task(_))
            && plan.steps().get(index).is_some_and(|checked| is_skipped(&checked.step, failure));
        if skips {
            self.listener.event(RunEvent::Noted(&format!("step {} is skipped: {}", index + 1, failure.message)));
        }
        skips
    }

    /// Keeps for the log how the planner, or a plan with a goal, ends the task.
    fn conclude(&self, run: &mut RunState, plan: &Plan, index: usize) -> Result<(), Stop> {
        let Some(checked) = plan.steps().get(index) else { return Ok(()) };
        if !matches!(run.request.work, Work::Task(_)) && run.goal.is_empty() {
            return Ok(());
        }
        let judged = run.ending.goal.clone();
        run.ending.conclusion = Some(Conclusion {
            step: self.clean(checked.step.clone())?,
            observation: run.kept.filter(|_| index == 0),
            goal: judged.judged,
            goal_facts: judged.facts,
            goal_reason: run.goal.reason().cloned().map(|reason| self.clean(reason)).transpose()?,
            unproven: judged.unproven,
        });
        Ok(())
    }

    /// Carries out what belongs to the loop itself: finish, fail, askUser.
    pub(super) async fn control_step(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        index: usize,
    ) -> Result<Option<Stop>, Stop> {
        let Some(checked) = plan.steps().get(index) else { return Ok(None) };
        if matches!(checked.step.action, Action::Finish(_) | Action::Fail(_)) {
            self.conclude(run, plan, index)?;
        }
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
                        run.texts.note_data(Some(&Value::String(answer.clone())));
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

fn note_repetition(run: &mut RunState, plan: &Plan, observation: &Observation) -> Result<(), Stop> {
    run.stuck_now = run.stuck.note(plan, observation);
    if run.stuck_now == Stuck::Stop {
        let beyond = observation.truncated.and_then(|cut| cut.beyond());
        let beyond = beyond.map_or_else(String::new, |beyond| {
            format!("; {beyond} of this page lie beyond what was observed, and what is wanted may be among them")
        });
        let message = format!("the same plan on the same page keeps coming back without progress{beyond}");
        return Err(Stop::failed(ErrorCode::Stuck, message));
    }
    Ok(())
}

/// The failure that the next plan is to repair, if the run goes on.
fn after(end: PlanEnd) -> Result<Option<Box<StepFailure>>, Stop> {
    match end {
        PlanEnd::Completed | PlanEnd::Dropped => Ok(None),
        PlanEnd::Failed(failure) if failure.cause.is_block() || is_final(failure.cause) => Err(ended_by(&failure)),
        PlanEnd::Failed(failure) => Ok(Some(failure)),
    }
}

/// Returns `true` if a step from `from` on names a candidate of the page that the plan was made for.
fn names_observed(plan: &Plan, from: usize) -> bool {
    let rest = plan.steps().get(from..).unwrap_or_default();
    rest.iter().any(|checked| plan.names_observed(&checked.step))
}

fn dropped() -> Stop {
    let message = "the page changed under the plan: its remaining steps name candidates of the former page";
    Stop::failed(Cause::TargetStale, message)
}

fn needs_observation(step: &Step, draft: &PlanDraft) -> bool {
    step.targets().iter().any(|target| !draft.candidates.contains_key(*target) && target.candidate_id().is_some())
}
