//! Keeping what steps entered: recorded when they end, compared before later input and before the end of a run.

use std::collections::HashMap;
use std::time::Instant;

use cuebook_cdp::FrameId;
use cuebook_grammar::action::Action;
use cuebook_grammar::deadline::millis;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::NodeKey;
use cuebook_grammar::ledger::{EnteredValue, Ledger, Loss, Reading, again};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::plan::Author;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::{DigestKey, FactText};
use cuebook_probe::{Probe, ProbeError};
use serde::Deserialize;
use serde_json::json;

use crate::run::StepRun;
use crate::script::KeptNow;
use crate::stop::{Part, Stop};

/// A field whose value is kept, as the script reports it.
#[derive(Debug, Deserialize)]
struct KeptField {
    id: u64,
    called: String,
    value: String,
    sensitive: bool,
    suggests: bool,
}

/// Present values of a ledger's fields, by field. Fields of documents that do not answer are left out.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    values: HashMap<NodeKey, Reading>,
    /// The field that has the focus.
    focused: Option<NodeKey>,
}

impl Readings {
    /// One question for each document. Entries of documents that are gone are dropped.
    pub(crate) async fn take(ledger: &mut Ledger, probe: &Probe, until: Instant) -> Self {
        let page = probe.page().clone();
        let document = |key: &NodeKey| page.frame(&FrameId::from(key.frame.as_str())).map(|frame| frame.document);
        let is_of_tab = |key: &NodeKey| key.page.as_str() == page.target_id().as_str();
        ledger.forget(|key| is_of_tab(key) && document(key).is_none_or(|now| now.as_str() != key.document));
        let mut wanted: HashMap<(String, String), Vec<NodeKey>> = HashMap::new();
        for key in ledger.fields().filter(|key| is_of_tab(key)) {
            wanted.entry((key.frame.clone(), key.document.clone())).or_default().push(key.clone());
        }
        let mut readings = Self::default();
        for keys in wanted.into_values() {
            let Some(first) = keys.first() else { continue };
            let Ok(world) = probe.world_of(first, until).await else { continue };
            let ids: Vec<u64> = keys.iter().map(|key| key.node).collect();
            let asked: Result<Vec<KeptNow>, ProbeError> =
                world.call("(cb, ids) => cb.act.holdings(ids)", &[json!(ids)], until).await;
            for holding in asked.unwrap_or_default() {
                let Some(key) = keys.iter().find(|key| key.node == holding.id) else { continue };
                let digest = probe.digest_key();
                let reading =
                    holding.value.map_or(Reading::Gone, |value| Reading::Holds(fact(value, holding.sensitive, digest)));
                readings.values.insert(key.clone(), reading);
                if holding.focused {
                    readings.focused = Some(key.clone());
                }
            }
        }
        readings
    }

    /// Returns the loss of an entered value, in the words and with the repair of a failure; `None` if all values are
    /// still there.
    pub(crate) fn lost(&self, ledger: &Ledger, replaced: Option<&NodeKey>) -> Option<StepFailure> {
        let loss = ledger.lost(&|key| self.values.get(key).cloned(), replaced)?;
        Some(failure_of(Stage::Precondition, loss))
    }

    /// After `action`, which presses. Tab only leaves a field; one that keeps the focus is put to another use.
    fn pressed(&self, ledger: &mut Ledger, action: &Action) {
        let leaves = matches!(action, Action::Press(press) if matches!(press.keys.as_str(), "Tab" | "Shift+Tab"));
        ledger.pressed(&|key| self.values.get(key).cloned(), &|key| leaves && self.focused.as_ref() != Some(key));
    }
}

fn fact(value: String, is_sensitive: bool, key: &DigestKey) -> FactText {
    let clear = FactText::Clear(value);
    if is_sensitive { clear.redact(key, &[]) } else { clear }
}

fn failure_of(stage: Stage, loss: Loss) -> StepFailure {
    let mut failure = StepFailure::new(stage, Cause::InputLost, loss.in_words());
    failure.facts.expected = loss.held.value.clear().map(str::to_owned);
    failure.facts.seen = loss.holds.clear().map(str::to_owned);
    failure.facts.again = loss.held.again.map(Box::new);
    failure
}

/// Returns `true` if an action may use up values that were entered before it.
const fn presses(action: &Action) -> bool {
    matches!(
        action,
        Action::Click(_)
            | Action::Press(_)
            | Action::Check(_)
            | Action::Uncheck(_)
            | Action::ClickPoint(_)
            | Action::LongPress(_)
            | Action::LongPressPoint(_)
            | Action::DragTo(_)
            | Action::DragPoints(_)
            | Action::Upload(_)
            | Action::Evaluate(_)
    )
}

