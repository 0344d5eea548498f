//! A small recorded run: records as a real executor would hand them over.

use cuebook_grammar::condition::Condition;
use cuebook_grammar::facts::{ElementFacts, Facts, Sample, TargetFacts};
use cuebook_grammar::id::{RunId, TargetRef};
use cuebook_grammar::outcome::Judged;
use cuebook_grammar::record::{PlanningRecord, RECORD_VERSION, RunEnd, RunHeader, StepIntent, StepRecord};
use cuebook_grammar::report::RunResult;
use cuebook_grammar::secret::{DigestKey, FactText};
use cuebook_grammar::step::Step;
use cuebook_grammar::verdict::Verdict;
use serde_json::json;

pub(crate) fn header() -> RunHeader {
    RunHeader {
        schema_version: RECORD_VERSION.into(),
        run_id: RunId::new("r1"),
        ts_ms: 1,
        cuebook: "0.1.0".into(),
        browser: Some("Chrome/156".into()),
        browser_path: Some("/usr/bin/chromium".into()),
        command: "exec".into(),
        task: Some("log in".into()),
        url: Some("https://shop.test/".into()),
        plan: None,
        session: None,
        case: None,
    }
}

pub(crate) fn end() -> RunEnd {
    RunEnd { run_id: RunId::new("r1"), ts_ms: 9, result: RunResult::Ok, conclusion: None, late: Default::default() }
}

pub(crate) fn step() -> Step {
    serde_json::from_value(json!({
        "type": "type", "targetRef": "c1", "text": "s3cret-pass",
        "post": [{ "kind": "valueContains", "target": "c1", "value": "s3cret" }]
    }))
    .unwrap()
}

pub(crate) fn call(planning_index: u32) -> PlanningRecord {
    serde_json::from_value(json!({
        "schemaVersion": RECORD_VERSION, "runId": "r1", "planningIndex": planning_index, "tsMs": 2, "observation": 1,
        "call": {
            "engine": "ollama", "model": "m", "purpose": "plan",
            "input": [{ "role": "system", "text": "Plan." }, { "role": "user", "text": "log in" }],
            "output": "{\"version\":\"1.0\"", "reasoning": "the form is there", "confidence": 0.5,
            "inputTokens": 10, "outputTokens": 4, "latencyMs": 30, "firstStepMs": 20, "attempts": 2,
            "end": { "failed": { "code": "cut", "message": "expected the end of the answer, saw the end of the stream" } }
        }
    }))
    .unwrap()
}

pub(crate) fn intent(step_index: u32) -> StepIntent {
    serde_json::from_value(json!({
        "schemaVersion": RECORD_VERSION, "runId": "r1", "stepIndex": step_index, "origin": "plan",
        "attempt": 1, "action": { "type": "click", "targetRef": "c1" }, "tsMs": 2
    }))
    .unwrap()
}

pub(crate) fn record(step_index: u32) -> StepRecord {
    serde_json::from_value(json!({
        "schemaVersion": RECORD_VERSION, "runId": "r1", "stepIndex": step_index, "origin": "plan",
        "attempt": 1, "action": { "type": "click", "targetRef": "c1" }, "url": "https://shop.test/",
        "risk": "write", "effectClass": "reversible", "execution": { "tsMs": 2, "durationMs": 3 },
        "result": "ok"
    }))
    .unwrap()
}

fn facts_of(target: &TargetRef, before: &str, after: &str) -> Facts {
    let sample = |at_ms, value: &str| {
        let element = ElementFacts { value: Some(FactText::Clear(value.into())), ..ElementFacts::default() };
        let targets = [(target.clone(), TargetFacts::one(element))].into();
        Sample { at_ms, url: "https://shop.test/".into(), title: "Shop".into(), targets }
    };
    Facts { before: Some(sample(0, before)), samples: vec![sample(5, after)], ..Facts::default() }
}

/// A step that typed a password, as the record keeps it: the step, its conditions and the facts hold
/// digests of the texts and not the texts.
pub(crate) fn password_record(step_index: u32) -> StepRecord {
    let key = DigestKey::new([7; 32]);
    let target = TargetRef::new("c1").unwrap();
    let is_sensitive = |name: &TargetRef| *name == target;
    let step = step();
    let mut facts = facts_of(&target, "", "s3cret-pass");
    let asked: Vec<&str> = step.post.iter().flat_map(|condition| condition.compared_texts(&target)).collect();
    for sample in facts.before.iter_mut().chain(&mut facts.samples) {
        for element in sample.targets.values_mut().filter_map(|facts| facts.element.as_mut()) {
            element.value = element.value.as_ref().map(|value| value.redact(&key, &asked));
        }
    }
    let judged = |condition: &Condition| Judged {
        condition: condition.redacted(&is_sensitive, &key),
        verdict: Verdict::Holds,
        vacuous: false,
        default: false,
        latency_ms: Some(5),
    };
    StepRecord {
        post_check: step.post.iter().map(judged).collect(),
        post_facts: Some(facts),
        action: step.redacted(&is_sensitive, &key),
        ..record(step_index)
    }
}
