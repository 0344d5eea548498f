//! Clicks.

use cuebook_grammar::action::{Click, MouseButton};
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Stage};
use futures_util::future::try_join_all;

use crate::actionability::Ready;
use crate::hit_target::{Gesture, Rest};
use crate::input::mouse::{Mouse, modifier_bits};
use crate::run::Run;
use crate::script::{Expected, Need};
use crate::stop::{Part, call_stop, failed};

impl Run<'_> {
    /// Clicks the step's target.
    pub(crate) async fn click(&mut self, action: &Click) -> Part<()> {
        let need = Need::pointer(action.position);
        let ready = self.ready_main(need).await?;
        if action.dry_run == Some(true) {
            return Ok(());
        }
        let button = action.button.unwrap_or_default();
        let count = action.count.map_or(1, cuebook_grammar::wire::ClickCount::get);
        let modifiers = modifier_bits(action.modifiers.as_deref().unwrap_or_default());
        let Some(main) = self.main.clone() else {
            return failed(Stage::Resolve, Cause::TargetNotFound, "expected a target, saw none");
        };
        self.click_at(&main.key, &main.facts.tag, &ready, button, count, modifiers).await
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
        let types: &[&str] = match (button, tag) {
            // A native list opens on the press and swallows the rest.
            (MouseButton::Left, "select" | "option") => &["mousedown"],
            (MouseButton::Left, _) => &["click"],
            (MouseButton::Middle, _) => &["auxclick"],
            (MouseButton::Right, _) => &["contextmenu", "auxclick"],
        };
        let expects = Expected { types, count: u32::from(count) };
        self.click_expecting(key, ready, button, count, modifiers, expects).await
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
        let target = NodeKey { node: ready.receiver, ..key.clone() };
        self.arm(Some(Gesture::mouse(target, expects))).await?;
        self.about_to_send()?;
        let session = self.page.session().clone();
        let mouse = Mouse { session: &session, modifiers, until: self.until };
        let point = ready.point;
        // One burst: what the page does on the move finds the press already under way, and guarded.
        let mut calls = vec![mouse.move_to(point)];
        for nth in 1..=count {
            calls.push(mouse.press(point, button, nth));
            calls.push(mouse.release(point, button, nth));
        }
        let delivered = self.deliver(&ready.world, try_join_all(calls)).await;
        self.close_guards(Rest::after(&delivered));
        let (sent, report) = delivered?;
        self.judge_delivery(report.as_ref())?;
        sent.map(drop).map_err(|error| call_stop(error, Stage::Act))
    }
}
