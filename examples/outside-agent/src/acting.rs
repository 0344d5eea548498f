//! The executor and the handler.

use std::collections::BTreeMap;
use std::time::Instant;

use cuebook_grammar::action::Action;
use cuebook_grammar::condition::Condition;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::facts::{ElementFacts, EventFacts, Facts, Sample, TargetFacts};
use cuebook_grammar::id::{PageId, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, EffectRecord, Evidence, Judged, Stage, StepFailure, StepOutcome, StepSuccess};
use cuebook_grammar::plan::{BoundStep, BoundTarget};
use cuebook_grammar::policy::{RegisteredAction, Rule};
use cuebook_grammar::seam::{ActionHandler, EffectGate, Executor, SecretRefusal, SecretScope, SecretSource};
use cuebook_grammar::verdict::Verdict;
use cuebook_grammar::wire::ShortText;
use serde_json::{Map, Value, json};

use crate::looking::known;
use crate::shop::{Shop, State, Thing};
use crate::{FakeError, FakeSecrets, Shared};

/// An executor for the shop.
#[derive(Clone, Debug)]
pub struct FakeExecutor<S = FakeSecrets> {
    shop: Shop,
    secrets: S,
}

impl<S: SecretSource> FakeExecutor<S> {
    /// Acts on this shop and takes passwords from `secrets`.
    pub fn on(shop: &Shop, secrets: S) -> Self {
        Self { shop: shop.clone(), secrets }
    }

    async fn run(&self, step: &BoundStep, deadline: Deadline) -> Result<StepSuccess, Box<StepFailure>> {
        if deadline.has_passed(Instant::now()) {
            return Err(failure(Stage::Resolve, Cause::DeadlineExceeded, "expected time to be left, saw none"));
        }
        let thing = match step.main_target() {
            Some((name, target)) => Some(self.resolve(name, target)?),
            None => None,
        };
        let mut evidence = Evidence { sensitive: self.sensitive(step), ..Evidence::default() };
        self.check_pre(step, &mut evidence)?;
        let text = self.text(step, thing, deadline, &evidence).await?;

        let shop = &mut *self.shop.state.lock();
        let before = sample(shop, step, 0);
        let look = shop.look();
        let url = shop.place.url();
        let data = match act(shop, step.action(), thing, text) {
            Ok(done) => {
                evidence.input_sent = done.is_input;
                done.data
            }
            Err(mut failure) => {
                failure.evidence = evidence;
                return Err(failure);
            }
        };
        let is_changed = shop.look() != look;
        let effects = EffectRecord {
            url_before: (shop.place.url() != url).then(|| url.to_owned()),
            url_after: (shop.place.url() != url).then(|| shop.place.url().to_owned()),
            new_document: shop.document != look.0,
            target_changed: is_changed && shop.document == look.0,
            ..EffectRecord::default()
        };
        let events =
            EventFacts { network_idle: Some(true), any_effect: Some(effects.is_any()), ..EventFacts::default() };
        let facts = Facts { before: Some(before), samples: vec![sample(shop, step, 1)], events };
        evidence.no_observed_effect = evidence.input_sent && !effects.is_any();
        evidence.effects = Some(effects);
        check_post(step, facts, evidence).map(|evidence| StepSuccess { evidence, data, page: None })
    }

    /// The element of a target, or the failure.
    fn resolve(&self, name: &TargetRef, target: &BoundTarget) -> Result<Thing, Box<StepFailure>> {
        let state = self.shop.state.lock();
        let failed = |cause, message: String| {
            let mut failure = failure(Stage::Resolve, cause, message);
            failure.facts.target = Some(name.clone());
            failure
        };
        match target {
            BoundTarget::Observed(candidate) => state.thing_of(candidate.id).ok_or_else(|| {
                failed(Cause::TargetStale, format!("expected {} on the page, saw another document", candidate.title()))
            }),
            BoundTarget::Declared(locator) => {
                let things = state.place.things();
                let facts: Vec<ElementFacts> = things.iter().map(|thing| state.facts(*thing)).collect();
                let selection = locator.select(&facts);
                let unique = selection.unique().and_then(|index| things.get(index));
                unique.copied().ok_or_else(|| match selection.matches.len() {
                    0 => failed(Cause::TargetNotFound, format!("expected one match for {name}, saw none")),
                    several => failed(Cause::TargetAmbiguous, format!("expected one match for {name}, saw {several}")),
                })
            }
        }
    }

    fn sensitive(&self, step: &BoundStep) -> Vec<TargetRef> {
        let password = |(name, target): (&TargetRef, &BoundTarget)| {
            (self.resolve(name, target) == Ok(Thing::Password)).then(|| name.clone())
        };
        step.targets().iter().filter_map(password).collect()
    }

