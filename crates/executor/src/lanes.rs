//! Where a step hears of its tab: what reports arrive by, and the documents that are asked.

use std::collections::BTreeMap;
use std::fmt;

use cuebook_cdp::{BrowserEvents, FrameId, PageEvents};
use cuebook_probe::ProbeWorld;

use crate::network::Wire;

/// The sources of what a step comes to know.
pub(crate) struct Lanes<'a> {
    /// Page events of the tab that the step acts in.
    pub(crate) tab: PageEvents,
    /// The browser, from the first step of the run on.
    pub(crate) browser: &'a mut BrowserEvents,
    /// The requests of the tab.
    pub(crate) wire: &'a mut Wire,
    /// Our worlds in the documents that are watched, or that have a guard at work.
    pub(crate) worlds: BTreeMap<FrameId, ProbeWorld>,
}

impl fmt::Debug for Lanes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").field("worlds", &self.worlds.keys()).finish_non_exhaustive()
    }
}
