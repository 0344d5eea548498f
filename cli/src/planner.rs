//! The planners that the command line knows: a closed list.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_planner::{Lexical, Scripted};
use cuebook_repair::NoPlanner;

/// One of the planners.
pub(crate) enum AnyPlanner {
    /// No model.
    Lexical(Lexical),
    /// A plan from a file.
    Scripted(Box<Scripted>),
    /// The run has its plan.
    Given(NoPlanner),
}

/// Whichever planner broke.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnyPlannerError {
    #[error(transparent)]
    Lexical(<Lexical as Planner>::Error),
    #[error(transparent)]
    Scripted(<Scripted as Planner>::Error),
    #[error(transparent)]
    Given(<NoPlanner as Planner>::Error),
}

impl Planner for AnyPlanner {
    type Error = AnyPlannerError;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        match self {
            Self::Lexical(planner) => planner.plan(request, sink, deadline).await.map_err(AnyPlannerError::Lexical),
            Self::Scripted(planner) => planner.plan(request, sink, deadline).await.map_err(AnyPlannerError::Scripted),
            Self::Given(planner) => planner.plan(request, sink, deadline).await.map_err(AnyPlannerError::Given),
        }
    }
}
