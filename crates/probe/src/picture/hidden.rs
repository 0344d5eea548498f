//! Finds the parts of a tab that must not be seen.

use std::collections::HashSet;
use std::time::Instant;

use cuebook_cdp::protocol::browser_protocol::dom_snapshot::CaptureSnapshotParams;
use cuebook_cdp::{FrameId, Session};
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::seam::Redactor;
use futures_util::future::try_join_all;
use serde::Serialize;

use super::snapshot::{self, Document, Snapshot};
use crate::error::ProbeError;
use crate::placement::Placement;
use crate::probe::Probe;

/// Knowledge about the secrets of a run.
#[derive(Clone, Copy, Debug)]
pub struct Secrecy<'a> {
    redactor: Option<&'a dyn Redactor>,
    has_entered: bool,
}

impl<'a> Secrecy<'a> {
    /// With what finds secrets in texts, and whether any field received one.
    #[must_use]
    pub fn new(redactor: Option<&'a dyn Redactor>, has_entered: bool) -> Self {
        Self { redactor, has_entered }
    }

    /// Returns `true` if no secret of the run is known.
    fn is_idle(&self) -> bool {
        !self.has_entered && self.redactor.is_none_or(Redactor::is_idle)
    }
}

/// The generated parameters leave out an empty list, which Chrome requires.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Capture {
    computed_styles: [&'static str; 0],
}

/// The fields of a session that hold secrets, and its documents.
struct Part {
    session: Session,
    fields: HashSet<i64>,
}

impl Probe {
    /// The boxes to paint over, in CSS pixels of the tab's viewport. One round trip per frame; one per process where a
    /// secret is known or a field holds one, and one or two for each frame that has something to hide.
    pub(super) async fn hidden(
        &self,
        secrecy: Secrecy<'_>,
        ratio: f64,
        until: Instant,
    ) -> Result<Vec<Rect>, ProbeError> {
        let fields = self.page().frames().into_iter().map(|frame| async move {
            let world = self.world(&frame.id, until).await?;
            let fields = world.nodes("(cb) => cb.unpictured()", &[], until).await?;
            Ok::<_, ProbeError>((world.world().session().clone(), fields))
        });
        let mut parts: Vec<Part> = Vec::new();
        for (session, fields) in try_join_all(fields).await? {
            match parts.iter_mut().find(|part| part.session == session) {
                Some(part) => part.fields.extend(fields),
                None => parts.push(Part { session, fields: fields.into_iter().collect() }),
            }
        }
        let find = |text: &str| secrecy.redactor.map(|redactor| redactor.find(text)).unwrap_or_default();
        let mut hidden = Vec::new();
        for Part { session, fields } in parts {
            if fields.is_empty() && secrecy.is_idle() {
                continue;
            }
            let capture = Capture { computed_styles: [] };
            let reply = session.call_raw(CaptureSnapshotParams::IDENTIFIER, capture, until).await?;
            let Snapshot { documents, strings } = reply.parse()?;
            for document in documents {
                let quads = document.hidden(&strings, &fields, &find);
                if quads.is_empty() {
                    continue;
                }
                let frame = snapshot::text(&strings, document.frame_id).ok_or(ProbeError::Gone)?;
                let placed = self.frame_offset(&FrameId::from(frame), until).await?;
                hidden.extend(quads.into_iter().map(|quad| in_tab(quad, &document, ratio, &placed)));
            }
        }
        Ok(hidden)
    }
}

/// A box in device pixels of a document, in the tab's viewport.
fn in_tab([x, y, width, height]: snapshot::Quad, document: &Document, ratio: f64, placed: &Placement) -> Rect {
    let (x, y) = (x - document.scroll_offset_x, y - document.scroll_offset_y);
    placed.rect(Rect { x: x / ratio, y: y / ratio, width: width / ratio, height: height / ratio })
}
