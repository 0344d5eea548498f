//! Postconditions: armed before input, awaited on events of frames and the wire.
//!
//! Invariants:
//! - Watching begins before the first input event and ends with the step.
//! - A document that replaces a watched one is watched as soon as it exists.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cuebook_cdp::FrameId;
use cuebook_grammar::action::Action;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::deadline::millis;
use cuebook_grammar::facts::{EventFacts, Facts, TargetFacts};
use cuebook_grammar::id::{NodeKey, TargetRef};
use cuebook_grammar::outcome::Stage;
use cuebook_grammar::plan::BoundTarget;
use cuebook_grammar::verdict::Verdict;
use cuebook_grammar::wire::Millis;
use cuebook_probe::{ProbeError, ProbeWorld};
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};

use crate::actionability::Ready;
use crate::facts::{Gathered, Lookup, Question, ask_for, is_live, turns_on_geometry};
use crate::gate::Holder;
use crate::hit_target::{Gesture, Limit};
use crate::input::devices::{Armed, Devices, TabWire};
use crate::run::{PageClock, Run};
use crate::script::{Changes, FrameSample, Opened};
use crate::seen::Watcher;
use crate::stage::{self, Watching};
use crate::stop::{Part, Stop, failed, probe_stop};

/// A condition that is awaited.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    pub(crate) condition: Condition,
    /// The check added it.
    pub(crate) is_default: bool,
    pub(crate) until: Instant,
    /// The time that starts again with a new document; `None` where the condition states its limit.
    pub(crate) span: Option<Duration>,
    pub(crate) held_at: Option<u32>,
    /// It must still hold when the page has answered the input.
    pub(crate) lasts: bool,
    /// Since when it has held without interruption.
    pub(crate) since: Option<Instant>,
}

impl Awaited {
    /// Until when to wait for it; `None` if there is no need to. `quiet`: since when the requests of the step are
    /// answered. `answer`: whether the page has answered the input.
    fn due(&self, now: Instant, until: Instant, quiet: Option<Instant>, answer: Answer) -> Option<Instant> {
        let due = match (self.held_at, self.since) {
            (Some(_), _) if !self.lasts => return None,
            (Some(_), Some(_)) if answer == Answer::Given => quiet.map_or(until, |quiet| quiet.min(until)),
            _ => until,
        };
        (now < due).then_some(due)
    }
}

/// Whether the page has answered the input: its own listeners have run, and it has drawn what they made of it. What it
/// changes later is found by the ledger of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Awaited,
    Asked,
    Given,
}

/// The most frames that are watched.
const MAX_FRAMES: usize = 100;
/// How often questions are asked that the script cannot watch by itself.
const TICK: Duration = Duration::from_millis(100);
/// How often the network is checked, where a condition needs it.
const BEAT: Duration = Duration::from_millis(20);
/// How long a frame other than the target's may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a frame answers while the conditions are awaited.
enum Reply {
    Armed(FrameId, ProbeWorld, Instant, Result<Opened, ProbeError>),
    Changed(FrameId, Result<Changes, ProbeError>),
    /// The document of the target has drawn what it makes of the input.
    Answered(FrameId, Result<Changes, ProbeError>),
}

type PendingReply = BoxFuture<'static, Reply>;

