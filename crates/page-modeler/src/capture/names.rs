//! The browser's own roles and names, kept while the walk finds nothing that they depend on changed.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use cuebook_cdp::CallError;
use cuebook_grammar::id::NodeKey;
use cuebook_probe::{AxFacts, Probe, ProbeError};

use super::answer::Renamed;
use super::captured::CapturedFrame;
use crate::model::candidates::{BrowserWords, Placed};
use crate::model::clean;

/// The most rows of one frame that the browser is asked about. It takes time linear in the siblings of an element for
/// each, so that a page of ten thousand siblings would cost tens of seconds.
const ASKED: usize = 500;
/// Rows in one question.
const PART: usize = 128;
/// After this time the rest keeps the names of the walk.
const PATIENCE: Duration = Duration::from_millis(700);

/// The browser's words, by document and element.
#[derive(Debug, Default)]
pub(crate) struct NameCache {
    documents: HashMap<(String, String), HashMap<u64, AxFacts>>,
}

impl NameCache {
    /// Puts the browser's words on all rows in view, asking only for what is not known. Returns `true` if it said anything
    /// new.
    pub(crate) async fn fill(
        &mut self,
        probe: &Probe,
        frames: &mut [CapturedFrame],
        until: Instant,
    ) -> Result<bool, ProbeError> {
        let present: HashSet<_> = frames.iter().map(CapturedFrame::document_key).collect();
        self.documents.retain(|key, _| present.contains(key));
        let mut wanted: Vec<NodeKey> = Vec::new();
        for frame in frames.iter() {
            let known = self.documents.entry(frame.document_key()).or_default();
            match &frame.renamed {
                Renamed::All => known.clear(),
                Renamed::Rows(rows) => {
                    for row in rows {
                        known.remove(row);
                    }
                }
            }
            let rows = frame.rows.iter().filter(|placed| placed.in_view && !placed.row.is_named_by_text).take(ASKED);
            wanted.extend(rows.map(|placed| &placed.key).filter(|key| !known.contains_key(&key.node)).cloned());
        }
        let fresh: HashSet<NodeKey> = wanted.iter().cloned().collect();
        let mut is_news = false;
        let start = Instant::now();
        // A page that the browser needs so long for keeps the names of the walk; the observation does not fail.
        let limit = start + until.saturating_duration_since(start) / 2;
        for part in wanted.chunks(PART) {
            let named = match probe.browser_names(part, limit).await {
                Err(ProbeError::Wire(CallError::DeadlineExceeded { .. })) => break,
                named => named?,
            };
            is_news |= !named.is_empty();
            for (key, facts) in named {
                if let Some(known) = self.documents.get_mut(&(key.frame, key.document)) {
                    known.insert(key.node, facts);
                }
            }
            if start.elapsed() > PATIENCE {
                break;
            }
        }
        for frame in frames.iter() {
            self.forget_later_names(frame, &fresh, limit).await;
        }
        for frame in frames.iter_mut() {
            let Some(known) = self.documents.get(&frame.document_key()) else { continue };
            for placed in frame.rows.iter_mut().filter(|placed| placed.in_view && !placed.row.is_named_by_text) {
                // What assistive technology skips has no name there and keeps that of the walk.
                placed.browser = known.get(&placed.key.node).filter(|facts| !facts.ignored).map(|facts| BrowserWords {
                    role: facts.role,
                    name: facts.name.clone(),
                    description: facts.description.clone(),
                });
            }
        }
        Ok(is_news)
    }

    /// Removes the `fresh` names that may be newer than the walk. The walk read the meaning of a candidate, which is
    /// compared when something acts on it. If the page changed since, a name that differs from the walk's may be of
    /// another moment, and the walk's stands.
    async fn forget_later_names(&mut self, frame: &CapturedFrame, fresh: &HashSet<NodeKey>, until: Instant) {
        let Some(known) = self.documents.get_mut(&frame.document_key()) else { return };
        let spelt = |name: &str, placed: &Placed| clean::name(name, &placed.row.icons).to_lowercase();
        let differs = |placed: &&Placed| {
            let said = known.get(&placed.key.node).filter(|_| fresh.contains(&placed.key));
            said.is_some_and(|facts| spelt(&facts.name, placed) != spelt(&placed.row.name, placed))
        };
        let later: Vec<u64> = frame.rows.iter().filter(differs).map(|placed| placed.key.node).collect();
        if later.is_empty() {
            return;
        }
        let is_changed = frame.world.call::<bool>("(cb) => cb.walk.changed()", &[], until).await;
        if is_changed.unwrap_or(true) {
            known.retain(|node, _| !later.contains(node));
        }
    }
}
