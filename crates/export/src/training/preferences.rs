//! Pairs of an answer that worked and one that did not: a step that failed and the one that mended it, and plans for one
//! request, of a run that ended well and of a run that did not, such as an oracle's and a model's.

use std::collections::BTreeMap;

use cuebook_decoding::read::{Form, read_as};
use cuebook_grammar::action::Action;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::record::{RunResult, StepRecord, StepResult};
use serde::Serialize;

use super::lessons::{Lessons, as_answered};
use super::{Message, answer, answered, asked};
use crate::candidates::by_ids;
use crate::error::ExportError;
use crate::job::{Lines, Out};
use crate::source::{ExportEntry, Pages, RunSource, digest};

/// Failed steps that wait for one that works.
const PENDING: usize = 8;

/// Requests of which the answers of several runs are compared, and rejected answers to each.
const REQUESTS: usize = 50_000;
const REJECTED: usize = 4;

/// A pair as preference trainers read it.
#[derive(Serialize)]
struct Pair {
    prompt: [Message; 2],
    chosen: [Message; 1],
    rejected: [Message; 1],
}

/// A step that failed.
struct Rejected {
    request: String,
    answer: String,
    page: Observation,
}

/// The plans that runs made of one request.
#[derive(Default)]
struct Answers {
    /// A plan of a run that ended well.
    good: Option<String>,
    /// Plans of runs that did not.
    bad: Vec<String>,
}

/// Writer of the format `preferences`: one pair per line.
#[derive(Default)]
pub(crate) struct Preferences {
    lessons: Lessons,
    pending: Vec<Rejected>,
    /// By the digest of the request.
    answers: BTreeMap<String, Answers>,
}

/// The step as the answer of a model that sees the page.
fn answer_on(record: &StepRecord, page: &Observation) -> Option<String> {
    answer(&PlanDraft::of(Author::Model, vec![by_ids(record, page)?]))
}

/// The steps of a plan, without its goal and their conditions.
fn actions(plan: &str) -> Vec<Action> {
    let steps = read_as(Form::Lines, plan, Author::Model).map(|draft| draft.steps).unwrap_or_default();
    steps.into_iter().map(|step| step.action).collect()
}

impl Preferences {
    /// Compares a plan with those of other runs for the same request.
    fn plan(&mut self, request: &str, plan: &str, is_good: bool, out: &mut Out<'_>) -> Result<(), ExportError> {
        let key = digest([request.as_bytes()]);
        if self.answers.len() >= REQUESTS && !self.answers.contains_key(&key) {
            return Ok(());
        }
        let known = self.answers.entry(key).or_default();
        let pairs: Vec<(String, String)> = match (is_good, &known.good) {
            (true, Some(_)) => Vec::new(),
            (true, None) => {
                known.good = Some(plan.to_owned());
                std::mem::take(&mut known.bad).into_iter().map(|bad| (plan.to_owned(), bad)).collect()
            }
            (false, Some(good)) => vec![(good.clone(), plan.to_owned())],
            (false, None) => {
                if known.bad.len() < REJECTED && !known.bad.iter().any(|bad| bad == plan) {
                    known.bad.push(plan.to_owned());
                }
                Vec::new()
            }
        };
        for (chosen, rejected) in pairs {
            // A beginning of what worked was not what went wrong.
            if !actions(&chosen).starts_with(&actions(&rejected)) {
                let (chosen, rejected) = ([answered(chosen)], [answered(rejected)]);
                out.line(&Pair { prompt: asked(request.to_owned()), chosen, rejected })?;
            }
        }
        Ok(())
    }

    fn step(&mut self, record: &StepRecord, pages: &Pages, out: &mut Out<'_>) -> Result<(), ExportError> {
        if record.result == StepResult::Ok && record.effect_class != EffectClass::ReadOnly {
            for Rejected { request, answer: rejected, page } in std::mem::take(&mut self.pending) {
                // The same step once more is no preference.
                if let Some(chosen) = answer_on(record, &page).filter(|chosen| *chosen != rejected) {
                    let (chosen, rejected) = ([answered(chosen)], [answered(rejected)]);
                    out.line(&Pair { prompt: asked(request), chosen, rejected })?;
                }
            }
        }
        let failure = record.failure.as_ref().filter(|failure| !failure.cause.is_block());
        if failure.is_some()
            && self.pending.len() < PENDING
            && let Some(page) = record.observation.and_then(|id| pages.get(id))
            && let Some((request, answer)) = self.lessons.story.request(page, &[]).zip(answer_on(record, page))
        {
            self.pending.push(Rejected { request, answer, page: page.clone() });
        }
        Ok(())
    }
}

/// Returns `true` for a run that came to its end by itself, and not to that of its task.
fn has_gone_wrong(run: &RunSource) -> bool {
    run.is_refuted || (matches!(run.result, Some(RunResult::Failed | RunResult::Unproven)) && !run.gave_up)
}

impl Lines for Preferences {
    fn take(
        &mut self,
        run: &RunSource,
        seen: ExportEntry,
        pages: &Pages,
        out: &mut Out<'_>,
    ) -> Result<(), ExportError> {
        match &seen {
            ExportEntry::Header(_) => self.pending.clear(),
            ExportEntry::Step(record) => self.step(record, pages, out)?,
            ExportEntry::Planning(record) if has_gone_wrong(run) && record.call.purpose.is_for_plan() => {
                let page = record.observation.and_then(|id| pages.get(id));
                let request = page.and_then(|page| self.lessons.request(page, &record.call.features));
                let plan = as_answered(&record.call).and_then(|draft| answer(&draft));
                if let Some((request, plan)) = request.zip(plan) {
                    self.plan(&request, &plan, false, out)?;
                }
            }
            _ => {}
        }
        for lesson in self.lessons.take(run, &seen, pages) {
            if lesson.is_whole {
                self.plan(&lesson.request, &lesson.answer, true, out)?;
            }
        }
        Ok(())
    }
}
