//! Scrolling on until something is there.
//!
//! Invariants:
//! - It is bounded by progress: a move that changes neither place, extent nor content is followed only by what the page
//!   loads, and else it was the end. Content alone counts a few times in a row, because a clock is no progress.
//! - Every wait ends before the deadline of the step, so that the failure says how far it came.

use std::time::{Duration, Instant};

use cuebook_grammar::action::{Direction, ScrollUntil};
use cuebook_grammar::locator::{ByRole, Locator, Strategy};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::plan::BoundTarget;
use cuebook_grammar::render::cut;
use cuebook_probe::{Ask, ProbeWorld};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::actions::ActResult;
use crate::run::StepRun;
use crate::script::Need;
use crate::seen::Event;
use crate::settling::{Awaited, QUIET};
use crate::step::unmet;
use crate::stop::{Part, Stop, probe_stop};

/// How long nothing may grow at an end before it is one.
const LOADING: Duration = Duration::from_secs(1);
/// How long requests that stay open are waited for at an end.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at an end.
const BEAT: Duration = Duration::from_millis(100);
/// Changes of content in a row that count as progress although nothing moves or grows.
const REDRAWN: u32 = 10;
/// The most elements by which the pane of a target is guessed.
const KIN: usize = 30;
/// The most ends that are named, and their characters.
const ENDS: usize = 3;
const END: usize = 60;

/// Where something is scrolled to, and what it shows.
#[derive(Debug, Deserialize)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    shows: String,
}

impl Place {
    fn is_elsewhere(&self, other: &Self) -> bool {
        (self.x, self.y, self.width, self.height) != (other.x, other.y, other.width, other.height)
    }
}

#[derive(Debug, Deserialize)]
struct Move {
    id: u64,
    name: String,
    before: Place,
    after: Place,
}

/// Request to the script for the next scroll container to move.
#[derive(Debug, Serialize)]
struct Search {
    direction: Direction,
    container: Option<u64>,
    /// Elements like the target, so that their scroll container comes first; at most [`KIN`].
    kin: Vec<u64>,
    /// Container that is being moved.
    current: Option<u64>,
    /// Containers that were moved to their ends.
    spent: Vec<u64>,
}

/// Progress of the search so far.
#[derive(Debug, Default)]
struct Journey {
    moves: u32,
    pixels: f64,
    redrawn: u32,
    ends: Vec<String>,
    is_over: bool,
}

impl Journey {
    /// Records a move, and returns `true` if it made progress.
    fn notes(&mut self, before: &Place, after: &Place) -> bool {
        let moves = before.is_elsewhere(after);
        self.redrawn = if moves { 0 } else { self.redrawn.saturating_add(1) };
        self.pixels += (after.x - before.x).abs() + (after.y - before.y).abs();
        let progresses = moves || (before.shows != after.shows && self.redrawn <= REDRAWN);
        self.moves = self.moves.saturating_add(u32::from(progresses));
        progresses
    }

    fn in_words(&self, direction: Direction, has_container: bool) -> String {
        let way = match direction {
            Direction::Up | Direction::Top => "up",
            Direction::Down | Direction::Bottom => "down",
            Direction::Left => "left",
            Direction::Right => "right",
        };
        let plural = if self.moves == 1 { "" } else { "s" };
        let came = format!("scrolled {way} in {} move{plural} by {:.0} px", self.moves, self.pixels);
        if !self.is_over {
            return format!("{came}, and the time of the step was over before the end; state a longer `timeoutMs`");
        }
        let hint = match has_container {
            true => "state another `direction` or `container`",
            false => "state the `container` that holds it, or another `direction`",
        };
        format!("{came}, to the end of {}; {hint}, if there is more", self.ends.join(", "))
    }
}

