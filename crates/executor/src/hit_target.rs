//! The guard: during a gesture, its events reach the target or nothing.
//!
//! Invariants:
//! - Before the first event is sent, every frame of the tab has acknowledged what it lets through: the target's frame
//!   the target, all others nothing.
//! - A click counts as done when the event was seen at the target, not when no error was reported.

use std::time::{Duration, Instant};

use cuebook_grammar::deadline::millis;
use cuebook_grammar::geometry::Point;
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::policy::Rule;
use cuebook_grammar::render::cut;
use cuebook_probe::{ProbeError, ProbeWorld};
use futures_util::future::{BoxFuture, join_all};
use serde::de::DeserializeOwned;

use crate::input::devices::Reports;
use crate::options::PeopleInput;
use crate::run::StepRun;
use crate::script::{Block, BlockReason, Expected, GestureKind, GestureMode, GestureReport, GestureSpec, Watched};
use crate::stage::Guarded;
use crate::stop::{Part, Stop, probe_stop};

/// Gesture that is about to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Gesture {
    pub(crate) kind: GestureKind,
    /// `None`: the step names no target, and every element may be reached.
    pub(crate) target: Option<NodeKey>,
    /// Where a drag ends, in any frame.
    pub(crate) end: Option<NodeKey>,
    pub(crate) expects: Option<Expected>,
    /// Without a target, it may not activate anything.
    pub(crate) is_inert: bool,
    /// Text is typed: no key of it activates anything, and it goes on in the next box where the page passes the focus on.
    pub(crate) typing: bool,
    /// Without a target, where it begins.
    pub(crate) aim: Option<Aim>,
}

/// Where a gesture without a target begins.
#[derive(Clone, Debug)]
pub(crate) struct Aim {
    /// The main frame, and a point of it.
    pub(crate) frame: String,
    pub(crate) at: Point,
    /// `true` if other frames may receive the gesture: one lies there, or the gesture may end in one.
    pub(crate) in_frames: bool,
}

impl Gesture {
    const fn new(kind: GestureKind, target: Option<NodeKey>, expects: Option<Expected>) -> Self {
        Self { kind, target, end: None, expects, is_inert: false, typing: false, aim: None }
    }

    pub(crate) fn keys(target: NodeKey) -> Self {
        Self::new(GestureKind::Keys, Some(target), None)
    }

    /// Text that is typed.
    pub(crate) fn typing(target: NodeKey) -> Self {
        Self { typing: true, ..Self::keys(target) }
    }

    /// Keys for what has the focus, judged as if nothing had it that they activate.
    pub(crate) fn inert_keys() -> Self {
        Self { is_inert: true, ..Self::anywhere(GestureKind::Keys) }
    }

    /// Text that is inserted: the browser announces it once.
    pub(crate) fn text(target: NodeKey) -> Self {
        let expects = Expected { types: &["beforeinput"], count: 1 };
        Self::new(GestureKind::Keys, Some(target), Some(expects))
    }

    pub(crate) fn mouse(target: NodeKey, expects: Expected) -> Self {
        Self::new(GestureKind::Mouse, Some(target), Some(expects))
    }

    /// Everything may be reached: the step names a point, or what has the focus.
    pub(crate) fn anywhere(kind: GestureKind) -> Self {
        Self::new(kind, None, None)
    }

    /// Creates a gesture that may reach the elements at a point, as they were before the pointer came.
    pub(crate) fn at(aim: Aim) -> Self {
        Self { aim: Some(aim), ..Self::anywhere(GestureKind::Mouse) }
    }

    /// Returns `true` if the gesture begins or ends in `frame`.
    pub(crate) fn meets(&self, frame: &str) -> bool {
        self.target.iter().chain(&self.end).any(|key| key.frame == frame)
    }

    /// Returns the events that the guard of one document lets through.
    pub(crate) fn spec(&self, frame: &str, document: &str, limit: Limit) -> GestureSpec {
        let is_in = |key: &&NodeKey| key.frame == frame && key.document == document;
        let is_there = self.target.as_ref().is_some_and(|key| is_in(&key));
        GestureSpec {
            kind: self.kind,
            mode: match (&self.target, &self.aim) {
                (Some(_), _) => GestureMode::Target,
                (None, Some(aim)) if aim.in_frames || aim.frame == frame => GestureMode::Point,
                (None, Some(_)) => GestureMode::Target,
                (None, None) if self.is_inert => GestureMode::Inert,
                (None, None) => GestureMode::Any,
            },
            at: self.aim.as_ref().filter(|aim| aim.frame == frame).map(|aim| aim.at),
            id: self.target.as_ref().filter(|_| is_there).map(|key| key.node),
            end: self.end.as_ref().filter(is_in).map(|key| key.node),
            ends: self.end.is_some(),
            typing: self.typing,
            // A drag has arrived where it ends.
            expects: self.expects.clone().filter(|_| self.end.as_ref().map_or(is_there, |end| is_in(&end))),
            ms: limit.ms,
            by: limit.by,
            closed: limit.people == PeopleInput::Never,
        }
    }
}

