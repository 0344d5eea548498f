//! All frames of a tab, in every process: walked at once, then placed from the outermost inwards.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cuebook_cdp::{Frame, FrameId};
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::locator::{ByCss, Locator, Strategy};
use cuebook_grammar::observation::{FrameSummary, Scope, Truncation};
use cuebook_grammar::wire::SelectorText;
use cuebook_probe::{Placement, Probe, ProbeError, ProbeWorld};
use futures_util::future::{join, join_all};
use serde_json::json;

use super::answer::{self, Renamed};
use super::bounds::{Bounds, TabCaches};
use super::captured::{Captured, CapturedFrame};
use super::listeners::ListenerCache;
use super::listeners::Place;
use super::walk_cache::WalkCache;
use super::{accessible, closed_roots, overlays};
use crate::model::candidates::Placed;
use crate::model::clean;
use crate::model::rows::FrameWalk;
use crate::options::Memory;

/// How often closed roots within closed roots are followed.
const NESTING: usize = 8;

/// Walks the page.
///
/// # Errors
/// [`ProbeError`] of the main frame. Other frames are omitted with the reason.
pub(crate) async fn capture(
    probe: &Probe,
    scope: Scope,
    bounds: Bounds,
    known: &mut TabCaches,
    until: Instant,
) -> Result<Captured, ProbeError> {
    let TabCaches { names, walks, listeners } = known;
    let all = probe.page().frames();
    let known: Vec<Frame> = all.iter().take(bounds.frames).cloned().collect();
    let left_out = u64::try_from(all.len().saturating_sub(known.len())).unwrap_or(u64::MAX);
    let truncated = Truncation { frames: left_out, ..Truncation::default() };
    // A frame that hangs must not keep the others from being seen.
    let now = Instant::now();
    let patience = until.saturating_duration_since(now) / 2;
    let child_until = until.min(now + patience.max(Duration::from_millis(200)));
    let asked: &WalkCache = walks;
    let listened: &ListenerCache = listeners;
    let answers = join_all(known.iter().map(|frame| async move {
        let limit = if frame.parent.is_some() { child_until } else { until };
        join(walk(probe, frame, scope, bounds, (asked, listened), limit), async {
            match frame.parent {
                Some(_) => probe.frame_owner(&frame.id, limit).await.ok(),
                None => None,
            }
        })
        .await
    }))
    .await;
    let mut captured = Captured { frames: Vec::new(), summaries: Vec::new(), truncated, is_renamed: false };
    let indices: HashMap<FrameId, u32> =
        known.iter().zip(0_u32..).map(|(frame, index)| (frame.id.clone(), index)).collect();
    for ((frame, index), (answer, owner)) in known.iter().zip(0_u32..).zip(answers) {
        let parent = frame.parent.as_ref().and_then(|parent| indices.get(parent)).copied();
        let mut summary = FrameSummary {
            parent,
            url: clean::cut(&frame.url, 2_000),
            origin: String::new(),
            name: clean::cut(&clean::name(&frame.name, &[]), 200),
            out_of_process: frame.is_session_root && frame.parent.is_some(),
            omitted: None,
        };
        let (world, walk, renamed) = match answer {
            Ok(answer) => answer,
            Err(error) if frame.parent.is_none() => return Err(error),
            Err(ProbeError::Gone) => {
                summary.omitted = Some("it went away".to_owned());
                captured.summaries.push(summary);
                continue;
            }
            Err(_) => {
                summary.omitted = Some("it did not answer".to_owned());
                captured.summaries.push(summary);
                continue;
            }
        };
        summary.origin.clone_from(&walk.origin);
        summary.url.clone_from(&walk.url);
        let place = match parent {
            None => Ok((Placement::main(walk.viewport.width, walk.viewport.height), None, Vec::new())),
            Some(parent) => place_in(&captured, parent, owner.map(|key| key.node), &mut summary),
        };
        match place {
            Err(reason) => summary.omitted = Some(reason.to_owned()),
            Ok((placement, owner, locators)) => {
                captured.frames.push(CapturedFrame {
                    index,
                    world,
                    walk,
                    renamed,
                    placement,
                    owner,
                    locators,
                    rows: Vec::new(),
                });
            }
        }
        captured.summaries.push(summary);
    }
    walks.keep(scope, &captured.frames);
    listeners.retain(&captured.frames.iter().map(CapturedFrame::document_key).collect());
    place_rows(&mut captured, scope, bounds);
    overlays::mark(&mut captured.frames, until).await?;
    captured.is_renamed = names.fill(probe, &mut captured.frames, until).await?;
    Ok(captured)
}

/// Where a frame lies, its owner and the frame around it, the way to it.
type Spot = (Placement, Option<(u64, u32)>, Vec<Locator>);

