//! Pictures for planners: present where the run asks for them, and only there.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::seam::{Finding, Image, PageModeler, PlanReply, PlanRequest, PlanSink, Planner, Query};
use cuebook_grammar::secret::DigestKey;
use cuebook_repair::{Controller, Layers, RunRequest, Sight};
use outside_agent::{FakeError, FakeModeler, FakePlanner, Shop};

use super::recorded::{assert_bought, fake_redactor, request, task, world};

#[derive(Clone, Copy)]
enum Camera {
    Works,
    TakesNone,
    Broken,
}

/// Takes pictures that say which observation they are of.
struct Picturing {
    inner: FakeModeler,
    camera: Camera,
    asked: Arc<Mutex<usize>>,
}

impl PageModeler for Picturing {
    type Error = FakeError;

    async fn observe(&mut self, page: &PageId, scope: Scope, deadline: Deadline) -> Result<Observation, FakeError> {
        self.inner.observe(page, scope, deadline).await
    }

    async fn explore(&mut self, page: &PageId, query: &Query, deadline: Deadline) -> Result<Finding, FakeError> {
        self.inner.explore(page, query, deadline).await
    }

    async fn picture(&mut self, _: &PageId, of: &Observation, _: Deadline) -> Result<Option<Image>, FakeError> {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        match self.camera {
            Camera::Works => Ok(Some(picture(of))),
            Camera::TakesNone => Ok(None),
            Camera::Broken => Err(FakeError::OutOfOrder { expected: "a camera" }),
        }
    }
}

fn picture(of: &Observation) -> Image {
    Image { media_type: "image/png".to_owned(), bytes: of.id.0.to_be_bytes().to_vec() }
}

/// Notes of each request whether its pictures were those of its observation, or none.
struct Seeing {
    inner: Arc<FakePlanner>,
    saw: Arc<Mutex<Vec<Saw>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saw {
    Nothing,
    ItsPage,
    SomethingElse,
}

impl Planner for Seeing {
    type Error = FakeError;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, FakeError> {
        let saw = match request.images {
            [] => Saw::Nothing,
            [image] if *image == picture(request.observation) => Saw::ItsPage,
            _ => Saw::SomethingElse,
        };
        self.saw.lock().unwrap_or_else(PoisonError::into_inner).push(saw);
        self.inner.plan(request, sink, deadline).await
    }
}

/// Buys in the shop; what the planner saw, and how often the modeler was asked for a picture.
async fn buy(camera: Camera, sight: Sight) -> Result<(Vec<Saw>, usize)> {
    let shop = Shop::new();
    let (saw, asked) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
    let Layers { modeler, planner, executor, repair, log, confirm } = world(&shop);
    let modeler = Picturing { inner: modeler, camera, asked: asked.clone() };
    let planner = Arc::new(Seeing { inner: planner, saw: saw.clone() });
    let layers = Layers { modeler, planner, executor, repair, log, confirm };
    let request = RunRequest { sight, ..request(&shop, task())? };
    let report = Controller::new(layers, DigestKey::new([1; 32]), fake_redactor()).run(request).await;
    assert_bought(&shop, &report);
    let saw = saw.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let asked = *asked.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((saw, asked))
}

#[tokio::test]
async fn a_run_with_pictures_shows_the_planner_each_page_that_it_plans_for() -> Result<()> {
    let (saw, asked) = buy(Camera::Works, Sight::Pictures).await?;
    assert!(saw.len() > 1, "several plans");
    assert_eq!(saw, vec![Saw::ItsPage; saw.len()]);
    assert_eq!(asked, saw.len());
    Ok(())
}

#[tokio::test]
async fn a_run_in_words_takes_no_pictures() -> Result<()> {
    let (saw, asked) = buy(Camera::Works, Sight::default()).await?;
    assert_eq!((saw.contains(&Saw::Nothing), saw.iter().any(|saw| *saw != Saw::Nothing), asked), (true, false, 0));
    Ok(())
}

#[tokio::test]
async fn a_picture_that_cannot_be_had_ends_nothing() -> Result<()> {
    for camera in [Camera::TakesNone, Camera::Broken] {
        let (saw, asked) = buy(camera, Sight::Pictures).await?;
        assert_eq!(saw, vec![Saw::Nothing; asked]);
        assert!(asked > 0);
    }
    Ok(())
}
