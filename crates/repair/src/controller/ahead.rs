//! Running steps of a plan while its author still writes the rest.
//!
//! Invariants:
//! - A step runs ahead only if it would run without a question: its prefix of the plan passes the check, nothing about it
//!   needs consent, and it is not destructive. It runs as any step does: bound, logged before and after, repaired.
//! - No step runs twice: once one was taken up, the plan is not written anew within the request.
//! - What follows a changed page is dropped as in a plan that was given whole.
//! - The targets of the first step that has to wait are looked up and waited for meanwhile, without input.

use std::pin::pin;
use std::time::Instant;

use cuebook_grammar::action::{Action, Owner};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, BoundStep, PlanDraft};
use cuebook_grammar::profile::Profile;
use cuebook_grammar::record::StepOrigin;
use cuebook_grammar::seam::{Executor as _, PlanReply, PlanRequest, Planner};
use cuebook_grammar::step::Step;
use tracing::{Instrument as _, debug, info_span};

use super::end::{PlanEnd, StepEnd, Stop};
use super::layers::Seams;
use super::run::Controller;
use crate::calls::{Arriving, Calls, Ready};
use crate::request::Interrupted;
use crate::state::RunState;

/// Steps of a plan that ran before the plan was complete.
#[derive(Default)]
pub(super) struct StreamedPrefix {
    /// The steps, in order.
    pub(super) ran: Vec<Step>,
    /// `true` if one of them changed the page.
    pub(super) changed_page: bool,
    /// The end of the plan, if it ended already.
    pub(super) end: Option<PlanEnd>,
    /// The next step waits for the whole plan, and so do those behind it.
    is_held: bool,
    /// That step, until its targets were waited for.
    awaited: Option<Box<BoundStep>>,
}

impl StreamedPrefix {
    /// Returns `true` if a plan begins with the steps that ran. Confidence is ignored: it is measured when an answer is
    /// complete.
    pub(super) fn begins(&self, draft: &PlanDraft) -> bool {
        let plain = |step: &Step| Step { confidence: None, ..step.clone() };
        self.ran.len() <= draft.steps.len()
            && self.ran.iter().map(plain).eq(draft.steps.iter().map(plain).take(self.ran.len()))
    }
}

/// The end of planning: `None` if it was cut off because of what ran ahead.
pub(super) type PlanningResult<P> = Option<Result<Result<PlanReply, <P as Planner>::Error>, Interrupted>>;

impl<S: Seams> Controller<S> {
    /// Requests a plan, and runs what may run of it while it arrives.
    pub(super) async fn hear(
        &mut self,
        run: &mut RunState,
        request: &PlanRequest<'_>,
        calls: &mut Calls,
        arriving: Option<Arriving>,
        deadline: Deadline,
    ) -> (PlanningResult<S::Planner>, Result<StreamedPrefix, Stop>) {
        let (planner, interrupt) = (self.layers.planner(), self.interrupt.clone());
        let mut planning = pin!(interrupt.guard(planner.plan(request, calls, deadline).instrument(info_span!("plan"))));
        let mut ahead = StreamedPrefix::default();
        let Some(mut arriving) = arriving else { return (Some(planning.await), Ok(ahead)) };
        let mut answer = None;
        while answer.is_none() && ahead.end.is_none() {
            // Biased: nothing runs ahead of a plan that is complete at once.
            let ready = tokio::select! {
                biased;
                ended = &mut planning => { answer = Some(ended); continue }
                ready = arriving.next() => ready,
            };
            let ended = {
                let mut running = pin!(self.run_ahead(run, request.observation, ready, &mut ahead, &arriving));
                loop {
                    tokio::select! {
                        biased;
                        ended = &mut planning, if answer.is_none() => answer = Some(ended),
                        ended = &mut running => break ended,
                    }
                }
            };
            if let Err(stop) = ended {
                return (answer, Err(stop));
            }
            if let Some(awaited) = ahead.awaited.take().filter(|_| answer.is_none()) {
                let by = run.deadline.within(Instant::now(), self.budgets.time_for(awaited.timeout()));
                let preparing = pin!(self.layers.executor().prepare(&run.page, &awaited, by));
                tokio::select! {
                    biased;
                    ended = &mut planning => answer = Some(ended),
                    prepared = preparing => prepared.unwrap_or_else(|error| debug!(%error, "not prepared")),
                }
            }
        }
        (answer, Ok(ahead))
    }

    /// Runs the next step of a plan if it may run before the plan is complete.
    async fn run_ahead(
        &mut self,
        run: &mut RunState,
        observation: &Observation,
        ready: Ready,
        ahead: &mut StreamedPrefix,
        arriving: &Arriving,
    ) -> Result<(), Stop> {
        let index = ahead.ran.len();
        if ahead.changed_page && !ready.step.targets().is_empty() {
            ahead.end = Some(PlanEnd::Dropped);
            return Ok(());
        }
        ahead.is_held |= ahead.changed_page || ready.index != index;
        if ahead.is_held {
            return Ok(());
        }
        let steps = ahead.ran.iter().cloned().chain([ready.step.clone()]).collect();
        let is_judged_later = run.request.policy.asks_by_confidence();
        let plan = PlanDraft::of(Author::Model, steps).check(observation, &run.request.policy).ok();
        // A call of a model in the middle of another one would take its number in the log.
        let may_ask = matches!(&ready.step.action, Action::Extract(extract) if extract.query.schema.is_some());
        let may = may_run_ahead(run.request.policy.profile(), &ready.step) && !(may_ask && self.budgets.fills > 0);
        let Some(plan) = plan else {
            ahead.is_held = true;
            return Ok(());
        };
        let ground = if plan.needs_observation(index) { self.current(run).await? } else { run.ground_or_blank() };
        let bound = plan.bind(index, &ground).ok();
        let waits = |bound: &BoundStep| {
            bound.effect() == EffectClass::Destructive || Self::question_about(run, bound).is_some()
        };
        if !may || is_judged_later || bound.as_ref().is_none_or(waits) {
            ahead.is_held = true;
            ahead.awaited = bound.map(Box::new);
            return Ok(());
        }
        self.in_time(run)?;
        arriving.take_up();
        ahead.ran.push(ready.step);
        run.planning = ready.call.map(|call| run.calls.saturating_add(call));
        match Box::pin(self.run_step(run, &plan, index, StepOrigin::Plan)).await? {
            StepEnd::Done { changed_page } => ahead.changed_page |= changed_page,
            StepEnd::GroundGone => ahead.end = Some(PlanEnd::Dropped),
            StepEnd::Failed(failure) if self.skips(run, &plan, index, &failure) => {}
            StepEnd::Failed(failure) => ahead.end = Some(PlanEnd::Failed(failure)),
        }
        Ok(())
    }
}

/// Steps that look at the page or act on it, where the profile does not ask about each plan.
fn may_run_ahead(profile: Profile, step: &Step) -> bool {
    matches!(profile, Profile::Auto | Profile::Unleashed)
        && matches!(step.action.kind().meta().owner, Owner::Executor | Owner::Modeler)
}