    fn check_pre(&self, step: &BoundStep, evidence: &mut Evidence) -> Result<(), Box<StepFailure>> {
        let conditions = &step.step().pre;
        if conditions.is_empty() {
            return Ok(());
        }
        let facts = Facts::at(sample(&self.shop.state.lock(), step, 0));
        evidence.pre = conditions.iter().map(|condition| judged(condition, &facts, false)).collect();
        evidence.pre_facts = Some(facts);
        match evidence.pre.iter().find(|judged| !judged.verdict.holds()) {
            None => Ok(()),
            Some(_) => {
                let mut failure =
                    failure(Stage::Precondition, Cause::PreconditionFailed, "expected the precondition to hold");
                failure.facts.conditions.clone_from(&evidence.pre_facts);
                failure.evidence = evidence.clone();
                Err(failure)
            }
        }
    }

    /// The text that the step enters. A secret is resolved here, as late as possible.
    async fn text(
        &self,
        step: &BoundStep,
        thing: Option<Thing>,
        deadline: Deadline,
        evidence: &Evidence,
    ) -> Result<Option<String>, Box<StepFailure>> {
        let Some(reference) = step.action().credential() else {
            return Ok(step.action().text().and_then(|text| text.clear()).map(str::to_owned));
        };
        let scope = SecretScope {
            origin: Shop::origin().into(),
            page_origin: Shop::origin().into(),
            is_password_field: thing == Some(Thing::Password),
        };
        match self.secrets.resolve(reference, &scope, deadline).await {
            Ok(secret) => Ok(Some(secret.expose().to_owned())),
            Err(refusal) => {
                let mut failure = failure(Stage::Act, Cause::PolicyBlocked, refusal.to_string());
                if matches!(refusal, SecretRefusal::OutOfScope { .. }) {
                    failure.facts.rule = Some(Rule::SecretScope);
                } else {
                    failure.cause = Cause::InvalidArgument;
                }
                failure.evidence = evidence.clone();
                Err(failure)
            }
        }
    }
}

impl<S: SecretSource> Executor for FakeExecutor<S> {
    type Error = FakeError;

    async fn run_step(
        &mut self,
        page: &PageId,
        step: &BoundStep,
        _: &Observation,
        _: &mut dyn EffectGate,
        deadline: Deadline,
    ) -> Result<StepOutcome, FakeError> {
        known(page)?;
        Ok(match self.run(step, deadline).await {
            Ok(success) => StepOutcome::Succeeded(success),
            Err(failure) => StepOutcome::Failed(failure),
        })
    }
}

struct Done {
    is_input: bool,
    data: Option<Value>,
}

fn act(
    shop: &mut State,
    action: &Action,
    thing: Option<Thing>,
    text: Option<String>,
) -> Result<Done, Box<StepFailure>> {
    let input = Ok(Done { is_input: true, data: None });
    let reading = |data| Ok(Done { is_input: false, data });
    match (action, thing, text) {
        (Action::Navigate(navigate), _, _) => {
            if shop.go_to(&navigate.url) {
                return input;
            }
            let mut failure =
                failure(Stage::Act, Cause::HttpError, "expected a page of the shop, saw an answer with status 404");
            failure.facts.status = Some(404);
            Err(failure)
        }
        (Action::Click(click), Some(_), _) if click.dry_run == Some(true) => reading(None),
        (Action::Click(_), Some(thing), _) => {
            shop.click(thing);
            input
        }
        (Action::Type(_), Some(thing), Some(text)) if thing.is_field() => {
            let value = shop.value(thing).to_owned() + &text;
            shop.set_value(thing, value);
            input
        }
        (Action::SetValue(_), Some(thing), Some(text)) if thing.is_field() => {
            shop.set_value(thing, text);
            input
        }
        (Action::Clear(_), Some(thing), _) if thing.is_field() => {
            shop.set_value(thing, String::new());
            input
        }
        (Action::Type(_) | Action::SetValue(_), _, None) => {
            Err(failure(Stage::Act, Cause::InvalidArgument, "expected text in the clear, saw a digest or nothing"))
        }
        (Action::Extract(_), Some(Thing::Password), _) => {
            Err(failure(Stage::Act, Cause::InvalidArgument, "expected a target that can be read, saw a password"))
        }
        (Action::Extract(_), Some(thing), _) => {
            let text = if thing.is_field() { shop.value(thing) } else { thing.name() };
            reading(Some(json!(text)))
        }
        (Action::Extract(_), None, _) => reading(Some(json!(shop.place.text()))),
        (
            Action::WaitFor(_) | Action::WaitForIdle(_) | Action::Assert(_) | Action::Hover(_) | Action::Focus(_),
            _,
            _,
        ) => reading(None),
        (other, _, _) => {
            let message = format!("expected an action that the shop knows, saw `{}`", other.kind().meta().name);
            Err(failure(Stage::Act, Cause::Unsupported, message))
        }
    }
}

