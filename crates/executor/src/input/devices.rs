//! The devices of one gesture, and how they are released.
//!
//! Invariant: when a gesture ends (by itself, a deadline, a dialog, cancellation), the guards are shut first, then
//! buttons, drags and interceptions are released, and the guards open again once the browser has answered all input of
//! ours.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::input::{
    DispatchDragEventParams, DispatchDragEventType, DispatchKeyEventParams, DispatchMouseEventParams, InsertTextParams,
    SetInterceptDragsParams,
};
use cuebook_cdp::{Call, CallError, FrameId, GoneReason, Page, RawReply, Session};
use cuebook_grammar::geometry::Point;
use cuebook_probe::{Probe, ProbeError, ProbeWorld};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use crate::script::GestureReport;
use crate::stage::{self, Release};

/// The answer to one event.
pub(crate) type Sending = BoxFuture<'static, Result<(), CallError>>;
/// Devices that have not sent anything.
pub(crate) type Armed = stage::Armed<Devices>;
/// A gesture that was begun.
pub(crate) type SentGesture = stage::Sent<Devices>;

/// Pending reports of the guard at the target. They are requested before the guard is opened, so that answers come even
/// if the gesture ends the document.
pub(crate) struct Reports {
    /// Once the gesture arrived or was stopped.
    pub(crate) whole: BoxFuture<'static, Result<Option<GestureReport>, ProbeError>>,
    /// Once the first event of it arrived.
    pub(crate) press: BoxFuture<'static, Result<bool, ProbeError>>,
}

/// After this long without an answer the browser counts as dead. The guard in the page waits as long.
const ANSWER: Duration = Duration::from_secs(600);
/// How long a document may take to shut its guard; then buttons are released all the same.
const SHUT: Duration = Duration::from_secs(2);
/// How often to check whether the dialog is closed that keeps a button from being released.
const DIALOG_POLL: Duration = Duration::from_millis(50);

/// The input of one tab that the browser has not answered yet. A tab has one for all of its steps.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// Answers are awaited here, after the step too.
    runtime: Handle,
    tally: Arc<watch::Sender<Tally>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Gestures that were armed and whose guards have not opened again.
    gestures: usize,
    /// Events, and questions to new documents, without an answer.
    unanswered: usize,
    /// A document was created meanwhile.
    has_newcomers: bool,
}

impl Tally {
    /// Ends a gesture, if nothing of it is pending.
    fn end(&mut self) -> bool {
        let is_over = self.unanswered == 0 && !self.has_newcomers;
        if is_over {
            self.gestures = self.gestures.saturating_sub(1);
        }
        is_over
    }
}

