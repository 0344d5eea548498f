//! The layers that a controller drives.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};

/// The layers that a controller drives, each by its seam.
#[derive(Debug)]
pub struct Layers<M, P, E, R, L, C> {
    /// Looks.
    pub modeler: M,
    /// Plans; [`NoPlanner`] where a plan is given.
    pub planner: P,
    /// Acts.
    pub executor: E,
    /// Decides what to do about failures.
    pub repair: R,
    /// Keeps.
    pub log: L,
    /// Asks.
    pub confirm: C,
}

/// The planner of runs that have a plan already.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPlanner;

impl Planner for NoPlanner {
    type Error = std::convert::Infallible;

    async fn plan(&self, _: &PlanRequest<'_>, _: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Self::Error> {
        Ok(PlanReply::none("this run has no planner"))
    }
}
