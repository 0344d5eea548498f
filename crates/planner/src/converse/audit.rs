//! A call that is under way: told to the sink once, however it ends.
//!
//! Invariant: where the future of a plan is dropped, the call is told as cancelled.

use std::time::Duration;

use cuebook_grammar::deadline::millis;
use cuebook_grammar::planning::{CallEnd, PlanningCall};
use cuebook_grammar::seam::PlanSink;
use cuebook_grammar::step::Step;
use tokio::time::Instant;

/// The most bytes of reasoning that are kept of a call.
const MAX_REASONING: usize = 16_000;

/// A call, and whom to tell of it.
pub(super) struct OpenCall<'s> {
    sink: &'s mut dyn PlanSink,
    call: Option<PlanningCall>,
    begun: Instant,
    told: usize,
    /// Tokens read and written, where the server does not count.
    estimate: (u64, u64),
}

impl<'s> OpenCall<'s> {
    pub(super) fn new(sink: &'s mut dyn PlanSink, call: PlanningCall) -> Self {
        Self { sink, call: Some(call), begun: Instant::now(), told: 0, estimate: (0, 0) }
    }

    /// How long it runs.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Tells the sink of whole steps.
    pub(super) fn steps(&mut self, steps: &[Step]) {
        let elapsed = millis(self.begun.elapsed());
        if let Some(call) = &mut self.call
            && !steps.is_empty()
        {
            call.first_step_ms.get_or_insert(elapsed);
        }
        for step in steps {
            self.sink.step_ready(0, self.told, step);
            self.told += 1;
        }
    }

    pub(super) fn attempt(&mut self) {
        if let Some(call) = &mut self.call {
            call.attempts += 1;
        }
    }

    /// Tokens as the server counts them.
    /// Zero is what a server says that does not count, such as Ollama of a prompt that it still has: what is known
    /// stays.
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

    /// Tokens as they are estimated: budgets count them where the server does not.
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

    /// A piece of the answer, kept in case the call is given up here.
    pub(super) fn wrote(&mut self, piece: &str) {
        if let Some(call) = &mut self.call {
            call.output.push_str(piece);
        }
    }

    /// The answer as it was read; a retry's replaces the one before.
    pub(super) fn output(&mut self, text: String) {
        if let Some(call) = &mut self.call {
            call.output = text;
        }
    }

    /// The draft's own words replace what was thought before.
    pub(super) fn summary(&mut self, reasoning: Option<&str>, confidence: Option<f64>) {
        if let Some(call) = &mut self.call {
            if let Some(reasoning) = reasoning {
                call.reasoning = Some(reasoning.to_owned());
            }
            call.confidence = confidence;
        }
    }

    /// Ends it; answers with its tokens, read and written, and its requests.
    pub(super) fn end(mut self, end: CallEnd) -> (u64, u64, u32) {
        self.tell(end)
    }

    fn tell(&mut self, end: CallEnd) -> (u64, u64, u32) {
        let latency_ms = millis(self.begun.elapsed());
        let Some(call) = self.call.take() else { return (0, 0, 0) };
        let counted = |counted: u64, estimated: u64| if counted == 0 { estimated } else { counted };
        let (read, written) = self.estimate;
        let cost = (counted(call.input_tokens, read), counted(call.output_tokens, written), call.attempts);
        self.sink.call_ended(PlanningCall { latency_ms, end, ..call });
        cost
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let message = "whoever asked for the plan did not wait for it".to_owned();
        self.tell(CallEnd::Failed { code: "cancelled".to_owned(), message });
    }
}