/// Counts as unanswered while it lives.
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
        let (sender, answer) = oneshot::channel();
        self.runtime.spawn(async move {
            let answer = call.await.map(drop);
            drop(unanswered);
            // The caller may be gone.
            let _ = sender.send(answer);
        });
        Box::pin(async move {
            let gone = || CallError::SessionGone { method: "Input".into(), reason: GoneReason::BrowserGone };
            answer.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    /// A document was created: during a gesture it has to be shut, for as long as the returned value lives.
    pub(crate) fn newcomer(&self) -> Option<Unanswered> {
        let is_under_way = self.tally.send_if_modified(|tally| {
            let is_under_way = tally.gestures > 0;
            tally.has_newcomers |= is_under_way;
            tally.unanswered = tally.unanswered.saturating_add(usize::from(is_under_way));
            is_under_way
        });
        is_under_way.then(|| Unanswered(self.tally.clone()))
    }

    /// Shuts a document that was created during a gesture: none of the gesture is for that document.
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

/// The process that receives an event.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// That of the tab: the browser hands it on.
    Tab,
    /// That of this session.
    Process(Session),
}

/// An event of a device, or a command about drags.
pub(crate) enum Input {
    Mouse(DispatchMouseEventParams),
    Key(DispatchKeyEventParams),
    Text(InsertTextParams),
    /// The data goes back as the browser wrote it; the generated type leaves out an empty list of items, which Chrome
    /// requires.
    Drag(Value),
    Intercept(SetInterceptDragsParams),
}

/// Channel that carries events to the browser.
pub(crate) trait Wire: Send + Sync {
    /// Queues an event before it returns.
    fn send(&self, to: &Place, event: Input) -> Sending;
    /// The gesture is over: releases what is held, and opens the guards once all was answered.
    fn end(&mut self, held: HeldInput);
}

/// Buttons and drags that have to be released.
#[derive(Debug, Default)]
pub(crate) struct HeldInput {
    /// Where a button is down, and the event that releases it.
    button: Option<(Point, DispatchMouseEventParams)>,
    /// The last button that was pressed, released or not.
    pressed: Option<(Point, DispatchMouseEventParams)>,
    /// Processes that report drags instead of carrying them out.
    intercepting: Vec<Place>,
    drag: Option<(Place, Point, Value)>,
}

impl HeldInput {
    fn is_none(&self) -> bool {
        self.button.is_none() && self.intercepting.is_empty() && self.drag.is_none()
    }

    /// Releases the button and what is dragged.
    pub(crate) fn release(&mut self, wire: &dyn Wire) {
        let unknown = self.button.as_ref().filter(|_| self.drag.is_none() && !self.intercepting.is_empty());
        let nothing = || json!({"items": [], "dragOperationsMask": 0});
        let unknown = unknown.map(|(point, _)| (Place::Tab, *point, nothing()));
        if let Some((place, point, data)) = self.drag.take().or(unknown) {
            drop(wire.send(&place, DragKind::Cancel.event(point, &data)));
        }
        if let Some((_, release)) = &self.button {
            drop(wire.send(&Place::Tab, Input::Mouse(release.clone())));
        }
    }

    /// Drags are the page's again, once the browser has answered all input: a busy page may begin one as late as that,
    /// which is then released too.
    pub(crate) fn stop_intercepting(mut self, wire: &dyn Wire) {
        if !self.intercepting.is_empty() {
            self.release(wire);
        }
        for place in &self.intercepting {
            drop(wire.send(place, Input::Intercept(SetInterceptDragsParams::new(false))));
        }
    }
}

/// Mouse, keyboard and drags of one gesture.
pub(crate) struct Devices {
    wire: Box<dyn Wire>,
    held: HeldInput,
    /// Not shared: the lock makes the devices `Sync`, for futures that hold them across an await.
    reports: Mutex<Option<Reports>>,
}

impl Devices {
    pub(crate) fn new(wire: Box<dyn Wire>, reports: Option<Reports>) -> Self {
        Self { wire, held: HeldInput::default(), reports: Mutex::new(reports) }
    }

    /// Takes the pending reports of the guard at the target, if they were requested.
    pub(crate) fn take_reports(&mut self) -> Option<Reports> {
        self.reports.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn send(&self, to: &Place, event: Input) -> Sending {
        self.wire.send(to, event)
    }

    /// A button is down at this point, until `release` is sent; `None`: none is.
    pub(crate) fn holds(&mut self, button: Option<(Point, DispatchMouseEventParams)>) {
        self.held.pressed = button.clone().or_else(|| self.held.pressed.take());
        self.held.button = button;
    }

    /// From here on the browser hands over drags, until the gesture ends.
    pub(crate) fn intercept_drags(&mut self, place: &Place) -> Sending {
        self.held.intercepting.push(place.clone());
        self.send(place, Input::Intercept(SetInterceptDragsParams::new(true)))
    }

    /// One event of the drag of `data`, to the process that draws what is under it.
    pub(crate) fn drag(&mut self, place: &Place, kind: DragKind, point: Point, data: &Value) -> Sending {
        self.held.drag = match kind {
            DragKind::Enter | DragKind::Over => Some((place.clone(), point, data.clone())),
            DragKind::Drop | DragKind::Cancel => None,
        };
        self.send(place, kind.event(point, data))
    }
}

impl Release for Devices {
    fn release(&mut self) {
        self.wire.end(std::mem::take(&mut self.held));
    }
}

/// A tab's wire, for one gesture.
pub(crate) struct TabWire {
    page: Page,
    probe: Probe,
    flight: Flight,
    /// Where guards are set; unknown until all are.
    worlds: Option<Vec<ProbeWorld>>,
    is_over: bool,
}

impl TabWire {
    /// Guards are about to be set, in documents that are not all known yet.
    pub(crate) fn arming(page: Page, probe: Probe, flight: Flight) -> Self {
        flight.tally.send_modify(|tally| tally.gestures = tally.gestures.saturating_add(1));
        Self { page, probe, flight, worlds: None, is_over: false }
    }

    /// The guards of these documents are set.
    pub(crate) fn in_worlds(mut self, worlds: Vec<ProbeWorld>) -> Self {
        self.worlds = Some(worlds);
        self
    }
}

impl Wire for TabWire {
    fn send(&self, to: &Place, event: Input) -> Sending {
        let session = match to {
            Place::Tab => self.page.session(),
            Place::Process(session) => session,
        };
        // Not the deadline of the step: the guards open only when this was answered.
        let until = Instant::now() + ANSWER;
        self.flight.track(match event {
            Input::Mouse(event) => session.request(event, until),
            Input::Key(event) => session.request(event, until),
            Input::Text(text) => session.request(text, until),
            Input::Drag(event) => session.call_raw(DispatchDragEventParams::IDENTIFIER, event, until),
            Input::Intercept(wanted) => session.request(wanted, until),
        })
    }

    fn end(&mut self, mut held: HeldInput) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        // A browser with a dialog open drops input, a release too.
        if self.page.dialog().is_some() {
            held.button = held.button.or(held.pressed.take());
        }
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
        let rest = Self {
            page: self.page.clone(),
            probe: self.probe.clone(),
            flight: self.flight.clone(),
            worlds: None,
            is_over: true,
        };
        self.flight.runtime.spawn(async move {
            if shut_at_once.is_none() {
                shutting.await;
            }
            let Self { page, probe, flight, .. } = &rest;
            let by = Instant::now() + ANSWER;
            while !held.is_none() && page.dialog().is_some() && !page.closed() && Instant::now() < by {
                tokio::time::sleep(DIALOG_POLL).await;
            }
            held.release(&rest);
            flight.reaches(|tally| tally.unanswered == 0).await;
            held.stop_intercepting(&rest);
            loop {
                flight.reaches(|tally| tally.unanswered == 0).await;
                flight.tally.send_modify(|tally| tally.has_newcomers = false);
                let by = Instant::now() + SHUT;
                let open = page
                    .frames()
                    .into_iter()
                    .map(|frame| async move { shut(&probe.world(&frame.id, by).await?, true, by).await });
                join_all(open).await;
                if flight.tally.send_if_modified(Tally::end) {
                    break;
                }
            }
        });
    }
}

impl Drop for TabWire {
    fn drop(&mut self) {
        self.end(HeldInput::default());
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
    fn event(self, point: Point, data: &Value) -> Input {
        let kind = match self {
            Self::Enter => DispatchDragEventType::DragEnter,
            Self::Over => DispatchDragEventType::DragOver,
            Self::Drop => DispatchDragEventType::Drop,
            Self::Cancel => DispatchDragEventType::DragCancel,
        };
        Input::Drag(json!({"type": kind, "x": point.x, "y": point.y, "data": data}))
    }
}

#[cfg(test)]
pub(crate) mod fake {
    //! A wire that keeps what is sent.

    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::stage::Looking;

    /// Record of the events sent: the kind of each.
    pub(crate) type Log = Arc<Mutex<Vec<String>>>;

    struct FakeWire(Log);

    impl Wire for FakeWire {
        fn send(&self, _: &Place, event: Input) -> Sending {
            let kind = match event {
                Input::Mouse(event) => event.r#type.as_ref().to_owned(),
                Input::Key(event) => event.r#type.as_ref().to_owned(),
                Input::Text(_) => "text".to_owned(),
                Input::Drag(event) => event["type"].as_str().unwrap().to_owned(),
                Input::Intercept(wanted) => format!("intercept {}", wanted.enabled),
            };
            self.0.lock().unwrap().push(kind);
            Box::pin(std::future::ready(Ok(())))
        }

        fn end(&mut self, mut held: HeldInput) {
            let again = FakeWire(self.0.clone());
            held.release(&again);
            held.stop_intercepting(&again);
            self.0.lock().unwrap().push("end".to_owned());
        }
    }

    /// A gesture that was begun, without a browser.
    pub(crate) fn sent() -> (SentGesture, Log) {
        let log = Log::default();
        let devices = Devices::new(Box::new(FakeWire(log.clone())), None);
        let mut looking = Looking::begin();
        (Armed::anywhere(looking.watch(), devices).send(&mut looking), log)
    }

    /// Returns the events sent since the last call.
    pub(crate) fn drain(log: &Log) -> Vec<String> {
        std::mem::take(&mut log.lock().unwrap())
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::action::MouseButton;
    use cuebook_grammar::geometry::Point;

    use super::*;

    #[tokio::test]
    async fn what_is_held_is_released_when_a_gesture_is_dropped() {
        let at = Point { x: 1.0, y: 2.0 };
        let (mut sent, log) = fake::sent();
        sent.intercept_drags(&Place::Tab).await.unwrap();
        sent.mouse(0).press(at, MouseButton::Left, 1).await.unwrap();
        sent.drag(&Place::Tab, DragKind::Enter, at, &Value::Null).await.unwrap();
        drop(sent);
        let released = ["dragCancel", "mouseReleased"];
        let expected = [
            &["intercept true", "mousePressed", "dragEnter"][..],
            &released,
            &released,
            &["intercept false"],
            &["end"],
        ];
        assert_eq!(fake::drain(&log), expected.concat());
        let (mut sent, log) = fake::sent();
        sent.mouse(0).press(at, MouseButton::Left, 1).await.unwrap();
        sent.mouse(0).release(at, MouseButton::Left, 1).await.unwrap();
        drop(sent);
        assert_eq!(fake::drain(&log), ["mousePressed", "mouseReleased", "end"]);
    }
}
