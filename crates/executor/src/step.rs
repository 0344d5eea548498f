//! The life of one step: resolve, pre, arm, act, await, gather, rule.

use std::time::Instant;

use cuebook_cdp::GoneReason;
use cuebook_grammar::action::Action;
use cuebook_grammar::condition::{Condition, Nothing, SelectedValues, Valued};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::{DialogFact, EventFacts, Facts};
use cuebook_grammar::id::{PageId, TargetRef};
use cuebook_grammar::outcome::{
    Cause, EffectRecord, Judged, Problem, ProblemKind, Stage, StepFailure, StepOutcome, StepSuccess, Timings,
};
use cuebook_grammar::plan::{BoundStep, BoundTarget};
use cuebook_grammar::render::{cut, with_sources};
use cuebook_grammar::seam::boxed::{BoxedArtifactSink, BoxedSecretSource};
use cuebook_grammar::seam::{ArtifactKind, BoxFuture};
use cuebook_grammar::secret::WireText;
use cuebook_grammar::verdict::Verdict;

use crate::actionability::Ready;
use crate::actions::{ActResult, stored};
use crate::activity::dialog_fact;
use crate::error::ExecutorError;
use crate::hit_target::Sealed;
use crate::options::ScreenshotMode;
use crate::redaction::{scrub, scrub_text};
use crate::run::{Entered, Resolved, StepRun};
use crate::script::Need;
use crate::settling::{Awaited, BEAT};
use crate::stage::{self, Target};
use crate::stop::{Part, Stop, failed, gone_stop};
use crate::verdicts::{Ruling, rule};

