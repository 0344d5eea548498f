//! Input that is under way, and how it ends.
//!
//! Invariants:
//! - Only an [`Armed`] gesture can send, once: what comes of it is a [`Sent`].
//! - Whatever ends a gesture (its end, a deadline, a dialog, cancellation), the guards are shut first, then
//!   buttons, drags and interceptions are let go of, and the guards open again once the browser has answered
//!   all input of ours.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::{Call, CallError, FrameId, GoneReason, Page, RawReply, Session};
use cuebook_grammar::action::MouseButton;
use cuebook_grammar::geometry::Point;
use cuebook_probe::{Probe, ProbeError, ProbeWorld};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::input::mouse::Mouse;
use crate::script::GestureReport;

/// The answer to one event.
pub(crate) type Sending = BoxFuture<'static, Result<RawReply, CallError>>;

/// After this long without an answer the browser is taken for dead. The guard in the page waits as long.
const ANSWER: Duration = Duration::from_secs(600);
/// How long a document may take to shut its guard before buttons are let go of all the same.
const SHUT: Duration = Duration::from_secs(2);

/// The input of one tab that the browser has not answered yet. A tab has one for all of its steps.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// Answers are awaited here, after the step too.
    runtime: Handle,
    tally: Arc<watch::Sender<Tally>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Gestures that were armed and whose guards did not open again.
    gestures: usize,
    /// Events, and what newcomers are asked, without an answer.
    unanswered: usize,
    /// A document came meanwhile.
    has_newcomers: bool,
}

impl Tally {
    /// Ends a gesture, if nothing of it is left.
    fn end(&mut self) -> bool {
        let is_over = self.unanswered == 0 && !self.has_newcomers;
        if is_over {
            self.gestures = self.gestures.saturating_sub(1);
        }
        is_over
    }
}

/// Something without an answer, for as long as this lives.
pub(crate) struct Unanswered(Arc<watch::Sender<Tally>>);

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.0.send_modify(|tally| tally.unanswered = tally.unanswered.saturating_sub(1));
    }
}

