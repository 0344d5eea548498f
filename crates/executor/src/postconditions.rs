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
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::{EventFacts, Facts, TargetFacts};
use cuebook_grammar::id::{NodeKey, TargetRef};
use cuebook_grammar::ledger::requests::Doing;
use cuebook_grammar::outcome::Stage;
use cuebook_grammar::plan::BoundTarget;
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
use crate::run::{PageClock, StepRun};
use crate::script::{Changes, FrameSample, Opened};
use crate::seen::Event;
use crate::settling::{Awaited, Next, QUIET, Settling, TICK, wants_quiet, weigh};
use crate::stage::{self, Watching};
use crate::stop::{Part, Stop, failed, probe_stop};
use crate::trace::Line;

/// The most frames that are watched.
const MAX_FRAMES: usize = 100;
/// How long a frame other than the target's may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reply of a frame while the conditions are awaited.
enum Reply {
    Armed(FrameId, ProbeWorld, Instant, Result<Opened, ProbeError>),
    Changed(FrameId, Result<Changes, ProbeError>),
    /// The document of the target has drawn what it makes of the input.
    Answered(FrameId, Result<Changes, ProbeError>),
}

type PendingReply = BoxFuture<'static, Reply>;

impl StepRun<'_> {
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

    /// Like `watch`, before a script of ours acts on a target.
    pub(crate) async fn watch_for(&mut self, ready: &Ready) -> Part<Watching> {
        self.still_holds(Some(&ready.target().key)).await?;
        self.arm_frames(None, ready.clock.clone()).await
    }

    /// Like `watch_for`, and sets the guards for a gesture at a target.
    pub(crate) async fn arm(&mut self, ready: &Ready, gesture: Gesture) -> Part<Armed> {
        let (watching, devices) = self.set_guards(gesture, ready.clock.clone()).await?;
        Ok(ready.arm(watching, devices))
    }

    /// Like `arm`, for a gesture that names no target.
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
        let worlds = self.lanes.worlds.values().cloned().collect();
        Ok((watching, Devices::new(Box::new(wire.in_worlds(worlds)), reports)))
    }

    async fn arm_frames(&mut self, gesture: Option<Gesture>, clock: Option<PageClock>) -> Part<Watching> {
        let watched = self.looking.watching();
        if watched.is_none() {
            let conditions = self.conditions();
            let conditions: Vec<&Condition> = conditions.iter().collect();
            let pinned = self.main.as_ref().map(|main| main.key.clone());
            let questions = self.questions(&conditions, pinned.as_ref());
            self.saw(Event::Questions { questions });
        }
        self.name_frames();
        let frames: Vec<FrameId> = self.page.frames().into_iter().take(MAX_FRAMES).map(|frame| frame.id).collect();
        let now = Instant::now();
        let calls = frames
            .into_iter()
            .filter(|frame| watched.is_none() || gesture.is_some() || !self.seen.watched.contains_key(frame))
            .map(|frame| {
                let is_target = gesture.as_ref().is_some_and(|gesture| gesture.meets(frame.as_str()));
                let until = if is_target || self.is_main(&frame) { self.until } else { self.within(PATIENCE) };
                let is_watching = self.seen.watched.get(&frame).is_some_and(|watched| watched.is_watching);
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
                    // The document that answered was replaced meanwhile: its state is over, and the new one is watched as
                    // soon as it is reported.
                    let current = self.page.frame(&frame).map(|now| now.document);
                    if !is_target && current.is_some_and(|current| current.as_str() != world.document().as_str()) {
                        self.seen.activity.dirty.insert(frame);
                        continue;
                    }
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
                    let is_main = self.is_main(&frame);
                    let arrived = Instant::now();
                    if let Some(sample) = answer.sample {
                        self.seen.on(Event::Sampled { frame: frame.clone(), is_main, sample }, arrived);
                    }
                    let known = self.seen.watched.get(&frame).filter(|_| watched.is_some());
                    let since = known.map_or(now, |known| known.since);
                    let age = arrived.saturating_duration_since(since);
                    self.seen.activity.dirty.remove(&frame);
                    self.seen.on(Event::Watched { frame: frame.clone(), is_watching, age }, arrived);
                    self.lanes.worlds.insert(frame, world);
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
        self.hear();
        self.lanes.wire.console.begin();
        let doing = match self.step.action().kind().meta().effect {
            _ if self.opens() => Doing::Opens,
            EffectClass::ReadOnly => Doing::Looks,
            _ => Doing::Acts(self.called()),
        };
        self.saw(Event::Requests { doing });
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
        self.seen.sample(Instant::now());
        if wants_quiet(&self.seen, awaited) {
            self.is_quiet(QUIET);
        }
        let events = self.events();
        weigh(&mut self.seen, awaited, &events, Instant::now());
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
                    self.saw(Event::Sampled { frame, is_main, sample });
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
            self.saw(Event::Asked { target: question.target, facts: Box::new(facts) });
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
            is_news |= self.saw(Event::Led { target, frame });
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
                is_news |= self.saw(Event::Placed { frame, placement });
            }
        }
        Ok(is_news)
    }

    /// Waits until every condition holds or its time is over. The samples are recorded.
    pub(crate) async fn settle(&mut self, awaited: &mut [Awaited]) -> Part<()> {
        let result = self.settle_inner(awaited).await;
        if result.is_err() {
            // What was seen so far is judged.
            let now = Instant::now();
            let at = self.seen.at_ms(now);
            self.seen.gathered.push(at);
            let events = self.events();
            weigh(&mut self.seen, awaited, &events, now);
        }
        result
    }

    async fn settle_inner(&mut self, awaited: &mut [Awaited]) -> Part<()> {
        let mut replies: FuturesUnordered<PendingReply> = FuturesUnordered::new();
        for (frame, watched) in &self.seen.watched {
            if watched.is_watching
                && !self.seen.summaries.contains_key(frame)
                && let Some(world) = self.lanes.worlds.get(frame)
            {
                replies.push(self.changes(frame, world, Duration::ZERO));
            }
        }
        let lingers_by = self.within(self.options.post_timeout).min(self.answer_by());
        let stated = self.step.post();
        let lingers = !stated.is_empty() && stated.iter().all(|stated| stated.is_default) && !self.opens();
        let now = Instant::now();
        if let Some(tape) = &self.seen.tape {
            let lingers_by = lingers.then_some(lingers_by);
            tape.write(Line::awaits(tape, awaited, replies.len(), lingers_by, self.bounds()), now);
        }
        let mut settling = Settling::new(awaited, replies.len(), lingers, lingers_by, now);
        let mut last_tick = Instant::now();
        loop {
            self.watch_new(&mut replies);
            if settling.is_told() {
                self.seen.add_urls(Instant::now());
            }
            let events = self.events();
            let now = Instant::now();
            settling.weigh(&mut self.seen, awaited, &events, now);
            if settling.wants_answer(awaited) {
                let reply = self.answer();
                settling.asked(reply.is_some());
                self.seen.record(Line::Asked { can_answer: reply.is_some() }, now);
                replies.extend(reply);
            }
            match settling.next(&self.seen, awaited, now, self.bounds()) {
                Next::Anything(wake) => {
                    if settling.pauses(&self.seen, awaited, now) {
                        self.gate.settling();
                    }
                    // Frames that have reported may report more.
                    for frame in std::mem::take(&mut self.seen.summaries).into_keys() {
                        if let Some(world) = self.lanes.worlds.get(&frame) {
                            replies.push(self.changes(&frame, world, TICK * 5));
                        }
                    }
                    tokio::select! {
                        biased;
                        event = self.lanes.tab.next() => self.note(event, Stage::Postcondition)?,
                        event = self.lanes.browser.next() => self.note_browser(event, Stage::Postcondition)?,
                        held = Holder::next(self.holder) => settling.pass_over(self.judge(held).await?, awaited),
                        Some(reply) = replies.next() => {
                            let answered = matches!(reply, Reply::Answered(..));
                            if answered { settling.answered() } else { settling.told() }
                            self.seen.record(Line::Replied { answered }, Instant::now());
                            self.take_in(reply, Some(&mut replies))?;
                        }
                        () = tokio::time::sleep_until(wake.into()) => {}
                    }
                    if last_tick.elapsed() >= TICK {
                        last_tick = Instant::now();
                        if self.ask_slow().await? {
                            self.seen.sample(Instant::now());
                        }
                    }
                    if settling.wants_quiet(&self.seen, awaited) {
                        self.is_quiet(QUIET);
                    }
                }
                // A navigation that the step caused belongs to it: its document is waited for.
                Next::Document(by) => {
                    tokio::select! {
                        biased;
                        event = self.lanes.tab.next() => self.note(event, Stage::Postcondition)?,
                        event = self.lanes.browser.next() => self.note_browser(event, Stage::Postcondition)?,
                        held = Holder::next(self.holder) => drop(self.judge(held).await?),
                        () = tokio::time::sleep_until(by.into()) => {}
                    }
                }
                Next::Done if self.hear_tab()? => {}
                Next::Done => {
                    let held_at = awaited.iter().map(|one| one.held_at).collect();
                    self.seen.record(Line::Settled { held_at }, now);
                    return Ok(());
                }
                Next::Answers => {
                    let patience = self.within(PATIENCE);
                    match tokio::time::timeout_at(patience.into(), replies.next()).await {
                        Ok(Some(reply)) => {
                            settling.told();
                            self.seen.record(Line::Replied { answered: false }, Instant::now());
                            self.take_in(reply, None)?;
                        }
                        _ => {
                            settling.give_up();
                            self.seen.record(Line::GaveUp, Instant::now());
                        }
                    }
                }
            }
        }
    }

    /// Takes in what the tab has already reported; `true` if there was anything.
    fn hear_tab(&mut self) -> Part<bool> {
        let mut heard = false;
        while let Some(event) = self.lanes.tab.next().now_or_never() {
            self.note(event, Stage::Postcondition)?;
            heard = true;
        }
        Ok(heard)
    }

    /// The reply of the target's document once it has answered the input; `None` if that is not watched.
    fn answer(&self) -> Option<PendingReply> {
        let frame = FrameId::from(self.main.as_ref()?.key.frame.as_str());
        self.seen.watched.get(&frame).filter(|watched| watched.is_watching)?;
        let world = self.lanes.worlds.get(&frame)?.clone();
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

    /// Arms the watch in documents that came since the last call, as far as `MAX_FRAMES` allows.
    fn watch_new(&mut self, replies: &mut FuturesUnordered<PendingReply>) {
        for frame in std::mem::take(&mut self.seen.activity.dirty) {
            if self.seen.watched.len() > MAX_FRAMES {
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
                let now = Instant::now();
                let age = now.saturating_duration_since(since);
                let is_watching = armed.sample.is_some();
                self.seen.on(Event::Watched { frame: frame.clone(), is_watching, age }, now);
                if let Some(sample) = armed.sample {
                    self.take_changes(&frame, Changes { samples: vec![sample], ..Changes::default() });
                }
                if is_watching && let Some(again) = again {
                    again.push(self.changes(&frame, &world, TICK * 5));
                }
                self.lanes.worlds.insert(frame, world);
            }
            Reply::Answered(frame, Ok(changes)) => self.take_changes(&frame, changes),
            Reply::Changed(frame, Ok(changes)) => {
                let Some(world) = self.lanes.worlds.get(&frame) else { return Ok(()) };
                if !changes.idle
                    && let Some(again) = again
                {
                    again.push(self.changes(&frame, world, TICK * 5));
                }
                self.take_changes(&frame, changes);
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

    /// Takes in the changes of a watched frame.
    pub(crate) fn take_changes(&mut self, frame: &FrameId, changes: Changes) {
        let (frame, is_main) = (frame.clone(), self.is_main(frame));
        self.saw(Event::Changed { frame, is_main, changes });
    }

    /// A postcondition, to be awaited from now on.
    pub(crate) fn awaits(&self, condition: Condition, is_default: bool) -> Awaited {
        let span = match &condition {
            Condition::AnyEffect(_) => self.options.effect_timeout,
            _ => self.options.post_timeout,
        };
        let own = condition.limit().map(Millis::duration);
        let until = self.within(own.unwrap_or(span));
        Awaited::new(condition, is_default, until, own.is_none().then_some(span))
    }

    /// When the time of the condition of a `waitFor` is over: with the step, and a little before its deadline, so that
    /// the failure can be reported. A condition is judged at least once.
    pub(crate) fn waits_until(&self, condition: &Condition) -> Instant {
        let stated = self.step.step().timeout_ms.zip(self.seen.input_at).map(|(span, since)| since + span.duration());
        let by = stated.map_or(self.answer_by(), |stated| stated.min(self.answer_by()));
        condition.limit().map_or(by, |limit| self.within(limit.duration()).min(by))
    }
}

/// Questions and options of the watch that is set in each document.
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