impl<'run> StepRun<'run> {
    /// Runs the step to its outcome. Once input was sent there is always one, even if the machinery breaks: the input must
    /// be recorded. Boxed, so that all of it is compiled into this crate, and not into each one that awaits a step.
    pub(crate) fn run<'a>(
        self,
        secrets: &'a dyn BoxedSecretSource,
        artifacts: &'a dyn BoxedArtifactSink,
        is_first: IsFirst,
    ) -> BoxFuture<'a, Result<StepOutcome, ExecutorError>>
    where
        'run: 'a,
    {
        Box::pin(self.run_to_outcome(secrets, artifacts, is_first))
    }

    async fn run_to_outcome(
        mut self,
        secrets: &dyn BoxedSecretSource,
        artifacts: &dyn BoxedArtifactSink,
        is_first: IsFirst,
    ) -> Result<StepOutcome, ExecutorError> {
        match self.run_through(secrets, artifacts, is_first).await {
            Err(error) if self.looking.has_acted() => Ok(self.unknown(&error)),
            ended => ended,
        }
    }

    fn unknown(&mut self, error: &ExecutorError) -> StepOutcome {
        let secrets = self.seen.gathered.secrets().to_vec();
        let words = scrub_text(&cut(&with_sources(error), 500), &secrets);
        let message = format!("the effect of the input is unknown: {words}");
        let mut failure = StepFailure::new(Stage::Postcondition, Cause::EffectUnknown, message);
        self.evidence.input_sent = true;
        failure.evidence = scrub(std::mem::take(&mut self.evidence), &secrets);
        StepOutcome::Failed(Box::new(failure))
    }

    async fn run_through(
        &mut self,
        secrets: &dyn BoxedSecretSource,
        artifacts: &dyn BoxedArtifactSink,
        is_first: IsFirst,
    ) -> Result<StepOutcome, ExecutorError> {
        let begun = Instant::now();
        let mut acted = None;
        if self.options.screenshots == ScreenshotMode::Every {
            let before = self.picture(ArtifactKind::ScreenshotBefore, artifacts).await?;
            self.evidence.artifacts.extend(before);
        }
        let mut awaited = Vec::new();
        let ended = self.act_through(secrets, artifacts, &mut acted).await;
        let mut ended = self.unless_closed(ended);
        let acted_at = Instant::now();
        if matches!(ended, Ok(()) | Err(Stop::Dialog | Stop::Closed)) {
            awaited = self.awaited(acted.as_ref().and_then(|acted: &ActResult| acted.entered.as_ref()));
            if ended.is_ok() {
                let settled = self.await_post(&mut awaited).await;
                ended = self.unless_closed(settled);
                if ended.is_ok() {
                    ended = self.finish_downloads().await;
                }
                if ended.is_ok() && self.seen.activity.new_document && !self.opens() {
                    ended = self.read_on().await;
                }
                if ended.is_ok() {
                    let kept = self.account().await;
                    ended = self.unless_closed(kept);
                }
            } else {
                self.seen.sample(Instant::now());
            }
        }
        self.keep_downloads(artifacts).await?;
        let post_ms = between(acted_at, Instant::now());
        let effects = self.disarm().await;
        let wants_picture = match self.options.screenshots {
            ScreenshotMode::Off => false,
            ScreenshotMode::Every => true,
            ScreenshotMode::FirstFailurePageChange => {
                is_first == IsFirst::Yes || self.seen.activity.new_document || !self.looks_successful(&ended, &awaited)
            }
        };
        if let Some(portrait) = self.portrait.take() {
            self.evidence.artifacts.push(stored(artifacts, ArtifactKind::ScreenshotTarget, portrait).await?);
        }
        if wants_picture {
            let after = self.picture(ArtifactKind::ScreenshotAfter, artifacts).await?;
            self.evidence.artifacts.extend(after);
        }
        if self.options.screenshots == ScreenshotMode::Every || !self.looks_successful(&ended, &awaited) {
            self.leave_behind(artifacts).await?;
        }
        self.evidence.effects = effects;
        self.evidence.input_sent = self.looking.has_acted();
        self.evidence.cdp_events = Some(self.seen.activity.events);
        let input = self.seen.input_at.unwrap_or(acted_at);
        self.evidence.timings = Timings {
            act_ms: between(input, acted_at),
            actionable_ms: between(begun, input).saturating_sub(self.evidence.timings.resolve_ms),
            post_ms,
            resolve_ms: self.evidence.timings.resolve_ms,
        };
        let ended = self.unless_crashed(ended);
        let outcome = self.outcome(ended, acted, &awaited);
        let asks = self.step.action().condition().is_some();
        let stated = asks || self.step.post().iter().any(|stated| !stated.is_default);
        let shows = stated && matches!(&outcome, Ok(StepOutcome::Succeeded(_)));
        self.hear();
        self.seen.traffic.run.end(Instant::now(), self.looking.has_acted(), shows);
        outcome
    }

    /// Reports a stale target as a crash if the page crashed: until the crash is reported, its document seems to have
    /// been replaced.
    fn unless_crashed(&self, ended: Part<()>) -> Part<()> {
        match ended {
            Err(Stop::Failed(failure)) if failure.cause == Cause::TargetStale && self.page.crashed() => {
                Err(gone_stop(GoneReason::Crashed, failure.stage))
            }
            other => other,
        }
    }

    /// A tab that closed itself once input was sent ends the waiting, and is no failure by itself.
    fn unless_closed(&mut self, ended: Part<()>) -> Part<()> {
        let is_end = |failure: &StepFailure| matches!(failure.cause, Cause::PageCrashed | Cause::EffectUnknown);
        match ended {
            Err(Stop::Failed(failure))
                if is_end(&failure)
                    && self.looking.has_acted()
                    && self.page.closed()
                    && !self.page.crashed()
                    && self.browser.is_alive() =>
            {
                let target = self.page.target_id().clone();
                self.tab_closed(&target);
                Err(Stop::Closed)
            }
            other => other,
        }
    }

    /// Returns `true` if the step looks like a success so far.
    fn looks_successful(&self, ended: &Part<()>, awaited: &[Awaited]) -> bool {
        ended.is_ok() && awaited.iter().all(|one| one.held_at.is_some() || one.is_default)
    }

    async fn act_through(
        &mut self,
        secrets: &dyn BoxedSecretSource,
        artifacts: &dyn BoxedArtifactSink,
        acted: &mut Option<ActResult>,
    ) -> Part<()> {
        let verb = self.step.action();
        if let Some(dialog) = self.page.dialog()
            && !matches!(
                verb,
                Action::AcceptDialog(_) | Action::DismissDialog(_) | Action::SwitchTab(_) | Action::CloseTab(_)
            )
        {
            return Err(blocked_by(&dialog_fact(&dialog)).into());
        }
        self.let_answer().await?;
        self.preconditions().await?;
        *acted = Some(self.act(secrets, artifacts).await?);
        if self.looking.watching().is_none() && !self.conditions().is_empty() && self.page.dialog().is_none() {
            self.watch().await?;
        }
        Ok(())
    }

    /// Before a step that acts or reads: what the steps before it requested is answered and shown, or takes too long.
    /// Until then the page may show what these steps were to replace, and leaving it would break off what they changed.
    async fn let_answer(&mut self) -> Part<()> {
        let verb = self.step.action();
        if matches!(
            verb,
            Action::WaitFor(_)
                | Action::WaitForIdle(_)
                | Action::Scroll(_)
                | Action::ScrollUntil(_)
                | Action::SwitchTab(_)
                | Action::AcceptDialog(_)
                | Action::DismissDialog(_)
        ) {
            return Ok(());
        }
        let leaves = self.opens() || matches!(verb, Action::CloseTab(_));
        let (reads, span) = (!leaves, self.options.post_timeout);
        let mut is_first = true;
        let begun = Instant::now();
        loop {
            self.hear();
            let now = Instant::now();
            // What an answer has the page request next is awaited like it, and not for ever.
            if !is_first && now < begun + span {
                self.seen.traffic.settle(now);
            }
            let Some(until) = self.seen.traffic.former_until(reads, span, now) else { break };
            if std::mem::take(&mut is_first) {
                self.seen.traffic.run.await_answers();
            }
            self.pause(Stage::Precondition, BEAT.min(until.saturating_duration_since(now))).await?;
        }
        if leaves { self.let_save_before_leaving().await } else { Ok(()) }
    }

    /// Finds the main target and keeps it.
    pub(crate) async fn resolve_main(&mut self, by: Instant) -> Part<Target<Resolved>> {
        if let Some(main) = &self.main {
            return Ok(main.clone());
        }
        let begun = Instant::now();
        let Some(target) = self.step.action().target().cloned() else {
            return failed(Stage::Resolve, Cause::TargetNotFound, "the step names no target");
        };
        let main = self.resolve(&target, by).await?;
        self.keep_around(&main).await;
        if self.options.screenshots == ScreenshotMode::Every {
            self.portrait = self.portray(&main).await;
        }
        self.evidence.timings.resolve_ms =
            self.evidence.timings.resolve_ms.saturating_add(between(begun, Instant::now()));
        self.main = Some(main.clone());
        Ok(main)
    }

    /// Resolves the main target and waits until it is ready; a declared one that is replaced meanwhile is
    /// resolved again.
    pub(crate) async fn ready_main(&mut self, need: Need) -> Part<Ready> {
        let by = self.ready_by();
        loop {
            let main = self.resolve_main(by).await?;
            match self.ready(&main, need, by).await {
                Ok(ready) => return Ok(ready),
                Err(stop) => self.retry_if_stale(stop)?,
            }
        }
    }

    /// Returns `true` if the main target is a locator, not an element that was observed.
    pub(crate) fn is_declared(&self) -> bool {
        self.step
            .main_target()
            .is_some_and(|(_, bound)| matches!(bound, cuebook_grammar::plan::BoundTarget::Declared(_)))
    }

    /// Forgets a stale target, so that it is looked up again, if it is a declared one that was not acted on yet.
    /// Returns any other `stop` as the error.
    pub(crate) fn retry_if_stale(&mut self, stop: Stop) -> Part<()> {
        let is_declared = self.is_declared();
        match stop {
            Stop::Failed(failure)
                if failure.cause == Cause::TargetStale
                    && is_declared
                    && !self.is_displaced(&failure)
                    && !self.looking.has_acted()
                    && Instant::now() < self.until =>
            {
                self.main = None;
                Ok(())
            }
            stop => Err(stop),
        }
    }

    pub(crate) fn main_is_gone(&mut self) -> Part<()> {
        let failure =
            StepFailure::new(Stage::Actionability, Cause::TargetStale, "the target was removed from the document");
        self.retry_if_stale(failure.into())
    }

    /// Judges the preconditions on the page as it is; once more, a frame later, if they do not hold.
    async fn preconditions(&mut self) -> Part<()> {
        let pre = self.step.step().pre.clone();
        if pre.is_empty() {
            return Ok(());
        }
        for attempt in 0.. {
            let (facts, judged) = self.judge_now(&pre).await?;
            let bad = judged.iter().find(|one| !one.verdict.holds()).cloned();
            if bad.is_some() && attempt == 0 {
                self.pause(Stage::Precondition, std::time::Duration::from_millis(30)).await?;
                continue;
            }
            self.evidence.pre = judged;
            self.evidence.pre_facts = Some(facts.clone());
            let Some(bad) = bad else { break };
            let mut failure = unmet(self.step, Stage::Precondition, Cause::PreconditionFailed, &bad.condition, facts);
            failure.message.insert_str(0, "before the step, ");
            return Err(failure.into());
        }
        Ok(())
    }

    /// Judges conditions on a sample of the page as it is now.
    pub(crate) async fn judge_now(&mut self, conditions: &[Condition]) -> Part<(Facts, Vec<Judged>)> {
        let wanted: Vec<&Condition> = conditions.iter().collect();
        let questions = self.questions(&wanted, None);
        let sample = self.sample_once(questions).await?;
        let (facts, sensitive) = sample;
        let key = self.probe.digest_key().clone();
        let judged = conditions
            .iter()
            .map(|condition| {
                let condition = condition.redacted(&|target| sensitive.contains(target), &key);
                let verdict = condition.evaluate(&facts);
                Judged { condition, verdict, vacuous: false, default: false, latency_ms: None }
            })
            .collect();
        Ok((facts, judged))
    }

    fn awaited(&self, entered: Option<&Entered>) -> Vec<Awaited> {
        let own = self.step.action().condition().filter(|_| !matches!(self.step.action(), Action::Assert(_)));
        self.step
            .post()
            .iter()
            .map(|stated| {
                let entered = entered.filter(|_| stated.is_default);
                self.awaits(as_entered(&stated.condition, entered), stated.is_default)
            })
            .chain(own.map(|condition| match self.step.action() {
                Action::WaitFor(_) => {
                    Awaited { until: self.waits_until(condition), span: None, ..self.awaits(condition.clone(), false) }
                }
                _ => self.awaits(condition.clone(), false),
            }))
            .chain(self.proves_nothing().then(|| self.awaits(Condition::AnyEffect(Nothing {}), true)))
            .collect()
    }

    /// Returns `true` if everything that the step states held before its input: an effect of any kind is awaited then,
    /// as if nothing were stated.
    fn proves_nothing(&self) -> bool {
        let post = self.step.post();
        let before = self.seen.gathered.latest(&EventFacts::default());
        let changes = self.step.action().kind().meta().effect != EffectClass::ReadOnly;
        changes && !post.is_empty() && post.iter().all(|one| !one.is_default && one.condition.was_vacuous(&before))
    }

    async fn await_post(&mut self, awaited: &mut [Awaited]) -> Part<()> {
        if awaited.is_empty() {
            return Ok(());
        }
        if self.page.closed() {
            self.seen.sample(Instant::now());
            return Ok(());
        }
        self.settle(awaited).await
    }

    /// Judges what was gathered, and rules.
    fn outcome(
        &mut self,
        ended: Part<()>,
        acted: Option<ActResult>,
        awaited: &[Awaited],
    ) -> Result<StepOutcome, ExecutorError> {
        let ended = match (ended, self.denied_document()) {
            (Ok(()) | Err(Stop::Failed(_) | Stop::Dialog | Stop::Closed), Some(failure)) => Err(failure.into()),
            (ended, _) => ended,
        };
        let key = self.probe.digest_key().clone();
        // A dialog, or the end of the tab, may interrupt a verb that has sent its input. What only waits has none.
        let is_over = matches!(ended, Err(Stop::Dialog | Stop::Closed));
        let waits = matches!(self.step.action(), Action::WaitFor(_));
        let interrupted = || if waits { Some(self.looking.untargeted()) } else { self.looking.interrupted() };
        let acted = acted.or_else(|| interrupted().filter(|_| is_over).map(ActResult::new));
        if !awaited.is_empty() && !self.seen.gathered.has_samples() && (self.looking.watching().is_some() || is_over) {
            self.seen.gathered.push(self.seen.at_ms(Instant::now()));
        }
        if ended.is_err() && !self.seen.gathered.has_samples() && self.looking.watching().is_some() {
            self.seen.gathered.push(self.seen.at_ms(Instant::now()));
        }
        let events = self.events();
        let secrets = self.seen.gathered.secrets().to_vec();
        let (facts, sensitive) = self.seen.gathered.facts(events);
        let is_sensitive = |target: &_| sensitive.contains(target);
        let judge = |one: &Awaited| {
            let condition = one.condition.redacted(&is_sensitive, &key);
            let vacuous = condition.was_vacuous(&facts);
            let verdict = Verdict::Unknown;
            let judged = Judged { condition, verdict, vacuous, default: one.is_default, latency_ms: one.held_at };
            Judged { verdict: judged.judge(&facts), ..judged }
        };
        if !awaited.is_empty() {
            self.evidence.post = awaited.iter().map(judge).collect();
            self.evidence.post_facts = Some(facts.clone());
        }
        self.evidence.sensitive = sensitive.iter().cloned().collect();
        let ruled = match (ended, acted) {
            (Err(Stop::Broken(error)), _) => return Err(error),
            (Err(Stop::Failed(mut failure)), _) => {
                if matches!(self.step.action(), Action::Type(_)) && self.looking.has_acted() {
                    // What arrived of the text decides whether it may be typed again.
                    failure.facts.conditions.get_or_insert(facts);
                }
                Err(failure)
            }
            (_, None) => Err(Box::new(facts.events.dialogs.last().map_or_else(closed_early, blocked_by))),
            (Err(Stop::Dialog), Some(acted)) => self.dialog_ruling(&facts).map_or(Ok(acted), Err),
            (Ok(()), Some(_)) if self.is_idle_drag(&facts) => Err(Box::new(idle_drag(facts))),
            (Ok(()) | Err(Stop::Closed), Some(mut acted)) => match (rule(&self.evidence.post), acted.sealed.take()) {
                (Ruling::Done { .. }, Some(sealed)) if !self.answers(&sealed, &facts) => Err(unanswered(sealed)),
                (Ruling::Done { unseen }, sealed) => {
                    self.evidence.no_observed_effect = unseen;
                    if let Some((sealed, effects)) = sealed.zip(self.evidence.effects.as_mut()) {
                        let message = cut(&sealed.failure.message, 300);
                        effects.problems.push(Problem { kind: ProblemKind::Gesture, message });
                    }
                    Ok(acted)
                }
                (Ruling::Failed(..), Some(sealed)) if !sealed.is_answer => Err(sealed.failure),
                (Ruling::Failed(cause, index), _) => Err(Box::new(self.unmet(cause, index, &facts))),
            },
        };
        let evidence = scrub(std::mem::take(&mut self.evidence), &secrets);
        Ok(match ruled {
            Err(mut failure) => {
                failure.message = scrub_text(&failure.message, &secrets);
                failure.facts = scrub(failure.facts, &secrets);
                failure.evidence = evidence;
                StepOutcome::Failed(failure)
            }
            Ok(acted) => {
                let ActResult { judged, data, page, .. } = acted;
                let page = page.or_else(|| self.new_page());
                succeeded(judged, StepSuccess { evidence, data, page })
            }
        })
    }

    /// Returns `true` if a drag left everything as it was: nothing was moved.
    fn is_idle_drag(&self, facts: &Facts) -> bool {
        matches!(self.step.action(), Action::DragTo(_))
            && facts.events.any_effect != Some(true)
            && self.evidence.effects.as_ref().is_none_or(|effects| effects.requests.is_empty())
            && !self.evidence.post.iter().any(|one| one.verdict.holds() && !one.vacuous)
    }

    /// Returns `true` if the result is known of a gesture of which the target saw only the beginning: a condition
    /// became true, or there is an effect and the page is known to have reacted to the press. A drag that was not released
    /// where it was to be has at most moved things about.
    fn answers(&self, sealed: &Sealed, facts: &Facts) -> bool {
        let has_come_true = self.evidence.post.iter().any(|one| one.verdict.holds() && !one.vacuous && !one.default);
        let is_drag = matches!(self.step.action(), Action::DragTo(_));
        has_come_true || (sealed.is_answer && !is_drag && facts.events.any_effect == Some(true))
    }

    /// A dialog ended the step: its conditions may hold already, or can be judged only once the dialog is answered.
    fn dialog_ruling(&mut self, facts: &Facts) -> Option<Box<StepFailure>> {
        let unmet_one = self
            .evidence
            .post
            .iter()
            .find(|one| one.verdict == Verdict::Fails || (one.verdict == Verdict::Unknown && !one.default))?;
        let mut failure =
            unmet(self.step, Stage::Postcondition, Cause::DialogOpen, &unmet_one.condition, facts.clone());
        if let Some(dialog) = facts.events.dialogs.last() {
            let words = format!(" when a dialog opened: {:?}", cut(&dialog.message, 200));
            failure.message.push_str(&words);
        }
        Some(Box::new(failure))
    }

    /// A postcondition that does not hold, with what went wrong in the page beside it.
    fn unmet(&self, cause: Cause, index: usize, facts: &Facts) -> StepFailure {
        let Some(judged) = self.evidence.post.get(index) else {
            return StepFailure::new(Stage::Postcondition, cause, "expected a postcondition to hold");
        };
        let mut failure = unmet(self.step, Stage::Postcondition, cause, &judged.condition, facts.clone());
        let open = self.seen.traffic.unanswered().map(|request| self.without_proxy(request).in_words());
        let problems = self.evidence.effects.as_ref().map(EffectRecord::problems_in_words).unwrap_or_default();
        let problems: Vec<String> = problems.into_iter().chain(open).collect();
        if !problems.is_empty() {
            let words = format!("; {}", problems.join("; "));
            failure.message.push_str(&words);
            failure.facts.seen.get_or_insert_default().push_str(&words);
        }
        failure
    }

    /// The step in words, such as `click button "Save"`.
    pub(crate) fn called(&self) -> String {
        let verb = self.step.action().kind().meta().name;
        let target = self.step.main_target().map(|(_, target)| match target {
            BoundTarget::Observed(candidate) => candidate.title(),
            BoundTarget::Declared(locator) => locator.to_string(),
        });
        target.map_or_else(|| verb.to_owned(), |target| format!("{verb} {}", cut(&target, 100)))
    }

    /// The tab that is current once this one is closed: its opener, or the newest.
    pub(crate) fn successor(&self) -> Option<cuebook_cdp::Page> {
        let others = self.browser.pages_beside(&self.page);
        let opener = self.page.opener().and_then(|opener| others.iter().find(|other| other.target_id() == opener));
        opener.or_else(|| others.iter().rev().find(|other| **other != self.page)).cloned()
    }

    /// The new tab becomes current only if the step stated it.
    fn new_page(&self) -> Option<PageId> {
        let mut is_stated = false;
        for stated in self.step.post() {
            stated.condition.visit(&mut |part| is_stated |= matches!(part, Condition::NewTab(_)));
        }
        match self.seen.activity.new_tabs.last().filter(|_| is_stated) {
            Some(opened) => Some(PageId::new(opened.tab.as_str())),
            None if self.page.closed() => Some(PageId::new(self.successor()?.target_id().as_str())),
            None => None,
        }
    }
}

