//! Checks that a target can be acted on now, and finds the point of the tab's viewport at which it can.
//!
//! Invariant: a point is returned only if, at that moment, it belongs to the target in its own frame and to the frame's
//! owner in every frame around it.

use std::time::{Duration, Instant};

use cuebook_cdp::FrameId;
use cuebook_grammar::deadline::millis;
use cuebook_grammar::geometry::{Point, Rect};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Selectors, Stage, StepFailure};
use cuebook_probe::{ProbeError, ProbeWorld};
use serde_json::json;

use crate::projection::projections;
use crate::retry::Tries;
use crate::run::{PageClock, Resolved, StepRun};
use crate::script::{Need, Obstacle, Readiness};
use crate::stage::{self, Target};
use crate::stop::{Part, Stop, probe_stop};

/// How long a target in a frame is waited for in one go; if it is out of view then, the frame is brought into view.
const FRAME_PATIENCE: Duration = Duration::from_secs(1);
/// How deep frames may be nested around a target.
const MAX_DEPTH: usize = 64;

/// A target that can be acted on.
pub(crate) type Ready = stage::Ready<Resolved, Spot>;

/// Where a target can be acted on.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// Point in the tab's viewport.
    pub(crate) point: Point,
    /// Box of the element that receives the input, in the coordinates of its frame.
    pub(crate) rect: Rect,
    /// Node id of the element that receives the input: the target, or its label.
    pub(crate) receiver: u64,
    pub(crate) world: ProbeWorld,
    /// Clock of the receiver's document, where it is known.
    pub(crate) clock: Option<PageClock>,
}

impl Need {
    /// Requirements of a click: visible, stable, enabled, in view and not covered.
    pub(crate) fn pointer(position: Option<Point>) -> Self {
        Self { visible: true, stable: true, enabled: true, scroll: true, hit: true, position, ..Self::default() }
    }
}

