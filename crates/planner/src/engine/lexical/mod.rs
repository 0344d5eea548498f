//! The lexical engine: no model. An instruction is cut into clauses, and each clause is served by the
//! candidates whose names, labels and contexts its words meet.
//!
//! Invariants:
//! - The clauses follow from the instruction alone; which of them are done follows from the history. The
//!   engine keeps nothing between two calls.
//! - Where two candidates are equally good it asks; where none is good it says which clause it could not
//!   ground and what came nearest. It never takes the first of several.
//! - Every draft that it answers with passes the language's own check against its observation and policy.
//! - What is typed stands in the instruction, word for word; what may be a secret is in no explanation.
//!
//! A call costs time in the product of words and candidates: microseconds to a few milliseconds.

mod answers;
mod clause;
mod clauses;
mod dates;
mod entries;
mod grounding;
mod lexicon;
mod page;
mod phrase;
mod plan;
mod progress;
mod serve;
mod text;
mod ways;

use std::convert::Infallible;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};

/// Plans by words alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lexical;

impl Planner for Lexical {
    type Error = Infallible;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        _: Deadline,
    ) -> Result<PlanReply, Infallible> {
        let draft = tracing::debug_span!("plan", engine = "lexical").in_scope(|| plan::draft(request));
        for (index, step) in draft.steps.iter().enumerate() {
            sink.step_ready(0, index, step);
        }
        let note = draft.reasoning_summary.as_ref().map(|summary| summary.as_str().to_owned());
        let usage = Usage { planner_calls: 1, ..Usage::default() };
        Ok(PlanReply { usage, note, ..PlanReply::of(draft) })
    }
}

#[cfg(test)]
pub(crate) mod tests;
