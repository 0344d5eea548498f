//! Pairs of a step that failed and the one that worked on the same page.

use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::record::{StepRecord, StepResult};
use serde::Serialize;

use super::story::Story;
use super::{Message, answer, answered, asked};
use crate::candidates::by_ids;
use crate::error::ExportError;
use crate::job::{Lines, Out};
use crate::source::{ExportEntry, Pages, RunSource};

/// Failed steps that wait for one that works.
const PENDING: usize = 8;

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

/// Writer of the format `preferences`: one pair per line.
#[derive(Default)]
pub(crate) struct Preferences {
    story: Story,
    pending: Vec<Rejected>,
}

/// The step as the answer of a model that sees the page.
fn answer_on(record: &StepRecord, page: &Observation) -> Option<String> {
    answer(&PlanDraft::of(Author::Model, vec![by_ids(record, page)?]))
}

impl Preferences {
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
            && let Some((request, answer)) = self.story.request(page, &[]).zip(answer_on(record, page))
        {
            self.pending.push(Rejected { request, answer, page: page.clone() });
        }
        Ok(())
    }
}

impl Lines for Preferences {
    fn take(
        &mut self,
        _run: &RunSource,
        seen: ExportEntry,
        pages: &Pages,
        out: &mut Out<'_>,
    ) -> Result<(), ExportError> {
        match &seen {
            ExportEntry::Header(_) => self.pending.clear(),
            ExportEntry::Step(record) => self.step(record, pages, out)?,
            _ => {}
        }
        self.story.take(&seen, pages);
        Ok(())
    }
}
