//! Entering text: typed, set as a whole, or removed.
//!
//! Invariants:
//! - A secret is resolved after the field was found ready, for the origin of the field's own document. A field that hid
//!   what is typed by then, and shows it later, gets nothing of it.
//! - Characters reach only the field, and only while it has the focus.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cuebook_cdp::{CallError, FrameId};
use cuebook_grammar::action::{Action, TypeText};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::entry::is_same_entry;
use cuebook_grammar::id::{CredentialRef, NodeKey, TargetRef};
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::policy::Rule;
use cuebook_grammar::render::cut;
use cuebook_grammar::seam::boxed::BoxedSecretSource;
use cuebook_grammar::seam::{SecretRefusal, SecretScope};
use cuebook_grammar::secret::{Secret, WireText};
use cuebook_probe::ProbeWorld;
use futures_util::future::try_join_all;
use serde_json::json;

use crate::actionability::Ready;
use crate::actions::ActResult;
use crate::hit_target::{Gesture, Outcome};
use crate::input::devices::{Place, Sending, SentGesture};
use crate::input::keyboard::Keyboard;
use crate::input::layout;
use crate::run::{Entered, Resolved, StepRun};
use crate::script::{Caret, Field, FieldKind, Focused, GestureReport, Holding, Need, SetWhole};
use crate::stage::Target;
use crate::stop::{Part, Stop, call_stop, failed, probe_stop};

/// The most characters that are typed one by one; longer texts are inserted.
const TYPED: usize = 400;

/// The field that text goes into.
pub(crate) struct Entry {
    pub(crate) field: Field,
    pub(crate) ready: Ready,
    pub(crate) place: Place,
}

impl Entry {
    fn key(&self) -> &NodeKey {
        &self.ready.target().key
    }
}

