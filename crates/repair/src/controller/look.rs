//! Observing the page, no more often than it changes.

use std::time::Instant;

use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::Plan;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::{Image, PageModeler as _};
use cuebook_grammar::step::Step;
use tracing::{Instrument as _, debug, info_span};

use super::end::Stop;
use super::layers::Seams;
use super::run::Controller;
use crate::request::{RunEvent, Sight};
use crate::state::{Ground, Run};

/// Attempts at one observation.
const LOOKS: u32 = 2;

impl<S: Seams> Controller<S> {
    /// The observation to bind to: the last one if it is current, else a new one in the scope that the plan needs.
    pub(super) async fn current(&mut self, run: &mut Run) -> Result<Observation, Stop> {
        match &run.ground {
            Some(ground) if ground.is_current => Ok(ground.observation.clone()),
            _ => self.observe(run, run.scope).await,
        }
    }

    pub(super) async fn observe(&mut self, run: &mut Run, scope: Scope) -> Result<Observation, Stop> {
        let deadline = run.deadline.within(Instant::now(), self.budgets.observation);
        let mut left = LOOKS;
        let observation = loop {
            left -= 1;
            let observing =
                Box::pin(self.layers.modeler().observe(&run.page, scope, deadline)).instrument(info_span!("observe"));
            match self.interrupt.guard(observing).await? {
                Ok(observation) => break observation,
                // The page may navigate away while it is observed; the next attempt sees the new page.
                Err(error) if left > 0 && !deadline.has_passed(Instant::now()) => {
                    debug!(%error, "looking again");
                }
                Err(error) => return Err(Stop::broken(ErrorCode::ModelerBroken)(error)),
            }
        };
        self.listener.event(RunEvent::Observed(&observation));
        run.ground = Some(Ground { observation: observation.clone(), is_current: true });
        Ok(observation)
    }

    /// Pictures of the page for the planner, if the run wants any. A picture that fails does not end the run.
    pub(super) async fn pictures(&mut self, run: &Run, observation: &Observation) -> Result<Vec<Image>, Stop> {
        if run.request.sight == Sight::Words {
            return Ok(Vec::new());
        }
        let deadline = run.deadline.within(Instant::now(), self.budgets.observation);
        let picturing =
            Box::pin(self.layers.modeler().picture(&run.page, observation, deadline)).instrument(info_span!("picture"));
        let picture = self.interrupt.guard(picturing).await?.unwrap_or_else(|error| {
            debug!(%error, "no picture");
            None
        });
        Ok(picture.into_iter().collect())
    }
}

/// Whether the step names a candidate by its observed id.
pub(super) fn names_observed(step: &Step, plan: &Plan) -> bool {
    step.targets().iter().any(|target| !plan.candidates().contains_key(*target))
}
