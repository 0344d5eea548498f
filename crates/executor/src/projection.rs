//! From the coordinates of a frame to those of the tab, through every transform on the way.
//!
//! Invariants:
//! - A frame is a rectangle that is drawn as a quadrilateral: four corners say where each of its points is seen,
//!   whether it is scaled, turned or seen in perspective.
//! - A frame that is drawn as a line has no projection.

use std::time::Instant;

use cuebook_cdp::protocol::browser_protocol::dom::{BackendNodeId, GetBoxModelParams};
use cuebook_cdp::{FrameId, SessionKind};
use cuebook_grammar::geometry::Point;
use cuebook_probe::{Probe, ProbeError};
use serde::Deserialize;

/// A projective map of the plane, row by row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Projection([[f64; 3]; 3]);

/// Frames within frames beyond this depth are not followed.
const MAX_DEPTH: usize = 64;

#[derive(Deserialize)]
struct BoxModel {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    content: [f64; 8],
}

impl Projection {
    pub(crate) const IDENTITY: Self = Self([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);

    /// Maps a rectangle of this size at the origin to a quadrilateral, corner by corner from the left top clockwise.
    pub(crate) fn onto(size: (f64, f64), quad: [f64; 8]) -> Option<Self> {
        let [x0, y0, x1, y1, x2, y2, x3, y3] = quad;
        let (width, height) = size;
        if !(width > 0.0 && height > 0.0) {
            return None;
        }
        let (dx1, dy1, dx2, dy2) = (x1 - x2, y1 - y2, x3 - x2, y3 - y2);
        let (sx, sy) = (x0 - x1 + x2 - x3, y0 - y1 + y2 - y3);
        let det = dx1 * dy2 - dx2 * dy1;
        let (g, h) = ((sx * dy2 - dx2 * sy) / det, (dx1 * sy - sx * dy1) / det);
        let unit = [[x1 - x0 + g * x1, x3 - x0 + h * x3, x0], [y1 - y0 + g * y1, y3 - y0 + h * y3, y0], [g, h, 1.0]];
        let scaled = Self(unit.map(|[a, b, c]| [a / width, b / height, c]));
        scaled.is_sound().then_some(scaled)
    }

    fn is_sound(&self) -> bool {
        self.0.iter().flatten().all(|part| part.is_finite()) && self.determinant().abs() > 1e-12
    }

    fn determinant(&self) -> f64 {
        let [[a, b, c], [d, e, f], [g, h, i]] = self.0;
        a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    }

    /// First `inner`, then this.
    fn after(&self, inner: &Self) -> Self {
        let [first, second, third] = inner.0;
        Self(self.0.map(|[a, b, c]| {
            let cell = |x: f64, y: f64, z: f64| a * x + b * y + c * z;
            [
                cell(first[0], second[0], third[0]),
                cell(first[1], second[1], third[1]),
                cell(first[2], second[2], third[2]),
            ]
        }))
    }

    /// The inverse map; `None` if there is none.
    pub(crate) fn inverse(&self) -> Option<Self> {
        let [[a, b, c], [d, e, f], [g, h, i]] = self.0;
        let det = self.determinant();
        let back = Self(
            [
                [e * i - f * h, c * h - b * i, b * f - c * e],
                [f * g - d * i, a * i - c * g, c * d - a * f],
                [d * h - e * g, b * g - a * h, a * e - b * d],
            ]
            .map(|row| row.map(|part| part / det)),
        );
        back.0.iter().flatten().all(|part| part.is_finite()).then_some(back)
    }

    /// Where a point goes.
    pub(crate) fn point(&self, at: Point) -> Point {
        let [x, y, w] = self.0.map(|[a, b, c]| a * at.x + b * at.y + c);
        Point { x: x / w, y: y / w }
    }
}

/// How a frame and all that are around it lie in the tab, innermost first; `None` where one of them is drawn as
/// nothing. Three round trips per level.
///
/// # Errors
/// [`ProbeError::Gone`] if one of them went away.
pub(crate) async fn projections(
    probe: &Probe,
    frame: &FrameId,
    until: Instant,
) -> Result<Option<Vec<(FrameId, Projection)>>, ProbeError> {
    let page = probe.page();
    let mut chain = vec![page.frame(frame).ok_or(ProbeError::Gone)?];
    while let Some(parent) = chain.last().and_then(|frame| frame.parent.clone()) {
        if chain.len() > MAX_DEPTH {
            return Err(ProbeError::Gone);
        }
        chain.push(page.frame(&parent).ok_or(ProbeError::Gone)?);
    }
    let mut above: Option<(cuebook_cdp::Frame, Projection)> = None;
    // Positions on the wire are relative to the outermost frame of one process.
    let mut root = Projection::IDENTITY;
    let mut found = Vec::new();
    for child in chain.into_iter().rev() {
        let projection = match &above {
            None => Projection::IDENTITY,
            Some((parent, _)) => {
                let owner = probe.frame_owner(&child.id, until).await?;
                let world = probe.world_of(&owner, until).await?;
                let nodes = world
                    .nodes("(cb, id) => [cb.byId(id)].filter((element) => element)", &[owner.node.into()], until)
                    .await?;
                let backend_node_id = Some(BackendNodeId::new(*nodes.first().ok_or(ProbeError::Gone)?));
                let params = GetBoxModelParams { backend_node_id, ..GetBoxModelParams::default() };
                let reply = parent.session.request(params, until).await;
                let Ok(BoxModel { model }) = reply.map_err(ProbeError::from).and_then(|reply| Ok(reply.parse()?))
                else {
                    return Ok(None);
                };
                let size: (f64, f64) = probe
                    .world(&child.id, until)
                    .await?
                    .call("() => [globalThis.innerWidth, globalThis.innerHeight]", &[], until)
                    .await?;
                let Some(step) = Projection::onto(size, model.content) else { return Ok(None) };
                root.after(&step)
            }
        };
        if above.as_ref().is_some_and(|(parent, _)| parent.session != child.session)
            && child.session.kind() == SessionKind::Frame
        {
            root = projection;
        }
        found.push((child.id.clone(), projection));
        above = Some((child, projection));
    }
    found.reverse();
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Point, b: Point) -> bool {
        (a.x - b.x).abs() < 1e-9 && (a.y - b.y).abs() < 1e-9
    }