impl StepRun<'_> {
    /// Types text after what is there.
    pub(crate) async fn type_text(&mut self, action: &TypeText, secrets: &dyn BoxedSecretSource) -> Part<ActResult> {
        let entry = self.entry(action.credential_ref.is_some()).await?;
        let text = self.text_for(&entry, action.text.as_ref(), action.credential_ref.as_ref(), secrets).await?;
        match entry.field.kind {
            FieldKind::Whole => return self.set_whole(&entry, text.expose()).await,
            FieldKind::Text | FieldKind::Rich => {}
            FieldKind::Select | FieldKind::Other => return not_a_field(self),
        }
        let delay = action.delay_ms.map(|delay| delay.duration()).filter(|delay| !delay.is_zero());
        self.type_after(&entry, text.expose(), delay).await
    }

    /// Types characters after what is there.
    pub(crate) async fn type_after(&mut self, entry: &Entry, text: &str, delay: Option<Duration>) -> Part<ActResult> {
        if !entry.field.multiline && text.contains(['\n', '\r']) {
            return Err(self.one_line().into());
        }
        let (sent, focused) = self.begin_entry(entry, Gesture::typing(entry.key().clone()), "end").await?;
        let expected = focused.caret.as_ref().map(|caret| caret.with(text));
        if let Some(expected) = expected.as_ref().filter(|_| entry.field.sensitive) {
            self.seen.gathered.learn_secret(&Secret::new(expected.as_str()));
        }
        let typed = self.enter(entry, &sent, text, focused.caret.as_ref(), delay).await;
        let acted = match self.end_entry(entry, sent, typed).await {
            // The field itself has gone, and is no other now. A secret is bound to the one that it was resolved for.
            Err(Stop::Failed(failure))
                if failure.cause == Cause::TargetStale
                    && failure.facts.seen.is_none()
                    && matches!(self.step.action(), Action::Type(typed) if typed.credential_ref.is_none())
                    && !entry.field.sensitive =>
            {
                return Box::pin(self.type_on(entry, failure, focused.caret.as_ref(), text, delay)).await;
            }
            acted => acted?,
        };
        self.holds(entry, acted, expected, text).await
    }

    /// Types the rest into the field that the page drew in place of the one that took the beginning, as it does that draws
    /// its form anew with each key; else `failure`.
    async fn type_on(
        &mut self,
        former: &Entry,
        failure: Box<StepFailure>,
        caret: Option<&Caret>,
        text: &str,
        delay: Option<Duration>,
    ) -> Part<ActResult> {
        let Some(caret) = caret.filter(|caret| caret.is_plain) else { return Err(Stop::Failed(failure)) };
        self.main = None;
        let entry = match self.entry(false).await {
            Err(Stop::Failed(_)) => return Err(Stop::Failed(failure)),
            entry => entry?,
        };
        let args = [entry.field.id.into()];
        let held = self.ask(&entry.ready.world, "(cb, id) => cb.act.entered(id)", &args, Stage::Act).await;
        let held: Option<Holding> = unless_gone(held)?.flatten();
        let is_of_document = entry.key().document == former.key().document;
        let Some(held) = held.filter(|held| held.has_focus && is_of_document) else {
            return Err(Stop::Failed(failure));
        };
        let is_held = |begun: &str| caret.with(begun).to_lowercase() == held.value.to_lowercase();
        let rest = text.char_indices().skip(1).map(|(at, _)| text.split_at(at)).find(|(begun, _)| is_held(begun));
        match rest {
            Some((_, rest)) => self.type_after(&entry, rest, delay).await,
            None => Err(Stop::Failed(failure)),
        }
    }

    /// Completes `acted` with the value that the default condition expects in the field. If a text goes on in the boxes
    /// after the field, that is the field's part of it. Fails if the boxes do not hold that text together.
    pub(crate) async fn holds(
        &mut self,
        entry: &Entry,
        acted: ActResult,
        expected: Option<String>,
        text: &str,
    ) -> Part<ActResult> {
        if entry.field.boxes > 1 && text.chars().nth(1).is_some() {
            let args = [entry.field.id.into()];
            let held = self.ask(&entry.ready.world, "(cb, id) => cb.act.entered(id)", &args, Stage::Act).await;
            let held: Option<Holding> = unless_gone(held)?.flatten();
            // A narrow field that takes more than one character is like any other.
            if let Some(Holding { value, joined, .. }) = held.filter(|held| held.value.chars().nth(1).is_none()) {
                if !is_same_entry(text, &joined) {
                    let message = "the boxes do not hold the text together, one character each";
                    return Err(self.act_failure(Cause::InvalidArgument, message).into());
                }
                return Ok(ActResult { entered: Some(Entered::Value(value)), ..acted });
            }
        }
        let Some(expected) = expected else { return Ok(acted) };
        // A field for tags or recipients passes each of them on as it is entered.
        let args = [entry.field.id.into(), expected.as_str().into()];
        let left = self.ask(&entry.ready.world, "(cb, id, text) => cb.act.leftOf(id, text)", &args, Stage::Act).await;
        let left: Option<String> = unless_gone(left)?.flatten();
        Ok(ActResult { entered: Some(Entered::Value(left.unwrap_or(expected))), ..acted })
    }

    pub(crate) fn one_line(&self) -> StepFailure {
        let message = "the field takes one line, and the text has a line break; press Enter as a step of its own";
        self.act_failure(Cause::InvalidArgument, message)
    }

    /// Finds the field of the step's target and waits until it is editable. A secret needs a field that nothing
    /// covers.
    pub(crate) async fn entry(&mut self, is_secret: bool) -> Part<Entry> {
        let mut is_unlocked = false;
        loop {
            let by = self.ready_by();
            let (main, _, field) = self.main_field(by).await?;
            let part = main.part(|main| main.at(field.id));
            let need =
                Need { visible: true, enabled: true, scroll: true, hit: is_secret, stand_in: true, ..Need::default() };
            if field.locked && !std::mem::replace(&mut is_unlocked, true) {
                match self.ready(&part, need, by).await {
                    Ok(ready) => self.unlock(&ready, field.id).await?,
                    Err(stop) => self.retry_if_stale(stop)?,
                }
                continue;
            }
            match self.ready(&part, Need { editable: true, ..need }, by).await {
                Ok(ready) => return Ok(Entry { field, place: self.place_of(&part.key), ready }),
                Err(stop) => self.retry_if_stale(stop)?,
            }
        }
    }

    /// Gives the focus to a field that is read-only: some pages let it be edited only then.
    async fn unlock(&mut self, ready: &Ready, field: u64) -> Part<()> {
        let sent = self.script(ready).await?;
        let asked = self.ask::<bool>(&ready.world, "(cb, id) => cb.act.unlock(id)", &[field.into()], Stage::Act).await;
        drop(sent);
        unless_gone(asked).map(drop)
    }

    /// The main target, its world, and the field that it is or holds.
    pub(crate) async fn main_field(&mut self, by: Instant) -> Part<(Target<Resolved>, ProbeWorld, Field)> {
        loop {
            let main = self.resolve_main(by).await?;
            let world = self.world_of(&main.key, Stage::Actionability).await?;
            let args = [main.key.node.into()];
            match self.ask(&world, "(cb, id) => cb.act.field(id)", &args, Stage::Actionability).await? {
                Some(field) => return Ok((main, world, field)),
                None => self.main_is_gone()?,
            }
        }
    }

    /// The text to enter. A secret is resolved only here.
    pub(crate) async fn text_for(
        &mut self,
        entry: &Entry,
        text: Option<&WireText>,
        credential: Option<&CredentialRef>,
        secrets: &dyn BoxedSecretSource,
    ) -> Part<Secret> {
        let target = self.step.action().target().cloned();
        if let Some(reference) = credential {
            let origin: String = self.ask(&entry.ready.world, "(cb) => cb.act.origin()", &[], Stage::Act).await?;
            let page_origin = if self.is_main(entry.ready.world.frame()) {
                origin.clone()
            } else {
                let main = self.main_world(Stage::Act).await?;
                self.ask(&main, "(cb) => cb.act.origin()", &[], Stage::Act).await?
            };
            let scope =
                SecretScope { origin, page_origin, is_password_field: entry.field.sensitive && !entry.field.revealed };
            let by = Deadline::at(self.answer_by());
            let secret = match self.race(Stage::Act, secrets.resolve(reference, &scope, by)).await? {
                Ok(secret) => secret,
                Err(refusal) => return Err(refused(&refusal, target)),
            };
            self.keep_secret(entry, &secret, target).await?;
            let args = [entry.field.id.into()];
            self.ask::<bool>(&entry.ready.world, "(cb, id) => cb.act.bindsSecret(id)", &args, Stage::Act).await?;
            return Ok(secret);
        }
        match text {
            Some(WireText::Clear(text)) if secrets.holds(text) => {
                let message = "the text equals a credential; name it by `credentialRef` instead";
                let mut failure = StepFailure::new(Stage::Act, Cause::PolicyBlocked, message);
                failure.facts.target = target;
                failure.facts.rule = Some(Rule::RawSecret);
                Err(failure.into())
            }
            Some(WireText::Clear(text)) => {
                let text = Secret::new(text.as_str());
                if entry.field.sensitive {
                    self.keep_secret(entry, &text, target).await?;
                }
                Ok(text)
            }
            Some(WireText::Redacted(_)) => {
                failed(Stage::Act, Cause::InvalidArgument, "the text of the step was redacted; state it again")
            }
            None => failed(Stage::Act, Cause::InvalidArgument, "the step names no text"),
        }
    }

    /// Before a secret is entered: nothing may show it from now on, neither by its value nor by the field.
    async fn keep_secret(&mut self, entry: &Entry, secret: &Secret, target: Option<TargetRef>) -> Part<()> {
        self.seen.gathered.learn_secret(secret);
        if let Some(target) = &target {
            self.seen.gathered.mark_sensitive(target);
        }
        if let Some(redactor) = self.redactor {
            redactor.learn(secret.expose());
        }
        self.has_entered_secret.store(true, Ordering::Relaxed);
        let function = "(cb, id) => { const e = cb.byId(id); if (e) cb.receivesSecret(e); return true; }";
        let args = [entry.field.id.into()];
        self.ask::<bool>(&entry.ready.world, function, &args, Stage::Act).await.map(drop)
    }

    /// Arms, gives the focus and places the caret.
    pub(crate) async fn begin_entry(
        &mut self,
        entry: &Entry,
        keys: Gesture,
        caret: &str,
    ) -> Part<(SentGesture, Focused)> {
        let armed = self.arm(&entry.ready, keys).await?;
        let focused = self.focus_field(entry, caret).await?;
        let sent = self.send(armed)?;
        if caret == "end" && !focused.at_end && !focused.empty {
            self.press_named(entry, &sent, "End").await?;
        }
        Ok((sent, focused))
    }

    /// Like `begin_entry`, for text that replaces the content in one piece; returns the pending report of its effect.
    pub(crate) async fn begin_insertion(&mut self, entry: &Entry) -> Part<(SentGesture, Outcome)> {
        let armed = self.arm(&entry.ready, Gesture::text(entry.key().clone())).await?;
        let asked = self.ask_for_outcome(&entry.ready.world).await;
        self.focus_field(entry, "all").await?;
        Ok((self.send(armed)?, asked))
    }

    async fn focus_field(&mut self, entry: &Entry, caret: &str) -> Part<Focused> {
        self.about_to_send()?;
        let args = [entry.field.id.into(), json!(caret)];
        let focused: Option<Focused> =
            self.ask(&entry.ready.world, "(cb, id, caret) => cb.act.focus(id, caret)", &args, Stage::Act).await?;
        let Some(focused) = focused else {
            return Err(self.act_failure(Cause::TargetStale, "the field was removed from the document").into());
        };
        if !focused.focused {
            let message = format!("the field did not get the focus, which is on {}", focused.active);
            return Err(self.act_failure(Cause::NotEditable, message).into());
        }
        Ok(focused)
    }

    pub(crate) async fn press_named(&mut self, entry: &Entry, sent: &SentGesture, name: &str) -> Part<()> {
        let Some(chord) = layout::chord(name) else { return Ok(()) };
        let calls = Keyboard { devices: sent, place: &entry.place }.chord(&chord);
        self.all_of(calls).await
    }

    async fn all_of(&mut self, calls: Vec<Sending>) -> Part<()> {
        self.race(Stage::Act, try_join_all(calls)).await?.map(drop).map_err(|error| call_stop(error, Stage::Act))
    }

    /// Sends text key by key; in one piece if it is long, and the rest in one piece if the field rewrites its text.
    async fn enter(
        &mut self,
        entry: &Entry,
        sent: &SentGesture,
        text: &str,
        caret: Option<&Caret>,
        delay: Option<Duration>,
    ) -> Part<()> {
        let keyboard = Keyboard { devices: sent, place: &entry.place };
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if delay.is_none() && text.chars().nth(TYPED).is_some() {
            self.about_to_send()?;
            return self.all_of(vec![keyboard.insert(&text)]).await;
        }
        let count = text.chars().count();
        for (nth, (at, character)) in text.char_indices().enumerate() {
            self.about_to_send()?;
            let frame = self.page.frame(&FrameId::from(entry.key().frame.as_str()));
            if frame.is_none_or(|frame| frame.document.as_str() != entry.key().document) {
                // The rest would go to the focused element of the new document.
                let message = format!("the document of the field was replaced after {nth} of {count} characters");
                return Err(self.act_failure(Cause::TargetStale, message).into());
            }
            // A field that writes its text anew places the caret when it likes: it gets the rest in one piece.
            let first = text.get(..at).unwrap_or_default();
            if nth == 1 && delay.is_none() && self.is_rewritten(entry, caret, first).await? {
                return self.all_of(vec![keyboard.insert(text.get(at..).unwrap_or_default())]).await;
            }
            if nth > 0 && entry.field.boxes > 1 {
                let args = [entry.field.id.into(), nth.into()];
                let passed =
                    self.ask::<bool>(&entry.ready.world, "(cb, id, n) => cb.act.passed(id, n)", &args, Stage::Act);
                unless_gone(passed.await)?;
            }
            // A line break is text; the key Enter may send it.
            let calls = match character {
                '\n' => vec![keyboard.insert("\n")],
                character => keyboard.character(character),
            };
            // The next key is sent only once this one has arrived: with a dialog, or a page that hangs, the rest of the
            // text would be delivered later.
            self.all_of(calls).await?;
            if character == '\n' && matches!(entry.field.kind, FieldKind::Rich) {
                let begun = self.ask::<bool>(&entry.ready.world, "(cb) => cb.act.beginLine()", &[], Stage::Act).await;
                unless_gone(begun)?;
            }
            if let Some(delay) = delay {
                self.pause(Stage::Act, delay).await?;
            }
        }
        Ok(())
    }

    /// Returns `true` if the page changed the first character once it was entered, and left another value in the field
    /// than the browser would have. One that works by keys alone needs all of them.
    async fn is_rewritten(&mut self, entry: &Entry, caret: Option<&Caret>, first: &str) -> Part<bool> {
        let Some(caret) = caret.filter(|caret| caret.is_plain && entry.field.boxes == 1) else { return Ok(false) };
        let args = [entry.field.id.into()];
        let held = self.ask(&entry.ready.world, "(cb, id) => cb.act.entered(id)", &args, Stage::Act).await;
        Ok(unless_gone(held)?
            .flatten()
            .is_some_and(|held: Holding| !held.is_keyed && ![caret.with(first), caret.with("")].contains(&held.value)))
    }

    /// Ends the entry and checks that nothing went elsewhere.
    pub(crate) async fn end_entry(&mut self, entry: &Entry, sent: SentGesture, entered: Part<()>) -> Part<ActResult> {
        if matches!(entered, Err(Stop::Dialog)) {
            return Err(Stop::Dialog);
        }
        // A document that is gone has no report; the effects show what the text led to.
        let report =
            self.ask::<Option<GestureReport>>(&entry.ready.world, "(cb) => cb.act.gesture(0)", &[], Stage::Act).await;
        let acted = ActResult::by(sent);
        entered?;
        self.judge_entry(report)?;
        Ok(acted)
    }

    /// Like `end_entry`, for text that was inserted in one piece.
    pub(crate) fn end_insertion(
        &mut self,
        sent: SentGesture,
        inserted: Part<(Result<(), CallError>, Option<GestureReport>)>,
    ) -> Part<ActResult> {
        let acted = ActResult::by(sent);
        let report = match inserted {
            Ok((Err(error), _)) => return Err(call_stop(error, Stage::Act)),
            Ok((Ok(_), report)) => Ok(report),
            Err(Stop::Dialog) => return Err(Stop::Dialog),
            Err(stop) => Err(stop),
        };
        self.judge_entry(report)?;
        Ok(acted)
    }

    fn judge_entry(&self, report: Part<Option<GestureReport>>) -> Part<()> {
        match report {
            Ok(Some(GestureReport { blocked: Some(block), .. })) => Err(self.blocked(&block, false)),
            Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale => Ok(()),
            Err(stop) => Err(stop),
            Ok(_) => Ok(()),
        }
    }

    /// Dates, times, colours and ranges are set by the browser's own setter, with the events that follow.
    pub(crate) async fn set_whole(&mut self, entry: &Entry, value: &str) -> Part<ActResult> {
        let sent = self.script(&entry.ready).await?;
        let args = [entry.field.id.into(), value.into()];
        let set: Option<SetWhole> =
            self.ask(&entry.ready.world, "(cb, id, value) => cb.act.setWhole(id, value)", &args, Stage::Act).await?;
        match set {
            Some(SetWhole { stale: Some(now), .. }) => Err(self.became(&now).into()),
            Some(SetWhole { fits: true, took, .. }) => {
                let entered = (took != value && took.len() <= 100).then_some(Entered::Value(took));
                Ok(ActResult { entered, ..ActResult::by(sent) })
            }
            Some(SetWhole { took, .. }) => {
                let took = cut(&took, 100);
                Err(self
                    .act_failure(
                        Cause::InvalidArgument,
                        format!("the field does not accept the value: it became {took:?}"),
                    )
                    .into())
            }
            None => not_a_field(self),
        }
    }

    /// The target became something else before the script acted on it.
    pub(crate) fn became(&self, now: &str) -> StepFailure {
        let mut failure = self.act_failure(Cause::TargetStale, format!("the target became {now}; nothing was entered"));
        failure.facts.seen = Some(now.to_owned());
        failure
    }

    /// Calls a function of ours in a document.
    pub(crate) async fn ask<T: serde::de::DeserializeOwned>(
        &mut self,
        world: &ProbeWorld,
        function: &str,
        args: &[serde_json::Value],
        stage: Stage,
    ) -> Part<T> {
        let until = self.until;
        self.race(stage, world.call(function, args, until)).await?.map_err(|error| probe_stop(error, stage))
    }
}

/// The answer of a document; `None` if that is gone.
pub(crate) fn unless_gone<T>(answer: Part<T>) -> Part<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale => Ok(None),
        Err(stop) => Err(stop),
    }
}

pub(crate) fn not_a_field<T>(run: &StepRun<'_>) -> Part<T> {
    Err(run.act_failure(Cause::NotEditable, "the target is no field for text").into())
}

fn refused(refusal: &SecretRefusal, target: Option<TargetRef>) -> Stop {
    let cause = match refusal {
        SecretRefusal::OutOfScope { .. } | SecretRefusal::NotHidden { .. } => Cause::PolicyBlocked,
        SecretRefusal::NotYet { .. } => Cause::DeadlineExceeded,
        _ => Cause::InvalidArgument,
    };
    let mut failure = StepFailure::new(Stage::Act, cause, refusal.to_string());
    failure.facts.target = target;
    if cause == Cause::PolicyBlocked {
        failure.facts.rule = Some(Rule::SecretScope);
    }
    failure.into()
}
