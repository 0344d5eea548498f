//! From bound steps and outcomes to records, with everything sensitive reduced on the way.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cuebook_grammar::deadline::millis;
use cuebook_grammar::facts::Facts;
use cuebook_grammar::id::{RunId, TargetRef};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{StepFailure, StepOutcome};
use cuebook_grammar::plan::{BoundStep, BoundTarget};
use cuebook_grammar::record::{
    CdpCounts, Execution, Failure, PersonStep, RECORD_VERSION, RecordedTarget, StepIntent, StepOrigin, StepRecord,
    StepResult,
};
use cuebook_grammar::redaction::{RedactError, redacted, redacted_data};
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::secret::{DigestKey, WireText};
use cuebook_grammar::step::Step;
use cuebook_grammar::wire::ShortText;
use serde_json::Value;

/// The most characters of JSON that a step's data may have in a record.
const MAX_DATA: usize = 100_000;

/// Milliseconds since 1970: the wall clock of every log and of the names of runs. Spans are measured with
/// [`std::time::Instant`].
#[must_use]
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

/// The place of a step in its run.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) run_id: RunId,
    pub(crate) step_index: u32,
    pub(crate) plan_index: Option<u32>,
    pub(crate) origin: StepOrigin,
    pub(crate) attempt: u32,
    pub(crate) planning: Option<u32>,
    pub(crate) plan_id: Option<ShortText>,
}

/// Which targets of a step hold text that must not be kept, before and after the executor looked.
pub(crate) struct Sensitivity {
    targets: Vec<TargetRef>,
}

impl Sensitivity {
    /// By the observation. A declared target is not resolved yet, so text for it counts as sensitive until the executor
    /// reports otherwise.
    pub(crate) fn before(bound: &BoundStep) -> Self {
        let sensitive = |target: &BoundTarget| target.candidate().is_none_or(|candidate| candidate.is_sensitive());
        let targets = bound.targets().iter().filter(|(_, target)| sensitive(target)).map(|(name, _)| name.clone());
        Self { targets: targets.collect() }
    }

    /// By what the executor saw. For a step that failed before its target was resolved, the same as before.
    pub(crate) fn after(bound: &BoundStep, outcome: &StepOutcome) -> Self {
        let evidence = outcome.evidence();
        let resolved = evidence.input_sent || matches!(outcome, StepOutcome::Succeeded(_));
        if !resolved {
            let mut before = Self::before(bound);
            before.targets.extend(evidence.sensitive.iter().cloned());
            return before;
        }
        let observed = bound
            .targets()
            .iter()
            .filter(|(_, target)| target.candidate().is_some_and(|candidate| candidate.is_sensitive()))
            .map(|(name, _)| name.clone());
        Self { targets: evidence.sensitive.iter().cloned().chain(observed).collect() }
    }

    pub(crate) fn covers(&self, target: &TargetRef) -> bool {
        self.targets.contains(target)
    }

    pub(crate) fn redact(&self, step: &Step, key: &DigestKey) -> Step {
        step.redacted(&|target| self.covers(target), key)
    }

    fn redact_facts(&self, facts: &Facts, bound: &BoundStep, key: &DigestKey) -> Facts {
        let conditions = bound.step().pre.iter().chain(bound.post().iter().map(|stated| &stated.condition));
        let conditions: Vec<_> = conditions.chain(bound.action().condition()).collect();
        let stated = self.targets.iter().flat_map(|target| conditions.iter().flat_map(|c| c.compared_texts(target)));
        let compared: Vec<&str> = stated.chain(bound.action().text().and_then(WireText::clear)).collect();
        facts.redacted(&|target| self.covers(target), &compared, key)
    }

    /// The clear texts that the step enters into sensitive targets: from now on they are secrets.
    pub(crate) fn teach(&self, bound: &BoundStep, redactor: &dyn Redactor) {
        let is_main = bound.action().target().is_some_and(|target| self.targets.contains(target));
        if let Some(text) = bound.action().text().and_then(WireText::clear).filter(|_| is_main) {
            redactor.learn(text);
        }
    }
}

/// Returns the intent that is logged before a step may send input.
pub(crate) fn intent(place: &Place, step: Step) -> StepIntent {
    StepIntent {
        schema_version: RECORD_VERSION.to_owned(),
        run_id: place.run_id.clone(),
        step_index: place.step_index,
        plan_index: place.plan_index,
        origin: place.origin,
        attempt: place.attempt,
        planning: place.planning,
        plan_id: place.plan_id.clone(),
        action: step,
        ts_ms: now_ms(),
    }
}

/// Parts of a record beside the step's outcome.
pub(crate) struct RecordInput<'a> {
    pub(crate) place: &'a Place,
    pub(crate) bound: &'a BoundStep,
    pub(crate) step: Step,
    pub(crate) ground: &'a Observation,
    pub(crate) url: &'a str,
    pub(crate) ts_ms: u64,
    pub(crate) took: Duration,
    pub(crate) sensitivity: &'a Sensitivity,
    pub(crate) digest: &'a DigestKey,
}

