//! A call in progress, reported to the sink once, however it ends.
//!
//! Invariants:
//! - If the future of a plan is dropped, the call is reported as cancelled.
//! - Its tokens and its time count in the budgets of the planner, also if it was cancelled.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cuebook_grammar::deadline::millis;
use cuebook_grammar::planning::{CallEnd, OtherDraft, PlanningCall};
use cuebook_grammar::seam::PlanSink;
use cuebook_grammar::step::Step;
use tokio::time::Instant;

use super::limits::Spent;

/// Upper bound in bytes of the reasoning that is kept.
const MAX_REASONING: usize = 16_000;

/// A call in progress, and its sink.
pub(super) struct OpenCall<'s> {
    sink: &'s mut dyn PlanSink,
    call: Option<PlanningCall>,
    begun: Instant,
    steps: usize,
    /// Input and output tokens, for servers that do not count.
    estimate: (u64, u64),
    /// Input and output tokens of the requests before the last one.
    before: (u64, u64),
    spent: &'s Mutex<Spent>,
}

impl<'s> OpenCall<'s> {
    pub(super) fn new(sink: &'s mut dyn PlanSink, call: PlanningCall, spent: &'s Mutex<Spent>) -> Self {
        sink.call_begun();
        Self { sink, call: Some(call), begun: Instant::now(), steps: 0, estimate: (0, 0), before: (0, 0), spent }
    }

    fn spend(&self, spend: impl FnOnce(&mut Spent)) {
        spend(&mut self.spent.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The engine sent something.
    pub(super) fn answered(&self) {
        self.spend(|spent| spent.has_answered = true);
    }

    /// Returns `true` if the engine ever sent anything.
    pub(super) fn has_answered(&self) -> bool {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).has_answered
    }

    /// The time since it started.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Reports complete steps to the sink.
    pub(super) fn steps(&mut self, steps: &[Step]) {
        let elapsed = millis(self.begun.elapsed());
        if let Some(call) = &mut self.call
            && !steps.is_empty()
        {
            call.first_step_ms.get_or_insert(elapsed);
        }
        for step in steps {
            self.sink.step_ready(0, self.steps, step);
            self.steps += 1;
        }
    }

    /// Reports what the answer says that is to be read again.
    pub(super) fn remember(&mut self, memory: &str) {
        self.sink.remember(memory);
    }

    /// Forgets the steps so far; `false` if one of them was carried out.
    pub(super) fn restart(&mut self) -> bool {
        let may = self.sink.restart();
        if may {
            self.steps = 0;
        }
        may
    }

    pub(super) fn attempt(&mut self) {
        if let Some(call) = &mut self.call {
            call.attempts += 1;
        }
    }

    /// Sets the tokens as the server counts them. Zero is ignored: servers that do not count send it, such as Ollama for
    /// a cached prompt.
    pub(super) fn usage(&mut self, input: u64, output: u64) {
        if let Some(call) = &mut self.call {
            if input > 0 {
                call.input_tokens = input;
            }
            if output > 0 {
                call.output_tokens = output;
            }
        }
    }

    /// Sets the estimate that budgets use if the server does not count.
    pub(super) const fn estimate(&mut self, input: u64, output: u64) {
        self.estimate = (input, output);
    }

    pub(super) fn reasoning(&mut self, piece: &str) {
        if let Some(call) = &mut self.call {
            let kept = call.reasoning.get_or_insert_default();
            if kept.len() < MAX_REASONING {
                kept.push_str(piece);
            }
        }
    }

    /// Adds a piece of the answer, in case the call is cancelled.
    pub(super) fn wrote(&mut self, piece: &str) {
        if let Some(call) = &mut self.call {
            call.output.push_str(piece);
        }
    }

    /// Sets the answer. That of a retry replaces the previous one.
    pub(super) fn output(&mut self, text: String) {
        if let Some(call) = &mut self.call {
            call.output = text;
        }
    }

    /// Sets the drafts beside the answer.
    pub(super) fn others(&mut self, others: Vec<OtherDraft>) {
        if let Some(call) = &mut self.call {
            call.others = others;
        }
    }

    /// Keeps the tokens so far beside those of the next request of the same call.
    pub(super) fn next_request(&mut self) {
        if let Some(call) = &mut self.call {
            call.attempts += 1;
            let counted = |counted: u64, estimated: u64| if counted == 0 { estimated } else { counted };
            self.before.0 += counted(std::mem::take(&mut call.input_tokens), self.estimate.0);
            self.before.1 += counted(std::mem::take(&mut call.output_tokens), self.estimate.1);
            self.estimate = (0, 0);
        }
    }

    /// The summary in the draft replaces the reasoning before it.
    pub(super) fn summary(&mut self, reasoning: Option<&str>, confidence: Option<f64>) {
        if let Some(call) = &mut self.call {
            if let Some(reasoning) = reasoning {
                call.reasoning = Some(reasoning.to_owned());
            }
            call.confidence = confidence;
        }
    }

    /// Ends the call. Returns its input tokens, output tokens and requests.
    pub(super) fn end(mut self, end: CallEnd) -> (u64, u64, u32) {
        self.report(end)
    }

    fn report(&mut self, end: CallEnd) -> (u64, u64, u32) {
        let latency_ms = millis(self.begun.elapsed());
        let Some(mut call) = self.call.take() else { return (0, 0, 0) };
        let counted = |counted: u64, estimated: u64| if counted == 0 { estimated } else { counted };
        let (read, written) = self.estimate;
        let (read_before, written_before) = self.before;
        let input = counted(call.input_tokens, read) + read_before;
        let output = counted(call.output_tokens, written) + written_before;
        if read_before + written_before > 0 {
            (call.input_tokens, call.output_tokens) = (input, output);
        }
        let cost = (input, output, call.attempts);
        self.spend(|spent| {
            spent.tokens = spent.tokens.saturating_add(cost.0).saturating_add(cost.1);
            spent.time += self.begun.elapsed();
        });
        self.sink.call_ended(PlanningCall { latency_ms, end, ..call });
        cost
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let message = "the request for the plan was cancelled".to_owned();
        self.report(CallEnd::Failed { code: "cancelled".to_owned(), message });
    }
}
