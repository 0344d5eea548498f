//! Where a frame's document lies in what the tab shows.

use std::time::Instant;

use cuebook_cdp::FrameId;
use cuebook_grammar::geometry::{Point, Rect};
use serde::{Deserialize, Serialize};

use crate::error::ProbeError;
use crate::probe::Probe;

/// Maps a frame's own coordinates to those of the tab's viewport.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Where the frame's left top corner lies, in CSS pixels of the tab's viewport.
    pub origin: Point,
    /// How much wider a pixel of the frame is shown; 1 unless a transform scales one of its owners.
    pub scale_x: f64,
    /// How much taller a pixel of the frame is shown.
    pub scale_y: f64,
    /// The part of the tab's viewport through which the frame can be seen at all.
    pub clip: Rect,
}

impl Placement {
    /// The placement of the main frame in a viewport of this size.
    #[must_use]
    pub fn main(width: f64, height: f64) -> Self {
        Self { origin: Point::default(), scale_x: 1.0, scale_y: 1.0, clip: Rect { x: 0.0, y: 0.0, width, height } }
    }

    /// A point of the frame in the tab's viewport.
    #[must_use]
    pub fn point(&self, local: Point) -> Point {
        Point { x: self.origin.x + local.x * self.scale_x, y: self.origin.y + local.y * self.scale_y }
    }

    /// A point of the tab's viewport in the frame.
    #[must_use]
    pub fn to_local(&self, tab: Point) -> Point {
        Point { x: (tab.x - self.origin.x) / self.scale_x, y: (tab.y - self.origin.y) / self.scale_y }
    }

    /// A box of the frame in the tab's viewport.
    #[must_use]
    pub fn rect(&self, local: Rect) -> Rect {
        let corner = self.point(Point { x: local.x, y: local.y });
        Rect { x: corner.x, y: corner.y, width: local.width * self.scale_x, height: local.height * self.scale_y }
    }

    /// The placement of a frame whose owner element shows `content`, its content box in the coordinates
    /// of this frame, as a viewport of `inner` pixels.
    #[must_use]
    pub fn descend(&self, content: Rect, inner: (f64, f64), clip: Rect) -> Self {
        let ratio = |shown: f64, own: f64| {
            let ratio = shown / own;
            if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
        };
        let shown = self.rect(content);
        Self {
            origin: Point { x: shown.x, y: shown.y },
            scale_x: self.scale_x * ratio(content.width, inner.0),
            scale_y: self.scale_y * ratio(content.height, inner.1),
            clip: intersection(self.clip, intersection(shown, self.rect(clip))),
        }
    }

    /// The middle of the visible part of a box in the tab's viewport; the middle of
    /// the whole box if none of it is visible.
    #[must_use]
    pub fn visible_center(&self, tab: Rect) -> Point {
        let seen = intersection(tab, self.clip);
        if seen.has_area() { seen.center() } else { tab.center() }
    }
}

fn intersection(a: Rect, b: Rect) -> Rect {
    let (x, y) = (a.x.max(b.x), a.y.max(b.y));
    Rect {
        x,
        y,
        width: ((a.x + a.width).min(b.x + b.width) - x).max(0.0),
        height: ((a.y + a.height).min(b.y + b.height) - y).max(0.0),
    }
}

/// A frame's owner element, in the coordinates of the owner's document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerBox {
    content: Rect,
    layout_width: f64,
    layout_height: f64,
    clip: Rect,
    shown: bool,
}

impl Probe {
    /// Where `frame` lies in the tab's viewport, through all of its owners, in any process.
    /// One or two round trips per level.
    ///
    /// # Errors
    /// [`ProbeError::Gone`] if the frame or one of its owners went away.
    pub async fn frame_offset(&self, frame: &FrameId, until: Instant) -> Result<Placement, ProbeError> {
        let mut chain = Vec::new();
        let mut current = self.page().frame(frame).ok_or(ProbeError::Gone)?;
        while let Some(parent) = current.parent.clone() {
            if chain.len() >= MAX_FRAME_DEPTH {
                return Err(ProbeError::Gone);
            }
            chain.push((parent.clone(), current.id.clone()));
            current = self.page().frame(&parent).ok_or(ProbeError::Gone)?;
        }
        let main = self.world(&current.id, until).await?;
        let (width, height): (f64, f64) =
            main.call("() => [globalThis.innerWidth, globalThis.innerHeight]", &[], until).await?;
        let mut placement = Placement::main(width, height);
        for (parent, child) in chain.into_iter().rev() {
            placement = self.child_placement(&placement, &parent, &child, until).await?;
        }
        Ok(placement)
    }

    /// Where the child frame lies, given where its parent lies.
    ///
    /// # Errors
    /// As [`Probe::frame_offset`].
    pub async fn child_placement(
        &self,
        placement: &Placement,
        parent: &FrameId,
        child: &FrameId,
        until: Instant,
    ) -> Result<Placement, ProbeError> {
        let owner = self.frame_owner(child, until).await?;
        if owner.frame != parent.as_str() {
            return Err(ProbeError::Gone);
        }
        let world = self.world_of(&owner, until).await?;
        let seen: Option<OwnerBox> =
            world.call("(cb, id) => cb.ownerBox(cb.byId(id))", &[owner.node.into()], until).await?;
        let seen = seen.ok_or(ProbeError::Gone)?;
        let mut inner = placement.descend(seen.content, (seen.layout_width, seen.layout_height), seen.clip);
        if !seen.shown {
            inner.clip.width = 0.0;
            inner.clip.height = 0.0;
        }
        Ok(inner)
    }
}

const MAX_FRAME_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_owner_scales_what_is_in_its_frame() {
        let content = Rect { x: 100.0, y: 50.0, width: 200.0, height: 100.0 };
        let placed = Placement::main(1_000.0, 800.0).descend(content, (400.0, 200.0), content);
        assert_eq!(
            placed.rect(Rect { x: 40.0, y: 20.0, width: 10.0, height: 10.0 }),
            Rect { x: 120.0, y: 60.0, width: 5.0, height: 5.0 }
        );
        let there = Point { x: 12.0, y: 34.0 };
        let back = placed.to_local(placed.point(there));
        assert!((back.x - there.x).abs() < 1e-9 && (back.y - there.y).abs() < 1e-9);
    }

    #[test]
    fn a_frame_beyond_its_parents_clip_is_not_visible() {
        let content = Rect { x: 0.0, y: 900.0, width: 200.0, height: 100.0 };
        assert!(!Placement::main(1_000.0, 800.0).descend(content, (200.0, 100.0), content).clip.has_area());
    }
}
