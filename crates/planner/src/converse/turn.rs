//! One turn of the conversation: a question, its retries, and an answer that is judged as it comes.

use std::time::Duration;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::plan::{PlanDraft, Violation, ViolationCode, Violations};
use cuebook_grammar::planning::{CallEnd, CallPurpose, PlanningCall, PromptMessage};
use cuebook_grammar::seam::{PlanRequest, PlanSink};
use cuebook_grammar::wire::Probability;
use tokio::time::{Instant, sleep, timeout};

use super::Grammar;
use super::audit::OpenCall;
use super::engine::{ChatEngine, ChatEvent, ChatMessage, ChatRequest, ChatStream, EngineError, Finish};
use super::limits::{Limits, back_off, estimated_tokens};
use super::reading::Reader;
use cuebook_grammar::render::one_line;

/// How long the rest of an answer is listened to once the plan is whole: it says what the answer cost.
const EPILOGUE: Duration = Duration::from_secs(5);

/// The most bytes of that rest.
const EPILOGUE_BYTES: usize = 4_096;

/// What is asked, and within which bounds.
pub(super) struct Turn<'a, E> {
    pub(super) engine: &'a E,
    pub(super) limits: &'a Limits,
    pub(super) request: &'a PlanRequest<'a>,
    pub(super) grammar: &'a Grammar,
    pub(super) messages: &'a [ChatMessage],
    pub(super) purpose: CallPurpose,
    pub(super) deadline: Deadline,
    pub(super) has_answered: bool,
}

/// What came of it.
pub(super) struct Done {
    pub(super) end: TurnEnd,
    pub(super) output: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) attempts: u32,
    pub(super) has_answered: bool,
}

pub(super) enum TurnEnd {
    Accepted(PlanDraft),
    Invalid(Violations),
    Refused(String),
    Failed(EngineError),
    Deadline,
}

/// An answer, however far it came.
struct Heard {
    end: TurnEnd,
    output: String,
    /// Whether anything of the answer itself was heard: then it is not asked for again.
    has_begun: bool,
}

