//! A step with its repairs.

use std::time::Instant;

use cuebook_grammar::action::{self, Action, Owner};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::observation::{Challenge, Scope};
use cuebook_grammar::outcome::{Cause, StepFailure};
use cuebook_grammar::plan::{BoundStep, Plan};
use cuebook_grammar::record::StepOrigin;
use cuebook_grammar::report::StepReport;
use cuebook_grammar::seam::{Repair, RepairBudget, RepairCase, RepairPolicy as _};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;

use super::challenge::{Passed, may_be_hidden};
use super::end::{Attempt, StepEnd, Stop, is_final};
use super::layers::Seams;
use super::run::Controller;
use crate::recording::Place;
use crate::request::{RunEvent, Work};
use crate::state::RunState;

/// How often one step runs again because nothing stands before its page any more.
const PASSES: u32 = 3;

impl<S: Seams> Controller<S> {
    /// Runs one step of a plan with its repairs.
    pub(super) async fn run_step(
        &mut self,
        run: &mut RunState,
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
        let mut passes = 0_u32;
        loop {
            let place = Place {
                run_id: run.request.run_id.clone(),
                step_index,
                plan_index: (origin == StepOrigin::Plan).then(|| u32::try_from(index).unwrap_or(u32::MAX)),
                origin,
                attempt: repairs + passes + 1,
                planning: run.planning.filter(|_| origin == StepOrigin::Plan),
                plan_id: run.plan_id.clone().filter(|_| origin == StepOrigin::Plan),
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
            // The limit of a step holds for it and all that repairs it.
            let may_repair = origin == StepOrigin::Plan
                && !failure.cause.is_block()
                && !is_final(failure.cause)
                && began.elapsed() < self.budgets.step_limit;
            let may_pass = origin != StepOrigin::Repair && passes < PASSES && may_be_hidden(failure.cause);
            if !may_repair && !may_pass {
                return Ok(StepEnd::Failed(failure));
            }
            let observation = self.observe(run, run.scope).await?;
            // What is all of a page is waited for before anything else; a part of one once no repair has helped.
            if may_pass {
                let failed = (&*bound, &*failure);
                match self.past_failure(run, &observation, failed, Challenge::Interstitial).await? {
                    Some(passed) => {
                        passes += 1;
                        match ended(passed, failure) {
                            Some(end) => return Ok(end),
                            None => continue,
                        }
                    }
                    None if !may_repair => return Ok(StepEnd::Failed(failure)),
                    None => {}
                }
            }
            let case = RepairCase { step: &bound, failure: &failure, attempt: repairs };
            let repair = self.layers.repair().next(&case, &observation, &budget);
            // A repair policy cannot exceed the budget: the loop ends even if the policy goes on.
            let is_over = budget.step_attempts_left == 0 || budget.run_repairs_left == 0;
            if is_over || matches!(repair, Repair::Abandon | Repair::Replan) {
                if may_pass {
                    let failed = (&*bound, &*failure);
                    if let Some(passed) = self.past_failure(run, &observation, failed, Challenge::Captcha).await? {
                        passes += 1;
                        match ended(passed, failure) {
                            Some(end) => return Ok(end),
                            None => continue,
                        }
                    }
                }
                self.undo(run, &plan, index, (&bound, &failure)).await?;
                return Ok(StepEnd::Failed(failure));
            }
            self.listener.event(RunEvent::Repairing(&repair));
            repairs += 1;
            let rung = self.layers.repair().rung().map_or_else(String::new, |rung| format!("; rung: {rung}"));
            let why = format!("repair {repairs} of step {step_index}, which failed: {}{rung}", failure.cause.as_str());
            run.repairs_left -= 1;
            plan = match self.apply(run, &plan, index, repair, &why).await? {
                Some(plan) => plan,
                None => return Ok(StepEnd::Failed(failure)),
            };
        }
    }

    /// Carries out what the step states to undo it, if it sent input and its postcondition failed. The failure stands.
    async fn undo(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        index: usize,
        (bound, failure): (&BoundStep, &StepFailure),
    ) -> Result<(), Stop> {
        let stated = plan.steps().get(index).map(|checked| checked.step.undo.as_slice()).unwrap_or_default();
        let is_undone = failure.cause == Cause::PostconditionFailed && failure.evidence.input_sent;
        let has_budget = self.budgets.repairs_per_step > 0 && bound.effect() != EffectClass::Destructive;
        if stated.is_empty() || !is_undone || !has_budget {
            return Ok(());
        }
        let repair = Repair::Insert(stated.to_vec());
        self.listener.event(RunEvent::Repairing(&repair));
        let why = format!("undoes step {}, whose postcondition failed", index + 1);
        self.insert(run, plan, stated.to_vec(), &why).await
    }

    /// Applies a repair and returns the plan to continue with; `None` if the repair itself fails the check.
    async fn apply(
        &mut self,
        run: &mut RunState,
        plan: &Plan,
        index: usize,
        repair: Repair,
        why: &str,
    ) -> Result<Option<Plan>, Stop> {
        match repair {
            Repair::Insert(steps) => {
                self.insert(run, plan, steps, why).await?;
                Ok(Some(plan.clone()))
            }
            Repair::Rewrite { before, step } => {
                self.insert(run, plan, before, why).await?;
                let observation = self.current(run).await?;
                Ok(plan.amend(index, *step, &observation).ok())
            }
            Repair::Retarget { from, to } => {
                let observation = self.current(run).await?;
                let Some(checked) = plan.steps().get(index) else { return Ok(None) };
                let mut step = checked.step.clone();
                step.retarget(&|target| if *target == from { TargetRef::from(to) } else { target.clone() });
                step.explanation = Some(ShortText::cut(&match &step.explanation {
                    Some(own) => format!("{}; {why}", own.as_str()),
                    None => why.to_owned(),
                }));
                Ok(plan.amend(index, step, &observation).ok())
            }
            Repair::Reobserve(scope) => {
                run.widen(scope);
                let observation = self.observe(run, run.scope).await?;
                // The log has it as the step that looked at all frames again.
                if scope == Scope::Full && observation.frames.len() > 1 {
                    let looks = Step::from(Action::Snapshot(action::Snapshot { scope: Some(Scope::Full) }));
                    self.insert(run, plan, vec![looks], why).await?;
                }
                Ok(Some(plan.clone()))
            }
            Repair::Replan | Repair::Abandon => Ok(None),
        }
    }

    /// Runs steps of a repair: through the same check, policy, executor and log; they are not repaired themselves. The log
    /// has `why` as their explanation.
    async fn insert(&mut self, run: &mut RunState, plan: &Plan, mut steps: Vec<Step>, why: &str) -> Result<(), Stop> {
        if steps.is_empty() {
            return Ok(());
        }
        for step in &mut steps {
            step.explanation.get_or_insert_with(|| ShortText::cut(why));
        }
        let observation = self.current(run).await?;
        let checked = match plan.repaired_by(steps, &observation) {
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
}

/// How a step ended behind what stood before its page; `None` if it runs again.
fn ended(passed: Passed, failure: Box<StepFailure>) -> Option<StepEnd> {
    match passed {
        Passed::Again => None,
        Passed::Done => Some(StepEnd::Done { changed_page: true }),
        Passed::No => Some(StepEnd::Failed(failure)),
    }
}
