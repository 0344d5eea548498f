//! A planner that only chooses.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest};
use cuebook_grammar::seam::{Exemplar, IgnoreSteps, PlanReply, PlanRequest, PlanSink, Planner};

use super::{GoalPlanner, Next};

/// A [`GoalPlanner`] whose proposals another planner ranks.
///
/// The other planner sees them as [`PlanRequest::exemplars`], and chooses the one that its plan begins with. What it writes
/// beside that is dropped: it can add no step. If it names none, the order of the search holds.
#[derive(Clone, Debug)]
pub struct Ranked<P> {
    search: GoalPlanner,
    by: P,
}

impl<P> Ranked<P> {
    /// Has `by` rank what `search` proposes.
    #[must_use]
    pub const fn new(search: GoalPlanner, by: P) -> Self {
        Self { search, by }
    }
}

impl<P: Planner> Planner for Ranked<P> {
    type Error = P::Error;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, P::Error> {
        let next = self.search.next(request);
        let Next::Try(_, proposals) = &next else { return Ok(self.search.reply(request, next, 0)) };
        if proposals.len() < 2 {
            return Ok(self.search.reply(request, next, 0));
        }
        let steps = proposals.iter().map(|proposal| proposal.step.clone());
        let exemplars: Vec<Exemplar> =
            steps.map(|step| Exemplar { task: request.task.to_owned(), steps: vec![step], likeness: 1.0 }).collect();
        let task = format!("Choose the best next step for this goal, of those that are shown: {}", request.task);
        let asked = PlanRequest { task: &task, exemplars: &exemplars, state: None, ..request.clone() };
        let mut calls = Calls { sink };
        let chosen = self.by.plan(&asked, &mut calls, deadline).await?;
        let first = chosen.drafts.first().and_then(|draft| draft.steps.first()).map(|step| &step.action);
        let choice =
            first.and_then(|first| exemplars.iter().position(|one| one.steps.iter().any(|it| it.action == *first)));
        let reply = self.search.reply(request, next, choice.unwrap_or(0));
        let note =
            choice.is_none().then(|| "the planner chose no step that was proposed: the first one is taken".to_owned());
        Ok(PlanReply { usage: chosen.usage, note, ..reply })
    }

    async fn fill(
        &self,
        request: &FillRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, P::Error> {
        self.by.fill(request, sink, deadline).await
    }
}

/// Passes on the calls of models, for the log, and none of the steps.
struct Calls<'s> {
    sink: &'s mut dyn PlanSink,
}

impl PlanSink for Calls<'_> {
    fn step_ready(&mut self, draft: usize, index: usize, step: &cuebook_grammar::step::Step) {
        IgnoreSteps.step_ready(draft, index, step);
    }

    fn call_begun(&mut self) {
        self.sink.call_begun();
    }

    fn call_ended(&mut self, call: cuebook_grammar::planning::PlanningCall) {
        self.sink.call_ended(call);
    }
}
