//! Keys and chords, and the focus.

use cuebook_cdp::FrameId;
use cuebook_grammar::action::Press;
use cuebook_grammar::outcome::{Cause, Stage};
use futures_util::future::try_join_all;
use serde_json::json;

use crate::hit_target::Gesture;
use crate::input::keyboard::Keyboard;
use crate::input::layout;
use crate::run::Run;
use crate::script::{BlockReason, Focused, GestureKind, GestureReport, Need};
use crate::stop::{Part, Stop, call_stop, failed};

impl Run<'_> {
    /// Presses a key or a chord.
    pub(crate) async fn press(&mut self, action: &Press) -> Part<()> {
        let Some(chord) = layout::chord(&action.keys) else {
            let keys: String = action.keys.chars().take(60).collect();
            let message = format!("expected keys as the DOM names them, such as `Enter` or `Control+K`, saw {keys:?}");
            return failed(Stage::Act, Cause::InvalidArgument, message);
        };
        let (world, session, armed) = if action.target_ref.is_some() {
            let (main, ready) = self.ready_main(Need::default()).await?;
            let armed = self.arm(Gesture::keys(Some(main.key.clone()))).await?;
            self.give_focus(&ready.world, main.key.node, "start").await?;
            let frame = self.page.frame(&FrameId::from(main.key.frame.as_str()));
            (Some(ready.world), frame.map_or_else(|| self.page.session().clone(), |frame| frame.session), armed)
        } else {
            let armed = self.arm(Gesture::anywhere(GestureKind::Keys)).await?;
            (None, self.page.session().clone(), armed)
        };
        let sending = self.send(armed)?;
        let calls = Keyboard { sent: &sending, session: &session }.chord(&chord);
        let sent = self.race(Stage::Act, try_join_all(calls)).await?.map_err(|error| call_stop(error, Stage::Act));
        let report = match &world {
            Some(world) => self
                .ask::<Option<GestureReport>>(world, "(cb) => cb.act.gesture(0)", &[], Stage::Act)
                .await
                .ok()
                .flatten(),
            None => None,
        };
        sent?;
        match report.and_then(|report| report.blocked) {
            // A key that moves the focus is let go elsewhere, which is nobody's fault.
            Some(block) if block.event == "keydown" || block.reason == BlockReason::Changed => {
                Err(self.blocked(&block, false))
            }
            _ => Ok(()),
        }
    }

    /// Gives the target the focus. What takes none leaves the focus where it is, without an effect.
    pub(crate) async fn focus(&mut self) -> Part<()> {
        let (main, ready) = self.ready_main(Need::default()).await?;
        self.watch().await?;
        match self.give_focus(&ready.world, main.key.node, "keep").await {
            Err(Stop::Failed(failure)) if failure.cause == Cause::NotEditable => Ok(()),
            given => given,
        }
    }

    async fn give_focus(&mut self, world: &cuebook_probe::ProbeWorld, node: u64, caret: &str) -> Part<()> {
        self.about_to_send()?;
        let args = [node.into(), json!(caret)];
        let focused: Option<Focused> =
            self.ask(world, "(cb, id, caret) => cb.act.focus(id, caret)", &args, Stage::Act).await?;
        match focused {
            Some(focused) if focused.focused => Ok(()),
            Some(focused) => {
                let active: String = focused.active.chars().take(200).collect();
                let message = format!("expected the target to take the focus, saw it on {active}");
                Err(self.act_failure(Cause::NotEditable, message, None))
            }
            None => Err(self.act_failure(
                Cause::TargetStale,
                "expected the target in the document, saw it removed".to_owned(),
                None,
            )),
        }
    }
}