impl StepRun<'_> {
    /// Scrolls on until what is looked for is there and in view.
    pub(crate) async fn scroll_until(&mut self, action: &ScrollUntil) -> Part<ActResult> {
        let by = self.answer_by();
        let direction = action.direction.unwrap_or(Direction::Down);
        let mut journey = Journey::default();
        match self.look_on(action, direction, by, &mut journey).await {
            Ok(acted) => {
                let data = json!({ "moves": journey.moves, "pixels": journey.pixels.round() });
                Ok(ActResult { data: Some(data), ..acted })
            }
            Err(Stop::Failed(mut failure)) => {
                let is_about_way =
                    !matches!(failure.stage, Stage::Actionability) && failure.cause != Cause::TargetAmbiguous;
                if is_about_way && self.looking.has_acted() {
                    let words = journey.in_words(direction, action.container.is_some());
                    failure.message.push_str(&format!("; {words}"));
                }
                Err(Stop::Failed(failure))
            }
            Err(stop) => Err(stop),
        }
    }

    async fn look_on(
        &mut self,
        action: &ScrollUntil,
        direction: Direction,
        by: Instant,
        journey: &mut Journey,
    ) -> Part<ActResult> {
        self.watch().await?;
        self.saw(Event::Input);
        let condition = action.condition.iter();
        let mut awaited: Vec<Awaited> = condition.map(|condition| self.awaits(condition.clone(), false)).collect();
        let mut absent = match self.sought(action, &mut awaited).await? {
            Ok(acted) => return Ok(acted),
            Err(absent) => absent,
        };
        let (world, mut search) = self.where_to_look(action, direction).await?;
        while Instant::now() < by && self.moves_on(&world, &mut search, journey, by).await? {
            absent = match self.sought(action, &mut awaited).await? {
                Ok(acted) => return Ok(acted),
                Err(absent) => absent,
            };
        }
        match (absent, &action.condition) {
            (None, Some(condition)) => {
                let (facts, _) = self.judge_now(std::slice::from_ref(condition)).await?;
                let failure = unmet(self.step, Stage::Postcondition, Cause::PostconditionFailed, condition, facts);
                Err(failure.into())
            }
            (absent, _) => Err(absent.unwrap_or_else(|| self.removed())),
        }
    }

    /// Looks once: what the verb ends with, or why it is not there yet; `None` for a condition that does not hold.
    async fn sought(&mut self, action: &ScrollUntil, awaited: &mut [Awaited]) -> Part<Result<ActResult, Option<Stop>>> {
        let Some(target) = action.sought() else {
            self.look_again(awaited).await?;
            let holds = awaited.iter().all(|one| one.held_at.is_some());
            return Ok(if holds { Ok(self.untargeted()) } else { Err(None) });
        };
        let found = match self.resolve(&target, Instant::now()).await {
            Ok(found) => found,
            Err(stop) => return absent(stop).map(|stop| Err(Some(stop))),
        };
        if found.facts.visible == Some(false) {
            let mut failure = StepFailure::new(Stage::Resolve, Cause::NotVisible, format!("{target} is hidden"));
            failure.facts.target = Some(target);
            return Ok(Err(Some(failure.into())));
        }
        if !self.looking.has_acted() {
            self.about_to_send()?;
        }
        let (need, by) = (Need { visible: true, scroll: true, ..Need::default() }, self.ready_by());
        // Scrolling there may have the page draw it again.
        match self.ready(&found, need, by).await {
            Ok(ready) => {
                self.keep_around(&found).await;
                self.main = Some(found);
                Ok(Ok(ActResult::nothing(ready.target())))
            }
            Err(stop) => absent(stop).map(|stop| Err(Some(stop))),
        }
    }

    /// The document in which it scrolls, and what of it is moved first.
    async fn where_to_look(&mut self, action: &ScrollUntil, direction: Direction) -> Part<(ProbeWorld, Search)> {
        let mut search = Search { direction, container: None, kin: Vec::new(), current: None, spent: Vec::new() };
        if let Some(container) = &action.container {
            let found = self.resolve(container, self.ready_by()).await?;
            search.container = Some(found.key.node);
            return Ok((self.world_of(&found.key, Stage::Act).await?, search));
        }
        let bound = action.sought().and_then(|target| self.step.targets().get(&target).cloned());
        let world = match bound {
            Some(BoundTarget::Observed(candidate)) => {
                let all = self.ground.candidates.iter().filter(|other| {
                    other.shares_document(&candidate) && other.scroll_container == candidate.scroll_container
                });
                let nodes = all.filter_map(|other| Some(other.node.as_ref()?.node));
                search.kin = nodes.take(KIN).collect();
                match candidate.node.as_ref().filter(|_| !search.kin.is_empty()) {
                    Some(key) => self.world_of(key, Stage::Act).await?,
                    None => self.main_world(Stage::Act).await?,
                }
            }
            Some(BoundTarget::Declared(locator)) => {
                let (probe, wanted, until) = (self.probe.clone(), locator.clone(), self.until);
                let led = async move {
                    let frame = probe.frame_at_end_of(&wanted, until).await?;
                    probe.world(&frame, until).await
                };
                let world = self.race(Stage::Act, led).await?.map_err(|error| probe_stop(error, Stage::Act))?;
                if let Some(like) = like(&locator) {
                    let (probe, until) = (self.probe.clone(), self.until);
                    let found = self.race(Stage::Act, async move { probe.locate(&like, &Ask::default(), until).await });
                    let matches = found.await?.map(|located| located.matches).unwrap_or_default();
                    let here = matches.iter().filter(|found| found.key.frame == world.frame().as_str());
                    search.kin = here.map(|found| found.key.node).take(KIN).collect();
                }
                world
            }
            None => self.main_world(Stage::Act).await?,
        };
        Ok((world, search))
    }

    /// Moves by most of a view; `false` where nothing is left to move.
    async fn moves_on(
        &mut self,
        world: &ProbeWorld,
        search: &mut Search,
        journey: &mut Journey,
        by: Instant,
    ) -> Part<bool> {
        if !self.looking.has_acted() {
            self.about_to_send()?;
        }
        let scroll = "(cb, search) => cb.act.scrollOn(search)";
        let moved: Option<Move> = self.ask(world, scroll, &[json!(search)], Stage::Act).await?;
        let Some(Move { id, name, before, after }) = moved else {
            journey.is_over = true;
            return Ok(false);
        };
        search.current = Some(id);
        if journey.notes(&before, &after) {
            self.saw(Event::Effect);
            return Ok(true);
        }
        if self.grows(world, id, after, journey, by).await? {
            return Ok(true);
        }
        search.current = None;
        search.spent.push(id);
        let name = cut(&name, END);
        if journey.ends.len() < ENDS && !journey.ends.contains(&name) {
            journey.ends.push(name);
        }
        Ok(true)
    }

    /// Waits at an end while the page loads, and returns `true` if more content came.
    async fn grows(
        &mut self,
        world: &ProbeWorld,
        id: u64,
        end: Place,
        journey: &mut Journey,
        by: Instant,
    ) -> Part<bool> {
        let begun = Instant::now();
        loop {
            self.pause(Stage::Act, BEAT).await?;
            let now: Option<Place> =
                self.ask(world, "(cb, id) => cb.act.placeOf(id)", &[id.into()], Stage::Act).await?;
            // What was replaced has another in its place, which comes next.
            let Some(now) = now else { return Ok(true) };
            if end.is_elsewhere(&now) {
                journey.redrawn = 0;
                return Ok(true);
            }
            let waited = begun.elapsed();
            let is_settled = waited >= LOADING && self.is_quiet(QUIET);
            if is_settled || waited >= PATIENCE || Instant::now() >= by {
                return Ok(false);
            }
        }
    }
}

/// Something that is not there yet; any other end of the step is one.
fn absent(stop: Stop) -> Part<Stop> {
    match stop {
        Stop::Failed(failure) if matches!(failure.cause, Cause::TargetNotFound | Cause::TargetStale) => {
            Ok(Stop::Failed(failure))
        }
        stop => Err(stop),
    }
}

/// Returns a locator of elements that lie where the target would: the element that contains it, or any of the target's
/// role.
fn like(locator: &Locator) -> Option<Locator> {
    let like = match (&locator.within, &locator.strategy) {
        (Some(within), _) => (**within).clone(),
        (None, Strategy::Role(by)) => {
            let any = ByRole { role: by.role, name: None, exact: None, states: None, include_hidden: None };
            Strategy::Role(any).into()
        }
        _ => return None,
    };
    Some(Locator { frame: locator.frame.clone(), ..like })
}
