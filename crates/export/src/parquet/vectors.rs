//! The table of vectors: a row for each plan of a run and the page that it was made for.
//!
//! Invariant: vectors are made of what the redaction left, so they say no more than the other columns.

use std::collections::BTreeMap;

use cuebook_datalayer::embedding;
use cuebook_datalayer::metrics::By;
use cuebook_grammar::candidate::Fingerprint;
use cuebook_grammar::id::{ObservationId, TargetRef};
use cuebook_grammar::record::{RecordedTarget, RunEnd, RunHeader, StepOrigin, StepRecord, StepResult};
use cuebook_grammar::step::Step;

use super::column::{Time, Vector};
use super::parts::{Table, export_parts, unit};
use super::vector_row::VectorRow;
use crate::error::ExportError;
use crate::job::{Job, inputs};
use crate::source::{ExportEntry, Pages, RunSource, word};

/// Exports runs that are not in the folder yet.
pub(crate) fn export(job: &mut Job<'_>, runs: &[RunSource]) -> Result<(), ExportError> {
    export_parts(job, runs, part)
}

fn part(job: &mut Job<'_>, runs: &[&RunSource], date: &str) -> Result<(), ExportError> {
    let inputs = inputs(runs.iter().copied());
    let name = format!("part-{inputs}");
    let mut table = Table::create(job.folder.file(&format!("vectors/date={date}/{name}.parquet"))?)?;
    for run in runs {
        let mut plans = Plans::default();
        job.read(run, &mut |seen, pages: &Pages| {
            plans.take(seen, pages);
            Ok(())
        })?;
        for row in plans.rows() {
            let bytes = 2_048 + row.steps_json.len();
            table.push(row, bytes)?;
        }
    }
    job.add(unit(name, inputs, runs), vec![table.close()?])
}

/// The plans of a run, as far as it was read.
#[derive(Default)]
struct Plans {
    header: Option<Box<RunHeader>>,
    end: Option<Box<RunEnd>>,
    plans: Vec<Plan>,
}

/// A plan: consecutive steps of one call, or of one plan of a file.
struct Plan {
    row: VectorRow,
    steps: Vec<(Step, BTreeMap<TargetRef, Fingerprint>)>,
    /// The position of its last step.
    last: Option<u32>,
}

impl Plans {
    fn take(&mut self, seen: ExportEntry, pages: &Pages) {
        match seen {
            ExportEntry::Header(header) => self.header = Some(header),
            ExportEntry::End(end) => self.end = Some(end),
            ExportEntry::Step(record) => self.step(&record, pages),
            ExportEntry::Observed(_) | ExportEntry::Planning(_) => {}
        }
    }

    fn step(&mut self, record: &StepRecord, pages: &Pages) {
        let plan_id = record.plan_id.as_ref().map(ToString::to_string);
        let planning = record.planning.map(i64::from);
        let is_next = |plan: &Plan| {
            (&plan.row.plan_id, plan.row.planning_index) == (&plan_id, planning) && plan.last <= record.plan_index
        };
        match record.origin {
            StepOrigin::Plan => {}
            // A plan whose step had to be repaired did not work as it was.
            StepOrigin::Repair => {
                if let Some(plan) = self.plans.last_mut().filter(|plan| plan.row.outcome == "ok") {
                    plan.row.outcome = "repaired";
                }
                return;
            }
            StepOrigin::Start | StepOrigin::Person => return,
        }
        if !self.plans.last().is_some_and(is_next) {
            self.plans.extend(record.observation.and_then(|id| Plan::new(self.header.as_deref()?, record, id, pages)));
            // One that was made for no page, or for one that is gone.
            if !self.plans.last().is_some_and(is_next) {
                return;
            }
        }
        if let Some(plan) = self.plans.last_mut() {
            plan.add(record);
        }
    }

    /// The rows, once the run was read.
    fn rows(self) -> impl Iterator<Item = VectorRow> {
        let result = self.end.map(|end| word(&end.result));
        self.plans.into_iter().map(move |plan| {
            let steps: Vec<&Step> = plan.steps.iter().map(|(step, _)| step).collect();
            let steps_json = serde_json::to_string(&steps).unwrap_or_default();
            let features = plan.steps.iter().map(|(step, targets)| (step, targets.values().collect()));
            let vector = embedding::plan(plan.row.task.as_deref().unwrap_or_default(), features);
            VectorRow { steps_json, run_result: result.clone(), plan_vector: vector.map(Vector), ..plan.row }
        })
    }
}

impl Plan {
    /// A plan that begins with this step.
    fn new(header: &RunHeader, record: &StepRecord, observation: ObservationId, pages: &Pages) -> Option<Self> {
        let page = pages.get(observation)?;
        let site = By::Site.group(&RunHeader { url: Some(page.url.clone()), ..header.clone() });
        let row = VectorRow {
            run_id: header.run_id.to_string(),
            started: Time(header.ts_ms),
            site,
            url: page.url.clone(),
            title: page.title.clone(),
            task: header.task.clone().or_else(|| header.case.as_ref().map(|case| case.name.clone())),
            observation: i64::try_from(observation.0).unwrap_or(i64::MAX),
            plan_id: record.plan_id.as_ref().map(ToString::to_string),
            planning_index: record.planning.map(Into::into),
            first_step: record.step_index.into(),
            steps_json: String::new(),
            outcome: "ok",
            failure_cause: None,
            run_result: None,
            page_vector: embedding::page(page).map(Vector),
            plan_vector: None,
        };
        Some(Self { row, steps: Vec::new(), last: record.plan_index })
    }

    fn add(&mut self, record: &StepRecord) {
        // A further attempt is of the step that is there.
        if record.attempt <= 1 {
            let print = |target: &TargetRef| match record.candidates.get(target)? {
                RecordedTarget::Observed(candidate) => Some((target.clone(), candidate.fingerprint.clone())),
                RecordedTarget::Declared(_) => None,
            };
            let targets = record.action.targets().into_iter().filter_map(print).collect();
            self.steps.push((record.action.clone(), targets));
        }
        self.last = record.plan_index;
        self.row.failure_cause = record.failure.as_ref().map(|failure| word(&failure.cause));
        self.row.outcome = match record.result {
            StepResult::Ok if record.attempt > 1 => "repaired",
            StepResult::Ok => self.row.outcome,
            StepResult::Failed => "failed",
            StepResult::Blocked | StepResult::Skipped => "blocked",
        };
    }
}
