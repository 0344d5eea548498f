//! From a tab and its observation to a picture with marks.

use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::page::GetLayoutMetricsParams;
use cuebook_grammar::candidate::{Candidate, ControlKind, Placement};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::seam::Image;
use cuebook_grammar::secret::FactText;
use cuebook_probe::Probe;
use cuebook_probe::picture::Secrecy;
use serde::Deserialize;

use super::marks::{Mark, Marks};

/// The longest side of a picture.
const LONGEST: f64 = 4_096.0;
/// How long the browser may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    css_visual_viewport: VisualViewport,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VisualViewport {
    page_y: f64,
    scale: f64,
}

/// A picture of the tab with the candidates of `observation`, which must be of this tab and recent; `None` if it is
/// not ready by the deadline, or the page was scrolled or zoomed since. One round trip beside those of
/// [`Probe::picture`], and work of milliseconds for a usual viewport, outside of the runtime's threads.
pub(crate) async fn take(
    probe: &Probe,
    observation: &Observation,
    secrecy: Secrecy<'_>,
    until: Instant,
) -> Option<Image> {
    let page = probe.page();
    if page.dialog().is_some() || page.crashed() || page.closed() {
        return None;
    }
    let marks = marks(observation)?;
    let size = size(observation.viewport.width, observation.viewport.height)?;
    let scale = (size.0 / observation.viewport.width, size.1 / observation.viewport.height);
    let until = until.min(Instant::now() + PATIENCE);
    let picture = probe.picture(None, secrecy, until).await.ok()?;
    let now = page.session().request(GetLayoutMetricsParams {}, until).await.ok()?;
    if !is_in_place(&now.parse().ok()?, observation) {
        return None;
    }
    let draw = move || {
        let mut canvas = picture.into_canvas()?.shrunk(size.0 as usize, size.1 as usize);
        // One that is smaller than the viewport shows something else.
        if (canvas.width(), canvas.height()) != (size.0 as usize, size.1 as usize) {
            return None;
        }
        marks.draw(&mut canvas, scale);
        canvas.png()
    };
    let bytes = tokio::task::spawn_blocking(draw).await.ok()??;
    Some(Image { media_type: "image/png".to_owned(), bytes })
}

/// Returns `true` if the boxes of the observation are still where they were, as far as the page as a whole goes.
fn is_in_place(now: &Metrics, observation: &Observation) -> bool {
    let VisualViewport { page_y, scale } = now.css_visual_viewport;
    (page_y - observation.viewport.scroll_y).abs() <= 1.0 && (scale - 1.0).abs() < 1e-3
}

/// Whole pixels for a viewport, within bounds and in its proportions.
fn size(width: f64, height: f64) -> Option<(f64, f64)> {
    let longest = width.max(height);
    if !(width >= 1.0 && height >= 1.0 && longest.is_finite()) {
        return None;
    }
    let share = (LONGEST / longest).min(1.0);
    Some(((width * share).floor().max(1.0), (height * share).floor().max(1.0)))
}

/// Returns the marks and the boxes to be painted over; `None` where the position of something that must be hidden is
/// not known.
fn marks(observation: &Observation) -> Option<Marks> {
    if observation.truncated.is_some_and(|cut| cut.candidates > 0 || cut.elements > 0 || cut.frames > 0) {
        return None;
    }
    let mut marks = Marks::default();
    for candidate in &observation.candidates {
        let placed =
            candidate.rect.filter(|rect| [rect.x, rect.y, rect.width, rect.height].iter().all(|n| n.is_finite()));
        let is_in_view = candidate.placement == Placement::InView;
        if is_sensitive(candidate) {
            match placed {
                Some(rect) => marks.hidden.push(rect),
                None if is_in_view => return None,
                None => {}
            }
        }
        // A plan cannot name an ambiguous candidate.
        if let Some(rect) = placed
            && is_in_view
            && candidate.occlusion.is_none()
            && !candidate.ambiguous
        {
            marks.marks.push(Mark { id: candidate.id, rect });
        }
    }
    Some(marks)
}

fn is_sensitive(candidate: &Candidate) -> bool {
    candidate.control == ControlKind::Password || matches!(candidate.value, Some(FactText::Redacted { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_keeps_the_proportions_of_its_viewport_within_bounds() {
        assert_eq!(size(1280.0, 720.0), Some((1280.0, 720.0)));
        assert_eq!(size(8192.0, 2048.0), Some((4096.0, 1024.0)));
        assert_eq!(size(1e9, 1.0), Some((4096.0, 1.0)));
    }

    #[test]
    fn a_viewport_of_no_size_has_no_picture() {
        for (width, height) in [(0.0, 720.0), (1280.0, -1.0), (f64::NAN, 720.0), (1280.0, f64::INFINITY)] {
            assert_eq!(size(width, height), None, "{width} x {height}");
        }
    }
}
