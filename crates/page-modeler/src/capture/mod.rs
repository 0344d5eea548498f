//! The wire's half: one walk per frame, coordinates in the tab, the browser's own words.

mod closed_roots;
mod frames;
mod listeners;
mod names;
mod overlays;
mod told;
mod walks;

pub(crate) use frames::{Captured, CapturedFrame, capture};
pub(crate) use listeners::ListenerCache;
pub(crate) use names::NameCache;
pub(crate) use walks::WalkCache;

use std::time::Duration;

use cuebook_probe::Extension;

use crate::modeler::Memory;

/// The walk, installed on top of the probe's core.
pub(crate) const WALK: Extension = Extension {
    name: "walk",
    source: concat!(
        include_str!("walk/open.js"),
        include_str!("walk/infos.js"),
        include_str!("walk/changes.js"),
        include_str!("walk/measure.js"),
        include_str!("walk/reasons.js"),
        include_str!("walk/cover.js"),
        include_str!("walk/place.js"),
        include_str!("walk/context.js"),
        include_str!("walk/sketch.js"),
        include_str!("walk/doubles.js"),
        include_str!("walk/row.js"),
        include_str!("walk/settle.js"),
        include_str!("walk/run.js"),
        include_str!("walk/answer.js"),
        include_str!("walk/explore.js"),
        include_str!("walk/answers.js"),
    ),
};

/// The bounds of one observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) elements: u32,
    pub(crate) candidates: u32,
    pub(crate) depth: u32,
    pub(crate) frames: usize,
    pub(crate) time: Duration,
    pub(crate) memory: Memory,
}

/// What is known of a tab's documents from observations before.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) names: NameCache,
    pub(crate) walks: WalkCache,
    pub(crate) listeners: ListenerCache,
}
