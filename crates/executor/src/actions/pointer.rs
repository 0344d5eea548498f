//! The pointer beyond clicks: hovering, holding, dragging, and plain points.

use std::time::Duration;

use cuebook_cdp::{CallError, Delivery, FrameId, Session};
use cuebook_grammar::action::{ClickPoint, DragPoints, DragTo, Hover, LongPress, LongPressPoint, MouseButton};
use cuebook_grammar::geometry::{Point, ViewportSize};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::plan::Author;
use cuebook_grammar::policy::Consent;
use cuebook_grammar::render::cut;
use cuebook_grammar::risk;
use cuebook_grammar::wire::{ClickCount, Millis};
use cuebook_probe::ProbeWorld;
use futures_util::future::try_join_all;
use serde_json::Value;

use crate::actions::ActResult;
use crate::actions::enter_text::unless_gone;
use crate::hit_target::{Aim, Arrival, Gesture};
use crate::input::devices::{DragKind, Place, SentGesture};
use crate::projection::projections;
use crate::run::StepRun;
use crate::script::{Expected, GestureReport, Need};
use crate::seen::Event;
use crate::stop::{Part, Stop, call_stop, failed, probe_stop};

const HOLD: Duration = Duration::from_millis(600);
const DRAG: Duration = Duration::from_millis(300);
/// The most milliseconds that what was dropped may take to its place, where the page then hears of it.
const DROPPED: u32 = 800;
/// Moves of a drag.
const MOVES: u32 = 10;

/// A gesture at a point, without a target.
#[derive(Clone, Debug)]
enum AtPoint {
    /// Presses, waits and releases, as often as stated.
    Press { button: MouseButton, count: u8, hold: Duration },
    /// Presses, moves through these points to the last one, and releases there.
    Drag { through: Vec<Point>, took: Duration },
    /// Turns the wheel by this distance; positive is right and down.
    Wheel { x: f64, y: f64 },
}

/// Presses, waits and releases.
async fn hold(
    sent: &mut SentGesture,
    at: Point,
    button: MouseButton,
    count: u8,
    span: Duration,
) -> Result<(), CallError> {
    let mut mouse = sent.mouse(0);
    try_join_all([mouse.move_to(at), mouse.press(at, button, 1)]).await?;
    for nth in 1..=count.max(1) {
        if nth > 1 {
            mouse.press(at, button, nth).await?;
        }
        tokio::time::sleep(span).await;
        mouse.release(at, button, nth).await?;
    }
    Ok(())
}

