//! The step log of the article: one record a line, with its fields and no others.

use std::collections::BTreeMap;

use cuebook_grammar::id::TargetRef;
use cuebook_grammar::locator::Locator;
use cuebook_grammar::outcome::Judged;
use cuebook_grammar::record::{StepRecord, StepResult};
use cuebook_grammar::step::Step;
use cuebook_grammar::verdict::Verdict;
use serde::Serialize;

use crate::error::ExportError;
use crate::job::{Lines, Out};
use crate::locating;
use crate::source::{ExportEntry, Pages, RunSource};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    run_id: &'a str,
    step_index: u32,
    action: &'a Step,
    candidates: BTreeMap<&'a TargetRef, Locator>,
    pre_check: BTreeMap<String, Option<bool>>,
    execution: Execution,
    post_check: BTreeMap<String, Option<bool>>,
    artifacts: BTreeMap<&'a str, &'a str>,
    result: StepResult,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    /// Start of the execution in whole seconds since 1970.
    ts: u64,
    duration_ms: u64,
    cdp: Cdp,
}

#[derive(Serialize)]
struct Cdp {
    events: u64,
}

impl<'a> Record<'a> {
    fn new(record: &'a StepRecord) -> Self {
        let targets = record.candidates.keys();
        let mut artifacts: BTreeMap<&str, &str> =
            record.artifacts.iter().map(|one| (one.kind.as_str(), one.path.as_str())).collect();
        // What the step left behind is its picture, unless it took one.
        let after = artifacts.get("screenshotAfter").or_else(|| artifacts.get("screenshotBefore")).copied();
        if let Some(after) = after {
            artifacts.entry("screenshot").or_insert(after);
        }
        Self {
            run_id: record.run_id.as_str(),
            step_index: record.step_index,
            action: &record.action,
            candidates: targets.filter_map(|target| Some((target, locating::locator(record, target)?))).collect(),
            pre_check: verdicts(&record.pre_check),
            execution: Execution {
                ts: record.execution.ts_ms / 1_000,
                duration_ms: record.execution.duration_ms,
                cdp: Cdp { events: record.execution.cdp.events },
            },
            post_check: verdicts(&record.post_check),
            artifacts,
            result: record.result,
        }
    }
}

/// Verdicts by what was checked; `null` where the facts did not decide. A kind that occurs twice gets its target, or its
/// position, added.
fn verdicts(judged: &[Judged]) -> BTreeMap<String, Option<bool>> {
    let mut verdicts = BTreeMap::new();
    for (position, one) in judged.iter().enumerate() {
        let kind = match one.condition.tag() {
            // As the article spells it once it has been judged.
            "urlChanges" => "urlChanged",
            kind => kind,
        };
        let with_target = || one.condition.target().map(|target| format!("{kind}:{target}"));
        let names = [Some(kind.to_owned()), with_target(), Some(format!("{kind}#{}", position + 1))];
        let name = names.into_iter().flatten().find(|name| !verdicts.contains_key(name));
        let verdict = match one.verdict {
            Verdict::Holds => Some(true),
            Verdict::Fails => Some(false),
            Verdict::Unknown => None,
        };
        verdicts.insert(name.unwrap_or_default(), verdict);
    }
    verdicts
}

pub(crate) struct StepLog;

impl Lines for StepLog {
    fn take(
        &mut self,
        _run: &RunSource,
        seen: ExportEntry,
        _pages: &Pages,
        out: &mut Out<'_>,
    ) -> Result<(), ExportError> {
        match seen {
            ExportEntry::Step(record) => out.line(&Record::new(&record)),
            _ => Ok(()),
        }
    }
}
