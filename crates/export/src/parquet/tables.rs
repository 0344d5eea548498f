//! The tables, and what of an entry goes into which column.
//!
//! Invariant: columns are added at the end of a table and may be absent; none is renamed, retyped or removed.
//! `columns.txt` beside this file lists them, and a test compares.

use std::collections::BTreeMap;

use cuebook_grammar::candidate::{Candidate, Placement};
use cuebook_grammar::facts::Toggle;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{EffectRecord, Judged};
use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::record::{ObservationRecord, PlanningRecord, RecordedTarget, RunHeader, StepRecord};
use serde::Serialize;
use url::Url;

use super::column::{Column, Time, nulls, rows, structure};
use crate::locating;
use crate::source::word;

rows! { pub(super),
    /// A run, with counts over its log.
    RunRow {
        run_id: String, started: Time, ended: Option<Time>, duration_ms: Option<i64>, result: Option<String>,
        command: String, task: Option<String>, url: Option<String>, host: Option<String>, cuebook: String,
        browser: Option<String>, log_version: String, steps: i64, failed_steps: i64, calls: i64, input_tokens: i64,
        output_tokens: i64, observations: i64, unreadable: Option<String>, case: Option<CaseRow>, plan: Option<String>,
    }
    /// The part of a test case that a run is.
    CaseRow {
        id: String, suite: String, name: String, attempt: i64, part: String, priority: Option<String>,
        expect: Vec<String>,
    }
    /// One attempt of a step.
    StepRow {
        run_id: String, step_index: i64, attempt: i64, plan_index: Option<i64>, plan_id: Option<String>, origin: String,
        planning_index: Option<i64>, observation: Option<i64>, started: Time, duration_ms: i64, resolve_ms: i64,
        actionable_ms: i64, act_ms: i64, post_ms: i64, cdp_events: i64, url: String, host: Option<String>,
        action: String, targets: Vec<TargetRow>, action_json: String, explanation: Option<String>,
        confidence: Option<f64>, risk: String, effect_class: String, result: String, failure_stage: Option<String>,
        failure_cause: Option<String>, failure_message: Option<String>, input_sent: bool, no_observed_effect: bool,
        url_after: Option<String>, new_document: bool, added: i64, removed: i64, attributes_changed: i64,
        texts_changed: i64, states: Vec<String>, problems: Vec<ProblemRow>, console_errors: Vec<String>,
        dialogs: Vec<DialogRow>, downloads: Vec<DownloadRow>, new_tabs: Vec<String>, artifacts: Vec<ArtifactRow>,
        data_json: Option<String>, late_json: Option<String>, declared_json: Option<String>,
    }
    /// A target as it was when its step was decided.
    TargetRow {
        target_ref: String, is_declared: bool, role: Option<String>, name: Option<String>, context: Option<String>,
        test_id: Option<String>, locator: Option<String>, bounds: Option<BoundsRow>,
    }
    /// In CSS pixels of the viewport.
    BoundsRow { x: f64, y: f64, width: f64, height: f64, }
    ProblemRow { kind: String, message: String, }
    DialogRow { kind: String, message: String, }
    DownloadRow { filename: String, url: String, end: Option<String>, bytes: Option<i64>, }
    ArtifactRow { kind: String, sha256: String, media_type: String, bytes: i64, path: String, }
    /// A precondition or postcondition of an attempt.
    ConditionRow {
        run_id: String, step_index: i64, attempt: i64, phase: &'static str, position: i64, kind: &'static str,
        target: Option<String>, words: String, condition_json: String, verdict: String, vacuous: bool,
        is_default: bool, latency_ms: Option<i64>,
    }
    /// A candidate of an observation.
    CandidateRow {
        run_id: String, observation: i64, observed: Time, position: i64, candidate: String, url: String, role: String,
        name: String, context: Option<String>, description: Option<String>, control: String, name_source: String,
        ambiguous: bool, states: Vec<String>, value: Option<String>, label: Option<String>,
        placeholder: Option<String>, test_id: Option<String>, destination: Option<String>, form: Option<String>,
        surroundings: Option<String>, bounds: Option<BoundsRow>, in_view: bool, covered_share: Option<f64>,
        covered_by: Option<String>, frame: i64, depth: i64, options: Vec<OptionRow>, locators: Vec<String>,
        page_fingerprint: String,
    }
    OptionRow { value: String, label: String, selected: bool, disabled: bool, }
    /// A request that a step caused, or that the proxy denied during it.
    RequestRow {
        run_id: String, step_index: i64, attempt: i64, position: i64, method: String, url: Option<String>,
        host: Option<String>, status: Option<i64>, failure: Option<String>, retry_after_ms: Option<i64>,
        denied_rule: Option<String>, denied: Option<Time>, duration_ms: Option<i64>,
    }
    /// A call of a model.
    PlanningRow {
        run_id: String, planning_index: i64, ended: Time, observation: Option<i64>, engine: String,
        model: Option<String>, purpose: String, input: Vec<MessageRow>, output: String, reasoning: Option<String>,
        confidence: Option<f64>, input_tokens: i64, output_tokens: i64, latency_ms: i64, first_step_ms: Option<i64>,
        requests: i64, result: &'static str, violations: Vec<ViolationRow>, failure_code: Option<String>,
        failure_message: Option<String>,
    }
    MessageRow { role: String, text: String, }
    ViolationRow { code: String, path: String, message: String, }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn host(url: &str) -> Option<String> {
    Some(Url::parse(url).ok()?.host_str()?.to_owned())
}

fn bounds(rect: cuebook_grammar::geometry::Rect) -> BoundsRow {
    BoundsRow { x: rect.x, y: rect.y, width: rect.width, height: rect.height }
}

impl RunRow {
    pub(super) fn new(header: &RunHeader) -> Self {
        Self {
            run_id: header.run_id.to_string(),
            started: Time(header.ts_ms),
            ended: None,
            duration_ms: None,
            result: None,
            command: header.command.clone(),
            task: header.task.clone(),
            url: header.url.clone(),
            host: header.url.as_deref().and_then(host),
            cuebook: header.cuebook.clone(),
            browser: header.browser.clone(),
            log_version: header.schema_version.clone(),
            steps: 0,
            failed_steps: 0,
            calls: 0,
            input_tokens: 0,
            output_tokens: 0,
            observations: 0,
            unreadable: None,
            case: header.case.as_ref().map(|case| CaseRow {
                id: case.id.to_string(),
                suite: case.suite.clone(),
                name: case.name.clone(),
                attempt: case.attempt.into(),
                part: word(&case.part),
                priority: case.priority.clone(),
                expect: case.expect.clone(),
            }),
            plan: header.plan.clone(),
        }
    }

    pub(super) fn end(&mut self, end: &cuebook_grammar::record::RunEnd) {
        self.ended = Some(Time(end.ts_ms));
        self.duration_ms = Some(count(end.ts_ms.saturating_sub(self.started.0)));
        self.result = Some(word(&end.result));
    }

    pub(super) fn call(&mut self, record: &PlanningRecord) {
        self.calls += 1;
        self.input_tokens = self.input_tokens.saturating_add(count(record.call.input_tokens));
        self.output_tokens = self.output_tokens.saturating_add(count(record.call.output_tokens));
    }
}

impl StepRow {
    pub(super) fn new(record: &StepRecord) -> Self {
        let none = EffectRecord::default();
        let effects = record.effects.as_ref().unwrap_or(&none);
        let (timings, failure) = (&record.execution.timings, record.failure.as_ref());
        let declared = record.candidates.iter().filter_map(|(target, recorded)| match recorded {
            RecordedTarget::Declared(locator) => Some((target, locator)),
            RecordedTarget::Observed(_) => None,
        });
        let declared: BTreeMap<_, _> = declared.collect();
        let step = &record.action;
        Self {
            run_id: record.run_id.to_string(),
            step_index: record.step_index.into(),
            attempt: record.attempt.into(),
            plan_index: record.plan_index.map(Into::into),
            plan_id: record.plan_id.as_ref().map(ToString::to_string),
            origin: word(&record.origin),
            planning_index: record.planning.map(Into::into),
            observation: record.observation.map(|id| count(id.0)),
            started: Time(record.execution.ts_ms),
            duration_ms: count(record.execution.duration_ms),
            resolve_ms: timings.resolve_ms.into(),
            actionable_ms: timings.actionable_ms.into(),
            act_ms: timings.act_ms.into(),
            post_ms: timings.post_ms.into(),
            cdp_events: count(record.execution.cdp.events),
            url: record.url.clone(),
            host: host(&record.url),
            action: step.action.kind().meta().name.to_owned(),
            targets: step.targets().into_iter().map(|target| TargetRow::new(record, target)).collect(),
            action_json: json(step),
            explanation: step.explanation.as_ref().map(ToString::to_string),
            confidence: step.confidence.map(|confidence| confidence.get()),
            risk: word(&record.risk),
            effect_class: word(&record.effect_class),
            result: word(&record.result),
            failure_stage: failure.map(|failure| word(&failure.stage)),
            failure_cause: failure.map(|failure| word(&failure.cause)),
            failure_message: failure.map(|failure| failure.message.clone()),
            input_sent: record.input_sent,
            no_observed_effect: record.no_observed_effect,
            url_after: effects.url_after.clone(),
            new_document: effects.new_document,
            added: effects.mutations.added.into(),
            removed: effects.mutations.removed.into(),
            attributes_changed: effects.mutations.attributes.into(),
            texts_changed: effects.mutations.texts.into(),
            states: effects.states.clone(),
            problems: effects
                .problems
                .iter()
                .map(|problem| ProblemRow { kind: word(&problem.kind), message: problem.message.clone() })
                .collect(),
            console_errors: effects.console_errors.clone(),
            dialogs: effects
                .dialogs
                .iter()
                .map(|dialog| DialogRow { kind: word(&dialog.kind), message: dialog.message.clone() })
                .collect(),
            downloads: effects
                .downloads
                .iter()
                .map(|download| DownloadRow {
                    filename: download.filename.clone(),
                    url: download.url.clone(),
                    end: download.end.as_ref().map(word),
                    bytes: download.bytes.map(count),
                })
                .collect(),
            new_tabs: effects.new_tabs.clone(),
            artifacts: record
                .artifacts
                .iter()
                .map(|artifact| ArtifactRow {
                    kind: artifact.kind.clone(),
                    sha256: artifact.sha256.clone(),
                    media_type: artifact.media_type.clone(),
                    bytes: count(artifact.bytes),
                    path: artifact.path.clone(),
                })
                .collect(),
            data_json: record.data.as_ref().map(json),
            late_json: (!effects.late.is_empty()).then(|| json(&effects.late)),
            declared_json: (!declared.is_empty()).then(|| json(&declared)),
        }
    }
}

impl TargetRow {
    fn new(record: &StepRecord, target: &cuebook_grammar::id::TargetRef) -> Self {
        let candidate = match record.candidates.get(target) {
            Some(RecordedTarget::Observed(candidate)) => Some(candidate),
            _ => None,
        };
        Self {
            target_ref: target.to_string(),
            is_declared: matches!(record.candidates.get(target), Some(RecordedTarget::Declared(_))),
            role: candidate.map(|one| one.role.to_string()),
            name: candidate.map(|one| one.name.clone()),
            context: candidate.and_then(|one| one.context.clone()),
            test_id: candidate.and_then(|one| one.test_id.clone()),
            locator: locating::locator(record, target).map(|locator| locator.to_string()),
            bounds: candidate.and_then(|one| one.rect).map(bounds),
        }
    }
}

/// The conditions of an attempt, preconditions first.
pub(super) fn conditions(record: &StepRecord) -> impl Iterator<Item = ConditionRow> {
    let name = |target: &cuebook_grammar::id::TargetRef| locating::target(record, target);
    let row = move |phase, (position, judged): (usize, &Judged)| ConditionRow {
        run_id: record.run_id.to_string(),
        step_index: record.step_index.into(),
        attempt: record.attempt.into(),
        phase,
        position: count(position as u64),
        kind: judged.condition.tag(),
        target: judged.condition.target().map(ToString::to_string),
        words: judged.condition.in_words_naming(&name),
        condition_json: json(&judged.condition),
        verdict: word(&judged.verdict),
        vacuous: judged.vacuous,
        is_default: judged.default,
        latency_ms: judged.latency_ms.map(Into::into),
    };
    let pre = record.pre_check.iter().enumerate().map(move |judged| row("pre", judged));
    pre.chain(record.post_check.iter().enumerate().map(move |judged| row("post", judged)))
}

/// The requests of an attempt, those that the proxy denied last.
pub(super) fn requests(record: &StepRecord) -> impl Iterator<Item = RequestRow> {
    let blank = |position: usize, method: &str| RequestRow {
        run_id: record.run_id.to_string(),
        step_index: record.step_index.into(),
        attempt: record.attempt.into(),
        position: count(position as u64),
        method: method.to_owned(),
        url: None,
        host: None,
        status: None,
        failure: None,
        retry_after_ms: None,
        denied_rule: None,
        denied: None,
        duration_ms: None,
    };
    let effects = record.effects.iter();
    let seen = effects.clone().flat_map(|effects| &effects.requests).enumerate();
    let sent = seen.clone().count();
    let seen = seen.map(move |(position, request)| RequestRow {
        url: Some(request.url.clone()),
        host: host(&request.url),
        status: request.status.map(Into::into),
        failure: request.failure.clone(),
        retry_after_ms: request.retry_after_ms.map(count),
        duration_ms: request.duration_ms.map(Into::into),
        ..blank(position, &request.method)
    });
    let denied = effects.flat_map(|effects| &effects.denied).enumerate();
    seen.chain(denied.map(move |(position, request)| RequestRow {
        url: request.url.clone(),
        host: Some(request.host.clone()),
        denied_rule: Some(request.rule.clone()),
        denied: Some(Time(request.ts_ms)),
        ..blank(sent + position, &request.method)
    }))
}

/// The candidates of a page.
pub(super) fn candidates<'a>(
    record: &'a ObservationRecord,
    page: &'a Observation,
) -> impl Iterator<Item = CandidateRow> + 'a {
    page.candidates.iter().enumerate().map(|(position, one)| CandidateRow {
        run_id: record.run_id.to_string(),
        observation: count(record.observation.0),
        observed: Time(record.ts_ms),
        position: count(position as u64),
        candidate: one.id.to_string(),
        url: record.url.clone(),
        role: one.role.to_string(),
        name: one.name.clone(),
        context: one.context.clone(),
        description: one.description.clone(),
        control: word(&one.control),
        name_source: word(&one.name_source),
        ambiguous: one.ambiguous,
        states: states(one),
        value: one.value.as_ref().and_then(|value| value.clear()).map(ToOwned::to_owned),
        label: one.label.clone(),
        placeholder: one.placeholder.clone(),
        test_id: one.test_id.clone(),
        destination: one.destination.clone(),
        form: one.form.clone(),
        surroundings: one.surroundings.clone(),
        bounds: one.rect.map(bounds),
        in_view: one.placement == Placement::InView,
        covered_share: one.occlusion.as_ref().map(|occlusion| occlusion.ratio),
        covered_by: one.occlusion.as_ref().map(|occlusion| occlusion.by.clone()),
        frame: one.frame.into(),
        depth: one.depth.into(),
        options: one
            .options
            .iter()
            .map(|option| OptionRow {
                value: option.value.clone(),
                label: option.label.clone(),
                selected: option.selected,
                disabled: option.disabled,
            })
            .collect(),
        locators: one.locators.iter().map(ToString::to_string).collect(),
        page_fingerprint: page.fingerprint.clone(),
    })
}

