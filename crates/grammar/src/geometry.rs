//! Boxes and points in CSS pixels of the tab's viewport: the origin is its top left corner, for every frame.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A point in CSS pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Distance from the left edge of the viewport.
    pub x: f64,
    /// Distance from the top edge of the viewport.
    pub y: f64,
}

/// A box in CSS pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rect {
    /// Left edge, from the left of the viewport.
    pub x: f64,
    /// Top edge, from the top of the viewport.
    pub y: f64,
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels.
    pub height: f64,
}

impl Rect {
    /// Returns the middle of the box.
    #[must_use]
    pub fn center(&self) -> Point {
        Point { x: self.x + self.width / 2.0, y: self.y + self.height / 2.0 }
    }

    /// Returns `true` if the point lies in the box; its right and lower edges are outside.
    #[must_use]
    pub fn contains(&self, point: Point) -> bool {
        let within = |at: f64, from: f64, length: f64| at >= from && at < from + length;
        within(point.x, self.x, self.width) && within(point.y, self.y, self.height)
    }

    /// Returns `true` if the box has an area.
    #[must_use]
    pub fn has_area(&self) -> bool {
        self.width > 0.0 && self.height > 0.0
    }

    /// The share of this box, from 0 to 1, that lies within `other`; 0 without an area.
    #[must_use]
    pub fn share_within(&self, other: &Self) -> f64 {
        if !self.has_area() {
            return 0.0;
        }
        let width = (self.x + self.width).min(other.x + other.width) - self.x.max(other.x);
        let height = (self.y + self.height).min(other.y + other.height) - self.y.max(other.y);
        if width <= 0.0 || height <= 0.0 { 0.0 } else { (width * height) / (self.width * self.height) }
    }
}

/// The size of a viewport in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewportSize {
    /// Width, at least 200.
    #[serde(deserialize_with = "side")]
    #[schemars(range(min = 200, max = 20_000))]
    pub width: u32,
    /// Height, at least 200.
    #[serde(deserialize_with = "side")]
    #[schemars(range(min = 200, max = 20_000))]
    pub height: u32,
}

fn side<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let side = u32::deserialize(deserializer)?;
    if (200..=20_000).contains(&side) {
        return Ok(side);
    }
    Err(D::Error::custom(format_args!("a side of {side} pixels is not from 200 to 20000")))
}
