//! Bounds of an observation, what it builds on, and how long it waits.

use std::time::Duration;

use cuebook_probe::ProbeOptions;

/// Bounds of an observation, and what counts as a test id.
#[derive(Clone, Debug)]
pub struct ModelerOptions {
    /// Elements walked in each frame.
    pub elements: u32,
    /// Candidates of an observation.
    pub candidates: u32,
    /// Elements nested in elements.
    pub depth: u32,
    /// Frames entered.
    pub frames: usize,
    /// Time that one walk takes in a frame before it leaves out the rest.
    pub time: Duration,
    /// What observations build on.
    pub memory: Memory,
    /// How long a new document is waited for.
    pub settling: Settling,
    /// What counts as a test id.
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

/// How long a document that is looked at for the first time is waited for, so that a page which builds itself by
/// script is seen as it becomes. Documents without scripts are not waited for once they are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// How long nothing may have changed; with zero it is enough that there is something to act on. Where there
    /// is only something to read, half a second at least.
    pub quiet: Duration,
    /// The most time, of which at most half of what the observation has: a page may stay empty.
    pub limit: Duration,
}

impl Default for Settling {
    fn default() -> Self {
        Self { quiet: Duration::ZERO, limit: Duration::from_secs(5) }
    }
}

/// What an observation builds on. The result is the same; what it costs is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// On the one before: what did not change since is not read again.
    #[default]
    Kept,
    /// On nothing: the whole page is read each time.
    None,
}