/// A default condition is about what was entered: the text beside what was there, a colour in the spelling that its field
/// keeps, one option of several.
fn as_entered(condition: &Condition, entered: Option<&Entered>) -> Condition {
    match (condition, entered) {
        (Condition::ValueEquals(valued) | Condition::ValueContains(valued), Some(Entered::Value(value))) => {
            Condition::ValueEquals(Valued { value: WireText::cut(value), ..valued.clone() })
        }
        (Condition::SelectedValues(selected), Some(Entered::Options(most))) => {
            let values = selected.values.iter().take(*most).cloned().collect();
            Condition::SelectedValues(SelectedValues { values, ..selected.clone() })
        }
        _ => condition.clone(),
    }
}

/// The failure of a drag that nothing came of.
fn idle_drag(facts: Facts) -> StepFailure {
    let message = "nothing came of the drag; the page may want it to be held before it moves (`durationMs`)";
    let mut failure = StepFailure::new(Stage::Postcondition, Cause::PostconditionFailed, message);
    failure.facts.conditions = Some(facts);
    failure
}

/// The failure of a gesture that was sent in part and whose result is unknown.
fn unanswered(sealed: Sealed) -> Box<StepFailure> {
    let Sealed { mut failure, is_answer } = sealed;
    if is_answer {
        failure.cause = Cause::EffectUnknown;
        failure.message.push_str("; no condition or effect shows its result");
    }
    failure
}

