//! Clicks.

use std::time::Instant;

use cuebook_grammar::action::{Click, MouseButton};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use futures_util::future::try_join_all;

use crate::actionability::Ready;
use crate::hit_target::{Began, Gesture};
use crate::input::mouse::modifier_bits;
use crate::run::Run;
use crate::script::{Expected, Need};
use crate::stop::{Part, Stop, call_stop};

/// How often a click is sent whose gesture the guard stops as a whole, because the target moved.
const ATTEMPTS: usize = 3;
/// The same, for a target that the page puts in anew, as long as a target may take to become ready.
const RENDERED: usize = 200;

/// Where a click went.
enum Landed {
    /// To the target.
    There,
    /// To nobody: all of it was stopped before the target or anything else saw any of it.
    Nowhere(Box<StepFailure>),
    /// To nobody, because the page put something else there that takes clicks.
    Swapped(Box<StepFailure>),
}

impl Run<'_> {
    /// Clicks the step's target. A page that changes when the pointer comes has made the guard stop the whole
    /// gesture: nothing was hit, so it is tried again on the page as it is then. Where the page put something
    /// else under the pointer that takes clicks, it is not.
    pub(crate) async fn click(&mut self, action: &Click) -> Part<()> {
        let need = Need { stand_in: true, ..Need::pointer(action.position) };
        let button = action.button.unwrap_or_default();
        let count = action.count.map_or(1, cuebook_grammar::wire::ClickCount::get);
        let modifiers = modifier_bits(action.modifiers.as_deref().unwrap_or_default());
        let mut missed: Option<Box<StepFailure>> = None;
        let (mut moved, mut rendered) = (0, 0);
        let rendered_by = self.ready_by();
        loop {
            let (main, ready) = match self.ready_main(need).await {
                // Why the gesture was stopped says more than that the target did not come back.
                Err(Stop::Failed(failure)) => return Err(Stop::Failed(missed.unwrap_or(failure))),
                ready => ready?,
            };
            if action.dry_run == Some(true) {
                return Ok(());
            }
            let expects = expected(button, &main.facts.tag, count);
            let failure = match self.try_click(&main.key, &ready, button, count, modifiers, expects).await? {
                Landed::There => return Ok(()),
                Landed::Nowhere(failure) => failure,
                Landed::Swapped(failure) => return Err(Stop::Failed(failure)),
            };
            let is_stale = failure.cause == Cause::TargetStale;
            let (tries, most) = if is_stale { (&mut rendered, RENDERED) } else { (&mut moved, ATTEMPTS) };
            *tries += 1;
            let now = Instant::now();
            let is_over = now >= self.until || is_stale && now >= rendered_by;
            if *tries >= most || (is_stale && !self.is_declared() && *tries >= ATTEMPTS) || is_over {
                return Err(Stop::Failed(failure));
            }
            // What it is meant to be is looked at again, too.
            self.main = None;
            missed = Some(failure);
        }
    }

    /// Sends a click to an element that is ready for it, and makes sure that it arrived there.
    pub(crate) async fn click_at(
        &mut self,
        key: &NodeKey,
        tag: &str,
        ready: &Ready,
        button: MouseButton,
        count: u8,
        modifiers: u8,
    ) -> Part<()> {
        self.click_expecting(key, ready, button, count, modifiers, expected(button, tag, count)).await
    }

    /// The same, done once these events were seen at the target.
    pub(crate) async fn click_expecting(
        &mut self,
        key: &NodeKey,
        ready: &Ready,
        button: MouseButton,
        count: u8,
        modifiers: u8,
        expects: Expected,
    ) -> Part<()> {
        match self.try_click(key, ready, button, count, modifiers, expects).await? {
            Landed::There => Ok(()),
            Landed::Nowhere(failure) | Landed::Swapped(failure) => Err(Stop::Failed(failure)),
        }
    }

    async fn try_click(
        &mut self,
        key: &NodeKey,
        ready: &Ready,
        button: MouseButton,
        count: u8,
        modifiers: u8,
        expects: Expected,
    ) -> Part<Landed> {
        let target = NodeKey { node: ready.receiver, ..key.clone() };
        let armed = match self.arm(Gesture::mouse(target, expects)).await {
            Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale => {
                return Ok(Landed::Nowhere(failure));
            }
            armed => armed?,
        };
        let mut sending = self.send(armed)?;
        let mut mouse = sending.mouse(modifiers);
        let point = ready.point;
        // One burst: what the page does on the move finds the press already under way, and guarded.
        let mut calls = vec![mouse.move_to(point)];
        for nth in 1..=count {
            calls.push(mouse.press(point, button, nth));
            calls.push(mouse.release(point, button, nth));
        }
        let (sent, report) = self.deliver(&ready.world, try_join_all(calls)).await?;
        drop(sending);
        let is_untouched = sent.is_ok() && report.as_ref().is_some_and(|report| report.seen.is_empty());
        let is_swapped =
            report.as_ref().and_then(|report| report.blocked.as_ref()).is_some_and(|block| block.is_swap());
        match self.arrived(report.as_ref(), Began::Unknown) {
            Err(Stop::Failed(failure)) if is_untouched && is_swapped => return Ok(Landed::Swapped(failure)),
            Err(Stop::Failed(failure)) if is_untouched => return Ok(Landed::Nowhere(failure)),
            judged => judged?,
        }
        sent.map(|_| Landed::There).map_err(|error| call_stop(error, Stage::Act))
    }
}

/// The events that make a click one.
fn expected(button: MouseButton, tag: &str, count: u8) -> Expected {
    let types: &[&str] = match (button, tag) {
        // A native list opens on the press and swallows the rest.
        (MouseButton::Left, "select" | "option") => &["mousedown"],
        (MouseButton::Left, _) => &["click"],
        (MouseButton::Middle, _) => &["auxclick"],
        (MouseButton::Right, _) => &["contextmenu", "auxclick"],
    };
    Expected { types, count: u32::from(count) }
}
