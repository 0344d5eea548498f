//! The browser's own roles and names, kept while the walk finds nothing that they depend on changed.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use cuebook_cdp::CallError;
use cuebook_grammar::id::NodeKey;
use cuebook_probe::{AxFacts, Probe, ProbeError};

use super::answer::Renamed;
use super::captured::CapturedFrame;
use crate::model::candidates::BrowserWords;

/// Rows of one frame that are asked about. The browser takes time linear in the siblings of an element for
/// each, so that a page of ten thousand siblings would cost tens of seconds.
const ASKED: usize = 500;
/// Rows that are asked about at once.
const PART: usize = 128;
/// After this time the walk's word stands for the rest.
const PATIENCE: Duration = Duration::from_millis(700);

/// What the browser said, by document and element.
#[derive(Debug, Default)]
pub(crate) struct NameCache {
    documents: HashMap<(String, String), HashMap<u64, AxFacts>>,
}

impl NameCache {
    /// Puts the browser's words on all rows in view, asking only for what is not known.
    pub(crate) async fn fill(
        &mut self,
        probe: &Probe,
        frames: &mut [CapturedFrame],
        until: Instant,
    ) -> Result<(), ProbeError> {
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
            let rows = frame.rows.iter().filter(|placed| placed.in_view).take(ASKED);
            wanted.extend(rows.map(|placed| &placed.key).filter(|key| !known.contains_key(&key.node)).cloned());
        }
        let start = Instant::now();
        // A page on which the browser thinks for so long is told in the walk's words; it is not lost.
        let limit = start + until.saturating_duration_since(start) / 2;
        for part in wanted.chunks(PART) {
            let told = match probe.browser_names(part, limit).await {
                Err(ProbeError::Wire(CallError::DeadlineExceeded { .. })) => break,
                told => told?,
            };
            for (key, facts) in told {
                if let Some(known) = self.documents.get_mut(&(key.frame, key.document)) {
                    known.insert(key.node, facts);
                }
            }
            if start.elapsed() > PATIENCE {
                break;
            }
        }
        for frame in frames.iter_mut() {
            let Some(known) = self.documents.get(&frame.document_key()) else { continue };
            for placed in frame.rows.iter_mut().filter(|placed| placed.in_view) {
                // What assistive technology skips has no name there; the walk's word stands.
                placed.browser = known.get(&placed.key.node).filter(|facts| !facts.ignored).map(|facts| BrowserWords {
                    role: facts.role,
                    name: facts.name.clone(),
                    description: facts.description.clone(),
                });
            }
        }
        Ok(())
    }
}
