//! One question to every frame, and what stands nearest to an answer.

use std::time::Instant;

use cuebook_grammar::id::PageId;
use cuebook_probe::{Probe, ProbeError, ProbeWorld};
use futures_util::future::join_all;
use serde_json::{Map, Value};

use crate::error::ModelError;
use crate::model::clean;
use crate::modeler::LivePageModeler;

pub(super) fn nearest_candidate(modeler: &LivePageModeler, page: &PageId, world: &ProbeWorld, node: u64) -> Value {
    if node == 0 {
        return Value::Null;
    }
    modeler.candidate_at(page, &world.key(node)).map_or(Value::Null, |id| Value::String(id.to_string()))
}

/// Answer of one frame, and the frame.
pub(super) struct FrameAnswer {
    pub(super) world: ProbeWorld,
    pub(super) text: String,
    index: usize,
    url: String,
}

impl FrameAnswer {
    /// Says in which frame a hit lies: `frame`, its index, and `frameUrl` if it is not the page itself.
    pub(super) fn tag(&self, hit: &mut Map<String, Value>) {
        hit.insert("frame".into(), self.index.into());
        if self.index > 0 {
            hit.insert("frameUrl".into(), self.url.as_str().into());
        }
    }
}

/// One call in every frame; frames that went away are left out.
pub(super) async fn in_frames(
    probe: &Probe,
    function: &str,
    args: &[Value],
    until: Instant,
) -> Result<Vec<FrameAnswer>, ModelError> {
    let frames = probe.page().frames();
    let answers = join_all(frames.iter().take(100).map(|frame| async {
        let world = probe.world(&frame.id, until).await?;
        let text: String = world.call(function, args, until).await?;
        Ok::<_, ProbeError>((world, text))
    }))
    .await;
    let mut found = Vec::new();
    for (index, (answer, frame)) in answers.into_iter().zip(&frames).enumerate() {
        match answer {
            Ok((world, text)) => found.push(FrameAnswer { world, text, index, url: clean::cut(&frame.url, 2_000) }),
            Err(ProbeError::Gone) if index > 0 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}