/// The points of a drag, the last one its end.
fn path(from: Point, to: Point) -> impl Iterator<Item = Point> {
    (1..=MOVES).map(move |step| {
        let share = f64::from(step) / f64::from(MOVES);
        Point { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
    })
}

/// Drags with mouse events alone, straight from each point to the next.
async fn drag(sent: &mut SentGesture, from: Point, through: &[Point], took: Duration) -> Result<(), CallError> {
    let mut mouse = sent.mouse(0);
    try_join_all([mouse.move_to(from), mouse.press(from, MouseButton::Left, 1)]).await?;
    let legs = u32::try_from(through.len()).unwrap_or(u32::MAX).max(1);
    let mut at = from;
    for end in through {
        for point in path(at, *end) {
            mouse.drag_to(point, MouseButton::Left).await?;
            tokio::time::sleep(took / MOVES / legs).await;
        }
        at = *end;
    }
    mouse.release(at, MouseButton::Left, 1).await
}

impl StepRun<'_> {
    /// Moves the pointer over the target.
    pub(crate) async fn hover(&mut self, action: &Hover) -> Part<ActResult> {
        let need = Need { enabled: false, within: true, hover: true, ..Need::pointer(action.position) };
        let ready = self.ready_main(need).await?;
        let target = ready.target().at(ready.receiver).key;
        let armed = self.arm(&ready, Gesture::mouse(target, Expected { types: &[], count: 1 })).await?;
        let mut sent = self.send(armed)?;
        let call = sent.mouse(0).move_to(ready.point);
        self.race(Stage::Act, call).await?.map_err(|error| call_stop(error, Stage::Act))?;
        Ok(ActResult::by(sent))
    }

    /// Presses the left button, and releases it after the stated time or `HOLD`.
    pub(crate) async fn long_press(&mut self, action: &LongPress) -> Part<ActResult> {
        let ready = self.ready_main(Need::pointer(None)).await?;
        let span = action.duration_ms.map_or(HOLD, |duration| duration.duration());
        let target = ready.target().at(ready.receiver).key;
        let armed = self.arm(&ready, Gesture::mouse(target, Expected { types: &["mouseup"], count: 1 })).await?;
        let mut sent = self.send(armed)?;
        let reports = sent.take_reports();
        let held = hold(&mut sent, ready.point, MouseButton::Left, 1, span);
        let (held, report, began) = self.deliver(&ready.world, reports, held).await?;
        let arrival = Arrival { report: report.as_ref(), is_answered: held.is_ok(), presses: 1 };
        let acted = ActResult::guarded(sent, &mut self.looking, &arrival);
        let sealed = self.arrived(report.as_ref(), began)?;
        held.map_err(|error| call_stop(error, Stage::Act))?;
        Ok(ActResult { sealed, ..acted })
    }

    /// Drags the target onto another element: with mouse events, and with the events of HTML drag and drop where
    /// the page uses them. Only those cross from one frame to another.
    pub(crate) async fn drag_to(&mut self, action: &DragTo) -> Part<ActResult> {
        let by = self.ready_by();
        let need = Need { enabled: false, drag: true, ..Need::pointer(action.position) };
        let end_need = Need { enabled: false, within: true, ..Need::pointer(action.to_position) };
        let end = self.resolve(&action.to, by).await?;
        self.ready(&end, end_need, by).await?;
        let start = self.ready_main(need).await?;
        // Bringing the start into view may have moved the end.
        let end_ready = self.ready(&end, Need { hit: false, visible: false, ..end_need }, by).await?;
        let to = end_ready.point;
        let start = self.ready(start.target(), need, by).await?;
        let from = start.point;
        let released = Expected { types: &["mouseup"], count: 1 };
        let gesture =
            Gesture { end: Some(end.key.clone()), ..Gesture::mouse(start.target().at(start.receiver).key, released) };
        let armed = self.arm(&start, gesture).await?;
        let took = action.duration_ms.map_or(DRAG, |duration| duration.duration());
        let session = self.page.session().clone();
        let mut intercepted = self.page.session_events(&["Input.dragIntercepted"], 4);
        let own = start.world.world().session().clone();
        self.ask::<bool>(&end_ready.world, "(cb) => cb.act.followDrag()", &[], Stage::Act).await?;
        let (over, over_at) = self.receiver_of(&end.key.frame.as_str().into(), to).await?;
        let mut sent = self.send(armed)?;
        let reports = sent.take_reports();
        let dragging = &mut sent;
        let gesture = async {
            dragging.intercept_drags(&Place::Tab).await?;
            if own != session {
                // The process where the drag begins may need it too; others refuse.
                let _ = dragging.intercept_drags(&Place::Process(own)).await;
            }
            let mut mouse = dragging.mouse(0);
            try_join_all([mouse.move_to(from), mouse.press(from, MouseButton::Left, 1)]).await?;
            let mut data: Option<Value> = None;
            for point in path(from, to) {
                match &data {
                    Some(data) => dragging.drag(&Place::Tab, DragKind::Over, point, data).await?,
                    None => dragging.mouse(0).drag_to(point, MouseButton::Left).await?,
                }
                if data.is_none()
                    && let Some(Delivery::Event(event)) = intercepted.try_next()
                {
                    let event: Value = event.parse()?;
                    let found = event.get("data").cloned().unwrap_or(Value::Null);
                    dragging.drag(&Place::Tab, DragKind::Enter, point, &found).await?;
                    data = Some(found);
                }
                tokio::time::sleep(took / MOVES).await;
            }
            if let Some(data) = &data {
                let is_elsewhere = over != session;
                let over = Place::Process(over);
                if is_elsewhere {
                    // The browser sends these to the named process, wherever the pointer is.
                    dragging.drag(&over, DragKind::Enter, over_at, data).await?;
                }
                dragging.drag(&over, DragKind::Over, over_at, data).await?;
                dragging.drag(&over, DragKind::Drop, over_at, data).await?;
            }
            dragging.mouse(0).release(to, MouseButton::Left, 1).await?;
            Ok::<_, CallError>(data.is_some())
        };
        let (dragged, report, began) = self.deliver(&start.world, reports, gesture).await?;
        let acted = ActResult::by(sent);
        let is_html_drag = dragged.map_err(|error| call_stop(error, Stage::Act))?;
        let rest = [DROPPED.into()];
        let rested = self.ask::<bool>(&end_ready.world, "(cb, ms) => cb.act.rests(ms)", &rest, Stage::Act).await;
        unless_gone(rested)?;
        if is_html_drag {
            // What the page makes of the drop may be out of sight; a document that is gone was changed by it.
            let took = self.ask::<bool>(&end_ready.world, "(cb) => cb.act.tookDrop()", &[], Stage::Act).await;
            if took.unwrap_or(true) {
                self.saw(Event::Effect);
            }
        }
        match report {
            // The data was dropped before the button is released, so the release is not needed.
            Some(GestureReport { blocked: Some(block), seen, .. })
                if is_html_drag && !matches!(block.event.as_str(), "pointerup" | "mouseup") =>
            {
                Err(self.blocked(&block, !seen.is_empty()))
            }
            _ if is_html_drag => Ok(acted),
            report => Ok(ActResult { sealed: self.arrived(report.as_ref(), began)?, ..acted }),
        }
    }

    /// The session of the process that draws a frame, and a point of the tab as that process sees it.
    pub(crate) async fn receiver_of(&mut self, frame: &FrameId, at: Point) -> Part<(Session, Point)> {
        let gone = || out_of_frame();
        let own = self.page.frame(frame).ok_or_else(gone)?.session;
        if own == *self.page.session() {
            return Ok((own, at));
        }
        let (probe, wanted, until) = (self.probe.clone(), frame.clone(), self.until);
        let placed = self
            .race(Stage::Act, async move { projections(&probe, &wanted, until).await })
            .await?
            .map_err(|error| probe_stop(error, Stage::Act))?
            .ok_or_else(gone)?;
        let is_own = |frame: &FrameId| self.page.frame(frame).is_some_and(|frame| frame.session == own);
        let outermost = placed.iter().take_while(|(frame, _)| is_own(frame)).last();
        let back = outermost.and_then(|(_, there)| there.inverse()).ok_or_else(gone)?;
        Ok((own, back.point(at)))
    }

    /// Clicks at a point, without a target.
    pub(crate) async fn click_point(&mut self, action: &ClickPoint) -> Part<ActResult> {
        let button = action.button.unwrap_or(MouseButton::Left);
        let count = action.count.map_or(1, ClickCount::get);
        let press = AtPoint::Press { button, count, hold: Duration::ZERO };
        self.gesture_at(action.point, action.viewport, press).await
    }

    /// Presses and holds at a point.
    pub(crate) async fn long_press_point(&mut self, action: &LongPressPoint) -> Part<ActResult> {
        let hold = action.duration_ms.map_or(HOLD, Millis::duration);
        let press = AtPoint::Press { button: MouseButton::Left, count: 1, hold };
        self.gesture_at(action.point, action.viewport, press).await
    }

    /// Drags from point to point.
    pub(crate) async fn drag_points(&mut self, action: &DragPoints) -> Part<ActResult> {
        let through = action.via.iter().flatten().chain([&action.to]).copied().collect();
        let took = action.duration_ms.map_or(DRAG, Millis::duration);
        self.gesture_at(action.from, action.viewport, AtPoint::Drag { through, took }).await
    }

    /// Turns the wheel at a point.
    pub(crate) async fn wheel(&mut self, point: Point, x: f64, y: f64) -> Part<ActResult> {
        self.gesture_at(point, None, AtPoint::Wheel { x, y }).await
    }

    /// Refuses to press what is no candidate and whose words say that it needs a consent. A candidate was judged when the
    /// step was bound; an operator's plan is consent.
    async fn judge_words_at(&mut self, world: &ProbeWorld, points: &[Point]) -> Part<()> {
        if self.step.author() == Author::Operator {
            return Ok(());
        }
        for point in points {
            let at = [point.x.into(), point.y.into()];
            let words: String = self.ask(world, "(cb, x, y) => cb.act.wordsAt(x, y)", &at, Stage::Act).await?;
            let class = risk::of_words_at(&words);
            let origin = self.step.origin().to_owned();
            let consent = self.step.policy().consent(class, &origin, self.step.author(), None);
            if class > self.step.risk()
                && let Consent::Ask { grant } = consent
            {
                let (words, class) = (cut(&words, 60), class.as_str());
                let message = format!(
                    "at ({:.0}, {:.0}) lies {words:?}, which counts as {class}, and is no candidate",
                    point.x, point.y
                );
                let mut failure = StepFailure::new(Stage::Act, Cause::ConfirmationDenied, message);
                failure.facts.grant = Some(grant);
                return Err(failure.into());
            }
        }
        Ok(())
    }

    async fn gesture_at(&mut self, from: Point, seen_in: Option<ViewportSize>, how: AtPoint) -> Part<ActResult> {
        let world = self.main_world(Stage::Act).await?;
        let size: (f64, f64) =
            self.ask(&world, "() => [globalThis.innerWidth, globalThis.innerHeight]", &[], Stage::Act).await?;
        let from = rescaled(from, seen_in, size)?;
        let how = match how {
            AtPoint::Drag { through, took } => {
                let through = through.into_iter().map(|point| rescaled(point, seen_in, size)).collect::<Part<_>>()?;
                AtPoint::Drag { through, took }
            }
            how => how,
        };
        match &how {
            AtPoint::Press { .. } => self.judge_words_at(&world, &[from]).await?,
            AtPoint::Drag { through, .. } => {
                let end = through.last().copied().unwrap_or(from);
                self.judge_words_at(&world, &[from, end]).await?;
            }
            AtPoint::Wheel { .. } => {}
        }
        let start = [from.x.into(), from.y.into()];
        let is_frame: bool = self.ask(&world, "(cb, x, y) => cb.act.isFrameAt(x, y)", &start, Stage::Act).await?;
        let in_frames = is_frame || matches!(how, AtPoint::Drag { .. });
        let aim = Aim { frame: self.page.target_id().as_str().to_owned(), at: from, in_frames };
        let armed = self.arm_anywhere(Gesture::at(aim)).await?;
        let mut sent = self.send(armed)?;
        let is_wheel = matches!(how, AtPoint::Wheel { .. });
        let gesture = async {
            match &how {
                AtPoint::Press { button, count, hold: span } => hold(&mut sent, from, *button, *count, *span).await,
                AtPoint::Drag { through, took } => drag(&mut sent, from, through, *took).await,
                AtPoint::Wheel { x, y } => {
                    let mouse = sent.mouse(0);
                    try_join_all([mouse.move_to(from), mouse.wheel(from, *x, *y)]).await.map(drop)
                }
            }
        };
        let made = self.race(Stage::Act, gesture).await?;
        let told = self.ask_documents(None).await?;
        // A frame that came with the pointer takes nothing: it was meant for the document around it.
        let is_lost = !is_wheel
            && !is_frame
            && told.len() == self.seen.watched.len()
            && told.iter().all(|report| report.seen.is_empty());
        let stopped = told.into_iter().find_map(|report| report.blocked);
        // It counts as sent even if it was stopped: the pointer is there now, and what it brought would be pressed the
        // next time.
        let acted = ActResult::by(sent);
        made.map_err(|error| call_stop(error, Stage::Act))?;
        match stopped {
            Some(block) if block.event == "pointerdown" => Err(self.blocked(&block, false)),
            None if is_lost => {
                let message = "another document came to the point with the pointer; nothing was hit";
                Err(self.act_failure(Cause::Covered, message).into())
            }
            _ => Ok(acted),
        }
    }
}