fn place_in(
    captured: &Captured,
    parent: u32,
    owner: Option<u64>,
    summary: &mut FrameSummary,
) -> Result<Spot, &'static str> {
    let above = captured.frames.iter().find(|frame| frame.index == parent).ok_or("the frame around it is omitted")?;
    let number = owner.ok_or("its owner went away")?;
    let owner = above.walk.owners.get(&number).ok_or("it is not shown")?;
    if !owner.shown || owner.content.width < 2.0 || owner.content.height < 2.0 {
        return Err("it is not visible");
    }
    let named = clean::cut(&clean::name(&owner.name, &[]), 200);
    if !named.is_empty() {
        summary.name = named;
    }
    let placement = above.placement.descend(owner.content, (owner.layout_width, owner.layout_height), owner.clip);
    let mut locators = above.locators.clone();
    if let Some(selector) = owner.css.as_deref().and_then(|css| SelectorText::new(css).ok()) {
        locators.push(Locator::from(Strategy::Css(ByCss { selector })));
    }
    Ok((placement, Some((number, parent)), locators))
}

/// Moves rows into the tab's coordinates; in a view, those beyond it are counted and left out.
fn place_rows(captured: &mut Captured, scope: Scope, bounds: Bounds) {
    let Some(main) = captured.frames.first() else { return };
    let (width, height) = (main.walk.viewport.width, main.walk.viewport.height);
    let near = Rect { x: -width / 2.0, y: -height / 2.0, width: width * 2.0, height: height * 2.0 };
    let mut room = usize::try_from(bounds.candidates).unwrap_or(usize::MAX);
    for frame in &mut captured.frames {
        captured.truncated.candidates += frame.walk.beyond;
        captured.truncated.elements += frame.walk.unwalked;
        captured.truncated.off_view += frame.walk.off_view;
        captured.truncated.keyboard += frame.walk.keyboard;
        captured.truncated.accessible += u64::from(frame.walk.accessible);
        let places = std::mem::take(&mut frame.walk.places);
        for (row, place) in std::mem::take(&mut frame.walk.rows).into_iter().zip(places) {
            let rect = frame.placement.rect(place.rect);
            if scope == Scope::View && rect.share_within(&near) == 0.0 && rect.has_area() {
                captured.truncated.off_view += 1;
                continue;
            }
            if room == 0 {
                captured.truncated.candidates += 1;
                continue;
            }
            room -= 1;
            let in_view = place.in_view && rect.share_within(&frame.placement.clip) > 0.0;
            let key = frame.world.key(row.id);
            frame.rows.push(Placed { key, row, rect, in_view, occlusion: place.cover, browser: None });
        }
    }
}

/// Walks a frame; where the script fails, the accessibility tree takes its place.
async fn walk(
    probe: &Probe,
    frame: &Frame,
    scope: Scope,
    bounds: Bounds,
    caches: (&WalkCache, &ListenerCache),
    until: Instant,
) -> Result<(ProbeWorld, FrameWalk, Renamed), ProbeError> {
    let place = if frame.is_session_root { Place::SessionRoot } else { Place::Inner };
    let world = probe.world(&frame.id, until).await?;
    match walk_by_script(probe, &world, place, scope, bounds, caches, until).await {
        Ok((walk, renamed)) => Ok((world, walk, renamed)),
        Err(ProbeError::Script { text }) => {
            tracing::warn!(text, "the accessibility tree takes the place of a walk");
            let walk = accessible::walk(probe, &world, until).await?;
            Ok((world, walk, Renamed::All))
        }
        Err(error) => Err(error),
    }
}

async fn walk_by_script(
    probe: &Probe,
    world: &ProbeWorld,
    place: Place,
    scope: Scope,
    bounds: Bounds,
    (walks, listeners): (&WalkCache, &ListenerCache),
    until: Instant,
) -> Result<(FrameWalk, Renamed), ProbeError> {
    if listeners.is_new(world) {
        listeners.pass_on(world, place, None, until).await?;
    }
    let mut last = walks.last(world, scope).cloned();
    let mut renamed = Renamed::Rows(Vec::new());
    let began = Instant::now();
    // Later walks find more of the page; the first one is enough to answer with.
    let enough = began + until.saturating_duration_since(began) / 2;
    for turn in 0..NESTING {
        let options = json!({
            "known": last.as_ref().map_or(0, |last| last.stamp),
            "scope": if scope == Scope::View { "view" } else { "full" },
            "elements": bounds.elements,
            "candidates": bounds.candidates,
            "depth": bounds.depth,
            // What follows the walk has to end by the deadline as well.
            "budget": bounds.time.min(until.saturating_duration_since(Instant::now()) / 2).as_millis(),
            "anew": bounds.memory == Memory::None,
            "testIds": probe.options().test_id_attributes,
        });
        let text: String =
            world.call("(cb, options) => cb.walk.run(options)", std::slice::from_ref(&options), until).await?;
        let (walk, news) = answer::read(&text, last.as_ref())?;
        renamed = renamed.and(news);
        let mut news = 0;
        if turn + 1 < NESTING && Instant::now() < enough {
            if !walk.suspects.is_empty() {
                news += closed_roots::register(world, &walk.suspects, until).await?;
            }
            if listeners.is_due(world, walk.elements) {
                news += listeners.pass_on(world, place, Some(walk.elements), until).await?;
            }
        }
        if news == 0 {
            return Ok((walk, renamed));
        }
        last = Some(walk);
    }
    Err(ProbeError::Gone)
}
