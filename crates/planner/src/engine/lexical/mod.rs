//! The embedded planner: plain clauses to plans, without a model.
//!
//! An instruction is read clause by clause, and each clause is matched to candidates by name. The planner is meant for a
//! first try and for tests: it knows verbs, quoted values, ordinals, fields by label, options and simple logins, and not
//! what pages are about.
//!
//! Invariants:
//! - Every word counts. If a word of a clause is not understood, the planner asks instead of acting.
//! - If two candidates fit equally well, it asks. It never picks the first of several.
//! - It does not finish while a part of the instruction is left, a dialog is open, or the page shows an error.
//! - Every draft passes the check of the language against its observation and policy.
//! - Typed text is a literal part of the instruction. A possible secret is in no explanation.
//!
//! The cost of a call is the product of words and candidates: microseconds to a few milliseconds.

mod choices;
mod fields;
mod lexicon;
mod login;
mod page;
mod phrase;
mod plan;
mod read;
mod serve;
mod served;
mod text;

use std::convert::Infallible;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};

/// The planner without a model.
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