impl<E: ChatEngine> Turn<'_, E> {
    pub(super) async fn run(&self, sink: &mut dyn PlanSink) -> Done {
        let mut call = OpenCall::new(sink, self.opened());
        let mut has_answered = self.has_answered;
        let mut retry = 0;
        let mut attempts = 0;
        let heard = loop {
            call.attempt();
            attempts += 1;
            let heard = self.attempt(&mut call).await;
            has_answered |= heard.has_begun || !matches!(heard.end, TurnEnd::Failed(EngineError::Unreachable { .. }));
            let wait = match &heard.end {
                TurnEnd::Failed(error) if !heard.has_begun && retry < self.limits.retries => {
                    self.wait_before(error, retry, has_answered)
                }
                _ => None,
            };
            let Some(wait) = wait else { break heard };
            tracing::debug!(engine = self.engine.name(), retry, wait_ms = wait.as_millis(), "asking again");
            sleep(wait).await;
            retry += 1;
        };
        tracing::debug!(engine = self.engine.name(), attempts, elapsed_ms = call.elapsed().as_millis(), "call ended");
        let end = match &heard.end {
            TurnEnd::Accepted(_) => CallEnd::Accepted,
            TurnEnd::Invalid(violations) => CallEnd::Invalid { violations: violations.to_vec() },
            TurnEnd::Refused(said) => CallEnd::Failed { code: "refused".to_owned(), message: said.clone() },
            TurnEnd::Failed(error) => CallEnd::Failed { code: error.code().to_owned(), message: error.to_string() },
            TurnEnd::Deadline => CallEnd::Failed {
                code: "deadlineExceeded".to_owned(),
                message: "expected the whole answer by the deadline".to_owned(),
            },
        };
        let (input_tokens, output_tokens, attempts) = call.end(end);
        Done { end: heard.end, output: heard.output, input_tokens, output_tokens, attempts, has_answered }
    }

    fn opened(&self) -> PlanningCall {
        let message = |message: &ChatMessage| {
            let mut text = message.text.clone();
            for image in &message.images {
                text.push_str(&format!("\n[picture: {}, {} bytes]", image.media_type, image.bytes.len()));
            }
            PromptMessage { role: message.role, text }
        };
        PlanningCall {
            engine: self.engine.name().to_owned(),
            model: self.engine.model().map(str::to_owned),
            purpose: self.purpose,
            input: self.messages.iter().map(message).collect(),
            output: String::new(),
            reasoning: None,
            confidence: None,
            input_tokens: 0,
            output_tokens: 0,
            latency_ms: 0,
            first_step_ms: None,
            attempts: 0,
            end: CallEnd::Accepted,
        }
    }

    /// How long to wait before the request is sent again; none where that helps nobody or time does not suffice.
    fn wait_before(&self, error: &EngineError, retry: u32, has_answered: bool) -> Option<Duration> {
        let is_servers_fault = match error {
            EngineError::RateLimited { .. }
            | EngineError::Server { .. }
            | EngineError::Stalled { .. }
            | EngineError::Lost(_)
            | EngineError::Cut => true,
            // One that answered before is restarting; one that never did is not there.
            EngineError::Unreachable { .. } => has_answered,
            _ => false,
        };
        let wait = error.retry_after().unwrap_or_else(|| back_off(self.limits, retry));
        (is_servers_fault && wait < self.remaining()).then_some(wait)
    }

    fn remaining(&self) -> Duration {
        self.deadline.remaining(Instant::now().into_std())
    }

    async fn attempt(&self, call: &mut OpenCall<'_>) -> Heard {
        let mut reader =
            Reader::new(self.grammar.dialect, &self.grammar.spec, self.request.observation, self.request.policy);
        let mut has_begun = false;
        let end = match self.listen(&mut reader, call, &mut has_begun).await {
            Ok(draft) => {
                let reasoning = draft.reasoning_summary.as_ref().map(ToString::to_string);
                let least = draft.steps.iter().filter_map(|step| step.confidence).map(|p| p.get());
                let least = least.fold(None, |least: Option<f64>, p| Some(least.map_or(p, |least| least.min(p))));
                call.summary(reasoning.as_deref(), least);
                TurnEnd::Accepted(draft)
            }
            Err(end) => end,
        };
        let output = reader.output();
        call.output(output.clone());
        Heard { end, output, has_begun }
    }

    async fn listen(
        &self,
        reader: &mut Reader<'_>,
        call: &mut OpenCall<'_>,
        has_begun: &mut bool,
    ) -> Result<PlanDraft, TurnEnd> {
        let bound = u32::try_from(self.grammar.spec.max_tokens()).unwrap_or(u32::MAX);
        let max_tokens = self.limits.output_tokens.min(bound);
        let request = ChatRequest {
            messages: self.messages,
            grammar: self.grammar.emission.as_ref(),
            spec: &self.grammar.spec,
            max_tokens,
        };
        let mut stream = self.within(self.limits.first_byte, self.engine.open(&request)).await?;
        let asked: usize = self.messages.iter().map(|message| message.text.len()).sum();
        // Bytes bound tokens from above, but for thoughts; a server that ignores `max_tokens` is stopped here.
        let bytes = usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(16);
        let mut heard = 0_usize;
        let mut refusal = String::new();
        let mut finish = None;
        let mut confidences = Vec::new();
        call.estimate(estimated_tokens(asked), 0);
        loop {
            let patience = if *has_begun { self.limits.stall } else { self.limits.first_byte };
            let event = self.within(patience, stream.next()).await?;
            let Some(event) = event else { break };
            let steps = match event {
                ChatEvent::Alive => continue,
                ChatEvent::Text(text) => {
                    *has_begun = true;
                    heard = heard.saturating_add(text.len());
                    call.wrote(&text);
                    reader.text(&text)
                }
                ChatEvent::Call { index, name, arguments } => {
                    *has_begun = true;
                    heard = heard.saturating_add(arguments.len());
                    call.wrote(&arguments);
                    reader.call(index, name.as_deref(), &arguments)
                }
                ChatEvent::Reasoning(text) => {
                    *has_begun = true;
                    heard = heard.saturating_add(text.len());
                    call.reasoning(&text);
                    Ok(Vec::new())
                }
                ChatEvent::Refusal(text) => {
                    *has_begun = true;
                    refusal.push_str(&text);
                    heard = heard.saturating_add(text.len());
                    Ok(Vec::new())
                }
                ChatEvent::Usage { input, output } => {
                    call.usage(input, output);
                    Ok(Vec::new())
                }
                ChatEvent::Confidences(of_steps) => {
                    confidences = of_steps;
                    Ok(Vec::new())
                }
                ChatEvent::Done(reason) => {
                    finish = Some(reason);
                    break;
                }
            };
            call.estimate(estimated_tokens(asked), estimated_tokens(heard));
            let steps = steps.map_err(TurnEnd::Invalid)?;
            call.steps(&steps);
            if reader.is_done() {
                self.epilogue(&mut stream, call, &mut confidences).await;
                finish = Some(Finish::Stop);
                break;
            }
            if heard > bytes {
                return Err(TurnEnd::Failed(EngineError::TooLong { bound: bytes }));
            }
        }
        if !refusal.is_empty() || finish == Some(Finish::Refused) {
            return Err(TurnEnd::Refused(one_line(&refusal, 300)));
        }
        match finish {
            None => Err(TurnEnd::Failed(EngineError::Cut)),
            Some(Finish::Length) => {
                let message = format!("expected a whole plan within {max_tokens} tokens, saw its beginning");
                Err(TurnEnd::Invalid(vec![Violation::new(ViolationCode::Malformed, "", message)].into()))
            }
            Some(_) => {
                let (rest, mut draft) = reader.finish().map_err(TurnEnd::Invalid)?;
                call.steps(&rest);
                // What was measured counts more than what the model says of itself.
                for (step, confidence) in draft.steps.iter_mut().zip(confidences) {
                    step.confidence = Some(Probability::clamped(confidence));
                }
                Ok(draft)
            }
        }
    }

    /// Listens to what follows a whole plan, for its cost. Whatever happens here, the plan is whole.
    async fn epilogue(&self, stream: &mut E::Stream, call: &mut OpenCall<'_>, confidences: &mut Vec<f64>) {
        let listen = async {
            let mut bytes = 0;
            while let Ok(Some(event)) = stream.next().await {
                match event {
                    ChatEvent::Usage { input, output } => call.usage(input, output),
                    ChatEvent::Confidences(of_steps) => *confidences = of_steps,
                    ChatEvent::Done(_) => return,
                    ChatEvent::Text(text) => bytes += text.len(),
                    _ => bytes += 1,
                }
                if bytes > EPILOGUE_BYTES {
                    return;
                }
            }
        };
        // Whether the rest came in time changes nothing.
        drop(timeout(EPILOGUE.min(self.remaining()), listen).await);
    }

    /// Waits for the engine, at most this long and never beyond the deadline.
    async fn within<T>(
        &self,
        patience: Duration,
        future: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, TurnEnd> {
        let remaining = self.remaining();
        // A timer is not looked at while the engine always has something at hand.
        if remaining.is_zero() {
            return Err(TurnEnd::Deadline);
        }
        match timeout(patience.min(remaining), future).await {
            Ok(answer) => answer.map_err(TurnEnd::Failed),
            Err(_) if remaining <= patience => Err(TurnEnd::Deadline),
            Err(_) => Err(TurnEnd::Failed(EngineError::Stalled { after: patience })),
        }
    }
}
