//! Clicks: a guarded burst of mouse events, sent again if the guard stopped all of it.

use std::time::{Duration, Instant};

use cuebook_cdp::CallError;
use cuebook_grammar::action::{Click, MouseButton};
use cuebook_grammar::geometry::Point;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use futures_util::future::try_join_all;

use crate::actionability::Ready;
use crate::actions::ActResult;
use crate::hit_target::{Arrival, Gesture};
use crate::input::devices::SentGesture;
use crate::input::mouse::modifier_bits;
use crate::run::StepRun;
use crate::script::{Expected, Need};
use crate::stop::{Part, Stop, call_stop};

/// How often a click is sent that the guard stops as a whole, because the target moved.
const ATTEMPTS: usize = 3;
/// Attempts for a target that the page renders again, all within the time that a target has to become ready.
const RENDERED: usize = 200;
/// Time between the clicks of a count: some frames, and less than a person takes.
const BETWEEN: Duration = Duration::from_millis(50);

/// The result of sending a click.
enum Landed {
    /// It reached the target.
    There(ActResult),
    /// All of it was stopped before any element saw any of it.
    Nowhere(Box<StepFailure>),
    /// All of it was stopped, as for `Nowhere`, because the page put another control in the target's place.
    Swapped(Box<StepFailure>),
    /// The page drew the target anew as the press took the focus from a field, and did nothing else: the rest was stopped.
    Redrawn(Box<StepFailure>),
}

/// How a click is made.
#[derive(Clone, Debug)]
pub(crate) struct How {
    button: MouseButton,
    count: u8,
    /// The bits of keys held.
    modifiers: u8,
    /// The events that make it one.
    expects: Expected,
}

impl How {
    fn new(button: MouseButton, count: u8, modifiers: u8, tag: &str) -> Self {
        Self { button, count, modifiers, expects: expected(button, tag, count) }
    }
}

/// Sends a click as one burst: when the page reacts to the move, the press is already sent, and guarded. Of several, each
/// finds what the page drew after the one before.
async fn burst(sent: &mut SentGesture, point: Point, how: &How) -> Result<(), CallError> {
    let mut calls = vec![sent.mouse(how.modifiers).move_to(point)];
    for nth in 1..=how.count {
        if nth > 1 {
            tokio::time::sleep(BETWEEN).await;
        }
        let mut mouse = sent.mouse(how.modifiers);
        calls.push(mouse.press(point, how.button, nth));
        calls.push(mouse.release(point, how.button, nth));
        try_join_all(calls.drain(..)).await?;
    }
    Ok(())
}

