//! Values set as a whole, fields cleared, text selected.

use cuebook_grammar::action::SetValue;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_grammar::seam::boxed::BoxedSecretSource;

use crate::actions::ActResult;
use crate::actions::enter_text::{Entry, not_a_field};
use crate::hit_target::Gesture;
use crate::input::keyboard::Keyboard;
use crate::run::StepRun;
use crate::script::{FieldKind, Need};
use crate::seen::Event;
use crate::stop::Part;

impl StepRun<'_> {
    /// Replaces what is in a field.
    pub(crate) async fn set_value(&mut self, action: &SetValue, secrets: &dyn BoxedSecretSource) -> Part<ActResult> {
        let entry = self.entry(action.credential_ref.is_some()).await?;
        let text = self.text_for(&entry, action.value.as_ref(), action.credential_ref.as_ref(), secrets).await?;
        self.replace(&entry, text.expose()).await
    }

    /// Replaces what is in a field by nothing.
    pub(crate) async fn clear(&mut self) -> Part<ActResult> {
        let entry = self.entry(false).await?;
        self.replace(&entry, "").await
    }

    pub(crate) async fn replace(&mut self, entry: &Entry, text: &str) -> Part<ActResult> {
        match entry.field.kind {
            FieldKind::Whole => return self.set_whole(entry, text).await,
            FieldKind::Select => {
                let choice = serde_json::json!([{ "text": text }]);
                let chosen = self.choose_native(&choice, &[text.to_owned()]).await?;
                return chosen.map_or_else(|| not_a_field(self), Ok);
            }
            FieldKind::Text | FieldKind::Rich => {}
            FieldKind::Other => return not_a_field(self),
        }
        let args = [entry.field.id.into(), text.into()];
        let refusal: Option<String> =
            self.ask(&entry.ready.world, "(cb, id, text) => cb.act.refusal(id, text)", &args, Stage::Act).await?;
        if let Some(takes) = refusal {
            let message = format!("the field does not accept the value, only {takes}; nothing was changed");
            return Err(self.act_failure(Cause::InvalidArgument, message).into());
        }
        if !entry.field.multiline && text.contains(['\n', '\r']) {
            return Err(self.one_line().into());
        }
        if text.is_empty() {
            let keys = Gesture::keys(entry.ready.target().key.clone());
            let (sent, focused) = self.begin_entry(entry, keys, "all").await?;
            let emptied = if focused.empty { Ok(()) } else { self.press_named(entry, &sent, "Delete").await };
            return self.end_entry(entry, sent, emptied).await;
        }
        let (sent, asked) = self.begin_insertion(entry).await?;
        let call = Keyboard { devices: &sent, place: &entry.place }.insert(text);
        let inserted = self.deliver_text(&entry.ready.world, asked, call).await;
        let acted = self.end_insertion(sent, inserted)?;
        self.holds(entry, acted, Some(text.to_owned()), text).await
    }

    /// Selects the text of a field or an element.
    pub(crate) async fn select_text(&mut self) -> Part<ActResult> {
        let ready = self.ready_main(Need { visible: true, ..Need::default() }).await?;
        let sent = self.script(&ready).await?;
        let selected: bool =
            self.ask(&ready.world, "(cb, id) => cb.act.selectText(id)", &[ready.receiver.into()], Stage::Act).await?;
        if selected {
            // A selection is an effect that no mutation shows.
            self.saw(Event::Effect);
            return Ok(ActResult::by(sent));
        }
        Err(self.removed())
    }
}
