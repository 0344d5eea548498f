//! Bounds of an observation, its cache, and how long it waits.

use std::time::Duration;

use cuebook_probe::ProbeOptions;

/// Bounds of an observation, and what counts as a test id.
///
/// ```
/// use cuebook_page_modeler::{Memory, ModelerOptions};
///
/// // Every observation reads the whole page, at most a thousand candidates of it.
/// let options = ModelerOptions { candidates: 1_000, memory: Memory::None, ..ModelerOptions::default() };
/// assert_eq!(options.frames, 100);
/// ```
#[derive(Clone, Debug)]
pub struct ModelerOptions {
    /// The most elements walked in each frame.
    pub elements: u32,
    /// The most candidates of an observation.
    pub candidates: u32,
    /// The deepest nesting of elements.
    pub depth: u32,
    /// Upper bound on the number of frames.
    pub frames: usize,
    /// The most time of one walk in a frame; the rest is omitted and counted.
    pub time: Duration,
    /// Reuse of earlier observations by later ones.
    pub memory: Memory,
    /// How long to wait for a new document.
    pub settling: Settling,
    /// Options of the probe: which attributes carry a test id.
    pub probe: ProbeOptions,
}

impl Default for ModelerOptions {
    fn default() -> Self {
        Self {
            elements: 200_000,
            candidates: 20_000,
            depth: 1_000,
            frames: 100,
            time: Duration::from_secs(10),
            memory: Memory::default(),
            settling: Settling::default(),
            probe: ProbeOptions::default(),
        }
    }
}

/// How long to wait for a document that is observed for the first time, so that a page which builds itself by script is
/// complete. A document without scripts is complete once it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// How long the page must be unchanged. With zero, something to act on is enough; a page that has only something
    /// to read is awaited for half a second at least.
    pub quiet: Duration,
    /// The upper bound, and never more than half of the observation's time: a page may stay empty.
    pub limit: Duration,
}

impl Default for Settling {
    fn default() -> Self {
        Self { quiet: Duration::ZERO, limit: Duration::from_secs(5) }
    }
}

/// Reuse of an observation by the next. The result does not depend on it, the cost does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Reuses earlier observations: unchanged parts are not read again.
    #[default]
    Kept,
    /// Reuses nothing: the whole page is read each time.
    None,
}
