//! The recorded engine: replays answers of a model.
//!
//! Everything else is as with a live model: an answer is read and checked, and an invalid one is reformulated once, which
//! the recording contains too. Redacted text stays redacted.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use cuebook_grammar::planning::{CallEnd, CallPurpose, PlanningCall};

use crate::converse::{Beam, ChatEngine, ChatEvent, ChatRequest, ChatStream, Dialect, EngineError, Finish};

/// Why there is no recorded answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// Every recorded answer was replayed, and one more was asked for.
    #[error("all {count} recorded answers were replayed")]
    Exhausted {
        /// The number of recorded answers.
        count: usize,
    },
}

/// Replays recorded answers, one per call, in order.
#[derive(Debug)]
pub struct Recorded {
    answers: Mutex<VecDeque<RecordedReply>>,
    count: usize,
    model: Option<String>,
}

#[derive(Clone, Debug)]
struct RecordedReply {
    text: String,
    /// `true` if it quotes values from a page's text.
    is_fill: bool,
    input: u64,
    output: u64,
}

impl Recorded {
    /// The answers of the calls of a run, in the order of its records. Calls without a complete answer are skipped: they
    /// were retried, or ended the run.
    pub fn from_calls(calls: impl IntoIterator<Item = PlanningCall>) -> Self {
        let mut model = None;
        let mut answers = VecDeque::new();
        for call in calls {
            // Who replays a run gives its planner no features: their effect is in the answers.
            if matches!(call.end, CallEnd::Failed { .. }) || call.purpose == CallPurpose::Look {
                continue;
            }
            model = model.or(call.model);
            answers.push_back(RecordedReply {
                text: call.output,
                is_fill: call.purpose == CallPurpose::Fill,
                input: call.input_tokens,
                output: call.output_tokens,
            });
        }
        Self { count: answers.len(), answers: Mutex::new(answers), model }
    }

    /// Answers as text, in any form that a model may write.
    pub fn from_texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let answers: VecDeque<RecordedReply> = texts
            .into_iter()
            .map(|text| RecordedReply { text: text.into(), is_fill: false, input: 0, output: 0 })
            .collect();
        Self { count: answers.len(), answers: Mutex::new(answers), model: None }
    }
}

impl ChatEngine for Recorded {
    type Stream = RecordedStream;

    fn name(&self) -> &'static str {
        "recorded"
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn dialect(&self) -> Dialect {
        Dialect::Prompted
    }

    fn beam(&self) -> Beam {
        Beam::One
    }

    /// The next answer to a request of this kind: a run that does not fill values passes over those that were quoted.
    async fn open(&self, request: &ChatRequest<'_>) -> Result<RecordedStream, EngineError> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fill = request.purpose == CallPurpose::Fill;
        let next = answers.iter().position(|answer| answer.is_fill == is_fill);
        let answer = next.and_then(|next| answers.remove(next));
        drop(answers);
        let Some(RecordedReply { text, input, output, .. }) = answer else {
            return Err(EngineError::Inside(Box::new(RecordedError::Exhausted { count: self.count })));
        };
        let usage = ChatEvent::Usage { input, output };
        Ok(RecordedStream([ChatEvent::Text(text), usage, ChatEvent::Done(Finish::Stop)].into()))
    }
}

/// The stream of one recorded answer: its text, its tokens, and its end.
#[derive(Debug)]
pub struct RecordedStream(VecDeque<ChatEvent>);

impl ChatStream for RecordedStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        Ok(self.0.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use cuebook_grammar::deadline::Deadline;
    use cuebook_grammar::planning::PlanningCall;
    use cuebook_grammar::policy::Policy;
    use cuebook_grammar::seam::{IgnoreSteps, PlanRequest, PlanSink, Planner};
    use cuebook_grammar::step::Step;

    use super::*;
    use crate::converse::{ModelError, ModelPlanner};
    use cuebook_grammar::sample;

    #[derive(Default)]
    struct Calls(Vec<PlanningCall>);

    impl PlanSink for Calls {
        fn step_ready(&mut self, _: usize, _: usize, _: &Step) {}
        fn call_ended(&mut self, call: PlanningCall) {
            self.0.push(call);
        }
    }

    async fn play(planner: &ModelPlanner<Recorded>, sink: &mut dyn PlanSink) -> Result<Vec<Step>, ModelError> {
        let page = sample::page("textbox \"User\"\nbutton \"Sign in\"");
        let policy = Policy::default().starting_at(&page.url).unwrap();
        let request = PlanRequest::new("t", &page, &policy);
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(9));
        Ok(planner.plan(&request, sink, deadline).await?.drafts.remove(0).steps)
    }

    #[tokio::test]
    async fn the_calls_of_a_run_are_replayed_invalid_ones_included() {
        let texts = ["not a plan", "click(c2)", r#"[{"name":"click","arguments":{"targetRef":"c2"}}]"#];
        let live = ModelPlanner::new(Recorded::from_texts(texts));
        let mut calls = Calls::default();
        let first = play(&live, &mut calls).await.unwrap();
        let second = play(&live, &mut calls).await.unwrap();
        assert_eq!(calls.0.len(), 3);

        let again = ModelPlanner::new(Recorded::from_calls(calls.0));
        assert_eq!(play(&again, &mut IgnoreSteps).await.unwrap(), first);
        assert_eq!(play(&again, &mut IgnoreSteps).await.unwrap(), second);
        let error = play(&again, &mut IgnoreSteps).await.unwrap_err();
        let cause = std::error::Error::source(&error).and_then(std::error::Error::source).map(ToString::to_string);
        assert_eq!(cause.as_deref(), Some("all 3 recorded answers were replayed"));
    }
}
