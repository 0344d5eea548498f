//! The pointer beyond clicks: hovering, holding, dragging, and plain points.

use std::time::Duration;

use cuebook_cdp::{Delivery, FrameId, Session};
use cuebook_grammar::action::{DragTo, Hover, LongPress, MouseButton};
use cuebook_grammar::geometry::{Point, ViewportSize};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use futures_util::future::try_join_all;
use serde_json::Value;

use crate::hit_target::{Began, Gesture};
use crate::projection::projections;
use crate::run::Run;
use crate::script::{Expected, GestureKind, GestureReport, Need};
use crate::sent::DragKind;
use crate::stop::{Part, Stop, call_stop, failed, probe_stop};

const HOLD: Duration = Duration::from_millis(600);
const DRAG: Duration = Duration::from_millis(300);
/// Moves of a drag.
const MOVES: u32 = 10;

impl Run<'_> {
    /// Moves the pointer over the target.
    pub(crate) async fn hover(&mut self, action: &Hover) -> Part<()> {
        let need = Need { enabled: false, within: true, ..Need::pointer(action.position) };
        let (main, ready) = self.ready_main(need).await?;
        let target = NodeKey { node: ready.receiver, ..main.key };
        let armed = self.arm(Gesture::mouse(target, Expected { types: &[], count: 1 })).await?;
        let mut sent = self.send(armed)?;
        let call = sent.mouse(0).move_to(ready.point);
        self.race(Stage::Act, call).await?.map(drop).map_err(|error| call_stop(error, Stage::Act))
    }

    /// Presses and holds.
    pub(crate) async fn long_press(&mut self, action: &LongPress) -> Part<()> {
        let (main, ready) = self.ready_main(Need::pointer(None)).await?;
        let hold = action.duration_ms.map_or(HOLD, |duration| duration.duration());
        let target = NodeKey { node: ready.receiver, ..main.key };
        let expects = Expected { types: &["mouseup"], count: 1 };
        let armed = self.arm(Gesture::mouse(target, expects)).await?;
        let mut sending = self.send(armed)?;
        let point = ready.point;
        let mut mouse = sending.mouse(0);
        let world = ready.world.clone();
        let until = self.until;
        let gesture = async {
            try_join_all([mouse.move_to(point), mouse.press(point, MouseButton::Left, 1)]).await?;
            let (began, ()) = tokio::join!(Began::now(&world, until), tokio::time::sleep(hold));
            mouse.release(point, MouseButton::Left, 1).await.map(|_| began)
        };
        let (sent, report) = self.deliver(&ready.world, gesture).await?;
        drop(sending);
        self.arrived(report.as_ref(), sent.as_ref().map_or(Began::Unknown, |began| *began))?;
        sent.map(drop).map_err(|error| call_stop(error, Stage::Act))
    }

    /// Drags the target onto another element: with mouse events, and with the events of HTML drag and drop where
    /// the page uses them. Only those cross from one frame to another.
    pub(crate) async fn drag_to(&mut self, action: &DragTo) -> Part<()> {
        let by = self.ready_by();
        let need = Need { enabled: false, ..Need::pointer(action.position) };
        let end_need = Need { enabled: false, within: true, ..Need::pointer(action.to_position) };
        let end = self.resolve(&action.to, by).await?;
        self.ready(&end.key, end_need, by).await?;
        let (main, start) = self.ready_main(need).await?;
        // Bringing the start into view may have moved the end.
        let to = self.ready(&end.key, Need { hit: false, visible: false, ..end_need }, by).await?.point;
        let from = self.ready(&main.key, need, by).await?.point;
        let gesture = Gesture {
            kind: GestureKind::Mouse,
            target: Some(NodeKey { node: start.receiver, ..main.key }),
            end: Some(end.key.clone()),
            expects: Some(Expected { types: &["mouseup"], count: 1 }),
        };
        let armed = self.arm(gesture).await?;
        let took = action.duration_ms.map_or(DRAG, |duration| duration.duration());
        let session = self.page.session().clone();
        let mut intercepted = self.page.session_events(&["Input.dragIntercepted"], 4);
        let own = start.world.world().session().clone();
        let (over, over_at) = self.receiver_of(&end.key.frame.as_str().into(), to).await?;
        let mut sending = self.send(armed)?;
        let (world, until) = (start.world.clone(), self.until);
        let sent = &mut sending;
        let gesture = async {
            sent.intercept_drags(&session).await?;
            if own != session {
                // The process that the drag begins in may know it by itself; one that does not refuses.
                let _ = sent.intercept_drags(&own).await;
            }
            let mut mouse = sent.mouse(0);
            try_join_all([mouse.move_to(from), mouse.press(from, MouseButton::Left, 1)]).await?;
            let began = Began::now(&world, until).await;
            let pause = took / MOVES;
            let mut data: Option<Value> = None;
            for step in 1..=MOVES {
                let share = f64::from(step) / f64::from(MOVES);
                let point = Point { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
                match &data {
                    Some(data) => sent.drag(&session, DragKind::Over, point, data).await?,
                    None => sent.mouse(0).drag_to(point, MouseButton::Left).await?,
                };
                if data.is_none()
                    && let Some(Delivery::Event(event)) = intercepted.try_next()
                {
                    let told: Value = event.parse()?;
                    let found = told.get("data").cloned().unwrap_or(Value::Null);
                    sent.drag(&session, DragKind::Enter, point, &found).await?;
                    data = Some(found);
                }
                tokio::time::sleep(pause).await;
            }
            if let Some(data) = &data {
                if over != session {
                    // The browser hands these to the process that it is told, wherever the pointer is.
                    sent.drag(&over, DragKind::Enter, over_at, data).await?;
                }
                sent.drag(&over, DragKind::Over, over_at, data).await?;
                sent.drag(&over, DragKind::Drop, over_at, data).await?;
            }
            sent.mouse(0).release(to, MouseButton::Left, 1).await?;
            Ok::<_, cuebook_cdp::CallError>((data.is_some(), began))
        };
        let (sent, report) = self.deliver(&start.world, gesture).await?;
        drop(sending);
        let (is_html_drag, began) = sent.map_err(|error| call_stop(error, Stage::Act))?;
        match report {
            // The data was dropped before the button is let go, which is then for nobody.
            Some(GestureReport { blocked: Some(block), .. })
                if is_html_drag && !matches!(block.event.as_str(), "pointerup" | "mouseup") =>
            {
                Err(self.blocked(&block, began == Began::Seen))
            }
            _ if is_html_drag => Ok(()),
            report => self.arrived(report.as_ref(), began),
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

    /// Clicks at a point, whatever is there.
    pub(crate) async fn click_point(&mut self, point: Point, seen_in: Option<ViewportSize>) -> Part<()> {
        self.gesture_at(point, point, seen_in, Duration::ZERO).await
    }

    /// Presses and holds at a point.
    pub(crate) async fn long_press_point(
        &mut self,
        point: Point,
        seen_in: Option<ViewportSize>,
        hold: Option<Duration>,
    ) -> Part<()> {
        self.gesture_at(point, point, seen_in, hold.unwrap_or(HOLD)).await
    }

    /// Drags from point to point.
    pub(crate) async fn drag_points(
        &mut self,
        from: Point,
        to: Point,
        seen_in: Option<ViewportSize>,
        took: Option<Duration>,
    ) -> Part<()> {
        self.gesture_at(from, to, seen_in, took.unwrap_or(DRAG)).await
    }

    async fn gesture_at(&mut self, from: Point, to: Point, seen_in: Option<ViewportSize>, took: Duration) -> Part<()> {
        let (probe, frame, until) = (self.probe.clone(), self.page.main_frame().id, self.until);
        let world = self
            .race(Stage::Act, async move { probe.world(&frame, until).await })
            .await?
            .map_err(|error| crate::stop::probe_stop(error, Stage::Act))?;
        let size: (f64, f64) =
            self.ask(&world, "() => [globalThis.innerWidth, globalThis.innerHeight]", &[], Stage::Act).await?;
        let (from, to) = (rescaled(from, seen_in, size)?, rescaled(to, seen_in, size)?);
        let armed = self.arm(Gesture::anywhere(GestureKind::Mouse)).await?;
        let mut sending = self.send(armed)?;
        let mut mouse = sending.mouse(0);
        let gesture = async {
            try_join_all([mouse.move_to(from), mouse.press(from, MouseButton::Left, 1)]).await?;
            if from != to {
                for step in 1..=MOVES {
                    let share = f64::from(step) / f64::from(MOVES);
                    let point = Point { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
                    mouse.drag_to(point, MouseButton::Left).await?;
                    tokio::time::sleep(took / MOVES).await;
                }
            } else if !took.is_zero() {
                tokio::time::sleep(took).await;
            }
            mouse.release(to, MouseButton::Left, 1).await
        };
        self.race(Stage::Act, gesture).await?.map(drop).map_err(|error| call_stop(error, Stage::Act))
    }
}

fn out_of_frame() -> Stop {
    StepFailure::new(Stage::Act, Cause::TargetStale, "expected the frame where the drag ends, saw it gone").into()
}

/// A point of a picture in the viewport, kept within it.
fn rescaled(point: Point, seen_in: Option<ViewportSize>, size: (f64, f64)) -> Part<Point> {
    if !point.x.is_finite() || !point.y.is_finite() || point.x < 0.0 || point.y < 0.0 {
        return failed(Stage::Act, Cause::InvalidArgument, "expected a point in the viewport, saw one outside it");
    }
    let (x, y) = seen_in.map_or((point.x, point.y), |seen| {
        (point.x * size.0 / f64::from(seen.width.max(1)), point.y * size.1 / f64::from(seen.height.max(1)))
    });
    Ok(Point { x: x.clamp(0.0, (size.0 - 1.0).max(0.0)), y: y.clamp(0.0, (size.1 - 1.0).max(0.0)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_rescaled_and_clipped() {
        let seen = Some(ViewportSize { width: 640, height: 360 });
        let size = (1280.0, 720.0);
        assert_eq!(rescaled(Point { x: 320.0, y: 180.0 }, seen, size).unwrap(), Point { x: 640.0, y: 360.0 });
        assert_eq!(rescaled(Point { x: 5_000.0, y: 10.0 }, None, size).unwrap(), Point { x: 1279.0, y: 10.0 });
        assert!(rescaled(Point { x: f64::NAN, y: 0.0 }, None, size).is_err());
    }
}