/// The record of a step that ran.
pub(crate) fn record(input: RecordInput<'_>, outcome: &StepOutcome) -> StepRecord {
    let RecordInput { place, bound, step, ground, url, ts_ms, took, sensitivity, digest } = input;
    let mut evidence = outcome.evidence().clone();
    // The executor has reduced them already; the record does not rely on it.
    let keep = |facts: Facts| sensitivity.redact_facts(&facts, bound, digest);
    evidence.pre_facts = evidence.pre_facts.map(keep);
    evidence.post_facts = evidence.post_facts.map(keep);
    for judged in evidence.pre.iter_mut().chain(&mut evidence.post) {
        judged.condition = judged.condition.redacted(&|target| sensitivity.covers(target), digest);
    }
    let (result, failure, data) = match outcome {
        StepOutcome::Succeeded(success) => (StepResult::Ok, None, success.data.clone()),
        StepOutcome::Failed(failure) => {
            let result = if failure.cause.is_block() { StepResult::Blocked } else { StepResult::Failed };
            let mut failure = failure_of(failure);
            failure.facts.conditions = failure.facts.conditions.map(keep);
            (result, Some(failure), None)
        }
    };
    StepRecord {
        schema_version: RECORD_VERSION.to_owned(),
        run_id: place.run_id.clone(),
        step_index: place.step_index,
        plan_index: place.plan_index,
        origin: place.origin,
        attempt: place.attempt,
        planning: place.planning,
        plan_id: place.plan_id.clone(),
        action: step,
        candidates: targets(bound),
        observation: uses_observation(bound).then_some(ground.id),
        url: url.to_owned(),
        risk: bound.risk(),
        effect_class: bound.effect(),
        pre_check: evidence.pre,
        pre_facts: evidence.pre_facts,
        execution: Execution {
            ts_ms,
            duration_ms: millis(took),
            timings: evidence.timings,
            cdp: CdpCounts { events: evidence.cdp_events.unwrap_or(0) },
        },
        post_check: evidence.post,
        post_facts: evidence.post_facts,
        effects: evidence.effects,
        target_box: evidence.target_box,
        selectors: evidence.selectors,
        artifacts: evidence.artifacts,
        result,
        failure,
        data,
        input_sent: evidence.input_sent,
        no_observed_effect: evidence.no_observed_effect,
    }
}

/// Returns `true` if a step names an observed candidate.
pub(crate) fn uses_observation(bound: &BoundStep) -> bool {
    bound.targets().values().any(|target| target.candidate().is_some())
}

fn targets(bound: &BoundStep) -> BTreeMap<TargetRef, RecordedTarget> {
    let recorded = |target: &BoundTarget| match target {
        BoundTarget::Declared(locator) => RecordedTarget::Declared(locator.clone()),
        BoundTarget::Observed(candidate) => RecordedTarget::Observed(candidate.clone()),
    };
    bound.targets().iter().map(|(name, target)| (name.clone(), recorded(target))).collect()
}

/// The entries of a step that a person did. Nothing judged it, so it has no verdicts, facts or effects.
pub(crate) fn of_person(run_id: &RunId, step_index: u32, done: PersonStep) -> (StepIntent, StepRecord) {
    let PersonStep { step, targets, url, ts_ms, risk } = done;
    let place = Place {
        run_id: run_id.clone(),
        step_index,
        plan_index: None,
        origin: StepOrigin::Person,
        attempt: 1,
        planning: None,
        plan_id: None,
    };
    let intent = StepIntent { ts_ms, ..intent(&place, step.clone()) };
    let record = StepRecord {
        schema_version: RECORD_VERSION.to_owned(),
        run_id: place.run_id,
        step_index,
        plan_index: None,
        origin: place.origin,
        attempt: place.attempt,
        planning: None,
        plan_id: None,
        effect_class: step.action.kind().meta().effect.max(risk.effect()),
        action: step,
        candidates: targets,
        observation: None,
        url,
        risk,
        pre_check: Vec::new(),
        pre_facts: None,
        execution: Execution { ts_ms, duration_ms: 0, timings: Default::default(), cdp: CdpCounts::default() },
        post_check: Vec::new(),
        post_facts: None,
        effects: None,
        target_box: None,
        selectors: None,
        artifacts: Vec::new(),
        result: StepResult::Ok,
        failure: None,
        data: None,
        input_sent: true,
        no_observed_effect: false,
    };
    (intent, record)
}

/// The wire form of a failure.
pub(crate) fn failure_of(failure: &StepFailure) -> Failure {
    Failure {
        stage: failure.stage,
        cause: failure.cause,
        message: failure.message.clone(),
        facts: failure.facts.clone(),
    }
}

/// A record without the secrets that are known by now, and with bounded data.
pub(crate) fn kept(record: StepRecord, redactor: &dyn Redactor) -> Result<StepRecord, RedactError> {
    // Before it is cut: half a secret would not be found.
    let data = record.data.as_ref().map(|data| bounded(redacted_data(data, Some(redactor))));
    Ok(StepRecord { data, ..redacted(StepRecord { data: None, ..record }, redactor)? })
}

fn bounded(data: Value) -> Value {
    let text = data.to_string();
    if text.len() <= MAX_DATA {
        return data;
    }
    let start: String = text.chars().take(MAX_DATA).collect();
    serde_json::json!({ "truncated": start, "bytes": text.len() })
}

/// The record of a step that ran outside a controller, from its intent. Texts are not redacted.
#[must_use]
pub fn record_of(
    intent: &StepIntent,
    bound: &BoundStep,
    ground: &Observation,
    took: Duration,
    outcome: &StepOutcome,
) -> StepRecord {
    let place = Place {
        run_id: intent.run_id.clone(),
        step_index: intent.step_index,
        plan_index: intent.plan_index,
        origin: intent.origin,
        attempt: intent.attempt,
        planning: intent.planning,
        plan_id: intent.plan_id.clone(),
    };
    let input = RecordInput {
        place: &place,
        bound,
        step: intent.action.clone(),
        ground,
        url: &ground.url,
        ts_ms: intent.ts_ms,
        took,
        sensitivity: &Sensitivity::before(bound),
        digest: &DigestKey::new([0; 32]),
    };
    record(input, outcome)
}