impl Flight {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self { runtime, tally: Arc::new(watch::Sender::new(Tally::default())) }
    }

    async fn reaches(&self, wanted: impl FnMut(&Tally) -> bool) {
        // The sender lives in `self`.
        let _ = self.tally.subscribe().wait_for(wanted).await;
    }

    /// Waits until no gesture is under way.
    pub(crate) async fn is_over(&self) {
        self.reaches(|tally| tally.gestures == 0).await;
    }

    /// Awaits the answer to `call` even if nothing else does.
    fn track(&self, call: Call<RawReply>) -> Sending {
        self.tally.send_modify(|tally| tally.unanswered = tally.unanswered.saturating_add(1));
        let unanswered = Unanswered(self.tally.clone());
        let (tell, answer) = oneshot::channel();
        self.runtime.spawn(async move {
            let answer = call.await;
            drop(unanswered);
            // Whoever asked may be gone.
            let _ = tell.send(answer);
        });
        Box::pin(async move {
            let gone = || CallError::SessionGone { method: "Input".into(), reason: GoneReason::BrowserGone };
            answer.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    /// A document came: while a gesture is under way it has to be shut, for as long as the answer is kept.
    pub(crate) fn newcomer(&self) -> Option<Unanswered> {
        let is_under_way = self.tally.send_if_modified(|tally| {
            let is_under_way = tally.gestures > 0;
            tally.has_newcomers |= is_under_way;
            tally.unanswered = tally.unanswered.saturating_add(usize::from(is_under_way));
            is_under_way
        });
        is_under_way.then(|| Unanswered(self.tally.clone()))
    }

    /// Shuts a document that came while a gesture was under way: none of it is for that document.
    pub(crate) fn shut_newcomer(&self, probe: &Probe, frame: FrameId) {
        let Some(unanswered) = self.newcomer() else { return };
        let probe = probe.clone();
        self.runtime.spawn(async move {
            let by = Instant::now() + SHUT;
            if let Ok(world) = probe.world(&frame, by).await {
                let _ = shut(&world, false, by).await;
            }
            drop(unanswered);
        });
    }
}

async fn shut(world: &ProbeWorld, is_answered: bool, by: Instant) -> Result<Option<GestureReport>, ProbeError> {
    world.call("(cb, answered) => cb.act.shut(answered)", &[is_answered.into()], by).await
}

/// A tab whose guards are set for a gesture.
pub(crate) struct Armed(Sent);

impl Armed {
    /// Guards are about to be set, in documents that are not all known yet.
    pub(crate) fn arming(page: Page, probe: Probe, flight: Flight) -> Self {
        flight.tally.send_modify(|tally| tally.gestures = tally.gestures.saturating_add(1));
        Self(Sent { page, probe, flight, worlds: None, held: Held::default(), is_over: false })
    }

    /// The guards of these documents are set.
    pub(crate) fn in_worlds(mut self, worlds: Vec<ProbeWorld>) -> Self {
        self.0.worlds = Some(worlds);
        self
    }

    /// The gesture begins.
    pub(crate) fn send(self) -> Sent {
        self.0
    }
}

/// What has to be let go of.
#[derive(Debug, Default)]
struct Held {
    button: Option<(Point, MouseButton)>,
    /// Sessions that hand us drags instead of carrying them out.
    intercepting: Vec<Session>,
    drag: Option<(Session, Point, Value)>,
}

impl Held {
    fn is_none(&self) -> bool {
        self.button.is_none() && self.intercepting.is_empty() && self.drag.is_none()
    }
}

/// A gesture of which something was sent. Dropping it ends it.
pub(crate) struct Sent {
    page: Page,
    probe: Probe,
    flight: Flight,
    /// Where guards are set; unknown until all are.
    worlds: Option<Vec<ProbeWorld>>,
    held: Held,
    is_over: bool,
}

impl Sent {
    /// A mouse on the tab, with these keys held.
    pub(crate) fn mouse(&mut self, modifiers: u8) -> Mouse<'_> {
        Mouse { sent: self, modifiers }
    }

    /// Sends one event of the tab.
    pub(crate) fn dispatch(&self, method: &'static str, event: impl serde::Serialize) -> Sending {
        self.dispatch_to(self.page.session(), method, event)
    }

    /// Sends one event of the process that `session` speaks to.
    pub(crate) fn dispatch_to(&self, session: &Session, method: &'static str, event: impl serde::Serialize) -> Sending {
        // Not the deadline of the step: the guards open only when this was answered.
        self.flight.track(session.call_raw(method, event, Instant::now() + ANSWER))
    }

    pub(crate) fn holds(&mut self, button: Option<(Point, MouseButton)>) {
        self.held.button = button;
    }

    /// From here on the browser hands over drags, until the gesture ends.
    pub(crate) fn intercept_drags(&mut self, session: &Session) -> Sending {
        self.held.intercepting.push(session.clone());
        self.dispatch_to(session, "Input.setInterceptDrags", json!({"enabled": true}))
    }

    /// One event of the drag of `data`, to the process that draws what is under it.
    pub(crate) fn drag(&mut self, session: &Session, kind: DragKind, point: Point, data: &Value) -> Sending {
        self.held.drag = match kind {
            DragKind::Enter | DragKind::Over => Some((session.clone(), point, data.clone())),
            DragKind::Drop | DragKind::Cancel => None,
        };
        let event = json!({"type": kind.name(), "x": point.x, "y": point.y, "data": data});
        self.dispatch_to(session, "Input.dispatchDragEvent", event)
    }

    /// Lets go of all that is held.
    fn let_go(&mut self, held: Held) {
        for session in held.intercepting {
            drop(self.dispatch_to(&session, "Input.setInterceptDrags", json!({"enabled": false})));
        }
        if let Some((session, point, data)) = held.drag {
            drop(self.drag(&session, DragKind::Cancel, point, &data));
        }
        if let Some((point, button)) = held.button {
            drop(self.mouse(0).release(point, button, 1));
        }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let held = std::mem::take(&mut self.held);
        let is_whole = self.worlds.is_some() && held.is_none();
        let is_over = is_whole && self.flight.tally.send_if_modified(Tally::end);
        let worlds = self.worlds.take().unwrap_or_default();
        let by = Instant::now() + SHUT;
        let mut shutting = Box::pin(async move { join_all(worlds.iter().map(|world| shut(world, is_over, by))).await });
        // The first poll sends, before anything else is.
        let shut_at_once = (&mut shutting).now_or_never();
        if is_over {
            return;
        }
        let runtime = self.flight.runtime.clone();
        let (page, probe, flight) = (self.page.clone(), self.probe.clone(), self.flight.clone());
        runtime.spawn(async move {
            if shut_at_once.is_none() {
                shutting.await;
            }
            Self {
                page: page.clone(),
                probe: probe.clone(),
                flight: flight.clone(),
                worlds: None,
                held: Held::default(),
                is_over: true,
            }
            .let_go(held);
            loop {
                flight.reaches(|tally| tally.unanswered == 0).await;
                flight.tally.send_modify(|tally| tally.has_newcomers = false);
                let by = Instant::now() + SHUT;
                let open = page.frames().into_iter().map(|frame| {
                    let probe = probe.clone();
                    async move { shut(&probe.world(&frame.id, by).await?, true, by).await }
                });
                join_all(open).await;
                if flight.tally.send_if_modified(Tally::end) {
                    break;
                }
            }
        });
    }
}

/// A step of a drag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DragKind {
    Enter,
    Over,
    Drop,
    Cancel,
}

impl DragKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Enter => "dragEnter",
            Self::Over => "dragOver",
            Self::Drop => "drop",
            Self::Cancel => "dragCancel",
        }
    }
}