fn out_of_frame() -> Stop {
    StepFailure::new(Stage::Act, Cause::TargetStale, "the frame where the drag ends is gone").into()
}

/// A point of a picture in the viewport, kept within it.
fn rescaled(point: Point, seen_in: Option<ViewportSize>, size: (f64, f64)) -> Part<Point> {
    if !point.x.is_finite() || !point.y.is_finite() || point.x < 0.0 || point.y < 0.0 {
        return failed(Stage::Act, Cause::InvalidArgument, "the point lies outside the viewport");
    }
    let (x, y) = seen_in.map_or((point.x, point.y), |seen| {
        (point.x * size.0 / f64::from(seen.width.max(1)), point.y * size.1 / f64::from(seen.height.max(1)))
    });
    Ok(Point { x: x.clamp(0.0, (size.0 - 1.0).max(0.0)), y: y.clamp(0.0, (size.1 - 1.0).max(0.0)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::devices::fake;

    const AT: Point = Point { x: 5.0, y: 5.0 };

    #[tokio::test]
    async fn a_button_that_is_held_when_a_step_is_cancelled_is_released() {
        let (mut sent, log) = fake::sent();
        hold(&mut sent, AT, MouseButton::Left, 1, Duration::ZERO).await.unwrap();
        assert_eq!(fake::drain(&log), ["mouseMoved", "mousePressed", "mouseReleased"]);
        let cancelled = tokio::time::timeout(Duration::ZERO, hold(&mut sent, AT, MouseButton::Left, 1, HOLD)).await;
        assert!(cancelled.is_err());
        drop(sent);
        assert_eq!(fake::drain(&log), ["mouseMoved", "mousePressed", "mouseReleased", "end"]);
    }

    #[tokio::test]
    async fn a_drag_moves_in_steps_and_is_released_when_cancelled() {
        let to = Point { x: 105.0, y: 5.0 };
        assert_eq!(path(AT, to).last(), Some(to));
        let (mut sent, log) = fake::sent();
        drag(&mut sent, AT, &[to], Duration::ZERO).await.unwrap();
        assert_eq!(fake::drain(&log).iter().filter(|kind| *kind == "mouseMoved").count(), 11);
        let cancelled = tokio::time::timeout(Duration::ZERO, drag(&mut sent, AT, &[to], DRAG)).await;
        assert!(cancelled.is_err());
        drop(sent);
        assert_eq!(fake::drain(&log), ["mouseMoved", "mousePressed", "mouseMoved", "mouseReleased", "end"]);
    }

    #[test]
    fn points_are_rescaled_and_clipped() {
        let seen = Some(ViewportSize { width: 640, height: 360 });
        let size = (1280.0, 720.0);
        assert_eq!(rescaled(Point { x: 320.0, y: 180.0 }, seen, size).unwrap(), Point { x: 640.0, y: 360.0 });
        assert_eq!(rescaled(Point { x: 5_000.0, y: 10.0 }, None, size).unwrap(), Point { x: 1279.0, y: 10.0 });
        assert!(rescaled(Point { x: f64::NAN, y: 0.0 }, None, size).is_err());
    }
}
