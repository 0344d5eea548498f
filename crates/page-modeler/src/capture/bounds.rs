//! The bounds of one observation, and what those before it left to build on.

use std::time::Duration;

use crate::capture::listeners::ListenerCache;
use crate::capture::names::NameCache;
use crate::capture::walk_cache::WalkCache;
use crate::options::Memory;

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

/// Caches of a tab's documents from earlier observations.
#[derive(Debug, Default)]
pub(crate) struct TabCaches {
    pub(crate) names: NameCache,
    pub(crate) walks: WalkCache,
    pub(crate) listeners: ListenerCache,
}
