//! The layers that a controller drives.

use std::sync::Arc;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{
    Confirm, Executor, PageModeler, PlanReply, PlanRequest, PlanSink, Planner, RepairPolicy, StepLog,
};

/// The layers that a controller drives, each behind its seam. [`Layers`] implements it for any six of them.
pub trait Seams: Send {
    /// Turns pages into observations.
    type Modeler: PageModeler;
    /// Plans; [`NoPlanner`] where the plan is given.
    type Planner: Planner;
    /// Carries out bound steps in the browser.
    type Executor: Executor;
    /// Decides what follows a failure.
    type Repair: RepairPolicy;
    /// Keeps the durable log of a run.
    type Log: StepLog;
    /// Asks the person in charge for consent.
    type Confirm: Confirm;

    /// Page modeler, used exclusively: pages are observed one at a time.
    fn modeler(&mut self) -> &mut Self::Modeler;
    /// The planner, shared: the other layers act while it writes.
    fn planner(&self) -> Arc<Self::Planner>;
    /// Executor, used exclusively: steps run one at a time.
    fn executor(&mut self) -> &mut Self::Executor;
    /// The policy of repairs.
    fn repair(&mut self) -> &mut Self::Repair;
    /// Log that intents, outcomes and plans are written to.
    fn log(&mut self) -> &mut Self::Log;
    /// Way to ask the person in charge.
    fn confirm(&mut self) -> &mut Self::Confirm;
    /// Returns the layers used while a step acts: a person may be asked, and the page observed.
    fn acting(&mut self) -> (&mut Self::Executor, &mut Self::Confirm, &mut Self::Modeler);
}

/// Six layers by value.
#[derive(Debug)]
pub struct Layers<M, P, E, R, L, C> {
    /// Turns pages into observations.
    pub modeler: M,
    /// Plans; [`NoPlanner`] where the plan is given.
    pub planner: Arc<P>,
    /// Carries out bound steps in the browser.
    pub executor: E,
    /// Decides what follows a failure.
    pub repair: R,
    /// Keeps the durable log of a run.
    pub log: L,
    /// Asks the person in charge for consent.
    pub confirm: C,
}

impl<M, P, E, R, L, C> Seams for Layers<M, P, E, R, L, C>
where
    M: PageModeler,
    P: Planner,
    E: Executor,
    R: RepairPolicy,
    L: StepLog,
    C: Confirm,
{
    type Modeler = M;
    type Planner = P;
    type Executor = E;
    type Repair = R;
    type Log = L;
    type Confirm = C;

    fn modeler(&mut self) -> &mut M {
        &mut self.modeler
    }

    fn planner(&self) -> Arc<P> {
        self.planner.clone()
    }

    fn executor(&mut self) -> &mut E {
        &mut self.executor
    }

    fn repair(&mut self) -> &mut R {
        &mut self.repair
    }

    fn log(&mut self) -> &mut L {
        &mut self.log
    }

    fn confirm(&mut self) -> &mut C {
        &mut self.confirm
    }

    fn acting(&mut self) -> (&mut E, &mut C, &mut M) {
        (&mut self.executor, &mut self.confirm, &mut self.modeler)
    }
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
