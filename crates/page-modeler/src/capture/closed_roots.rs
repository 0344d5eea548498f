//! Closed shadow roots: the wire sees them, the script does not.
//!
//! The walk names elements that might hold one; the wire describes each, and passes the roots that it
//! finds to the script. An element is examined once in its life.

use std::time::Instant;

use cuebook_cdp::protocol::browser_protocol::dom::{BackendNodeId, DescribeNodeParams};
use cuebook_cdp::wire::dom::Described;
use cuebook_probe::{ProbeError, ProbeWorld};
use serde_json::Value;

/// Registers the closed roots among `suspects`; returns how many there were.
pub(super) async fn register(world: &ProbeWorld, suspects: &[u64], until: Instant) -> Result<usize, ProbeError> {
    let nodes = world.nodes("(cb, ids) => cb.walk.suspects(ids)", &[suspects.into()], until).await?;
    world.call::<Value>("(cb, ids) => cb.walk.examined(ids)", &[suspects.into()], until).await?;
    let session = world.world().session();
    let calls: Vec<_> = nodes
        .into_iter()
        .map(|node| {
            let params = DescribeNodeParams {
                backend_node_id: Some(BackendNodeId::new(node)),
                depth: Some(0),
                pierce: Some(false),
                ..DescribeNodeParams::default()
            };
            session.request(params, until)
        })
        .collect();
    let mut roots = Vec::new();
    for call in calls {
        let Ok(reply) = call.await else { continue };
        let Ok(described) = reply.parse::<Described<'_>>() else { continue };
        let closed =
            described.node.shadow_roots.iter().filter(|root| root.shadow_root_type.as_deref() == Some("closed"));
        roots.extend(closed.map(|root| root.backend_node_id));
    }
    for root in &roots {
        world.adopt::<Value>(*root, "(cb, root) => cb.walk.registered(root)", &[], until).await?;
    }
    Ok(roots.len())
}
