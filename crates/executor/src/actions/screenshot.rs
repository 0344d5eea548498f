//! Pictures.

use std::time::{Duration, Instant};

use base64::Engine as _;
use cuebook_cdp::CallError;
use cuebook_grammar::action::Screenshot;
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::outcome::{ArtifactRef, Stage};
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink};
use serde::{Deserialize, Serialize};

use crate::actions::Acted;
use crate::error::ExecutorError;
use crate::run::Run;
use crate::script::Need;
use crate::stop::{Part, Stop, call_stop};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Capture {
    format: &'static str,
    capture_beyond_viewport: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    clip: Option<Clip>,
}

#[derive(Serialize)]
struct Clip {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    scale: f64,
}

#[derive(Deserialize)]
struct Captured<'a> {
    #[serde(borrow)]
    data: std::borrow::Cow<'a, str>,
}

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

#[derive(Serialize)]
struct Nothing {}

/// The tallest and widest picture, in CSS pixels: a page may claim any size.
const LARGEST: f64 = 16_000.0;
/// How long a picture for the record may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The least time for it, even after the step's deadline.
const LATE: Duration = Duration::from_secs(1);

impl Run<'_> {
    /// Takes the picture that a step asks for, and stores it.
    pub(crate) async fn screenshot<A: ArtifactSink>(&mut self, action: &Screenshot, artifacts: &A) -> Part<Acted> {
        let mut clip = None;
        let mut beyond = false;
        if action.target_ref.is_some() {
            let ready = self.ready_main(Need { visible: true, scroll: true, ..Need::default() }).await?;
            let metrics = self.metrics().await?;
            let rect = ready.rect;
            // The box is in the frame's coordinates, the point in the tab's: the difference is the frame's position.
            let (dx, dy) = (ready.point.x - rect.center().x, ready.point.y - rect.center().y);
            let offset = if self.is_main(ready.world.frame()) { (0.0, 0.0) } else { (dx, dy) };
            clip = Some(Clip {
                x: rect.x + offset.0 + metrics.css_visual_viewport.page_x,
                y: rect.y + offset.1 + metrics.css_visual_viewport.page_y,
                width: rect.width.clamp(1.0, LARGEST),
                height: rect.height.clamp(1.0, LARGEST),
                scale: 1.0,
            });
            beyond = true;
        } else if action.full_page == Some(true) {
            let size = self.metrics().await?.css_content_size;
            clip = Some(Clip {
                x: 0.0,
                y: 0.0,
                width: size.width.clamp(1.0, LARGEST),
                height: size.height.clamp(1.0, LARGEST),
                scale: 1.0,
            });
            beyond = true;
        }
        let call = self.page.session().call_raw(
            "Page.captureScreenshot",
            Capture { format: "png", capture_beyond_viewport: beyond, clip },
            self.until,
        );
        let reply = self.race(Stage::Act, call).await?.map_err(|error| call_stop(error, Stage::Act))?;
        let bytes = decoded(&reply).map_err(|error| call_stop(error, Stage::Act))?;
        let stored = artifacts
            .store(ArtifactKind::Screenshot, "image/png", bytes)
            .await
            .map_err(|error| Stop::Broken(ExecutorError::Artifact(Box::new(error))))?;
        let data = serde_json::to_value(&stored).ok();
        self.evidence.artifacts.push(stored);
        Ok(Acted { data, ..self.untargeted() })
    }

    async fn metrics(&mut self) -> Part<Metrics> {
        let call = self.page.session().call_raw("Page.getLayoutMetrics", Nothing {}, self.until);
        let reply = self.race(Stage::Act, call).await?.map_err(|error| call_stop(error, Stage::Act))?;
        reply.parse().map_err(|error| call_stop(error, Stage::Act))
    }

    /// A picture of the viewport for the record; `None` for a page that cannot be captured now.
    pub(crate) async fn picture<A: ArtifactSink>(
        &mut self,
        kind: ArtifactKind,
        artifacts: &A,
    ) -> Result<Option<ArtifactRef>, ExecutorError> {
        if self.page.dialog().is_some() || self.page.crashed() || self.page.closed() {
            return Ok(None);
        }
        let capture = Capture { format: "png", capture_beyond_viewport: false, clip: None };
        // After the deadline of the step a page that hangs is not waited for.
        let now = Instant::now();
        let until = (now + PATIENCE).min(self.until.max(now + LATE));
        let Ok(reply) = self.page.session().call_raw("Page.captureScreenshot", capture, until).await else {
            return Ok(None);
        };
        let Ok(bytes) = decoded(&reply) else { return Ok(None) };
        let stored = artifacts.store(kind, "image/png", bytes).await;
        stored.map(Some).map_err(|error| ExecutorError::Artifact(Box::new(error)))
    }
}

fn decoded(reply: &cuebook_cdp::RawReply) -> Result<Vec<u8>, CallError> {
    use serde::de::Error as _;
    let captured: Captured<'_> = reply.parse()?;
    base64::engine::general_purpose::STANDARD.decode(captured.data.as_bytes()).map_err(|error| CallError::Decode {
        method: "Page.captureScreenshot".into(),
        source: serde_json::Error::custom(error),
    })
}
