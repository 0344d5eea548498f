//! Closed shadow roots: the wire sees them, the script does not.
//!
//! They are searched only where a locator finds nothing, and each element once. Elements in such a root are then found
//! by role and text like all others.

use cuebook_cdp::protocol::browser_protocol::dom::{BackendNodeId, DescribeNodeParams};
use cuebook_cdp::wire::dom::Described;
use cuebook_grammar::outcome::Stage;
use cuebook_probe::ProbeError;
use futures_util::future::join_all;

use crate::run::StepRun;
use crate::stop::Part;

/// The most elements of a document that are examined in one round.
const SUSPECTS: u32 = 200;
/// The deepest nesting of closed roots.
const DEPTH: usize = 5;
/// The most frames that are searched.
const FRAMES: usize = 50;

impl StepRun<'_> {
    /// Makes closed shadow roots known to the script in every frame; `true` if there were any that were not. Two
    /// round trips for each frame that holds a suspect.
    pub(crate) async fn open_closed_roots(&mut self, stage: Stage) -> Part<bool> {
        let (probe, until) = (self.probe.clone(), self.until);
        let frames = self.page.frames().into_iter().take(FRAMES).map(|frame| frame.id);
        let calls = frames.map(|frame| {
            let probe = probe.clone();
            async move {
                let mut is_news = false;
                let world = probe.world(&frame, until).await?;
                for _ in 0..DEPTH {
                    let suspects =
                        world.nodes("(cb, limit) => cb.act.suspects(limit)", &[SUSPECTS.into()], until).await?;
                    if suspects.is_empty() {
                        break;
                    }
                    let session = world.world().session();
                    let described = join_all(suspects.into_iter().map(|node| {
                        let backend_node_id = Some(BackendNodeId::new(node));
                        let params = DescribeNodeParams { backend_node_id, depth: Some(0), ..Default::default() };
                        session.request(params, until)
                    }))
                    .await;
                    let mut roots = Vec::new();
                    for reply in described.into_iter().flatten() {
                        let Ok(described) = reply.parse::<Described<'_>>() else { continue };
                        let closed = |kind: Option<&str>| kind == Some("closed");
                        let all = described.node.shadow_roots.iter();
                        let found = all.filter(|root| closed(root.shadow_root_type.as_deref()));
                        roots.extend(found.map(|root| root.backend_node_id));
                    }
                    for root in &roots {
                        let register = "(cb, root) => { cb.registerClosedRoot(root); return true; }";
                        is_news |= world.adopt::<bool>(*root, register, &[], until).await?;
                    }
                }
                Ok::<bool, ProbeError>(is_news)
            }
        });
        // A frame that does not answer counts as one without closed roots.
        Ok(self.race(stage, join_all(calls)).await?.into_iter().any(|news| news.unwrap_or(false)))
    }
}