impl Run<'_> {
    /// The questions of the step's conditions.
    pub(crate) fn questions(&self, conditions: &[&Condition], pinned: Option<&NodeKey>) -> Vec<Question> {
        let mut targets: BTreeSet<_> = BTreeSet::new();
        for condition in conditions {
            targets.extend(condition.targets().into_iter().cloned());
        }
        let main = self.step.action().target();
        let is_default =
            self.step.post().iter().all(|stated| {
                stated.is_default || !main.is_some_and(|main| stated.condition.targets().contains(&main))
            });
        let lookup = |target: &TargetRef| match self.step.targets().get(target)? {
            BoundTarget::Observed(candidate) => match (&candidate.node, pinned) {
                (_, Some(key)) if main == Some(target) => Some(Lookup::Node(key.clone())),
                (Some(key), _) => Some(Lookup::Node(key.clone())),
                (None, _) => candidate.locators.first().map(|locator| self.follow(locator.clone(), None)),
            },
            BoundTarget::Declared(locator) => {
                // A default condition is about the element that was acted on; a stated one is about what the locator
                // means when it is judged.
                let same = pinned.filter(|_| main == Some(target) && is_default).cloned();
                Some(self.follow(locator.clone(), same))
            }
        };
        targets
            .into_iter()
            .filter_map(|target| {
                let lookup = lookup(&target)?;
                let declared = match self.step.targets().get(&target) {
                    Some(BoundTarget::Declared(locator)) => Some(locator),
                    _ => None,
                };
                let about = match self.step.targets().get(&target) {
                    Some(BoundTarget::Observed(candidate)) if main == Some(&target) && is_default => {
                        candidate.about.clone()
                    }
                    _ => None,
                };
                Some(Question { ask: ask_for(&target, declared, conditions), lookup, about, target })
            })
            .collect()
    }

    fn follow(&self, locator: cuebook_grammar::locator::Locator, same: Option<NodeKey>) -> Lookup {
        match same {
            Some(key) if !is_live(&locator) => Lookup::Node(key),
            same if is_live(&locator) => Lookup::Live(locator, same),
            _ => Lookup::Asked(locator),
        }
    }

    /// The conditions that are awaited after the action.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let own = self.step.action().condition().cloned();
        self.step.post().iter().map(|stated| stated.condition.clone()).chain(own).collect()
    }

    /// Arms the postconditions: the page is sampled, and changes count from here on.
    pub(crate) async fn watch(&mut self) -> Part<Watching> {
        self.arm_frames(None, None).await
    }

    /// The same, before a script of ours acts on a target.
    pub(crate) async fn watch_for(&mut self, ready: &Ready) -> Part<Watching> {
        self.still_holds(Some(&ready.target().key)).await?;
        self.arm_frames(None, ready.clock.clone()).await
    }

    /// The same, and sets the guards for a gesture at a target.
    pub(crate) async fn arm(&mut self, ready: &Ready, gesture: Gesture) -> Part<Armed> {
        let (watching, devices) = self.set_guards(gesture, ready.clock.clone()).await?;
        Ok(ready.arm(watching, devices))
    }

    /// The same for a gesture that names no target.
    pub(crate) async fn arm_anywhere(&mut self, gesture: Gesture) -> Part<Armed> {
        let (watching, devices) = self.set_guards(gesture, None).await?;
        Ok(stage::Armed::anywhere(watching, devices))
    }

    /// Sets the guards, once all input of earlier gestures was answered.
    async fn set_guards(&mut self, gesture: Gesture, clock: Option<PageClock>) -> Part<(Watching, Devices)> {
        let flight = self.flight.clone();
        self.race(Stage::Act, async move { flight.is_over().await }).await?;
        let wire = TabWire::arming(self.page.clone(), self.probe.clone(), self.flight.clone());
        self.still_holds(gesture.target.as_ref()).await?;
        let reports = self.ask_for_reports(&gesture).await?;
        let watching = self.arm_frames(Some(gesture), clock).await?;
        let worlds = self.seen.watchers.values().map(|watcher| watcher.world.clone()).collect();
        Ok((watching, Devices::new(Box::new(wire.in_worlds(worlds)), reports)))
    }

    async fn arm_frames(&mut self, gesture: Option<Gesture>, clock: Option<PageClock>) -> Part<Watching> {
        let watched = self.looking.watching();
        if watched.is_none() {
            let conditions = self.conditions();
            let conditions: Vec<&Condition> = conditions.iter().collect();
            let pinned = self.main.as_ref().map(|main| main.key.clone());
            let questions = self.questions(&conditions, pinned.as_ref());
            self.seen.gathered.ask(questions);
        }
        self.name_frames();
        let frames: Vec<FrameId> = self.page.frames().into_iter().take(MAX_FRAMES).map(|frame| frame.id).collect();
        let now = Instant::now();
        let calls = frames
            .into_iter()
            .filter(|frame| watched.is_none() || gesture.is_some() || !self.seen.watchers.contains_key(frame))
            .map(|frame| {
                let is_target = gesture.as_ref().is_some_and(|gesture| gesture.meets(frame.as_str()));
                let until = if is_target || self.is_main(&frame) { self.until } else { self.within(PATIENCE) };
                let is_watching = self.seen.watchers.get(&frame).is_some_and(|watcher| watcher.is_watching);
                (frame, until, is_watching)
            })
            .collect::<Vec<_>>();
        let probe = self.probe.clone();
        let plan = self.watch_plan();
        let gesture_of = gesture.clone();
        let (until, people) = (self.until, self.options.people);
        let meant = self.meant(gesture.as_ref());
        let step = self.step;
        let armed = join_all(calls.into_iter().map(|(frame, by, is_watching)| {
            let (probe, plan, gesture, clock) = (probe.clone(), plan.clone(), gesture_of.clone(), clock.clone());
            let meant = meant.clone();
            async move {
                let world = match probe.world(&frame, by).await {
                    Ok(world) => world,
                    Err(error) => return (frame, None, Err(error)),
                };
                let watch = if is_watching { None } else { plan.spec(&world) };
                let left = until.saturating_duration_since(Instant::now());
                let limit = Limit {
                    ms: millis(left),
                    by: clock.as_ref().and_then(|clock| clock.until(world.document().as_str(), until)),
                    people,
                };
                let mut spec = gesture.map(|gesture| gesture.spec(frame.as_str(), world.document().as_str(), limit));
                if let Some(spec) = spec.as_mut().filter(|spec| spec.reaches_anything()) {
                    match world.call::<(String, String)>("(cb) => [cb.act.origin(), location.href]", &[], by).await {
                        Ok((origin, url)) if !step.may_act_in(&origin, &url) => spec.reach_nothing(),
                        Ok(_) => {}
                        Err(error) => return (frame, None, Err(error)),
                    }
                }
                let document = world.document().as_str();
                let meant: Vec<Value> =
                    meant.iter().filter_map(|one| one.spec(frame.as_str(), document, &plan.test_ids)).collect();
                let args = [json!({"watch": watch, "gesture": spec, "by": limit.by, "ms": limit.ms, "meant": meant})];
                let armed = world.call::<Opened>("(cb, spec) => cb.act.arm(spec)", &args, by).await;
                (frame, Some((world, watch.is_some() || is_watching)), armed)
            }
        }));
        let armed = self.race(Stage::Act, armed).await?;
        let target = gesture.as_ref().and_then(|gesture| gesture.target.clone());
        for (frame, world, answer) in armed {
            let is_target = gesture.as_ref().is_some_and(|gesture| gesture.meets(frame.as_str()));
            match (answer, world) {
                (Ok(answer), Some((world, is_watching))) => {
                    let is_there = target
                        .as_ref()
                        .is_none_or(|key| key.frame != frame.as_str() || key.document == world.document().as_str());
                    if is_target && (!answer.opened || !is_there) {
                        return failed(
                            Stage::Act,
                            cuebook_grammar::outcome::Cause::TargetStale,
                            "the target was removed from the document",
                        );
                    }
                    let is_meant = meant.iter().all(|one| one.is_among(&answer.meaning.found));
                    if !is_meant || answer.meaning.changed.is_some() {
                        return Err(self.changed(answer.meaning.changed.as_deref()));
                    }
                    if let Some(sample) = answer.sample {
                        let is_main = self.is_main(&frame);
                        self.seen.gathered.record(frame.as_str(), is_main, sample);
                    }
                    let since = self
                        .seen
                        .watchers
                        .get(&frame)
                        .filter(|_| watched.is_some())
                        .map_or(now, |watcher| watcher.since);
                    self.seen.activity.dirty.remove(&frame);
                    self.seen.watchers.insert(frame, Watcher { world, since, is_watching });
                }
                (Err(error), _) if is_target || (self.is_main(&frame) && !matches!(error, ProbeError::Gone)) => {
                    return Err(probe_stop(error, Stage::Act));
                }
                _ => {}
            }
        }
        if let Some(watching) = watched {
            return Ok(watching);
        }
        self.ask_slow().await?;
        let watching = self.begin_watching();
        self.seen.network.begin((!self.opens()).then(|| self.called()));
        self.seen.denied_from = self.denials.position();
        Ok(watching)
    }

    /// One sample of the page, for these questions, without arming anything.
    pub(crate) async fn sample_once(&mut self, questions: Vec<Question>) -> Part<(Facts, BTreeSet<TargetRef>)> {
        let mut gathered = Gathered::new(Vec::new(), self.probe.digest_key().clone(), self.page.url());
        std::mem::swap(&mut gathered, &mut self.seen.gathered);
        self.seen.gathered.ask(questions);
        let result = self.sample_into(Stage::Precondition).await;
        std::mem::swap(&mut gathered, &mut self.seen.gathered);
        result?;
        gathered.push(0);
        Ok(gathered.facts(EventFacts::default()))
    }

    /// Samples the watched page once more, and judges what is awaited.
    pub(crate) async fn look_again(&mut self, awaited: &mut [Awaited]) -> Part<()> {
        self.sample_into(Stage::Act).await?;
        self.sampled();
        self.quiet(awaited);
        self.weigh(awaited);
        Ok(())
    }

    async fn sample_into(&mut self, stage: Stage) -> Part<()> {
        self.name_frames();
        let plan = WatchPlan { main: None, ..self.watch_plan() };
        let (probe, until) = (self.probe.clone(), self.until);
        let frames: Vec<FrameId> = self.page.frames().into_iter().take(MAX_FRAMES).map(|frame| frame.id).collect();
        let answers = join_all(frames.into_iter().map(|frame| {
            let (probe, plan) = (probe.clone(), plan.clone());
            let by = if self.is_main(&frame) { until } else { self.within(PATIENCE) };
            async move {
                let sample: Result<Option<FrameSample>, ProbeError> = async {
                    let world = probe.world(&frame, by).await?;
                    let Some(spec) = plan.spec(&world) else { return Ok(None) };
                    world.call("(cb, spec) => cb.act.look(spec)", &[spec], by).await
                }
                .await;
                (frame, sample)
            }
        }));
        for (frame, sample) in self.race(stage, answers).await? {
            match sample {
                Ok(Some(sample)) => {
                    let is_main = self.is_main(&frame);
                    self.seen.gathered.record(frame.as_str(), is_main, sample);
                }
                Ok(None) | Err(ProbeError::Gone) => {}
                Err(error) => match probe_stop(error, stage) {
                    Stop::Failed(_) if !self.is_main(&frame) => {}
                    stop => return Err(stop),
                },
            }
        }
        self.ask_slow().await.map(drop)
    }

    fn watch_plan(&self) -> WatchPlan {
        let conditions = self.conditions();
        let conditions: Vec<&Condition> = conditions.iter().collect();
        WatchPlan {
            questions: self.seen.gathered.questions().to_vec(),
            geometry: turns_on_geometry(&conditions),
            main: self.main.as_ref().map(|main| main.key.clone()),
            page: self.page.target_id().as_str().to_owned(),
            test_ids: self.probe.options().test_id_attributes.clone(),
            hovers: matches!(self.step.action(), Action::Hover(_)),
        }
    }

    /// Asks the questions that need extra round trips.
    async fn ask_slow(&mut self) -> Part<bool> {
        let slow: Vec<Question> = self
            .seen
            .gathered
            .questions()
            .iter()
            .filter(|question| matches!(question.lookup, Lookup::Asked(_)))
            .cloned()
            .collect();
        let asked = !slow.is_empty();
        for question in slow {
            let Lookup::Asked(locator) = question.lookup else { continue };
            let (probe, until) = (self.probe.clone(), self.until);
            let ask = question.ask;
            let found =
                self.race(Stage::Postcondition, async move { probe.locate(&locator, &ask, until).await }).await?;
            let facts = match found {
                Ok(located) => match &located.matches[..] {
                    [only] => TargetFacts::one(only.facts.clone()),
                    matches => TargetFacts { matches: u32::try_from(matches.len()).ok(), element: None },
                },
                Err(ProbeError::FramePath { matches: 0, .. }) => TargetFacts::none(),
                Err(_) => TargetFacts::default(),
            };
            self.seen.gathered.record_asked(question.target, facts);
        }
        Ok(asked | self.follow_paths().await? | self.place_frames().await?)
    }

    /// Looks up to which frames the frame paths of watched targets lead; `true` if that is news.
    async fn follow_paths(&mut self) -> Part<bool> {
        let paths: Vec<(TargetRef, cuebook_grammar::locator::Locator)> = self
            .seen
            .gathered
            .questions()
            .iter()
            .filter_map(|question| match &question.lookup {
                Lookup::Live(locator, _) if !locator.frame.is_empty() => {
                    Some((question.target.clone(), locator.clone()))
                }
                _ => None,
            })
            .collect();
        let mut is_news = false;
        for (target, locator) in paths {
            let (probe, until) = (self.probe.clone(), self.until);
            let found =
                self.race(Stage::Postcondition, async move { probe.frame_at_end_of(&locator, until).await }).await?;
            let frame = match found {
                Ok(frame) => Some(frame.as_str().to_owned()),
                // Several frames: none of them is meant.
                Err(ProbeError::FramePath { .. } | ProbeError::Gone) => None,
                Err(error) => return Err(probe_stop(error, Stage::Postcondition)),
            };
            is_news |= self.seen.gathered.lead(&target, frame);
        }
        Ok(is_news)
    }

    /// Looks up where the frames lie that reported an element: once, and again where a condition depends on it.
    async fn place_frames(&mut self) -> Part<bool> {
        let conditions = self.conditions();
        let again = turns_on_geometry(&conditions.iter().collect::<Vec<_>>());
        let mut is_news = false;
        for frame in self.seen.gathered.frames_with_rows() {
            let frame = FrameId::from(frame.as_str());
            if self.is_main(&frame) || (self.looking.watching().is_some() && !again) {
                continue;
            }
            let (probe, wanted, until) = (self.probe.clone(), frame.clone(), self.within(PATIENCE));
            let placed =
                self.race(Stage::Postcondition, async move { probe.frame_offset(&wanted, until).await }).await?;
            if let Ok(placement) = placed {
                is_news |= self.seen.gathered.place(frame.as_str(), placement);
            }
        }
        Ok(is_news)
    }

    /// Waits until every condition holds or its time is over. The samples are recorded.
    pub(crate) async fn settle(&mut self, awaited: &mut [Awaited]) -> Part<()> {
        let result = self.settle_inner(awaited).await;
        if result.is_err() {
            // What was seen so far is judged.
            let at = self.at_ms(Instant::now());
            self.seen.gathered.push(at);
            self.weigh(awaited);
        }
        result
    }

    async fn settle_inner(&mut self, awaited: &mut [Awaited]) -> Part<()> {
        let mut replies: FuturesUnordered<PendingReply> = FuturesUnordered::new();
        for (frame, watcher) in &self.seen.watchers {
            if watcher.is_watching && !self.seen.summaries.contains_key(frame) {
                replies.push(self.changes(frame, &watcher.world, Duration::ZERO));
            }
        }
        let begun = Instant::now();
        let mut lingers_by = self.within(self.options.post_timeout).min(self.answer_by());
        let stated = self.step.post();
        let is_default = !stated.is_empty() && stated.iter().all(|stated| stated.is_default) && !self.opens();
        let mut first_round = replies.len();
        let mut last_tick = Instant::now();
        let mut answer = Answer::Awaited;
        let watches_network = needs_network(&awaited.iter().map(|one| &one.condition).collect::<Vec<_>>());
        loop {
            self.watch_new(&mut replies);
            if first_round == 0 {
                self.add_urls();
            }
            if first_round == 0 && !self.seen.gathered.has_samples() {
                let at = self.at_ms(Instant::now());
                self.seen.gathered.push(at);
            }
            self.weigh(awaited);
            let now = Instant::now();
            let quiet = self.seen.network.settled_at(begun);
            if answer == Answer::Awaited && awaited.iter().any(|one| one.lasts && one.held_at.is_some()) {
                answer = match self.answer() {
                    Some(reply) => {
                        replies.push(reply);
                        Answer::Asked
                    }
                    None => Answer::Given,
                };
            }
            let next = awaited.iter().filter_map(|one| one.due(now, self.until_of(one), quiet, answer)).min();
            let next = next.or_else(|| {
                // Without a stated condition, the requests of the step are waited for, too.
                let by = quiet.map_or(lingers_by, |quiet| quiet.min(lingers_by));
                is_default.then_some(by).filter(|by| now < *by)
            });
            if next.is_some() {
                if first_round == 0 && awaited.iter().all(|one| one.held_at.is_some()) {
                    self.gate.settling();
                }
                // Frames that have reported may report more.
                for frame in std::mem::take(&mut self.seen.summaries).into_keys() {
                    if let Some(watcher) = self.seen.watchers.get(&frame) {
                        replies.push(self.changes(&frame, &watcher.world, TICK * 5));
                    }
                }
            }
            let Some(next) = next else {
                // A navigation that the step caused belongs to it: its document is waited for.
                while let Some(event) = self.lane.next().now_or_never() {
                    self.note(event, Stage::Postcondition)?;
                }
                if let Some(by) = self.leaves_by().filter(|by| now < *by) {
                    tokio::select! {
                        biased;
                        event = self.lane.next() => self.note(event, Stage::Postcondition)?,
                        event = self.watch.lane.next() => self.note_browser(event, Stage::Postcondition)?,
                        held = Holder::next(self.holder) => drop(self.judge(held).await?),
                        () = tokio::time::sleep_until(by.into()) => {}
                    }
                    continue;
                }
                if first_round == 0 || now >= self.until {
                    return Ok(());
                }
                // Nothing is awaited, but the first answers belong to the step.
                let patience = self.within(PATIENCE);
                match tokio::time::timeout_at(patience.into(), replies.next()).await {
                    Ok(Some(reply)) => {
                        first_round -= 1;
                        self.take_in(reply, None)?;
                    }
                    _ => first_round = 0,
                }
                continue;
            };
            let wake = next.min(now + if watches_network || quiet.is_none() { BEAT } else { TICK });
            tokio::select! {
                biased;
                event = self.lane.next() => self.note(event, Stage::Postcondition)?,
                event = self.watch.lane.next() => self.note_browser(event, Stage::Postcondition)?,
                held = Holder::next(self.holder) => {
                    let span = self.judge(held).await?;
                    lingers_by += span;
                    awaited.iter_mut().for_each(|one| one.until += span);
                }
                Some(reply) = replies.next() => {
                    if matches!(reply, Reply::Answered(..)) {
                        answer = Answer::Given;
                    } else {
                        first_round = first_round.saturating_sub(1);
                    }
                    self.take_in(reply, Some(&mut replies))?;
                }
                () = tokio::time::sleep_until(wake.into()) => {}
            }
            if last_tick.elapsed() >= TICK {
                last_tick = Instant::now();
                if self.ask_slow().await? {
                    self.sampled();
                }
            }
            if watches_network {
                self.quiet(awaited);
            }
        }
    }

    /// Network quiet counts only once the document has been read to its end.
    fn quiet(&mut self, awaited: &[Awaited]) {
        let wants = awaited.iter().any(|one| one.held_at.is_none());
        if wants && self.seen.network.idle_fact().is_none() {
            self.seen.network.is_quiet(QUIET);
        }
    }

    /// The reply of the target's document once it has answered the input; `None` if that is not watched.
    fn answer(&self) -> Option<PendingReply> {
        let frame = FrameId::from(self.main.as_ref()?.key.frame.as_str());
        let world = self.seen.watchers.get(&frame).filter(|watcher| watcher.is_watching)?.world.clone();
        let until = self.until;
        Some(Box::pin(async move {
            let changes = world.call("(cb) => cb.act.answered()", &[], until).await;
            Reply::Answered(frame, changes)
        }))
    }

    fn changes(&self, frame: &FrameId, world: &ProbeWorld, budget: Duration) -> PendingReply {
        let (frame, world, until) = (frame.clone(), world.clone(), self.until);
        Box::pin(async move {
            let args = [millis(budget).into()];
            let changes = world.call("(cb, ms) => cb.act.changes(ms)", &args, until).await;
            Reply::Changed(frame, changes)
        })
    }

    /// Watches new documents.
    fn watch_new(&mut self, replies: &mut FuturesUnordered<PendingReply>) {
        for frame in std::mem::take(&mut self.seen.activity.dirty) {
            if self.seen.watchers.len() > MAX_FRAMES {
                return;
            }
            let (probe, plan, until) = (self.probe.clone(), self.watch_plan(), self.until);
            let flight = self.flight.clone();
            replies.push(Box::pin(async move {
                let since = Instant::now();
                let world = loop {
                    match probe.world(&frame, until).await {
                        Ok(world) => break world,
                        Err(ProbeError::Gone) if Instant::now() < until && probe.page().frame(&frame).is_some() => {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        Err(_) => return Reply::Changed(frame, Err(ProbeError::Gone)),
                    }
                };
                let shut = flight.newcomer();
                let args = [json!({"watch": plan.spec(&world), "gesture": null, "shut": shut.is_some()})];
                let armed = world.call::<Opened>("(cb, spec) => cb.act.arm(spec)", &args, until).await;
                drop(shut);
                Reply::Armed(frame, world, since, armed)
            }));
        }
    }

    fn take_in(&mut self, reply: Reply, again: Option<&mut FuturesUnordered<PendingReply>>) -> Part<()> {
        match reply {
            Reply::Armed(frame, world, since, Ok(armed)) => {
                self.seen.summaries.remove(&frame);
                let is_watching = armed.sample.is_some();
                if let Some(sample) = armed.sample {
                    self.record_sample(&frame, since, sample);
                }
                if is_watching && let Some(again) = again {
                    again.push(self.changes(&frame, &world, TICK * 5));
                }
                self.seen.watchers.insert(frame, Watcher { world, since, is_watching });
            }
            Reply::Answered(frame, Ok(changes)) => {
                if let Some(watcher) = self.seen.watchers.get(&frame).cloned() {
                    self.take_changes(&frame, &watcher, changes.samples, changes.before, changes.effect);
                }
            }
            Reply::Changed(frame, Ok(changes)) => {
                let Some(watcher) = self.seen.watchers.get(&frame).cloned() else { return Ok(()) };
                self.take_changes(&frame, &watcher, changes.samples, changes.before, changes.effect);
                if !changes.idle
                    && let Some(again) = again
                {
                    again.push(self.changes(&frame, &watcher.world, TICK * 5));
                }
            }
            Reply::Changed(_, Err(ProbeError::Gone))
            | Reply::Answered(_, Err(ProbeError::Gone))
            | Reply::Armed(_, _, _, Err(ProbeError::Gone)) => {}
            Reply::Changed(_, Err(error)) | Reply::Answered(_, Err(error)) | Reply::Armed(_, _, _, Err(error)) => {
                match probe_stop(error, Stage::Postcondition) {
                    // One frame that does not answer leaves its facts unknown and nothing else.
                    Stop::Failed(_) => {}
                    stop => return Err(stop),
                }
            }
        }
        Ok(())
    }

    pub(crate) fn take_changes(
        &mut self,
        frame: &FrameId,
        watcher: &Watcher,
        samples: Vec<FrameSample>,
        before: Option<FrameSample>,
        effect: bool,
    ) {
        if let Some(before) = before
            && self.seen.activity.rebased.is_empty()
        {
            self.seen.activity.rebased.insert(frame.clone());
            let is_main = self.is_main(frame);
            self.seen.gathered.record(frame.as_str(), is_main, before);
            self.seen.gathered.set_before();
        }
        for sample in samples {
            self.record_sample(frame, watcher.since, sample);
        }
        self.seen.activity.effect |= effect;
    }

    fn record_sample(&mut self, frame: &FrameId, since: Instant, sample: FrameSample) {
        let is_current = self.seen.watchers.get(frame).is_none_or(|watcher| {
            self.page.frame(frame).is_some_and(|now| now.document == *watcher.world.document()) || !watcher.is_watching
        });
        let offset = Duration::try_from_secs_f64((sample.t / 1_000.0).clamp(0.0, 3_600.0)).unwrap_or_default();
        let at = self.at_ms(since.checked_add(offset).unwrap_or(since));
        let is_main = self.is_main(frame);
        // The last sample of a document that was replaced meanwhile still counts.
        let (url, title) = (self.seen.gathered.url().to_owned(), String::new());
        self.seen.gathered.record(frame.as_str(), is_main, sample);
        self.seen.gathered.push(at);
        if !is_current && is_main && self.seen.activity.new_document {
            self.seen.gathered.forget(frame.as_str());
            self.seen.gathered.set_url(&url, Some(&title));
        }
    }

    /// Judges the newest sample.
    fn weigh(&mut self, awaited: &mut [Awaited]) {
        let events = self.events();
        let orders = awaited.iter().any(|one| follows(&one.condition));
        let latest = if orders { self.seen.gathered.so_far(&events) } else { self.seen.gathered.latest(&events) };
        let at = latest.samples.last().map_or(0, |sample| sample.at_ms);
        let now = self.at_ms(Instant::now());
        let mut pins = false;
        for one in awaited.iter_mut().filter(|one| one.held_at.is_none() || one.lasts) {
            let holds = self.seen.gathered.judge(&one.condition, one.is_default, &latest) == Verdict::Holds;
            one.since = one.since.filter(|_| holds).or_else(|| holds.then(Instant::now));
            if holds && one.held_at.is_none() {
                // Network events make no sample.
                one.held_at = Some(if needs_network(&[&one.condition]) { now } else { at });
                pins = true;
            }
        }
        if pins {
            self.seen.gathered.pin_last();
        }
    }

    /// Until when to wait for the document that the tab navigates to: the server's time does not count as a
    /// postcondition's.
    fn leaves_by(&self) -> Option<Instant> {
        self.seen.activity.leaving.map(|_| self.answer_by())
    }

    /// When the time of a condition is over. It stops while the step navigates, and starts again with the new
    /// document; and while a request of the step, or a frame that it loads, is not answered.
    fn until_of(&self, one: &Awaited) -> Instant {
        let Some(span) = one.span else { return one.until };
        if one.held_at.is_none()
            && !matches!(one.condition, Condition::AnyEffect(_))
            && (self.seen.network.unanswered().is_some() || (is_of_download(&one.condition) && self.is_downloading()))
        {
            return self.answer_by();
        }
        let on_new = self.seen.activity.document_at.map(|at| (at + span).min(self.answer_by()));
        one.until.max(self.leaves_by().or(on_new).unwrap_or(one.until))
    }

    /// A postcondition, to be awaited from now on.
    pub(crate) fn awaits(&self, condition: Condition, is_default: bool) -> Awaited {
        let span = match &condition {
            Condition::AnyEffect(_) => self.options.effect_timeout,
            _ => self.options.post_timeout,
        };
        let own = condition.limit().map(Millis::duration);
        Awaited {
            is_default,
            until: self.within(own.unwrap_or(span)),
            span: own.is_none().then_some(span),
            held_at: None,
            lasts: is_default && condition.target().is_some(),
            since: None,
            condition,
        }
    }

    /// When the time of the condition of a `waitFor` is over: with the step, and a little before its deadline, so that
    /// the failure can be reported. A condition is judged at least once.
    pub(crate) fn waits_until(&self, condition: &Condition) -> Instant {
        let stated = self.step.step().timeout_ms.zip(self.seen.input_at).map(|(span, since)| since + span.duration());
        let by = stated.map_or(self.answer_by(), |stated| stated.min(self.answer_by()));
        condition.limit().map_or(by, |limit| self.within(limit.duration()).min(by))
    }
}