/// The only way to a success.
fn succeeded(_: stage::Judged, success: StepSuccess) -> StepOutcome {
    StepOutcome::Succeeded(success)
}

/// The failure of a step that a dialog kept from acting.
fn blocked_by(dialog: &DialogFact) -> StepFailure {
    let message = format!("a dialog is open: {:?}; accept or dismiss it", cut(&dialog.message, 200));
    StepFailure::new(Stage::Precondition, Cause::DialogOpen, message)
}

/// The failure of a step whose tab closed before it acted.
fn closed_early() -> StepFailure {
    StepFailure::new(Stage::Act, Cause::PageCrashed, "the tab closed before the step acted")
}

/// Marks the first step that an executor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IsFirst {
    Yes,
    No,
}

/// The failure of a condition that does not hold, with what was seen instead. Declared targets are called by their
/// locators: the names mean something only within the plan.
pub(crate) fn unmet(step: &BoundStep, stage: Stage, cause: Cause, condition: &Condition, facts: Facts) -> StepFailure {
    let name = |target: &TargetRef| match step.targets().get(target) {
        Some(BoundTarget::Declared(locator)) => locator.to_string(),
        _ => target.to_string(),
    };
    let (expected, seen) = (condition.in_words_naming(&name), condition.seen_naming(&facts, &name));
    let mut failure = StepFailure::new(stage, cause, format!("expected {expected}, saw {seen}"));
    failure.facts.target = condition.target().cloned();
    failure.facts.conditions = Some(facts);
    failure.facts.expected = Some(expected);
    failure.facts.seen = Some(seen);
    failure
}

/// Milliseconds between two moments.
fn between(from: Instant, to: Instant) -> u32 {
    u32::try_from(millis(to.saturating_duration_since(from))).unwrap_or(u32::MAX)
}
