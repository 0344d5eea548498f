//! Counts of calls, plans and steps in the logs.
//!
//! Invariant: an output that the planner accepted is read here again: that it is JSON with a last step is not taken
//! on trust.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Counts from the logs of all runs.
#[derive(Debug, Default)]
pub(super) struct Counts {
    calls: u64,
    accepted: u64,
    /// Outputs that were no valid plan, or were accepted and are none by this count.
    invalid: u64,
    violations: BTreeMap<String, u64>,
    failed: BTreeMap<String, u64>,
    output_tokens: u64,
    /// Tokens of each prompt, as a real tokenizer has them: the engine's own has a thousand tokens only.
    prompts: Vec<usize>,
    planned_steps: u64,
    steps: BTreeMap<String, u64>,
    verbs: BTreeMap<String, u64>,
    causes: BTreeMap<String, u64>,
}

impl Counts {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "planningCalls": self.calls,
            "accepted": self.accepted,
            "invalid": self.invalid,
            "violations": self.violations,
            "failed": self.failed,
            "outputTokens": self.output_tokens,
            "promptTokens": { "p50": self.prompt_at(50), "most": self.prompt_at(100) },
            "plannedSteps": self.planned_steps,
            "steps": self.steps,
            "verbs": self.verbs,
            "causes": self.causes,
        })
    }

    fn prompt_at(&self, percent: usize) -> usize {
        let mut prompts = self.prompts.clone();
        prompts.sort_unstable();
        let index = (prompts.len() * percent / 100).min(prompts.len().saturating_sub(1));
        prompts.get(index).copied().unwrap_or(0)
    }

    fn add(&mut self, entry: &Value) {
        match entry["entry"].as_str() {
            Some("planning") => self.add_call(&entry["call"]),
            Some("commit") if entry["planning"].is_u64() => {
                count(&mut self.steps, &entry["result"]);
                count(&mut self.verbs, &entry["action"]["type"]);
                if entry["failure"].is_object() {
                    count(&mut self.causes, &entry["failure"]["cause"]);
                }
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: &Value) {
        self.calls += 1;
        let input = call["input"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts = input.iter().filter_map(|message| message["text"].as_str());
        let tokenizer = tiktoken_rs::o200k_base_singleton();
        self.prompts.push(texts.map(|text| tokenizer.encode_ordinary(text).len()).sum());
        self.output_tokens += call["outputTokens"].as_u64().unwrap_or(0);
        let end = &call["end"];
        if end == "accepted" {
            match steps_of(call["output"].as_str().unwrap_or_default()) {
                Some(steps) => {
                    self.accepted += 1;
                    self.planned_steps += steps;
                }
                None => self.invalid += 1,
            }
        } else if let Some(violations) = end["invalid"]["violations"].as_array() {
            self.invalid += 1;
            violations.iter().for_each(|violation| count(&mut self.violations, &violation["code"]));
        } else {
            count(&mut self.failed, &end["failed"]["code"]);
        }
    }
}

fn count(counts: &mut BTreeMap<String, u64>, key: &Value) {
    *counts.entry(key.as_str().unwrap_or("?").to_owned()).or_default() += 1;
}

/// How many steps a plan has, if it is one.
fn steps_of(output: &str) -> Option<u64> {
    let plan: Value = serde_json::from_str(output).ok()?;
    let steps = plan["steps"].as_array().map_or(0, Vec::len) as u64;
    let last = u64::from(plan["last"]["type"].is_string());
    (steps + last > 0).then_some(steps + last)
}

/// Counts over the logs of those runs below `folder` whose number is wanted. A line that a run was interrupted in is
/// left out.
pub(super) fn count_logs(folder: &Path, is_wanted: &dyn Fn(u32) -> bool) -> Result<Counts> {
    let mut counts = Counts::default();
    for run in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let run = run?;
        if !run.file_name().to_str().and_then(|name| name.parse().ok()).is_some_and(is_wanted) {
            continue;
        }
        let Ok(outs) = fs::read_dir(run.path().join("out")) else { continue };
        for out in outs {
            let Ok(log) = fs::read_to_string(out?.path().join("log.jsonl")) else { continue };
            let whole = log.rfind('\n').map_or("", |end| &log[..end]);
            for line in whole.lines() {
                counts.add(&serde_json::from_str(line).context("a whole line of a log is JSON")?);
            }
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::{Counts, steps_of};
    use serde_json::json;

    #[test]
    fn calls_are_counted_by_how_they_ended() {
        let mut counts = Counts::default();
        let call = |end| json!({ "entry": "planning", "call": { "input": [{ "role": "user", "text": "Log in" }], "output": "{\"last\":{\"type\":\"finish\"}}", "outputTokens": 3, "end": end } });
        counts.add(&call(json!("accepted")));
        counts.add(&call(json!({ "invalid": { "violations": [{ "code": "malformed" }] } })));
        counts.add(&call(json!({ "failed": { "code": "stalled", "message": "" } })));
        counts.add(&json!({ "entry": "commit", "planning": 0, "result": "ok", "action": { "type": "click" } }));
        counts.add(&json!({ "entry": "commit", "result": "ok", "action": { "type": "navigate" } }));
        let json_counts = counts.to_json();
        assert_eq!(
            (&json_counts["planningCalls"], &json_counts["accepted"], &json_counts["invalid"]),
            (&json!(3), &json!(1), &json!(1))
        );
        assert_eq!((&json_counts["failed"], &json_counts["steps"]), (&json!({ "stalled": 1 }), &json!({ "ok": 1 })));
        assert_eq!((&json_counts["outputTokens"], &json_counts["promptTokens"]["most"]), (&json!(9), &json!(2)));
    }

    #[test]
    fn what_was_accepted_is_read_again() {
        assert_eq!(steps_of(r#"{"steps":[{"type":"reload"}],"last":{"type":"finish"}}"#), Some(2));
        assert_eq!(steps_of("{\"last\":"), None);
        assert_eq!(steps_of("{}"), None);
    }
}
