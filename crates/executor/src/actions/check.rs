//! Check boxes, radio buttons and switches.

use cuebook_grammar::action::SetChecked;
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::outcome::{Cause, Stage};
use serde::Deserialize;

use crate::actions::Acted;
use crate::run::Run;
use crate::script::{Field, Need};
use crate::stop::Part;

/// What is on or off.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Seen {
    seen: Toggle,
    /// A radio button of the browser's own: nothing turns it off but another one.
    native: bool,
}

impl Run<'_> {
    /// Brings the target into the wanted state with one click, unless it is in it already.
    pub(crate) async fn set_checked(&mut self, action: &SetChecked, wanted: Toggle) -> Part<Acted> {
        loop {
            let by = self.ready_by();
            let main = self.resolve_main(by).await?;
            let world = self.world_of(&main.key, Stage::Actionability).await?;
            let field: Option<Field> =
                self.ask(&world, "(cb, id) => cb.act.field(id)", &[main.key.node.into()], Stage::Actionability).await?;
            let Some(field) = field else {
                self.main_is_gone()?;
                continue;
            };
            let told: Option<Seen> =
                self.ask(&world, "(cb, id) => cb.act.checkedOf(id)", &[field.id.into()], Stage::Actionability).await?;
            let Some(Seen { seen, native }) = told else {
                let message = format!("expected a check box, radio button or switch, saw {}", main.facts.role);
                return Err(self.act_failure(Cause::InvalidArgument, message, None));
            };
            if seen == wanted {
                return Ok(Acted::nothing(&main));
            }
            if wanted == Toggle::False && native {
                let message = "expected something that can be turned off, saw a radio button".to_owned();
                return Err(self.act_failure(Cause::InvalidArgument, message, None));
            }
            // A stated position is one in the target's own box.
            let node = if action.position.is_some() { main.key.node } else { field.id };
            let part = main.part(|main| main.at(node));
            let need = Need { stand_in: true, ..Need::pointer(action.position) };
            match self.ready(&part, need, by).await {
                Ok(ready) if action.dry_run == Some(true) => return Ok(Acted::nothing(ready.target())),
                Ok(ready) => return self.click_once(&ready).await,
                Err(stop) => self.again_or(stop)?,
            }
        }
    }
}
