//! A planner that is shown plans that worked.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest};
use cuebook_grammar::seam::{LookRequest, PlanMemory, PlanReply, PlanRequest, PlanSink, Planner};

/// The most plans that are shown with a request.
const SHOWN: usize = 3;

/// Any planner, with the plans of a memory as [`PlanRequest::exemplars`]: what earlier runs did on pages like this one.
#[derive(Clone, Debug)]
pub struct Remembering<P, M> {
    planner: P,
    memory: M,
}

impl<P, M> Remembering<P, M> {
    /// Shows `planner` what `memory` holds.
    #[must_use]
    pub const fn new(planner: P, memory: M) -> Self {
        Self { planner, memory }
    }
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RememberingError<P, M> {
    /// The planner failed, after the memory was read.
    #[error(transparent)]
    Planner(P),
    /// The memory could not be read; the planner was not asked.
    #[error("the plans of earlier runs cannot be read")]
    Memory(#[source] M),
}

impl<P: Planner, M: PlanMemory + Sync> Planner for Remembering<P, M> {
    type Error = RememberingError<P::Error, M::Error>;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        let known = self.memory.nearest(request.observation, SHOWN).await.map_err(RememberingError::Memory)?;
        let exemplars = [request.exemplars, &known].concat();
        let request = PlanRequest { exemplars: &exemplars, ..request.clone() };
        self.planner.plan(&request, sink, deadline).await.map_err(RememberingError::Planner)
    }

    async fn fill(
        &self,
        request: &FillRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, Self::Error> {
        self.planner.fill(request, sink, deadline).await.map_err(RememberingError::Planner)
    }

    async fn look(
        &self,
        request: &LookRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, Self::Error> {
        self.planner.look(request, sink, deadline).await.map_err(RememberingError::Planner)
    }
}
