//! What is known of the page during a step.
//!
//! Invariant: nothing here waits or decides; it only keeps what arrived.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cuebook_cdp::FrameId;
use cuebook_grammar::deadline::millis;
use cuebook_probe::ProbeWorld;

use crate::activity::Activity;
use crate::facts::Gathered;
use crate::network::Network;
use crate::script::FrameSummary;

/// A document that is being watched, or that has a guard at work.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    pub(crate) world: ProbeWorld,
    /// When watching began there.
    pub(crate) since: Instant,
    pub(crate) is_watching: bool,
}

/// What is known of the page during a step.
pub(crate) struct Seen {
    pub(crate) activity: Activity,
    pub(crate) gathered: Gathered,
    pub(crate) network: Network,
    /// Where the decisions of the proxy begin that belong to the step.
    pub(crate) denied_from: u64,
    pub(crate) watchers: BTreeMap<FrameId, Watcher>,
    /// The effects of the input that a frame reported with its answer to it; gone once it is asked again.
    pub(crate) summaries: BTreeMap<FrameId, FrameSummary>,
    /// When the first input was sent.
    pub(crate) input_at: Option<Instant>,
}

impl Seen {
    /// Of a step that begins.
    pub(crate) fn new(gathered: Gathered, network: Network, denied_from: u64) -> Self {
        Self {
            activity: Activity::default(),
            gathered,
            network,
            denied_from,
            watchers: BTreeMap::new(),
            summaries: BTreeMap::new(),
            input_at: None,
        }
    }

    /// Milliseconds from the input to `moment`.
    pub(crate) fn at_ms(&self, moment: Instant) -> u32 {
        let since = self.input_at.map_or(Duration::ZERO, |input| moment.saturating_duration_since(input));
        u32::try_from(millis(since)).unwrap_or(u32::MAX)
    }
}