    #[test]
    fn corners_go_to_corners_and_back() {
        let quad = [10.0, 10.0, 110.0, 30.0, 90.0, 90.0, 20.0, 80.0];
        let there = Projection::onto((200.0, 100.0), quad).unwrap();
        let corners = [(0.0, 0.0), (200.0, 0.0), (200.0, 100.0), (0.0, 100.0)];
        for ((x, y), to) in corners.into_iter().zip(quad.chunks(2)) {
            let seen = there.point(Point { x, y });
            assert!(near(seen, Point { x: to[0], y: to[1] }), "{seen:?}");
            assert!(near(there.inverse().unwrap().point(seen), Point { x, y }));
        }
    }

    #[test]
    fn a_frame_in_a_frame_is_moved_by_both() {
        let outer = Projection::onto((100.0, 100.0), [50.0, 0.0, 100.0, 0.0, 100.0, 50.0, 50.0, 50.0]).unwrap();
        let inner = Projection::onto((10.0, 10.0), [20.0, 20.0, 30.0, 20.0, 30.0, 30.0, 20.0, 30.0]).unwrap();
        assert!(near(outer.after(&inner).point(Point { x: 0.0, y: 10.0 }), Point { x: 60.0, y: 15.0 }));
    }

    #[test]
    fn what_is_drawn_as_a_line_has_no_projection() {
        assert!(Projection::onto((10.0, 10.0), [0.0, 0.0, 10.0, 0.0, 10.0, 0.0, 0.0, 0.0]).is_none());
        assert!(Projection::onto((0.0, 10.0), [0.0, 0.0, 10.0, 0.0, 10.0, 10.0, 0.0, 10.0]).is_none());
    }
}