impl StepRun<'_> {
    /// Clicks the step's target. If the page changes when the pointer arrives, the guard stops the whole gesture:
    /// nothing was hit, so the click is tried again on the changed page. It is not if the page put another control under
    /// the pointer.
    pub(crate) async fn click(&mut self, action: &Click) -> Part<ActResult> {
        let need = Need { stand_in: true, ..Need::pointer(action.position) };
        let button = action.button.unwrap_or_default();
        let count = action.count.map_or(1, cuebook_grammar::wire::ClickCount::get);
        let modifiers = modifier_bits(action.modifiers.as_deref().unwrap_or_default());
        let mut missed: Option<Box<StepFailure>> = None;
        let (mut moved, mut rendered, mut redrawn) = (0, 0, 0);
        let rendered_by = self.ready_by();
        loop {
            let failure = match self.ready_main(need).await {
                // Nothing was hit so far: a target that is rendered again just now may still be looked up.
                Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale && self.is_declared() => failure,
                // The reason why the gesture was stopped is more useful than that the target did not reappear.
                Err(Stop::Failed(failure)) => return Err(Stop::Failed(missed.unwrap_or(failure))),
                ready => {
                    let ready = ready?;
                    if action.dry_run == Some(true) {
                        return Ok(ActResult::nothing(ready.target()));
                    }
                    let how = How::new(button, count, modifiers, &ready.target().facts.tag);
                    match self.try_click(&ready, &how).await? {
                        Landed::There(acted) => return Ok(acted),
                        Landed::Nowhere(failure) => failure,
                        Landed::Swapped(failure) => return Err(Stop::Failed(failure)),
                        Landed::Redrawn(failure) if redrawn > 0 => return Err(Stop::Failed(failure)),
                        Landed::Redrawn(failure) => {
                            redrawn += 1;
                            self.holds_all(None).await?;
                            self.main = None;
                            missed = Some(failure);
                            continue;
                        }
                    }
                }
            };
            let is_stale = failure.cause == Cause::TargetStale;
            let (tries, most) = if is_stale { (&mut rendered, RENDERED) } else { (&mut moved, ATTEMPTS) };
            *tries += 1;
            let now = Instant::now();
            let is_over = now >= self.until || is_stale && now >= rendered_by;
            let is_last = *tries >= most || (is_stale && !self.is_declared() && *tries >= ATTEMPTS) || is_over;
            if is_last || self.is_displaced(&failure) {
                return Err(Stop::Failed(failure));
            }
            // Resolve the target again, too. By its position alone it could be another element.
            if is_stale || !self.is_counted() {
                self.main = None;
            }
            missed = Some(failure);
        }
    }

    /// Clicks an element that is ready for it, once.
    pub(crate) async fn click_once(&mut self, ready: &Ready) -> Part<ActResult> {
        self.click_as(ready, &How::new(MouseButton::Left, 1, 0, &ready.target().facts.tag)).await
    }

    /// Like `click_once`; the failure of a press that the page answered by drawing the target anew, and nothing else, is left
    /// to the caller.
    pub(crate) async fn click_redrawn(&mut self, ready: &Ready) -> Part<Result<ActResult, Box<StepFailure>>> {
        match self.try_click(ready, &How::new(MouseButton::Left, 1, 0, &ready.target().facts.tag)).await? {
            Landed::There(acted) => Ok(Ok(acted)),
            Landed::Redrawn(failure) => Ok(Err(failure)),
            Landed::Nowhere(failure) | Landed::Swapped(failure) => Err(Stop::Failed(failure)),
        }
    }

    /// Like `click_once`, for elements that act on the press.
    pub(crate) async fn press_once(&mut self, ready: &Ready) -> Part<ActResult> {
        let expects = Expected { types: &["mousedown"], count: 1 };
        self.click_as(ready, &How { button: MouseButton::Left, count: 1, modifiers: 0, expects }).await
    }

    async fn click_as(&mut self, ready: &Ready, how: &How) -> Part<ActResult> {
        match self.try_click(ready, how).await? {
            Landed::There(acted) => Ok(acted),
            Landed::Nowhere(failure) | Landed::Swapped(failure) | Landed::Redrawn(failure) => {
                Err(Stop::Failed(failure))
            }
        }
    }

    async fn try_click(&mut self, ready: &Ready, how: &How) -> Part<Landed> {
        let target = ready.target().at(ready.receiver).key;
        let armed = match self.arm(ready, Gesture::mouse(target, how.expects.clone())).await {
            Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale => {
                return Ok(Landed::Nowhere(failure));
            }
            armed => armed?,
        };
        let mut sent = self.send(armed)?;
        let reports = sent.take_reports();
        let clicks = burst(&mut sent, ready.point, how);
        let (answered, report, began) = self.deliver(&ready.world, reports, clicks).await?;
        let arrival = Arrival { report: report.as_ref(), is_answered: answered.is_ok(), presses: how.count };
        let acted = ActResult::guarded(sent, &mut self.looking, &arrival);
        let is_untouched = answered.is_ok() && report.as_ref().is_some_and(|report| report.seen.is_empty());
        let is_swapped =
            report.as_ref().and_then(|report| report.blocked.as_ref()).is_some_and(|block| block.is_swap());
        // By its position alone, what stands there now could be another element.
        let may_repeat = how.count == 1
            && !self.is_counted()
            && report.as_ref().and_then(|report| report.blocked.as_ref()).is_some_and(|block| block.may_repeat);
        let sealed = match self.arrived(report.as_ref(), began) {
            Err(Stop::Failed(failure)) if is_untouched && is_swapped => return Ok(Landed::Swapped(failure)),
            Err(Stop::Failed(failure)) if is_untouched => return Ok(Landed::Nowhere(failure)),
            Err(Stop::Failed(failure)) if may_repeat => return Ok(Landed::Redrawn(failure)),
            sealed => sealed?,
        };
        answered.map_err(|error| call_stop(error, Stage::Act))?;
        Ok(Landed::There(ActResult { sealed, ..acted }))
    }
}

/// The events that make a click one.
fn expected(button: MouseButton, tag: &str, count: u8) -> Expected {
    let types: &[&str] = match (button, tag) {
        // A native list opens on the press and consumes the rest.
        (MouseButton::Left, "select" | "option") => &["mousedown"],
        (MouseButton::Left, _) => &["click"],
        (MouseButton::Middle, _) => &["auxclick"],
        (MouseButton::Right, _) => &["contextmenu", "auxclick"],
    };
    Expected { types, count: u32::from(count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::devices::fake;

    #[tokio::test]
    async fn a_double_click_moves_once_and_holds_nothing_afterwards() {
        let (mut sent, log) = fake::sent();
        let how = How::new(MouseButton::Left, 2, 0, "button");
        burst(&mut sent, Point { x: 1.0, y: 2.0 }, &how).await.unwrap();
        let press = ["mousePressed", "mouseReleased"];
        assert_eq!(fake::drain(&log), [&["mouseMoved"], &press[..], &press[..]].concat());
        drop(sent);
        assert_eq!(fake::drain(&log), ["end"]);
    }
}
