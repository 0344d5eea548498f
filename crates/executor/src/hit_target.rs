//! The guard: while a gesture is under way, its events reach the target or nobody.
//!
//! Invariants:
//! - Before the first event is sent, every frame of the tab has acknowledged what it may let through:
//!   the target's frame the target, all others nothing.
//! - A click counts as done when the event was seen at the target, not when nobody complained.

use std::time::{Duration, Instant};

use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_probe::{ProbeError, ProbeWorld};
use futures_util::future::{BoxFuture, join_all};
use serde::de::DeserializeOwned;

use crate::input::devices::Reports;
use crate::options::PeopleInput;
use crate::run::Run;
use crate::script::{Block, BlockReason, Expected, GestureKind, GestureMode, GestureReport, GestureSpec, Watched};
use crate::stop::{Part, Stop, probe_stop};

/// What is about to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Gesture {
    pub(crate) kind: GestureKind,
    /// None: the step names no target, and everything may be reached.
    pub(crate) target: Option<NodeKey>,
    /// Where a drag ends, in any frame.
    pub(crate) end: Option<NodeKey>,
    pub(crate) expects: Option<Expected>,
}

impl Gesture {
    pub(crate) fn keys(target: Option<NodeKey>) -> Self {
        Self { kind: GestureKind::Keys, target, end: None, expects: None }
    }

    /// Text that is inserted: the browser announces it once.
    pub(crate) fn text(target: NodeKey) -> Self {
        let expects = Expected { types: &["beforeinput"], count: 1 };
        Self { kind: GestureKind::Keys, target: Some(target), end: None, expects: Some(expects) }
    }

    pub(crate) fn mouse(target: NodeKey, expects: Expected) -> Self {
        Self { kind: GestureKind::Mouse, target: Some(target), end: None, expects: Some(expects) }
    }

    /// Everything may be reached: the step names a point, or what has the focus.
    pub(crate) fn anywhere(kind: GestureKind) -> Self {
        Self { kind, target: None, end: None, expects: None }
    }

    /// Whether it begins or ends in a frame.
    pub(crate) fn meets(&self, frame: &str) -> bool {
        self.target.iter().chain(&self.end).any(|key| key.frame == frame)
    }

    /// What the guard of one document lets through.
    pub(crate) fn spec(&self, frame: &str, document: &str, limit: Limit) -> GestureSpec {
        let is_in = |key: &&NodeKey| key.frame == frame && key.document == document;
        let is_there = self.target.as_ref().is_some_and(|key| is_in(&key));
        GestureSpec {
            kind: self.kind,
            mode: if self.target.is_some() { GestureMode::Target } else { GestureMode::Any },
            id: self.target.as_ref().filter(|_| is_there).map(|key| key.node),
            end: self.end.as_ref().filter(is_in).map(|key| key.node),
            ends: self.end.is_some(),
            // A drag has arrived where it ends.
            expects: self.expects.clone().filter(|_| self.end.as_ref().map_or(is_there, |end| is_in(&end))),
            ms: limit.ms,
            by: limit.by,
            closed: limit.people == PeopleInput::Never,
        }
    }
}

/// Until when a document lets anything through, and whom between gestures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) ms: u64,
    /// The same moment on the clock of the document, where that is known.
    pub(crate) by: Option<f64>,
    pub(crate) people: PeopleInput,
}

/// What is known of the press before the whole gesture was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Began {
    /// The target saw it.
    Seen,
    Unknown,
}

/// A question that is on its way once this returns.
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
    /// It is how pages answer a press: an effect says that it did something.
    pub(crate) is_answer: bool,
}

/// All that there is to tell of a text, on its way.
pub(crate) type Outcome = BoxFuture<'static, Result<Watched, ProbeError>>;

/// How long to wait for the target's report once the browser has taken all of the input: it is on its way then,
/// or there is none.
const REPORT: Duration = Duration::from_millis(200);

