//! Screenshots: those that a step asks for, and those for the record.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::page::GetLayoutMetricsParams;
use cuebook_grammar::action::Screenshot;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::outcome::{ArtifactRef, Cause, Stage};
use cuebook_grammar::seam::ArtifactKind;
use cuebook_grammar::seam::boxed::BoxedArtifactSink;
use cuebook_probe::picture::{Picture, PictureError, Secrecy};
use serde::Deserialize;

use crate::actions::ActResult;
use crate::error::ExecutorError;
use crate::run::{Resolved, StepRun};
use crate::script::Need;
use crate::stop::{Part, Stop, call_stop, failed, probe_stop};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    css_visual_viewport: VisualViewport,
    css_content_size: Rect,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VisualViewport {
    page_x: f64,
    page_y: f64,
}

/// The tallest and widest picture, in CSS pixels: a page may claim any size.
const LARGEST: f64 = 16_000.0;
/// How long a picture for the record may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The least time for it, even after the step's deadline. With that of the effects, a step ends two seconds after it.
const LATE: Duration = Duration::from_millis(700);

impl<'a> StepRun<'a> {
    /// Takes the picture that a step asks for, and stores it.
    pub(crate) async fn screenshot(
        &mut self,
        action: &Screenshot,
        artifacts: &dyn BoxedArtifactSink,
    ) -> Part<ActResult> {
        let mut clip = None;
        if action.target_ref.is_some() {
            let ready = self.ready_main(Need { visible: true, scroll: true, ..Need::default() }).await?;
            let metrics = self.metrics().await?;
            let rect = ready.rect;
            // The box is in the frame's coordinates, the point in the tab's: the difference is the frame's position.
            let (dx, dy) = (ready.point.x - rect.center().x, ready.point.y - rect.center().y);
            let offset = if self.is_main(ready.world.frame()) { (0.0, 0.0) } else { (dx, dy) };
            clip = Some(Rect {
                x: rect.x + offset.0 + metrics.css_visual_viewport.page_x,
                y: rect.y + offset.1 + metrics.css_visual_viewport.page_y,
                width: rect.width.clamp(1.0, LARGEST),
                height: rect.height.clamp(1.0, LARGEST),
            });
        } else if action.full_page == Some(true) {
            let size = self.metrics().await?.css_content_size;
            clip = Some(Rect {
                x: 0.0,
                y: 0.0,
                width: size.width.clamp(1.0, LARGEST),
                height: size.height.clamp(1.0, LARGEST),
            });
        }
        let (probe, secrecy, until) = (self.probe.clone(), self.secrecy(), self.until);
        let picture = match self.race(Stage::Act, probe.picture(clip, secrecy, until)).await? {
            Ok(picture) => picture,
            Err(PictureError::Wire(error)) => return Err(call_stop(error, Stage::Act)),
            Err(PictureError::Probe(error)) => return Err(probe_stop(error, Stage::Act)),
            Err(error) => return failed(Stage::Act, Cause::NotStable, format!("there is no picture: {error}")),
        };
        let Some(bytes) = painted(picture).await else {
            return failed(Stage::Act, Cause::Unsupported, "the picture of the browser cannot be read");
        };
        let stored = stored(artifacts, ArtifactKind::Screenshot, bytes).await.map_err(Stop::Broken)?;
        let data = serde_json::to_value(&stored).ok();
        self.evidence.artifacts.push(stored);
        Ok(ActResult { data, ..self.untargeted() })
    }

    async fn metrics(&mut self) -> Part<Metrics> {
        let call = self.page.session().request(GetLayoutMetricsParams {}, self.until);
        let reply = self.race(Stage::Act, call).await?.map_err(|error| call_stop(error, Stage::Act))?;
        reply.parse().map_err(|error| call_stop(error, Stage::Act))
    }

    /// A picture of the viewport for the record; `None` for a page that cannot be captured now.
    pub(crate) async fn picture(
        &mut self,
        kind: ArtifactKind,
        artifacts: &dyn BoxedArtifactSink,
    ) -> Result<Option<ArtifactRef>, ExecutorError> {
        if self.page.dialog().is_some() || self.page.crashed() || self.page.closed() {
            return Ok(None);
        }
        // After the deadline of the step a page that hangs is not waited for.
        let now = Instant::now();
        let until = (now + PATIENCE).min(self.until.max(now + LATE));
        let Ok(picture) = self.probe.picture(None, self.secrecy(), until).await else { return Ok(None) };
        let Some(bytes) = painted(picture).await else { return Ok(None) };
        stored(artifacts, kind, bytes).await.map(Some)
    }

    /// A picture of the target alone, wherever on the page it is; `None` for one that has no box or cannot be captured.
    pub(crate) async fn portray(&mut self, target: &Resolved) -> Option<Vec<u8>> {
        let until = (Instant::now() + PATIENCE).min(self.until);
        let world = self.probe.world_of(&target.key, until).await.ok()?;
        let ask =
            "(cb, id) => { const { x, y, width, height } = cb.boxOf(cb.byId(id)); return { x, y, width, height } }";
        let rect: Rect = world.call(ask, &[target.key.node.into()], until).await.ok()?;
        let placed = self.probe.frame_offset(world.frame(), until).await.ok()?;
        let metrics = self.metrics().await.ok()?;
        let Rect { x, y, width, height } = Some(placed.rect(rect)).filter(Rect::has_area)?;
        let clip = Rect {
            x: x + metrics.css_visual_viewport.page_x,
            y: y + metrics.css_visual_viewport.page_y,
            width: width.min(LARGEST),
            height: height.min(LARGEST),
        };
        painted(self.probe.picture(Some(clip), self.secrecy(), until).await.ok()?).await
    }

    /// Secrets that no picture may show.
    fn secrecy(&self) -> Secrecy<'a> {
        Secrecy::new(self.redactor, self.has_entered_secret.load(Ordering::Relaxed))
    }
}

/// The painted picture, made outside of the runtime's threads.
async fn painted(picture: Picture) -> Option<Vec<u8>> {
    tokio::task::spawn_blocking(move || picture.into_png()).await.ok()?
}

/// Stores a picture among the artifacts.
pub(crate) async fn stored(
    artifacts: &dyn BoxedArtifactSink,
    kind: ArtifactKind,
    png: Vec<u8>,
) -> Result<ArtifactRef, ExecutorError> {
    artifacts.store(kind, "image/png", png).await.map_err(|error| ExecutorError::Artifact(Box::new(error)))
}
