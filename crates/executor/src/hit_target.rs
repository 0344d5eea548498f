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
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};

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

/// What may still be on its way to the page when guards close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The browser has acknowledged all of it.
    Nothing,
    /// Input that was not acknowledged.
    Input,
}

impl Rest {
    pub(crate) const fn of<T, E>(sent: &Part<Result<T, E>>) -> Self {
        if matches!(sent, Ok(Ok(_))) { Self::Nothing } else { Self::Input }
    }

    pub(crate) const fn after<T, E, R>(delivered: &Part<(Result<T, E>, R)>) -> Self {
        if matches!(delivered, Ok((Ok(_), _))) { Self::Nothing } else { Self::Input }
    }
}

/// All that there is to tell of a text, on its way.
pub(crate) type Outcome = BoxFuture<'static, Result<Watched, ProbeError>>;

/// A report that is on its way.
pub(crate) type Reporting = BoxFuture<'static, Result<Option<GestureReport>, ProbeError>>;

/// How long to wait for the target's report once the browser has taken all of the input: it is on its way then,
/// or there is none.
const REPORT: Duration = Duration::from_millis(200);

impl Run<'_> {
    /// Asks the target's document for its report of the gesture that is about to be armed. The question is on
    /// its way before the guard is opened, so that an answer comes even if the gesture ends the document.
    pub(crate) async fn ask_for_report(&mut self, target: &NodeKey) -> Part<()> {
        let world = self.world_of(target, Stage::Act).await?;
        let until = self.until;
        let left = until.saturating_duration_since(Instant::now());
        let args = [u64::try_from(left.as_millis()).unwrap_or(0).into()];
        let mut report: Reporting =
            Box::pin(async move { world.call("(cb, ms) => cb.act.nextGesture(ms)", &args, until).await });
        self.report = match futures_util::poll!(&mut report) {
            std::task::Poll::Pending => Some(report),
            std::task::Poll::Ready(told) => Some(Box::pin(std::future::ready(told))),
        };
        Ok(())
    }

    /// Sends input by awaiting `sent`, and tells what the guard at the target saw of it.
    pub(crate) async fn deliver<T>(
        &mut self,
        world: &ProbeWorld,
        sent: impl Future<Output = T>,
    ) -> Part<(T, Option<GestureReport>)> {
        let patience = REPORT;
        let report = self.report.take();
        let both = async move {
            let Some(report) = report else { return (sent.await, None) };
            let mut report = std::pin::pin!(report);
            let mut sent = std::pin::pin!(sent);
            tokio::select! {
                biased;
                told = &mut report => (sent.await, Some(told)),
                sent = &mut sent => {
                    let told = tokio::time::timeout(patience, report).await.ok();
                    (sent, told)
                }
            }
        };
        let (sent, told) = self.race(Stage::Act, both).await?;
        let report = match told {
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
        let report = match report {
            Some(report) if !report.done && report.blocked.is_none() => Some(self.ask_elsewhere(world, report).await?),
            report => report,
        };
        Ok((sent, report))
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

    /// Closes all guards again; nobody waits for it.
    pub(crate) fn close_guards(&self, rest: Rest) {
        // Past the deadline of the step too: it is what makes sure that nothing fires later.
        let until = Instant::now() + Duration::from_secs(1);
        let args = [(rest == Rest::Input).into()];
        let calls = self.watchers.values().map(|watcher| {
            let (world, args) = (watcher.world.clone(), args.clone());
            async move {
                world.call::<Option<GestureReport>>("(cb, unsettled) => cb.act.shut(unsettled)", &args, until).await
            }
        });
        // The first poll sends; what comes back tells nothing new.
        let _ = join_all(calls).now_or_never();
    }

    /// Whether a pointer gesture arrived.
    pub(crate) fn judge_delivery(&self, report: Option<&GestureReport>) -> Part<()> {
        match report {
            Some(report) if report.done => Ok(()),
            Some(GestureReport { blocked: Some(block), .. }) => Err(self.blocked(block)),
            Some(report) if !report.connected => Err(self.blocked(&Block {
                event: "click".to_owned(),
                reason: BlockReason::Stale,
                by: String::new(),
                takes: false,
            })),
            Some(report) => {
                let seen = if report.seen.is_empty() { "nothing".to_owned() } else { report.seen.join(", ") };
                Err(self.act_failure(
                    Cause::EffectUnknown,
                    format!("expected the target to see the whole gesture, saw {seen}"),
                    None,
                ))
            }
            None => Err(self.act_failure(
                Cause::EffectUnknown,
                "expected the target to see the gesture, saw its document replaced before it told".to_owned(),
                None,
            )),
        }
    }

    /// The failure for an event that the guard stopped.
    pub(crate) fn blocked(&self, block: &Block) -> Stop {
        let event: String = block.event.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
        let by = if block.by.is_empty() { "nothing".to_owned() } else { block.by.chars().take(200).collect() };
        let (cause, blocker, message) = match block.reason {
            BlockReason::Stale => (
                Cause::TargetStale,
                None,
                format!("expected the target during {event}, saw it removed; nothing was hit"),
            ),
            BlockReason::Moved => (
                Cause::NotStable,
                Some(by.clone()),
                format!(
                    "expected the target to stay during {event}, saw it move and {by} in its place; nothing was hit"
                ),
            ),
            BlockReason::Focus => (
                Cause::NotEditable,
                Some(by.clone()),
                format!(
                    "expected the focus to stay on the target during {event}, saw it on {by}; nothing was entered there"
                ),
            ),
            BlockReason::Covered | BlockReason::Elsewhere => (
                Cause::Covered,
                Some(by.clone()),
                format!("expected {event} at the target, saw it go to {by}; it was stopped"),
            ),
        };
        self.act_failure(cause, message, blocker)
    }

    pub(crate) fn act_failure(&self, cause: Cause, message: String, blocker: Option<String>) -> Stop {
        let mut failure = StepFailure::new(Stage::Act, cause, message);
        failure.facts.target = self.step.action().target().cloned();
        failure.facts.blocker = blocker;
        failure.into()
    }
}
