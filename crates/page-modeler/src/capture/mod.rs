//! The wire's half: one walk per frame, coordinates in the tab, the browser's own words.

mod accessible;
mod answer;
mod bounds;
mod captured;
mod closed_roots;
mod frames;
mod listeners;
mod names;
mod overlays;
mod script;
mod walk_cache;

pub(crate) use bounds::{Bounds, TabCaches};
pub(crate) use captured::{Captured, CapturedFrame};
pub(crate) use frames::capture;
pub(crate) use script::WALK;