impl Run<'_> {
    /// Asks the target's document for its reports of the gesture that is about to be armed.
    pub(crate) async fn ask_for_reports(&mut self, gesture: &Gesture) -> Part<Option<Reports>> {
        let Gesture { kind: GestureKind::Mouse, target: Some(target), expects: Some(_), .. } = gesture else {
            return Ok(None);
        };
        let world = self.world_of(target, Stage::Act).await?;
        let left = self.until.saturating_duration_since(Instant::now());
        let ms = u64::try_from(left.as_millis()).unwrap_or(0);
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

    /// Asks what the page makes of the text that is about to be inserted. Text takes another way through the browser
    /// than questions and may overtake them: some other answer of the document has to be awaited in between.
    pub(crate) async fn ask_for_outcome(&mut self, world: &ProbeWorld) -> Outcome {
        let (world, until) = (world.clone(), self.until);
        let left = until.saturating_duration_since(Instant::now());
        let args = [u64::try_from(left.as_millis()).unwrap_or(0).into()];
        let mut asked: Outcome =
            Box::pin(async move { world.call("(cb, ms) => cb.act.outcome(ms)", &args, until).await });
        // The first poll sends.
        match futures_util::poll!(&mut asked) {
            std::task::Poll::Pending => asked,
            std::task::Poll::Ready(told) => Box::pin(std::future::ready(told)),
        }
    }

    /// Inserts text by awaiting `sent`, and tells what the guard at the field saw of it. What the page did about
    /// it at once comes with the same answer, which was asked for beforehand: a question of its own would wait
    /// for the frame that the browser draws next.
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
        let (sent, told) = self.race(Stage::Act, both).await?;
        let report = match told {
            Some(Ok(told)) => {
                let frame = world.frame().clone();
                if let Some(watcher) = self.watchers.get(&frame).cloned() {
                    self.take_changes(&frame, &watcher, told.samples, told.before, told.effect);
                }
                if let Some(summary) = told.summary {
                    self.told.insert(frame, summary);
                }
                told.report
            }
            Some(Err(ProbeError::Gone)) => None,
            Some(Err(error)) => return Err(probe_stop(error, Stage::Act)),
            None => self.ask(world, "(cb) => cb.act.gesture(0)", &[], Stage::Act).await?,
        };
        Ok((sent, report))
    }

    /// Where the target saw less than it should, another document may have stopped the rest.
    async fn ask_elsewhere(&mut self, target: &ProbeWorld, report: GestureReport) -> Part<GestureReport> {
        let by = self.within(REPORT);
        let calls = self.watchers.values().filter(|watcher| watcher.world.frame() != target.frame()).map(|watcher| {
            let world = watcher.world.clone();
            async move { world.call::<Option<GestureReport>>("(cb) => cb.act.gesture(0)", &[], by).await }
        });
        let told = self.race(Stage::Act, join_all(calls)).await?;
        let told: Vec<GestureReport> = told.into_iter().filter_map(|told| told.ok().flatten()).collect();
        let done = told.iter().any(|told| told.done);
        let blocked = told.into_iter().find_map(|told| told.blocked);
        Ok(GestureReport {
            done,
            blocked: blocked.map(|block| Block { by: format!("{} of another frame", block.by), ..block }),
            ..report
        })
    }

    /// Judges how a pointer gesture arrived. One of which the target saw the beginning was sent: what the page then
    /// kept from it is a matter of the postconditions. `began`: the target saw the press, as far as was heard.
    pub(crate) fn arrived(&self, report: Option<&GestureReport>, began: Began) -> Part<Option<Sealed>> {
        let Some(report) = report else {
            let message = "expected the target to see the gesture, saw its document replaced before it told";
            let failure = self.act_failure(Cause::EffectUnknown, message.to_owned(), None);
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
        };
        let (failure, is_answer) = match &report.blocked {
            Some(block) => (self.blocked(block, is_begun), block.is_answer()),
            None if !report.connected => (self.blocked(&gone, is_begun), true),
            None => {
                let seen = if is_begun { report.seen.join(", ") } else { "nothing".to_owned() };
                let message = format!("expected the target to see the whole gesture, saw {seen}");
                (self.act_failure(Cause::EffectUnknown, message, None), true)
            }
        };
        if is_begun { self.seal(failure, is_answer) } else { Err(failure) }
    }

    /// The rest of a gesture was kept from everything. Where nothing but an effect could say what came of it, that
    /// has to be the page's answer to the press.
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
        let by = if block.by.is_empty() { "nothing".to_owned() } else { block.by.chars().take(200).collect() };
        let rest = if is_begun { "the press was sent and the rest of the gesture stopped" } else { "nothing was hit" };
        let (cause, blocker, message) = match block.reason {
            BlockReason::Stale => {
                (Cause::TargetStale, None, format!("expected the target during {event}, saw it removed; {rest}"))
            }
            BlockReason::Hidden => (
                Cause::NotVisible,
                None,
                format!("expected the target to stay visible during {event}, saw it hidden; {rest}"),
            ),
            BlockReason::Changed => (
                Cause::TargetStale,
                None,
                format!("expected the target to stay what it was during {event}, saw {by}; {rest}"),
            ),
            BlockReason::Moved => (
                Cause::NotStable,
                Some(by.clone()),
                format!("expected the target to stay during {event}, saw it move and {by} in its place; {rest}"),
            ),
            BlockReason::Focus => (
                Cause::NotEditable,
                Some(by.clone()),
                format!(
                    "expected the focus to stay on the target during {event}, saw it on {by}; nothing was entered there"
                ),
            ),
            BlockReason::Covered | BlockReason::Elsewhere => {
                (Cause::Covered, Some(by.clone()), format!("expected {event} at the target, saw it go to {by}; {rest}"))
            }
        };
        self.act_failure(cause, message, blocker)
    }

    /// The failure for a target that is another than the one that was meant; nothing was sent.
    pub(crate) fn changed(&self, now: Option<&str>) -> Stop {
        let expected = self.step.main_target().and_then(|(_, bound)| bound.candidate()).map(|one| one.title());
        let wanted = expected.clone().unwrap_or_else(|| "the target to be what its locator means".to_owned());
        let seen: String = now.unwrap_or("it mean something else now").chars().take(300).collect();
        let message = format!("expected {wanted}, saw {seen}; observe again");
        let mut failure = StepFailure::new(Stage::Act, Cause::TargetStale, message);
        failure.facts.target = self.step.action().target().cloned();
        failure.facts.expected = expected;
        failure.facts.seen = Some(seen);
        failure.into()
    }

    pub(crate) fn act_failure(&self, cause: Cause, message: String, blocker: Option<String>) -> Stop {
        let mut failure = StepFailure::new(Stage::Act, cause, message);
        failure.facts.target = self.step.action().target().cloned();
        failure.facts.blocker = blocker;
        failure.into()
    }
}
