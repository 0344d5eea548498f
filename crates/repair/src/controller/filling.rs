//! The gate of a step: what it asks a person, and the values that it has a model quote from the page.
//!
//! Invariants:
//! - A model is asked only where [`Budgets::fills`](crate::Budgets::fills) allows it, and never again once that is used up.
//! - Every call is in the log and in the usage of the run, also if the run was interrupted meanwhile.
//! - A model that fails, or refuses, is a note of the result, and no failure of the step.

use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest};
use cuebook_grammar::outcome::StepFailure;
use cuebook_grammar::plan::BoundStep;
use cuebook_grammar::render::with_sources;
use cuebook_grammar::seam::boxed::BoxFuture;
use cuebook_grammar::seam::{Confirm, EffectGate, HeldRequest, Planner};
use tracing::{Instrument as _, info_span};

use super::consent::Asking;
use crate::calls::Calls;

/// The gate of a step, with the planner's model.
pub(super) struct Gate<'a, C, P> {
    pub(super) asking: Asking<'a, C>,
    pub(super) planner: &'a P,
    pub(super) calls: &'a mut Calls,
    /// Calls that are left.
    pub(super) fills_left: &'a mut u32,
    /// `true` if there were any.
    pub(super) fills: bool,
}

impl<C: Confirm, P: Planner> EffectGate for Gate<'_, C, P> {
    fn settling(&mut self) {
        self.asking.settling();
    }

    fn judge<'a>(
        &'a mut self,
        step: &'a BoundStep,
        request: &'a HeldRequest,
    ) -> BoxFuture<'a, Result<(), Box<StepFailure>>> {
        self.asking.judge(step, request)
    }

    fn fills(&self) -> bool {
        self.fills
    }

    fn fill<'a>(&'a mut self, request: &'a FillRequest<'a>) -> BoxFuture<'a, FillReply> {
        Box::pin(async move {
            let Some(left) = self.fills_left.checked_sub(1) else {
                return FillReply::none("the model was not asked: the run has asked it as often as it may");
            };
            *self.fills_left = left;
            let redactor = self.asking.redactor;
            let text = redactor.redact(request.text);
            let request = FillRequest { text: &text, wanted: request.wanted };
            let deadline: Deadline = self.asking.deadline.within(Instant::now(), self.asking.budgets.planning);
            let filling = self.planner.fill(&request, self.calls, deadline).instrument(info_span!("fill"));
            let reply = filling.await.unwrap_or_else(|error| FillReply::none(with_sources(&error)));
            let note = reply.note.map(|note| redactor.redact(&note).into_owned());
            FillReply { note, ..reply }
        })
    }
}
