//! Check boxes, radio buttons and switches.

use std::time::{Duration, Instant};

use cuebook_grammar::action::SetChecked;
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::outcome::{Cause, Stage};
use cuebook_probe::ProbeWorld;
use serde::Deserialize;

use crate::actions::ActResult;
use crate::run::StepRun;
use crate::script::Need;
use crate::stop::{Part, Stop};

/// How long what is partly on has to show where a click led.
const DECIDES: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(30);

/// The state of a control.
#[derive(Clone, Copy, Debug, Deserialize)]
struct CheckState {
    seen: Toggle,
    /// A native radio button: only another one of its group unchecks it.
    native: bool,
}

impl StepRun<'_> {
    /// Brings the target into the wanted state with one click, unless it is in it already.
    pub(crate) async fn set_checked(&mut self, action: &SetChecked, wanted: Toggle) -> Part<ActResult> {
        let mut is_redrawn = false;
        loop {
            let by = self.ready_by();
            let (main, world, field) = self.main_field(by).await?;
            let Some(CheckState { seen, native }) = self.check_state(&world, field.id).await? else {
                let message = format!("the target is no check box, radio button or switch: {}", main.facts.role);
                return Err(self.act_failure(Cause::InvalidArgument, message).into());
            };
            if seen == wanted {
                return Ok(ActResult::nothing(&main));
            }
            if wanted == Toggle::False && native {
                let message = "a radio button cannot be unchecked; check another one of its group".to_owned();
                return Err(self.act_failure(Cause::InvalidArgument, message).into());
            }
            // A stated position is one in the target's own box.
            let node = if action.position.is_some() { main.key.node } else { field.id };
            let part = main.part(|main| main.at(node));
            let need = Need { stand_in: true, ..Need::pointer(action.position) };
            match self.ready(&part, need, by).await {
                Ok(ready) if action.dry_run == Some(true) => return Ok(ActResult::nothing(ready.target())),
                Ok(ready) => {
                    let acted = match self.click_redrawn(&ready).await? {
                        Err(_) if !is_redrawn => {
                            is_redrawn = true;
                            self.holds_all(None).await?;
                            self.main = None;
                            continue;
                        }
                        acted => acted.map_err(Stop::Failed)?,
                    };
                    // What is partly on may go either way; another click takes it back.
                    if seen != Toggle::Mixed || !self.went_astray(&world, field.id, wanted).await? {
                        return Ok(acted);
                    }
                }
                Err(stop) => self.retry_if_stale(stop)?,
            }
        }
    }

    async fn check_state(&mut self, world: &ProbeWorld, id: u64) -> Part<Option<CheckState>> {
        self.ask(world, "(cb, id) => cb.act.checkedOf(id)", &[id.into()], Stage::Actionability).await
    }

    /// Returns `true` if a click on what was partly on has led to the other state than `wanted`.
    async fn went_astray(&mut self, world: &ProbeWorld, id: u64, wanted: Toggle) -> Part<bool> {
        let by = Instant::now() + DECIDES;
        loop {
            match self.check_state(world, id).await? {
                Some(CheckState { seen: Toggle::Mixed, .. }) if Instant::now() < by => {
                    self.pause(Stage::Act, POLL).await?;
                }
                state => return Ok(state.is_some_and(|state| state.seen != wanted && state.seen != Toggle::Mixed)),
            }
        }
    }
}