/// How long no request may be in flight.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

fn is_of_download(condition: &Condition) -> bool {
    let mut is = false;
    condition.visit(&mut |part| is |= matches!(part, Condition::DownloadCompleted(_)));
    is
}

/// Whether a condition is about what came after what.
fn follows(condition: &Condition) -> bool {
    let mut follows = false;
    condition.visit(&mut |part| follows |= matches!(part, Condition::Becomes(_) | Condition::Changed(_)));
    follows
}

fn needs_network(conditions: &[&Condition]) -> bool {
    let mut needs = false;
    for condition in conditions {
        condition.visit(&mut |part| needs |= matches!(part, Condition::NetworkIdle(_) | Condition::RequestObserved(_)));
    }
    needs
}

/// What each document is asked to watch.
#[derive(Clone)]
struct WatchPlan {
    questions: Vec<Question>,
    geometry: bool,
    main: Option<NodeKey>,
    page: String,
    test_ids: Vec<String>,
    /// The step only moves the pointer.
    hovers: bool,
}

impl WatchPlan {
    /// `None` for frames that no question concerns.
    fn spec(&self, world: &ProbeWorld) -> Option<Value> {
        let (frame, document) = (world.frame().as_str(), world.document().as_str());
        let targets: Vec<Value> =
            self.questions.iter().filter_map(|question| question.for_frame(frame, document, &self.test_ids)).collect();
        let main = self.main.as_ref().filter(|key| key.frame == frame);
        if targets.is_empty() && main.is_none() && frame != self.page {
            return None;
        }
        let main = main.filter(|key| key.document == document).map(|key| key.node);
        Some(json!({"targets": targets, "geometry": self.geometry, "main": main, "hovers": self.hovers}))
    }
}
