//! Keys and chords, and the focus.

use cuebook_cdp::FrameId;
use cuebook_grammar::action::Press;
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::plan::Author;
use cuebook_grammar::render::cut;
use cuebook_grammar::risk::follows_focus;
use futures_util::future::try_join_all;
use serde_json::json;

use crate::actionability::Ready;
use crate::actions::ActResult;
use crate::hit_target::Gesture;
use crate::input::devices::Place;
use crate::input::keyboard::Keyboard;
use crate::input::layout;
use crate::run::StepRun;
use crate::script::{BlockReason, Focused, GestureKind, GestureReport, Need};
use crate::stop::{Part, Stop, call_stop, failed};

impl StepRun<'_> {
    /// Presses a key or a chord.
    pub(crate) async fn press(&mut self, action: &Press) -> Part<ActResult> {
        let Some(chord) = layout::chord(&action.keys) else {
            let keys = cut(&action.keys, 60);
            let message = format!("{keys:?} are no keys: name them as the DOM does, such as `Enter` or `Control+K`");
            return failed(Stage::Act, Cause::InvalidArgument, message);
        };
        // What a model's keys may activate was named when the step was bound; what has the focus now was not judged.
        let is_inert = self.step.author() != Author::Operator && follows_focus(self.step.action());
        let (world, place, armed) = if action.target_ref.is_some() {
            let ready = self.ready_main(Need::default()).await?;
            let key = &ready.target().key;
            let armed = self.arm(&ready, Gesture::keys(key.clone())).await?;
            self.give_focus(&ready, "start").await?;
            (Some(ready.world.clone()), self.place_of(key), armed)
        } else {
            let gesture = if is_inert { Gesture::inert_keys() } else { Gesture::anywhere(GestureKind::Keys) };
            (None, Place::Tab, self.arm_anywhere(gesture).await?)
        };
        let sent = self.send(armed)?;
        let calls = Keyboard { devices: &sent, place: &place }.chord(&chord);
        let pressed = self.race(Stage::Act, try_join_all(calls)).await?.map_err(|error| call_stop(error, Stage::Act));
        let report = match &world {
            Some(world) => self
                .ask::<Option<GestureReport>>(world, "(cb) => cb.act.gesture(0)", &[], Stage::Act)
                .await
                .ok()
                .flatten(),
            None => None,
        };
        let blocked = match report {
            None if is_inert => self.ask_documents(None).await?.into_iter().find_map(|report| report.blocked),
            report => report.and_then(|report| report.blocked),
        };
        let acted = ActResult::by(sent);
        pressed?;
        match blocked {
            // A key that moves the focus is released elsewhere, which is no failure.
            Some(block) if block.event == "keydown" || block.reason == BlockReason::Changed => {
                Err(self.blocked(&block, false))
            }
            _ => Ok(acted),
        }
    }

    /// The process that draws an element.
    pub(crate) fn place_of(&self, key: &NodeKey) -> Place {
        let frame = self.page.frame(&FrameId::from(key.frame.as_str()));
        frame.map_or(Place::Tab, |frame| Place::Process(frame.session))
    }

    /// Gives the target the focus. A target that cannot have it leaves the focus where it is, without an effect.
    pub(crate) async fn focus(&mut self) -> Part<ActResult> {
        let ready = self.ready_main(Need::default()).await?;
        let sent = self.script(&ready).await?;
        match self.give_focus(&ready, "keep").await {
            Err(Stop::Failed(failure)) if failure.cause == Cause::NotEditable => {}
            given => given?,
        }
        Ok(ActResult::by(sent))
    }

    async fn give_focus(&mut self, ready: &Ready, caret: &str) -> Part<()> {
        self.about_to_send()?;
        let args = [ready.target().key.node.into(), json!(caret)];
        let focused: Option<Focused> =
            self.ask(&ready.world, "(cb, id, caret) => cb.act.focus(id, caret)", &args, Stage::Act).await?;
        match focused {
            Some(focused) if focused.focused => Ok(()),
            Some(focused) => {
                let active = cut(&focused.active, 200);
                let message = format!("the target did not get the focus, which is on {active}");
                Err(self.act_failure(Cause::NotEditable, message).into())
            }
            None => Err(self.removed()),
        }
    }
}
