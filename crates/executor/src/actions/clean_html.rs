//! The rendered page as one piece of clean HTML, with the frames that it shows in their places.

use std::collections::BTreeSet;

use cuebook_grammar::outcome::Stage;
use cuebook_grammar::render::cut;
use cuebook_probe::ProbeWorld;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use crate::run::StepRun;
use crate::stop::{Part, Stop, probe_stop};

/// The deepest nesting of frames that is read.
const MAX_FRAME_DEPTH: usize = 8;
/// The most clean HTML of all frames together, in bytes.
const MAX_BYTES: usize = 8 << 20;

/// A page, or a part of it, written down.
#[derive(Debug, Default)]
pub(super) struct CleanHtml {
    pub(super) html: String,
    /// Limits that ran out, so that something was left out: `characters`, `nodes`, `depth`, `frames`.
    pub(super) truncated: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct HtmlReply {
    html: String,
    frames: Vec<u64>,
    truncated: Vec<String>,
}

impl StepRun<'_> {
    /// Writes down what `id` shows, or the whole document, with its frames. `None`: it left the document.
    pub(super) async fn written(&mut self, world: &ProbeWorld, id: &Value) -> Part<Option<CleanHtml>> {
        let mut truncated = BTreeSet::new();
        let mut room = MAX_BYTES;
        let html = self.write_frame(world.clone(), id.clone(), 0, &mut room, &mut truncated).await?;
        Ok(html.map(|html| CleanHtml { html, truncated }))
    }

    fn write_frame<'s>(
        &'s mut self,
        world: ProbeWorld,
        id: Value,
        depth: usize,
        room: &'s mut usize,
        truncated: &'s mut BTreeSet<String>,
    ) -> BoxFuture<'s, Part<Option<String>>> {
        Box::pin(async move {
            let answer: Option<HtmlReply> = self.ask(&world, "(cb, id) => cb.read.html(id)", &[id], Stage::Act).await?;
            let Some(answer) = answer else { return Ok(None) };
            truncated.extend(answer.truncated.into_iter().take(10).map(|what| cut(&what, 20)));
            *room = room.saturating_sub(answer.html.len());
            let mut html = answer.html;
            for (index, owner) in answer.frames.into_iter().enumerate() {
                let slot = format!("<frame-slot n=\"{index}\"></frame-slot>");
                let inner = if depth < MAX_FRAME_DEPTH && *room > 0 {
                    self.write_inner(&world, owner, depth, room, truncated).await?
                } else {
                    None
                };
                if inner.is_none() {
                    truncated.insert("frames".to_owned());
                }
                let shown = inner.map(|inner| format!("<section>{inner}</section>")).unwrap_or_default();
                html = html.replacen(&slot, &shown, 1);
            }
            Ok(Some(html))
        })
    }

    /// Returns the HTML of the frame whose owner element is `owner`; `None` if the frame went away meanwhile.
    async fn write_inner(
        &mut self,
        world: &ProbeWorld,
        owner: u64,
        depth: usize,
        room: &mut usize,
        truncated: &mut BTreeSet<String>,
    ) -> Part<Option<String>> {
        let (probe, key, until) = (self.probe.clone(), world.key(owner), self.until);
        let inner = async move {
            let frame = probe.content_frame(&key, until).await?;
            probe.world(&frame, until).await
        };
        let inner = match self.race(Stage::Act, inner).await? {
            Ok(inner) => inner,
            Err(cuebook_probe::ProbeError::Gone) => return Ok(None),
            Err(error) => return Err(probe_stop(error, Stage::Act)),
        };
        match self.write_frame(inner, Value::Null, depth + 1, room, truncated).await {
            Err(Stop::Failed(failure)) if failure.cause == cuebook_grammar::outcome::Cause::TargetStale => Ok(None),
            other => other,
        }
    }
}