/// Until when a document lets events through, and whether people may act between gestures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) ms: u64,
    /// Moment at which `ms` ends, on the clock of the document, where that is known.
    pub(crate) by: Option<f64>,
    pub(crate) people: PeopleInput,
}

/// Reports of the guards on a pointer gesture that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) report: Option<&'a GestureReport>,
    /// The browser answered all of its input.
    pub(crate) is_answered: bool,
    /// How often it presses.
    pub(crate) presses: u8,
}

impl Guarded for Arrival<'_> {
    /// The first event of a press is `pointerdown`: once a guard has stopped that, it stops all that follows. A second
    /// press is one of its own: a frame without a guard may have come under it. A target that became something else as
    /// the pointer came would be taken for what it is now by a step that begins again.
    fn is_stopped_whole(&self) -> bool {
        self.is_answered
            && self.presses == 1
            && self.report.is_some_and(|report| {
                let is_first = report.blocked.as_ref().is_some_and(|block| block.event == "pointerdown");
                is_first && report.seen.is_empty() && report.same && !report.done
            })
    }
}

/// Knowledge of the press at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Began {
    /// The target saw the press.
    Seen,
    Unknown,
}

/// A question that is sent once this returns.
async fn asked<T: DeserializeOwned + Send + 'static>(
    world: &ProbeWorld,
    function: &'static str,
    ms: u64,
    until: Instant,
) -> BoxFuture<'static, Result<T, ProbeError>> {
    let world = world.clone();
    let mut answer: BoxFuture<'static, Result<T, ProbeError>> =
        Box::pin(async move { world.call(function, &[ms.into()], until).await });
    // The first poll sends.
    match futures_util::poll!(&mut answer) {
        std::task::Poll::Pending => answer,
        std::task::Poll::Ready(answer) => Box::pin(std::future::ready(answer)),
    }
}

/// A gesture of which the target saw the beginning, and nothing saw the rest.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) failure: Box<StepFailure>,
    /// Pages react to a press this way: an effect shows that it did something.
    pub(crate) is_answer: bool,
}

/// The pending report of inserted text.
pub(crate) type Outcome = BoxFuture<'static, Result<Watched, ProbeError>>;

/// How long to wait for the target's report once the browser has acknowledged all input: it is under way then, or there
/// is none.
const REPORT: Duration = Duration::from_millis(200);