/// Judges the postconditions of the step, and the condition that it waits for.
fn check_post(step: &BoundStep, facts: Facts, mut evidence: Evidence) -> Result<Evidence, Box<StepFailure>> {
    let own = step.action().condition().map(|condition| judged(condition, &facts, false));
    let stated = step.post().iter().map(|stated| judged(&stated.condition, &facts, stated.is_default));
    evidence.post = own.into_iter().chain(stated).collect();
    evidence.post_facts = Some(facts);
    let verdict_of = |verdict| evidence.post.iter().find(|judged| judged.verdict == verdict && !judged.default);
    let defaults_fail = evidence.post.iter().any(|judged| judged.verdict == Verdict::Fails);
    let cause = match (verdict_of(Verdict::Unknown), defaults_fail) {
        (_, true) => Cause::PostconditionFailed,
        (Some(_), false) => Cause::EffectUnknown,
        (None, false) => return Ok(evidence),
    };
    let mut failure = failure(Stage::Postcondition, cause, "expected every postcondition to hold");
    failure.facts.conditions.clone_from(&evidence.post_facts);
    failure.evidence = evidence;
    Err(failure)
}

fn judged(condition: &Condition, facts: &Facts, default: bool) -> Judged {
    let verdict = condition.evaluate(facts);
    Judged {
        condition: condition.clone(),
        verdict,
        vacuous: condition.was_vacuous(facts),
        default,
        latency_ms: verdict.holds().then_some(0),
    }
}

fn sample(state: &State, step: &BoundStep, at_ms: u32) -> Sample {
    let facts_of = |target: &BoundTarget| match target {
        BoundTarget::Observed(candidate) => {
            state.thing_of(candidate.id).map_or_else(TargetFacts::none, |thing| TargetFacts::one(state.facts(thing)))
        }
        BoundTarget::Declared(locator) => {
            let facts: Vec<ElementFacts> = state.place.things().iter().map(|thing| state.facts(*thing)).collect();
            let selection = locator.select(&facts);
            TargetFacts {
                matches: u32::try_from(selection.matches.len()).ok(),
                element: selection.unique().and_then(|index| facts.get(index)).cloned(),
            }
        }
    };
    let targets: BTreeMap<_, _> =
        step.targets().iter().map(|(name, target)| (name.clone(), facts_of(target))).collect();
    Sample { at_ms, url: state.place.url().into(), title: state.place.title().into(), targets }
}

fn failure(stage: Stage, cause: Cause, message: impl Into<String>) -> Box<StepFailure> {
    Box::new(StepFailure::new(stage, cause, message))
}

/// Handles one registered action, `notify`, and records the arguments of its calls.
#[derive(Clone, Debug, Default)]
pub struct FakeHandler {
    calls: Shared<Vec<Map<String, Value>>>,
}

impl FakeHandler {
    /// The arguments of every call, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Map<String, Value>> {
        self.calls.lock().clone()
    }
}

const NOTIFY: &str = "notify";

impl ActionHandler for FakeHandler {
    type Error = FakeError;

    fn actions(&self) -> Vec<RegisteredAction> {
        vec![RegisteredAction {
            name: ShortText::cut(NOTIFY),
            schema: json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] }),
            effect: EffectClass::Idempotent,
            description: ShortText::cut("Tells somebody how far the run is."),
        }]
    }

    async fn handle(&mut self, step: &BoundStep, deadline: Deadline) -> Result<StepOutcome, FakeError> {
        let failed = |cause, message| Ok(StepOutcome::Failed(failure(Stage::Act, cause, message)));
        if deadline.has_passed(Instant::now()) {
            return failed(Cause::DeadlineExceeded, "expected time to be left, saw none");
        }
        match step.action() {
            Action::Call(call) if call.name.as_str() == NOTIFY => {
                self.calls.lock().push(call.args.clone().unwrap_or_default());
                let data = Some(json!("told"));
                let evidence = Evidence { input_sent: true, ..Evidence::default() };
                Ok(StepOutcome::Succeeded(StepSuccess { evidence, data, page: None }))
            }
            _ => failed(Cause::Unsupported, "expected `notify`, saw another action"),
        }
    }
}