/// The states that are on, as words: `required`, `checked`, `expanded`.
fn states(candidate: &Candidate) -> Vec<String> {
    let states = &candidate.states;
    let on = BTreeMap::from([
        ("checked", states.checked == Some(Toggle::True)),
        ("disabled", states.disabled),
        ("editable", states.editable),
        ("expanded", states.expanded == Some(true)),
        ("focused", states.focused),
        ("invalid", states.invalid),
        ("mixed", states.checked == Some(Toggle::Mixed) || states.pressed == Some(Toggle::Mixed)),
        ("multiselectable", states.multiselectable),
        ("pressed", states.pressed == Some(Toggle::True)),
        ("readonly", states.readonly),
        ("required", states.required),
        ("selected", states.selected == Some(true)),
    ]);
    on.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned()).collect()
}

impl PlanningRow {
    pub(super) fn new(record: &PlanningRecord) -> Self {
        let call = &record.call;
        let (result, violations, failure) = match &call.end {
            CallEnd::Accepted => ("accepted", &[][..], None),
            CallEnd::Invalid { violations } => ("invalid", violations.as_slice(), None),
            CallEnd::Failed { code, message } => ("failed", &[][..], Some((code.clone(), message.clone()))),
        };
        let (failure_code, failure_message) = failure.unzip();
        Self {
            run_id: record.run_id.to_string(),
            planning_index: record.planning_index.into(),
            ended: Time(record.ts_ms),
            observation: record.observation.map(|id| count(id.0)),
            engine: call.engine.clone(),
            model: call.model.clone(),
            purpose: word(&call.purpose),
            input: call
                .input
                .iter()
                .map(|message| MessageRow { role: word(&message.role), text: message.text.clone() })
                .collect(),
            output: call.output.clone(),
            reasoning: call.reasoning.clone(),
            confidence: call.confidence,
            input_tokens: count(call.input_tokens),
            output_tokens: count(call.output_tokens),
            latency_ms: count(call.latency_ms),
            first_step_ms: call.first_step_ms.map(count),
            requests: call.attempts.into(),
            result,
            violations: violations
                .iter()
                .map(|one| ViolationRow { code: word(&one.code), path: one.path.clone(), message: one.message.clone() })
                .collect(),
            failure_code,
            failure_message,
        }
    }
}