impl StepRun<'_> {
    /// Waits until the target meets `need`, at most until `by`.
    pub(crate) async fn ready(&mut self, target: &Target<Resolved>, need: Need, by: Instant) -> Part<Ready> {
        let key = &target.key;
        let ready = |spot| target.clone().ready(spot);
        let need = Need { selectors: self.evidence.selectors.is_none(), ..need };
        let mut tries = Tries::default();
        loop {
            let world = self.world_of(key, Stage::Actionability).await?;
            let frame = FrameId::from(key.frame.as_str());
            let is_main = self.is_main(&frame);
            let left = by.saturating_duration_since(Instant::now());
            let budget = if is_main || !need.scroll { left } else { left.min(FRAME_PATIENCE) };
            let answer = self.ask_ready(&world, key.node, need, budget).await?;
            let clock = answer.now.map(|now| PageClock {
                document: world.document().as_str().to_owned(),
                now,
                read_at: Instant::now(),
            });
            if let Some(obstacle) = answer.fail {
                if budget < left && !matches!(obstacle, Obstacle::Stale) {
                    if matches!(obstacle, Obstacle::NotInView) {
                        self.reveal_owners(&frame).await?;
                    }
                    continue;
                }
                return Err(self.obstructed(Obstruction::of(obstacle, answer, is_main)));
            }
            let local = Point { x: answer.x, y: answer.y };
            let receiver = answer.receiver.unwrap_or(key.node);
            if is_main {
                self.evidence.target_box.get_or_insert(answer.rect);
            }
            if let Some(selectors) = answer.selectors {
                let point = selectors.point.filter(|_| is_main);
                self.evidence.selectors.get_or_insert(Selectors { point, ..selectors });
            }
            if is_main || !need.scroll {
                return Ok(ready(Spot { point: local, rect: answer.rect, receiver, world, clock }));
            }
            match self.through_owners(&frame, local, need).await? {
                Ok(point) => return Ok(ready(Spot { point, rect: answer.rect, receiver, world, clock })),
                Err(obstruction) if Instant::now() >= by => return Err(self.obstructed(obstruction)),
                Err(_) => self.pause(Stage::Actionability, tries.rest()).await?,
            }
        }
    }

    async fn ask_ready(&mut self, world: &ProbeWorld, node: u64, need: Need, budget: Duration) -> Part<Readiness> {
        let budget = millis(budget);
        let args = [node.into(), json!(need), budget.into()];
        let (world, until) = (world.clone(), self.until);
        let ask = async move { world.call("(cb, id, need, ms) => cb.act.ready(id, need, ms)", &args, until).await };
        match self.race(Stage::Actionability, ask).await? {
            Ok(answer) => Ok(answer),
            Err(ProbeError::Gone) => Ok(Readiness {
                fail: Some(Obstacle::Stale),
                by: None,
                x: 0.0,
                y: 0.0,
                rect: Rect::default(),
                receiver: None,
                selectors: None,
                now: None,
            }),
            Err(error) => Err(probe_stop(error, Stage::Actionability)),
        }
    }

    /// The pairs of parent and child around a frame, innermost first; no more than one beyond [`MAX_DEPTH`].
    fn chain_of(&self, frame: &FrameId) -> Vec<(FrameId, FrameId)> {
        let up = |child: &FrameId| Some((self.page.frame(child)?.parent?, child.clone()));
        std::iter::successors(up(frame), |(parent, _)| up(parent)).take(MAX_DEPTH + 1).collect()
    }

    /// Scrolls the owners of a frame into view, outermost first: Chrome may give a frame that was never shown no size,
    /// and then nothing in it can scroll the pages around it.
    async fn reveal_owners(&mut self, frame: &FrameId) -> Part<()> {
        let (chain, probe, until) = (self.chain_of(frame), self.probe.clone(), self.until);
        let revealed = async move {
            for (parent, child) in chain.iter().rev() {
                let owner = probe.frame_owner(child, until).await?;
                let args = [owner.node.into()];
                probe.world(parent, until).await?.call::<bool>("(cb, id) => cb.act.reveal(id)", &args, until).await?;
            }
            Ok(())
        };
        match self.race(Stage::Actionability, revealed).await? {
            Ok(()) | Err(ProbeError::Gone) => Ok(()),
            Err(error) => Err(probe_stop(error, Stage::Actionability)),
        }
    }

    /// Maps a point out of its frame, through all owners; each must be stable and be hit there.
    async fn through_owners(&mut self, frame: &FrameId, local: Point, need: Need) -> Part<Result<Point, Obstruction>> {
        let chain = self.chain_of(frame);
        if chain.len() > MAX_DEPTH {
            return Ok(Err(Obstacle::Stale.into()));
        }
        let (probe, until, main) = (self.probe.clone(), self.until, self.page.main_frame().id);
        let still = Need { visible: true, stable: need.stable, ..Need::default() };
        let followed = async move {
            let mut owners = Vec::new();
            for (parent, child) in &chain {
                let owner = probe.frame_owner(child, until).await?;
                let world = probe.world(parent, until).await?;
                let args = [owner.node.into(), json!(still), 0.into()];
                let answer: Readiness =
                    world.call("(cb, id, need, ms) => cb.act.ready(id, need, ms)", &args, until).await?;
                if let Some(obstacle) = answer.fail {
                    return Ok(Err(Obstruction::of(obstacle, answer, false)));
                }
                owners.push((parent.clone(), owner, world));
            }
            let Some(innermost) = chain.first().map(|(_, child)| child.clone()) else { return Ok(Ok(local)) };
            let Some(placed) = projections(&probe, &innermost, until).await? else {
                return Ok(Err(Obstacle::NotVisible.into()));
            };
            let point = placed.first().map_or(local, |(_, projection)| projection.point(local));
            for (parent, owner, world) in &owners {
                let back = placed.iter().find(|(frame, _)| frame == parent).and_then(|(_, there)| there.inverse());
                let Some(back) = back else { return Ok(Err(Obstacle::NotVisible.into())) };
                let there = back.point(point);
                let args = [owner.node.into(), there.x.into(), there.y.into()];
                let answer: Readiness = world.call("(cb, id, x, y) => cb.act.ownerAt(id, x, y)", &args, until).await?;
                match answer.fail {
                    Some(Obstacle::NotInView) => {
                        world.call::<bool>("(cb, id) => cb.act.reveal(id)", &args[..1], until).await?;
                        return Ok(Err(Obstacle::NotInView.into()));
                    }
                    Some(obstacle) if need.hit => {
                        return Ok(Err(Obstruction::of(obstacle, answer, *parent == main)));
                    }
                    _ => {}
                }
            }
            Ok(Ok(point))
        };
        match self.race(Stage::Actionability, followed).await? {
            Ok(answer) => Ok(answer),
            Err(ProbeError::Gone) => Ok(Err(Obstacle::Stale.into())),
            Err(error) => Err(probe_stop(error, Stage::Actionability)),
        }
    }

    /// Our world in the document of `key`.
    pub(crate) async fn world_of(&mut self, key: &NodeKey, stage: Stage) -> Part<ProbeWorld> {
        let (probe, wanted, until) = (self.probe.clone(), key.clone(), self.until);
        self.race(stage, async move { probe.world_of(&wanted, until).await })
            .await?
            .map_err(|error| probe_stop(error, stage))
    }

    /// Our world in the tab's main document.
    pub(crate) async fn main_world(&mut self, stage: Stage) -> Part<ProbeWorld> {
        let (probe, frame, until) = (self.probe.clone(), self.page.main_frame().id, self.until);
        self.race(stage, async move { probe.world(&frame, until).await })
            .await?
            .map_err(|error| probe_stop(error, stage))
    }

    fn obstructed(&self, Obstruction { obstacle, blocker, cover }: Obstruction) -> Stop {
        let target = self.step.action().target().cloned();
        let name = target.as_ref().map_or_else(|| "the target".to_owned(), ToString::to_string);
        let (cause, message) = match obstacle {
            Obstacle::Stale => (Cause::TargetStale, format!("{name} was removed from the document")),
            Obstacle::NotVisible => (Cause::NotVisible, format!("{name} is hidden")),
            Obstacle::NotStable => (Cause::NotStable, format!("{name} keeps moving")),
            Obstacle::NotEnabled => (Cause::NotEnabled, format!("{name} is disabled")),
            Obstacle::NotEditable => {
                let is_cell =
                    self.main.as_ref().is_some_and(|main| matches!(main.facts.role.as_str(), "cell" | "gridcell"));
                let hint = if is_cell {
                    "is a cell and no field: double-click it, or press Enter on it, and enter in the field that appears"
                } else {
                    "is read-only; if a click on it opens something, choose there"
                };
                (Cause::NotEditable, format!("{name} {hint}"))
            }
            Obstacle::TakesKeys => {
                let keys =
                    "is drawn by the page and takes keys: press ArrowRight, ArrowLeft, Home, End or PageUp on it";
                (Cause::NotEditable, format!("{name} {keys}"))
            }
            Obstacle::NotInView => (Cause::NotInView, format!("{name} cannot be scrolled into view")),
            Obstacle::Covered => {
                let by = blocker.as_deref().unwrap_or("something");
                (Cause::Covered, format!("{name} is covered by {by}"))
            }
        };
        let mut failure = StepFailure::new(Stage::Actionability, cause, message);
        failure.facts.target = target;
        failure.facts.blocker = blocker;
        failure.facts.cover = cover;
        failure.into()
    }
}

/// Why a target is not ready.
struct Obstruction {
    obstacle: Obstacle,
    blocker: Option<String>,
    /// The box of the blocker, where it is known in the tab's viewport.
    cover: Option<Rect>,
}

impl Obstruction {
    fn of(obstacle: Obstacle, answer: Readiness, is_main: bool) -> Self {
        let is_known = is_main && matches!(obstacle, Obstacle::Covered) && answer.rect.has_area();
        Self { obstacle, blocker: answer.by, cover: is_known.then_some(answer.rect) }
    }
}

impl From<Obstacle> for Obstruction {
    fn from(obstacle: Obstacle) -> Self {
        Self { obstacle, blocker: None, cover: None }
    }
}
