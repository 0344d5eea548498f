//! Takes a picture, again if what must be painted over moved meanwhile.

use std::borrow::Cow;
use std::time::Instant;

use base64::Engine as _;
use cuebook_cdp::CallError;
use cuebook_cdp::protocol::browser_protocol::page::{
    CaptureScreenshotFormat, CaptureScreenshotParams, GetLayoutMetricsParams, Viewport,
};
use cuebook_grammar::geometry::Rect;
use serde::Deserialize;

use super::canvas::{Area, Canvas, Ink};
use super::hidden::Secrecy;
use crate::error::ProbeError;
use crate::probe::Probe;

/// Colour that covers secrets.
pub const PAINT: Ink = [40, 40, 40];

/// How often a page may move while it is taken.
const ATTEMPTS: usize = 4;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The page cannot be captured.
    #[error(transparent)]
    Wire(#[from] CallError),
    /// The parts that must be painted over cannot be found.
    #[error("what must be painted over cannot be found")]
    Probe(#[from] ProbeError),
    /// The parts that must be painted over kept moving.
    #[error("what must be painted over kept moving")]
    Moving,
}

/// A picture, with what is to be painted over before anybody sees it.
pub struct Picture {
    png: Vec<u8>,
    hidden: Vec<Area>,
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({} bytes, {} hidden)", self.png.len(), self.hidden.len())
    }
}

impl Picture {
    /// The painted picture as PNG; `None` if the browser's cannot be read. Costs nothing where nothing is hidden, else
    /// tens of milliseconds: not for a runtime's thread.
    #[must_use]
    pub fn into_png(self) -> Option<Vec<u8>> {
        if self.hidden.is_empty() { Some(self.png) } else { self.into_canvas()?.png() }
    }

    /// The painted picture as pixels; `None` if the browser's cannot be read.
    #[must_use]
    pub fn into_canvas(self) -> Option<Canvas> {
        let mut canvas = Canvas::read(&self.png)?;
        for area in self.hidden {
            canvas.fill(area, PAINT);
        }
        Some(canvas)
    }
}

#[derive(Deserialize)]
struct Captured<'a> {
    #[serde(borrow)]
    data: Cow<'a, str>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    css_visual_viewport: VisualViewport,
    css_layout_viewport: LayoutViewport,
    layout_viewport: LayoutViewport,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VisualViewport {
    page_x: f64,
    page_y: f64,
    scale: f64,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutViewport {
    page_x: f64,
    page_y: f64,
    client_width: f64,
}

/// Boxes of hidden parts, and the position of the viewport, at one moment.
#[derive(Debug, PartialEq)]
struct ViewState {
    metrics: Metrics,
    /// Pixels of a picture in a CSS pixel.
    density: f64,
    hidden: Vec<Rect>,
}

impl Probe {
    /// A picture of the viewport, or of `clip`, a box in CSS pixels of the page. Seven round trips and more,
    /// of which one is the picture itself.
    ///
    /// # Errors
    /// [`PictureError`]
    pub async fn picture(
        &self,
        clip: Option<Rect>,
        secrecy: Secrecy<'_>,
        until: Instant,
    ) -> Result<Picture, PictureError> {
        let mut before = self.seen(secrecy, until).await;
        for _ in 0..ATTEMPTS {
            let png = self.captured(clip, until).await?;
            let after = self.seen(secrecy, until).await;
            match (before, after) {
                (Ok(before), Ok(after)) if before == after => return Ok(Picture { png, hidden: after.areas(clip) }),
                // A frame may go while it is asked.
                (_, after @ (Ok(_) | Err(ProbeError::Gone))) => before = after,
                (_, Err(error)) => return Err(error.into()),
            }
        }
        Err(PictureError::Moving)
    }

    async fn captured(&self, clip: Option<Rect>, until: Instant) -> Result<Vec<u8>, CallError> {
        let clip = clip.map(|Rect { x, y, width, height }| Viewport { x, y, width, height, scale: 1.0 });
        let capture = CaptureScreenshotParams {
            format: Some(CaptureScreenshotFormat::Png),
            capture_beyond_viewport: Some(clip.is_some()),
            clip,
            ..CaptureScreenshotParams::default()
        };
        let reply = self.page().session().request(capture, until).await?;
        let captured: Captured<'_> = reply.parse()?;
        base64::engine::general_purpose::STANDARD.decode(captured.data.as_bytes()).map_err(|error| {
            let source = serde::de::Error::custom(error);
            CallError::Decode { method: CaptureScreenshotParams::IDENTIFIER.into(), source }
        })
    }

    async fn seen(&self, secrecy: Secrecy<'_>, until: Instant) -> Result<ViewState, ProbeError> {
        let reply = self.page().session().request(GetLayoutMetricsParams {}, until).await?;
        let metrics: Metrics = reply.parse()?;
        let main = self.world(&self.page().main_frame().id, until).await?;
        let density = main.call("() => globalThis.devicePixelRatio", &[], until).await?;
        let hidden = self.hidden(secrecy, metrics.ratio(), until).await?;
        Ok(ViewState { metrics, density, hidden })
    }
}

impl Metrics {
    /// Pixels of the layout in a CSS pixel. Chrome lays out in device pixels, unless it only emulates them.
    fn ratio(&self) -> f64 {
        let ratio = self.layout_viewport.client_width / self.css_layout_viewport.client_width;
        if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
    }
}

impl ViewState {
    /// Returns the areas to paint, in pixels of the picture, with a pixel around each for rounding.
    fn areas(&self, clip: Option<Rect>) -> Vec<Area> {
        let Metrics { css_visual_viewport: visual, css_layout_viewport: layout, .. } = &self.metrics;
        let (left, top, zoom) = match clip {
            Some(clip) => (clip.x, clip.y, 1.0),
            None => (visual.page_x, visual.page_y, visual.scale),
        };
        let scale = self.density * zoom;
        let area = |rect: &Rect| {
            let x = rect.x + layout.page_x - left;
            let y = rect.y + layout.page_y - top;
            let Area { left, top, right, bottom } = Area::of(&Rect { x, y, ..*rect }, (scale, scale))?;
            Some(Area { left: left - 1, top: top - 1, right: right + 1, bottom: bottom + 1 })
        };
        self.hidden.iter().filter_map(area).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(scroll: f64, scale: f64, density: f64) -> ViewState {
        let metrics = Metrics {
            css_visual_viewport: VisualViewport { page_x: 0.0, page_y: scroll, scale },
            css_layout_viewport: LayoutViewport { page_x: 0.0, page_y: scroll, client_width: 100.0 },
            layout_viewport: LayoutViewport { page_x: 0.0, page_y: scroll, client_width: 100.0 },
        };
        ViewState { metrics, density, hidden: vec![Rect { x: 10.0, y: 20.0, width: 5.0, height: 5.0 }] }
    }

    #[test]
    fn boxes_of_the_viewport_become_pixels_of_the_picture() {
        let area = |left, top, right, bottom| vec![Area { left, top, right, bottom }];
        assert_eq!(seen(500.0, 1.0, 1.0).areas(None), area(9, 19, 16, 26));
        assert_eq!(seen(500.0, 1.0, 2.0).areas(None), area(19, 39, 31, 51));
        assert_eq!(seen(0.0, 3.0, 1.0).areas(None), area(29, 59, 46, 76));
        let clip = Rect { x: 4.0, y: 510.0, width: 50.0, height: 50.0 };
        assert_eq!(seen(500.0, 1.0, 1.0).areas(Some(clip)), area(5, 9, 12, 16));
    }
}
