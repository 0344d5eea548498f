//! The embedded planner: plain clauses to plans, without a model.
//!
//! An instruction is read clause by clause; each is served by the candidates that are called what it says. It is made
//! for a first try and for tests: it knows verbs, quoted values, ordinals, fields by label, options and simple logins,
//! and nothing of what pages are for.
//!
//! Invariants:
//! - Every word counts. A clause of which a word is not accounted for is asked about, not carried out.
//! - Where two candidates are equally good it asks. It never takes the first of several.
//! - It does not finish while something of the instruction is left, a dialog is open, or the page complains.
//! - Every draft passes the language's check against its observation and policy.
//! - What is typed stands in the instruction, word for word; what may be a secret is in no explanation.
//!
//! A call costs time in the product of words and candidates: microseconds to a few milliseconds.

mod choices;
mod fields;
mod lexicon;
mod login;
mod page;
mod phrase;
mod plan;
mod read;
mod serve;
mod text;

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
        let (draft, state) = tracing::debug_span!("plan", engine = "lexical").in_scope(|| plan::plan(request));
        for (index, step) in draft.steps.iter().enumerate() {
            sink.step_ready(0, index, step);
        }
        let usage = Usage { planner_calls: 1, ..Usage::default() };
        Ok(PlanReply { usage, state: Some(state), ..PlanReply::of(draft) })
    }
}

#[cfg(test)]
mod tests;