impl StepRun<'_> {
    /// Before the step's input: what was entered earlier is still there. A step that puts something in the place of a lost
    /// value is let through, and so is a repair, and what changes nothing, such as a hover.
    pub(crate) async fn still_holds(&mut self, field: Option<&NodeKey>) -> Part<()> {
        let changes = self.step.action().kind().meta().effect != EffectClass::ReadOnly;
        if !changes || self.looking.watching().is_some() || self.step.author() == Author::Controller {
            return Ok(());
        }
        self.holds_all(field).await
    }

    /// Fails if something that was entered earlier is gone now.
    pub(crate) async fn holds_all(&mut self, field: Option<&NodeKey>) -> Part<()> {
        let readings = self.readings().await?;
        let replaces = matches!(
            self.step.action(),
            Action::SetValue(_) | Action::Clear(_) | Action::Select(_) | Action::Check(_) | Action::Uncheck(_)
        );
        match readings.lost(self.ledger, field.filter(|_| replaces)) {
            Some(failure) => Err(failure.into()),
            None if !readings.values.is_empty() => self.let_save().await,
            None => Ok(()),
        }
    }

    /// The press took the focus from a field, which dropped its value: nothing was activated. `None` if the value is none
    /// of the ledger.
    pub(crate) fn lost_to_press(&self, lost: KeptNow) -> Option<StepFailure> {
        let field = self.main.as_ref().map(|main| NodeKey { node: lost.id, ..main.key.clone() })?;
        let holds = fact(lost.value?, lost.sensitive, self.probe.digest_key());
        let loss = self.ledger.lost(&|key| (*key == field).then(|| Reading::Holds(holds.clone())), None)?;
        Some(failure_of(Stage::Act, loss))
    }

    /// A link leaves what was entered: a page that saves by itself gets the time for it.
    async fn let_save(&mut self) -> Part<()> {
        let Some(main) = self.main.as_ref().filter(|main| main.facts.role == Role::Link) else { return Ok(()) };
        if !matches!(self.step.action(), Action::Click(_)) {
            return Ok(());
        }
        let key = main.key.clone();
        self.until_saved(&key).await
    }

    async fn until_saved(&mut self, key: &NodeKey) -> Part<()> {
        let world = self.world_of(key, Stage::Precondition).await?;
        let left = self.ready_by().saturating_duration_since(Instant::now());
        let args = [millis(left).into()];
        if self.ask::<bool>(&world, "(cb, ms) => cb.act.saved(ms)", &args, Stage::Precondition).await? {
            return Ok(());
        }
        let message = "the page does not say yet that it saved what was entered, and the step would leave it";
        Err(StepFailure::new(Stage::Precondition, Cause::EffectPending, message).into())
    }

    /// Has a page save before a step leaves it. A page that does not answer cannot be asked.
    pub(crate) async fn let_save_before_leaving(&mut self) -> Part<()> {
        let keys: Vec<NodeKey> = self.ledger.documents(self.page.target_id().as_str()).cloned().collect();
        for key in keys {
            let by = self.ready_by();
            let until = std::mem::replace(&mut self.until, by);
            let saved = self.until_saved(&key).await;
            self.until = until;
            match saved {
                Err(Stop::Failed(failure)) if failure.cause != Cause::EffectPending => {}
                saved => saved?,
            }
        }
        Ok(())
    }

    async fn readings(&mut self) -> Part<Readings> {
        if self.ledger.fields().next().is_none() {
            return Ok(Readings::default());
        }
        let (probe, until) = (self.probe.clone(), self.until);
        let mut ledger = std::mem::take(self.ledger);
        let taken = self.race(Stage::Precondition, Readings::take(&mut ledger, &probe, until)).await;
        *self.ledger = ledger;
        taken
    }

    /// After the step: what it entered is kept, and what it used up is not.
    pub(crate) async fn account(&mut self) -> Part<()> {
        if self.page.dialog().is_some() || self.page.closed() || !self.looking.has_acted() {
            return Ok(());
        }
        let action = self.step.action().clone();
        // A press that did nothing used nothing up. A script of the plan, or an answer of the server, may set values
        // without an effect that shows.
        let is_answered = self.events().any_effect == Some(true)
            || !self.seen.traffic.effects().is_empty()
            || matches!(action, Action::Evaluate(_));
        if presses(&action) && is_answered {
            let readings = self.readings().await?;
            readings.pressed(self.ledger, &action);
        }
        let Some(main) = self.main.as_ref().map(|main| main.key.clone()) else { return Ok(()) };
        let enters = matches!(
            action,
            Action::Type(_) | Action::SetValue(_) | Action::Select(_) | Action::Check(_) | Action::Uncheck(_)
        );
        if !enters && !matches!(action, Action::Clear(_)) {
            return Ok(());
        }
        let (probe, until) = (self.probe.clone(), self.until);
        let asked = async {
            let world = probe.world_of(&main, until).await?;
            world.call::<Option<KeptField>>("(cb, id) => cb.act.keep(id)", &[main.node.into()], until).await
        };
        // A field that is gone has passed on what was entered.
        let Ok(Some(kept)) = self.race(Stage::Postcondition, asked).await? else { return Ok(()) };
        let field = NodeKey { node: kept.id, ..main };
        let is_repeated = self.step.author() == Author::Controller && self.ledger.holds(|key| *key == field).is_some();
        if !enters || kept.value.is_empty() {
            self.ledger.forget(|key| *key == field);
            return Ok(());
        }
        let value = fact(kept.value, kept.sensitive, probe.digest_key());
        let again = again(&action, &value, kept.suggests).filter(|_| !is_repeated);
        self.ledger.enter(EnteredValue { field, called: kept.called, value, suggests: kept.suggests, again });
        Ok(())
    }
}
