//! The page's text, read with the candidates of an observation.
//!
//! It is read on request, not with each observation: the executor and the controller look at a page many times for each
//! time that a planner reads it.

use std::collections::HashMap;
use std::time::Instant;

use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::geometry::{Point, Rect};
use cuebook_grammar::id::CandidateId;
use cuebook_grammar::observation::{Observation, Scope, TextKind, TextLine, TextPart};
use cuebook_probe::{Placement as Spot, ProbeError, ProbeWorld};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::json;

use crate::error::ModelError;
use crate::model::clean;
use crate::modeler::LivePageModeler;

/// Characters of one frame that are read near the view, and of a whole page.
const NEAR: u32 = 40_000;
const WHOLE: u32 = 400_000;
/// Lines of all frames.
const LINES: usize = 20_000;

/// The answer of the script (`walk/reading.js`).
#[derive(Debug, Deserialize)]
struct Reading {
    lines: Vec<Line>,
    beyond: u64,
    /// Values of sensitive fields: to be removed from every text, and then dropped.
    secrets: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    kind: TextKind,
    level: u8,
    is_behind: bool,
    cells: Vec<Vec<Part>>,
    #[serde(rename = "box")]
    rect: Rect,
    next: u64,
    more: u64,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Part {
    Text(String),
    Image { image: String },
    Candidate { id: u64 },
}

/// Adds the text of the frames that were observed last. A frame that does not answer, or in which the script fails, has
/// none.
///
/// # Errors
/// [`ModelError::Probe`] of the main frame.
pub(crate) async fn read(
    modeler: &LivePageModeler,
    observation: &mut Observation,
    until: Instant,
) -> Result<(), ModelError> {
    let frames = modeler.frames(&observation.page);
    let answers = join_all(frames.iter().map(|(index, world, spot)| {
        let (offered, ids) = offered(observation, *index);
        let options = json!({
            "near": (observation.scope == Scope::View).then(|| near(observation, spot)),
            "limit": if observation.scope == Scope::View { NEAR } else { WHOLE },
            "offered": offered,
        });
        async move { (*index, spot, ids, ask(world, options, until).await) }
    }))
    .await;
    let mut texts = Vec::new();
    let mut secrets = Vec::new();
    let mut beyond = 0;
    for (frame, spot, ids, answer) in answers {
        let reading = match answer {
            Ok(reading) => reading,
            Err(error) if frame == 0 && !matches!(error, ProbeError::Script { .. }) => return Err(error.into()),
            Err(_) => continue,
        };
        beyond += reading.beyond;
        secrets.extend(reading.secrets);
        texts.extend(reading.lines.into_iter().map(|line| placed(line, frame, spot, &ids)));
    }
    beyond += u64::try_from(texts.len().saturating_sub(LINES)).unwrap_or(u64::MAX);
    texts.truncate(LINES);
    for part in texts.iter_mut().flat_map(|line: &mut TextLine| &mut line.cells).flatten() {
        if let TextPart::Text(text) | TextPart::Image(text) = part {
            *text = clean::name(text, &[]);
            clean::scrub(text, &secrets);
        }
    }
    observation.texts = texts.into();
    if beyond > 0 {
        observation.truncated.get_or_insert_default().texts = beyond;
    }
    Ok(())
}

async fn ask(world: &ProbeWorld, options: serde_json::Value, until: Instant) -> Result<Reading, ProbeError> {
    let text: String = world.call("(cb, options) => cb.walk.reading(options)", &[options], until).await?;
    Ok(serde_json::from_str(&text)?)
}

/// Half a viewport around the view, in a frame's own coordinates: what counts as near for candidates.
fn near(observation: &Observation, spot: &Spot) -> Rect {
    let (width, height) = (observation.viewport.width, observation.viewport.height);
    let from = spot.to_local(Point { x: -width / 2.0, y: -height / 2.0 });
    let to = spot.to_local(Point { x: width * 1.5, y: height * 1.5 });
    Rect { x: from.x, y: from.y, width: to.x - from.x, height: to.y - from.y }
}

/// Number and name of the candidates of a frame, and their ids by number.
fn offered(observation: &Observation, frame: u32) -> (Vec<(u64, &str)>, HashMap<u64, CandidateId>) {
    let own = observation.candidates.iter().filter(|candidate| candidate.frame == frame);
    let number = |candidate: &Candidate| candidate.node.as_ref().map(|node| node.node);
    let known = own.filter_map(|candidate| Some((number(candidate)?, candidate)));
    known.map(|(node, candidate)| ((node, candidate.name.as_str()), (node, candidate.id))).unzip()
}

fn placed(line: Line, frame: u32, spot: &Spot, ids: &HashMap<u64, CandidateId>) -> TextLine {
    let part = |part| match part {
        Part::Text(text) => Some(TextPart::Text(text)),
        Part::Image { image } => Some(TextPart::Image(image)),
        Part::Candidate { id } => ids.get(&id).copied().map(TextPart::Candidate),
    };
    let is_in_view = spot.rect(line.rect).share_within(&spot.clip) > 0.0;
    TextLine {
        kind: line.kind,
        level: line.level,
        cells: line.cells.into_iter().map(|parts| parts.into_iter().filter_map(part).collect()).collect(),
        more: line.more,
        before: ids.get(&line.next).copied(),
        frame,
        placement: if is_in_view { Placement::InView } else { Placement::OffView },
        behind: line.is_behind,
    }
}