impl StepRun<'_> {
    /// Asks the target's document for its reports of the gesture that is about to be armed.
    pub(crate) async fn ask_for_reports(&mut self, gesture: &Gesture) -> Part<Option<Reports>> {
        let Gesture { kind: GestureKind::Mouse, target: Some(target), expects: Some(_), .. } = gesture else {
            return Ok(None);
        };
        let world = self.world_of(target, Stage::Act).await?;
        let left = self.until.saturating_duration_since(Instant::now());
        let ms = millis(left);
        let whole = asked(&world, "(cb, ms) => cb.act.nextGesture(ms)", ms, self.until).await;
        let press = asked(&world, "(cb, ms) => cb.act.nextPress(ms)", ms, self.until).await;
        Ok(Some(Reports { whole, press }))
    }

    /// Sends input by awaiting `sent`, and returns what the guard at the target reports of it.
    pub(crate) async fn deliver<T>(
        &mut self,
        world: &ProbeWorld,
        reports: Option<Reports>,
        sent: impl Future<Output = T>,
    ) -> Part<(T, Option<GestureReport>, Began)> {
        let (whole, press) = reports.map_or((None, None), |reports| (Some(reports.whole), Some(reports.press)));
        let both = async move {
            let Some(whole) = whole else { return (sent.await, None) };
            let mut whole = std::pin::pin!(whole);
            let mut sent = std::pin::pin!(sent);
            tokio::select! {
                biased;
                report = &mut whole => (sent.await, Some(report)),
                sent = &mut sent => {
                    let report = tokio::time::timeout(REPORT, whole).await.ok();
                    (sent, report)
                }
            }
        };
        let (sent, answer) = self.race(Stage::Act, both).await?;
        let report = match answer {
            Some(Ok(report)) => report,
            Some(Err(ProbeError::Gone)) => None,
            Some(Err(error)) => return Err(probe_stop(error, Stage::Act)),
            None => {
                let (world, until) = (world.clone(), self.until);
                let ask =
                    async move { world.call::<Option<GestureReport>>("(cb) => cb.act.gesture(0)", &[], until).await };
                self.race(Stage::Act, ask).await?.unwrap_or_default()
            }
        };
        let began = match press.filter(|_| report.is_none()) {
            Some(press) => match self.race(Stage::Act, tokio::time::timeout(REPORT, press)).await? {
                Ok(Ok(true)) => Began::Seen,
                _ => Began::Unknown,
            },
            None => Began::Unknown,
        };
        let report = match report {
            Some(report) if !report.done && report.blocked.is_none() => Some(self.ask_elsewhere(world, report).await?),
            report => report,
        };
        Ok((sent, report, began))
    }

    /// Asks for the effect of the text that is about to be inserted. Text takes another path through the browser than
    /// questions and may overtake them: some other answer of the document has to be awaited in between.
    pub(crate) async fn ask_for_outcome(&mut self, world: &ProbeWorld) -> Outcome {
        let (world, until) = (world.clone(), self.until);
        let left = until.saturating_duration_since(Instant::now());
        let args = [millis(left).into()];
        let mut asked: Outcome =
            Box::pin(async move { world.call("(cb, ms) => cb.act.outcome(ms)", &args, until).await });
        // The first poll sends.
        match futures_util::poll!(&mut asked) {
            std::task::Poll::Pending => asked,
            std::task::Poll::Ready(answer) => Box::pin(std::future::ready(answer)),
        }
    }

    /// Inserts text by awaiting `sent`, and returns the report of the guard at the field. The immediate effects come with
    /// the same answer, which was requested beforehand: another question would wait for the next animation frame.
    pub(crate) async fn deliver_text<T>(
        &mut self,
        world: &ProbeWorld,
        asked: Outcome,
        sent: impl Future<Output = T>,
    ) -> Part<(T, Option<GestureReport>)> {
        let both = async move {
            let sent = sent.await;
            (sent, tokio::time::timeout(REPORT, asked).await.ok())
        };
        let (sent, answer) = self.race(Stage::Act, both).await?;
        let report = match answer {
            Some(Ok(watched)) => {
                let frame = world.frame().clone();
                self.take_changes(&frame, watched.changes);
                if let Some(summary) = watched.summary {
                    self.seen.summaries.insert(frame, summary);
                }
                watched.report
            }
            Some(Err(ProbeError::Gone)) => None,
            Some(Err(error)) => return Err(probe_stop(error, Stage::Act)),
            None => self.ask(world, "(cb) => cb.act.withoutOutcome()", &[], Stage::Act).await?,
        };
        Ok((sent, report))
    }

    /// Asks the other documents for the events that the target did not see.
    async fn ask_elsewhere(&mut self, target: &ProbeWorld, report: GestureReport) -> Part<GestureReport> {
        let reports = self.ask_documents(Some(target)).await?;
        let done = reports.iter().any(|report| report.done);
        let blocked = reports.into_iter().find_map(|report| report.blocked);
        Ok(GestureReport {
            done,
            blocked: blocked.map(|block| Block { by: format!("{} of another frame", block.by), ..block }),
            ..report
        })
    }

    /// The reports of all documents but that of the target.
    pub(crate) async fn ask_documents(&mut self, target: Option<&ProbeWorld>) -> Part<Vec<GestureReport>> {
        let by = self.within(REPORT);
        let is_other = |world: &ProbeWorld| target.is_none_or(|target| world.frame() != target.frame());
        let worlds = self.lanes.worlds.values().filter(|world| is_other(world)).cloned();
        let calls = worlds.map(|world| async move {
            world.call::<Option<GestureReport>>("(cb) => cb.act.gesture(0)", &[], by).await
        });
        let calls = join_all(calls.collect::<Vec<_>>());
        let answers = self.race(Stage::Act, calls).await?;
        Ok(answers.into_iter().filter_map(|answer| answer.ok().flatten()).collect())
    }

    /// Judges how a pointer gesture arrived. If the target saw its beginning, it was sent, and the postconditions decide
    /// about the rest. `began`: whether the target is known to have seen the press.
    pub(crate) fn arrived(&self, report: Option<&GestureReport>, began: Began) -> Part<Option<Sealed>> {
        let Some(report) = report else {
            let message = "the document of the target was replaced before it reported the gesture";
            let failure = self.act_failure(Cause::EffectUnknown, message).into();
            return self.seal(failure, began == Began::Seen);
        };
        if report.done {
            return Ok(None);
        }
        let is_begun = !report.seen.is_empty();
        let gone = Block {
            event: "click".to_owned(),
            reason: BlockReason::Stale,
            by: String::new(),
            takes: false,
            popped: false,
            may_repeat: false,
            lost: None,
        };
        let (failure, is_answer) = match &report.blocked {
            Some(block) => (self.blocked(block, is_begun), block.is_answer()),
            None if !report.connected => (self.blocked(&gone, is_begun), true),
            None => {
                let seen = if is_begun { report.seen.join(", ") } else { "nothing".to_owned() };
                let message = format!("the target saw only a part of the gesture: {seen}");
                (self.act_failure(Cause::EffectUnknown, message).into(), true)
            }
        };
        // What is for something else now was changed by nobody's press: the click was withheld, and nothing makes up for it.
        let is_changed = report
            .blocked
            .as_ref()
            .is_some_and(|block| matches!(block.reason, BlockReason::Changed | BlockReason::Lost));
        if is_begun && !is_changed { self.seal(failure, is_answer) } else { Err(failure) }
    }

    /// The rest of a gesture was stopped. Without a stated condition, only an effect can show the result, and the stop
    /// has to be the page's reaction to the press.
    fn seal(&self, failure: Stop, is_answer: bool) -> Part<Option<Sealed>> {
        let is_stated = self.step.post().iter().any(|stated| !stated.is_default);
        match failure {
            Stop::Failed(failure) if is_answer || is_stated => Ok(Some(Sealed { failure, is_answer })),
            failure => Err(failure),
        }
    }

    /// The failure for an event that the guard stopped.
    pub(crate) fn blocked(&self, block: &Block, is_begun: bool) -> Stop {
        let event: String = block.event.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
        let by = if block.by.is_empty() { "nothing".to_owned() } else { cut(&block.by, 200) };
        let rest = if is_begun { "the press was sent and the rest of the gesture stopped" } else { "nothing was hit" };
        let (cause, blocker, message) = match block.reason {
            BlockReason::Stale => (Cause::TargetStale, None, format!("the target was removed during {event}; {rest}")),
            BlockReason::Redrawn => {
                (Cause::TargetStale, None, format!("the page drew the target anew before {event}; {rest}"))
            }
            BlockReason::Hidden => (Cause::NotVisible, None, format!("the target was hidden during {event}; {rest}")),
            BlockReason::Changed => {
                (Cause::TargetStale, None, format!("the target became {by} during {event}; {rest}"))
            }
            BlockReason::Moved => (
                Cause::NotStable,
                Some(by.clone()),
                format!("the target moved during {event}, and {by} is in its place; {rest}"),
            ),
            BlockReason::Focus => (
                Cause::NotEditable,
                Some(by.clone()),
                match self.step.action().target() {
                    Some(_) => {
                        format!("the focus moved from the target to {by} during {event}; nothing was entered there")
                    }
                    None => format!("{event} would have activated {by}, which has the focus; name it as the target"),
                },
            ),
            BlockReason::Lost => {
                if let Some(mut failure) = block.lost.clone().and_then(|lost| self.lost_to_press(lost)) {
                    failure.message.push_str(&format!(": the page changed it as {event} took the focus; {rest}"));
                    return failure.into();
                }
                (Cause::InputLost, None, format!("a value that was entered is gone since {event}; {rest}"))
            }
            BlockReason::Revealed => {
                let message = format!(
                    "the field shows what is typed since {event}, which it hid before; the rest of the credential was not entered"
                );
                (Cause::PolicyBlocked, None, message)
            }
            BlockReason::Covered | BlockReason::Elsewhere => {
                (Cause::Covered, Some(by.clone()), format!("{event} would have gone to {by}; {rest}"))
            }
        };
        let mut failure = self.act_failure(cause, message);
        failure.facts.seen = (block.reason == BlockReason::Changed).then_some(by);
        failure.facts.blocker = blocker;
        failure.facts.rule = (block.reason == BlockReason::Revealed).then_some(Rule::SecretScope);
        failure.into()
    }

    /// The failure for a target whose meaning changed; nothing was sent.
    pub(crate) fn changed(&self, now: Option<&str>) -> Stop {
        let expected = self.step.main_target().and_then(|(_, bound)| bound.candidate()).map(|one| one.title());
        let wanted = expected.as_deref().unwrap_or("what its locator means");
        let seen = cut(now.unwrap_or("something else"), 300);
        let message = format!("the target was {wanted} and is now {seen}; observe again");
        let mut failure = StepFailure::new(Stage::Act, Cause::TargetStale, message);
        failure.facts.target = self.step.action().target().cloned();
        failure.facts.expected = expected;
        failure.facts.seen = Some(seen);
        failure.into()
    }

    /// The failure for a target that left its document; nothing was sent.
    pub(crate) fn removed(&self) -> Stop {
        self.act_failure(Cause::TargetStale, "the target was removed from the document").into()
    }

    pub(crate) fn act_failure(&self, cause: Cause, message: impl Into<String>) -> StepFailure {
        let mut failure = StepFailure::new(Stage::Act, cause, message);
        failure.facts.target = self.step.action().target().cloned();
        failure
    }
}
