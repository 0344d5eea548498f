//! A planner that is given what another model found on the picture of the page.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::render::with_sources;
use cuebook_grammar::seam::{Image, LookRequest, PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::vision::{VisionFeature, features};
use serde_json::Value;

use crate::pointing;

/// The pictures whose answers are kept: the last ones.
const KEPT: usize = 8;

/// Any planner, with the features that a second model finds on the picture of a request as [`PlanRequest::features`].
///
/// The second model is asked once for each picture, for at most half of the time that is left. Its calls are reported and
/// counted with those of the plan. Where it fails, the plan is made without features, and the reply's note says so.
#[derive(Debug)]
pub struct Looking<P, L> {
    planner: P,
    looker: L,
    shows: bool,
    /// Pictures with their answers: bytes are compared, which tells more than a digest.
    seen: Mutex<VecDeque<(Image, Value)>>,
}

impl<P, L> Looking<P, L> {
    /// Gives `planner` what `looker` finds, beside the picture.
    #[must_use]
    pub const fn new(planner: P, looker: L) -> Self {
        Self { planner, looker, shows: true, seen: Mutex::new(VecDeque::new()) }
    }

    /// Withholds the picture from the planner, which gets the features alone.
    #[must_use]
    pub fn in_words(self) -> Self {
        Self { shows: false, ..self }
    }

    fn seen(&self) -> MutexGuard<'_, VecDeque<(Image, Value)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Planner, L: Planner> Looking<P, L> {
    /// The answer about a picture, with what it cost.
    async fn ask(&self, image: &Image, sink: &mut dyn PlanSink, deadline: Deadline) -> FillReply {
        let known = self.seen().iter().find(|(seen, _)| seen == image).map(|(_, answer)| answer.clone());
        if let Some(answer) = known {
            return FillReply { answer, ..FillReply::default() };
        }
        let now = Instant::now();
        let half = deadline.within(now, deadline.remaining(now) / 2);
        let reply = match self.looker.look(&LookRequest { image }, sink, half).await {
            Ok(reply) => reply,
            Err(error) => FillReply::none(with_sources(&error)),
        };
        if !reply.answer.is_null() {
            let mut seen = self.seen();
            seen.push_back((image.clone(), reply.answer.clone()));
            if seen.len() > KEPT {
                seen.pop_front();
            }
        }
        reply
    }
}

fn found(answer: &Value, image: &Image, page: &Observation) -> Vec<VisionFeature> {
    // Pictures have one pixel for each CSS pixel, unless they say otherwise.
    let own = (page.viewport.width, page.viewport.height);
    let size = pointing::size_of(image).map_or(own, |size| (size.width.into(), size.height.into()));
    features(answer, size, page)
}

impl<P: Planner, L: Planner> Planner for Looking<P, L> {
    type Error = P::Error;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, P::Error> {
        let Some(image) = request.images.last() else { return self.planner.plan(request, sink, deadline).await };
        let looked = self.ask(image, sink, deadline).await;
        let features = found(&looked.answer, image, request.observation);
        let images = if self.shows { request.images } else { &[] };
        let request = PlanRequest { features: &features, images, ..request.clone() };
        let mut reply = self.planner.plan(&request, sink, deadline).await?;
        reply.usage.add(looked.usage);
        if let Some(why) = looked.note {
            let without = format!("planned without features of the picture: {why}");
            reply.note = Some(reply.note.map_or_else(|| without.clone(), |note| format!("{without}\n{note}")));
        }
        Ok(reply)
    }

    async fn fill(
        &self,
        request: &FillRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, P::Error> {
        self.planner.fill(request, sink, deadline).await
    }

    async fn look(
        &self,
        request: &LookRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, P::Error> {
        self.planner.look(request, sink, deadline).await
    }
}
