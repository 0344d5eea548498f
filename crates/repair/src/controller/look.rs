//! Observing the page, no more often than it changes.

use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::outcome::{Stage, StepFailure};
use cuebook_grammar::redaction::redacted;
use cuebook_grammar::render::with_sources;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::{Image, PageModeler as _, StepLog as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::{Instrument as _, debug, info_span};

use super::end::{Stop, ended_by};
use super::layers::Seams;
use super::run::Controller;
use crate::recording;
use crate::request::RunEvent;
use crate::state::{Ground, RunState};

/// Attempts at one observation.
const LOOKS: u32 = 2;

impl<S: Seams> Controller<S> {
    /// The observation to bind to: the last one if it is current and has the scope that the plan needs, else a new one.
    pub(super) async fn current(&mut self, run: &mut RunState) -> Result<Observation, Stop> {
        match &run.ground {
            Some(Ground { observation, is_current: true })
                if observation.scope == Scope::Full || observation.scope == run.scope =>
            {
                Ok(observation.clone())
            }
            _ => self.observe(run, run.scope).await,
        }
    }

    /// Returns `true` if the page is still as it was observed.
    pub(super) async fn is_current(&mut self, ground: &Ground) -> bool {
        let deadline = Deadline::after(Instant::now(), self.budgets.observation);
        ground.is_current && self.layers.modeler().is_unchanged(&ground.observation, deadline).await.unwrap_or(false)
    }

    /// Redacts a document. Everything that leaves the process goes through here: no planner, listener, log or report
    /// gets a known secret.
    pub(super) fn clean<T: Serialize + DeserializeOwned>(&self, document: T) -> Result<T, Stop> {
        redacted(document, self.redactor.as_ref()).map_err(Stop::broken(ErrorCode::LogUnavailable))
    }

    pub(super) async fn observe(&mut self, run: &mut RunState, scope: Scope) -> Result<Observation, Stop> {
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
                Err(error) => return Err(self.unseen(error)),
            }
        };
        match self.redactor.is_idle() {
            true => self.listener.event(RunEvent::Observed(&observation)),
            false => self.listener.event(RunEvent::Observed(&self.clean(observation.clone())?)),
        }
        run.lineage.note_page(&observation);
        run.note_texts(&observation);
        run.url = Some(observation.url.clone());
        run.ground = Some(Ground { observation: observation.clone(), is_current: true });
        Ok(observation)
    }

    /// Gives the log what a plan or a step is decided on, once. `seen` is clean.
    pub(super) async fn keep(&mut self, run: &mut RunState, seen: &Observation) -> Result<(), Stop> {
        if run.kept.replace(seen.id) == Some(seen.id) {
            return Ok(());
        }
        let kept = self.layers.log().observed(&run.request.run_id, recording::now_ms(), seen).await;
        kept.map_err(Stop::broken(ErrorCode::LogUnavailable))
    }

    /// How a run ends that cannot see its page.
    pub(super) fn unseen(&mut self, error: impl std::error::Error + 'static) -> Stop {
        match self.layers.modeler().lost() {
            Some(cause) => {
                let message = self.redactor.redact(&with_sources(&error)).into_owned();
                ended_by(&StepFailure::new(Stage::Bind, cause, message))
            }
            None => Stop::broken(ErrorCode::ModelerBroken)(error),
        }
    }

    /// The observation with the page's text, for the planner. A page that cannot be read is planned for without.
    pub(super) async fn read(&mut self, run: &mut RunState, mut observation: Observation) -> Result<Observation, Stop> {
        let deadline = run.deadline.within(Instant::now(), self.budgets.observation);
        let reading = Box::pin(self.layers.modeler().read(&mut observation, deadline)).instrument(info_span!("read"));
        if let Err(error) = self.interrupt.guard(reading).await? {
            debug!(%error, "no text");
        }
        run.lineage.note_page(&observation);
        run.note_texts(&observation);
        Ok(observation)
    }

    /// Pictures of the page for the planner, if the run wants any. A picture that fails does not end the run.
    pub(super) async fn pictures(
        &mut self,
        run: &RunState,
        observation: &Observation,
        is_in_trouble: bool,
    ) -> Result<Vec<Image>, Stop> {
        let pictured = run.request.sight.pictured(observation, is_in_trouble);
        let Some(shown) = pictured else { return Ok(Vec::new()) };
        let deadline = run.deadline.within(Instant::now(), self.budgets.observation);
        let picturing =
            Box::pin(self.layers.modeler().picture(&run.page, &shown, deadline)).instrument(info_span!("picture"));
        let picture = self.interrupt.guard(picturing).await?.unwrap_or_else(|error| {
            debug!(%error, "no picture");
            None
        });
        Ok(picture.into_iter().collect())
    }
}
