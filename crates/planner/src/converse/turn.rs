//! One turn of the conversation: a request, its retries, and an answer that is checked while it arrives.

use std::sync::Mutex;
use std::time::Duration;

use cuebook_decoding::GrammarSpec;
use cuebook_decoding::emit::Emission;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::plan::{PlanDraft, Violation, ViolationCode, Violations};
use cuebook_grammar::planning::{CallEnd, CallPurpose, PlanningCall, PromptMessage};
use cuebook_grammar::render::one_line;
use cuebook_grammar::seam::{PlanRequest, PlanSink};
use tokio::time::{Instant, sleep, timeout};

use super::audit::OpenCall;
use super::chat::{ChatEngine, ChatEvent, ChatMessage, ChatRequest, ChatStream, Dialect, EngineError, Finish};
use super::limits::{Limits, Spent, back_off, estimated_tokens};
use super::reading::Reader;
use crate::pointing;

/// How long the rest of an answer is read after the plan is complete, for its token counts.
const EPILOGUE: Duration = Duration::from_secs(5);

/// Upper bound of that rest in bytes.
const EPILOGUE_BYTES: usize = 4_096;

/// The grammar of a page, and its form for the engine.
pub(super) struct Grammar {
    pub(super) spec: GrammarSpec,
    pub(super) emission: Option<Emission>,
    pub(super) dialect: Dialect,
}

/// A request and its bounds.
pub(super) struct Turn<'a, E> {
    pub(super) engine: &'a E,
    pub(super) limits: &'a Limits,
    pub(super) request: &'a PlanRequest<'a>,
    pub(super) grammar: &'a Grammar,
    pub(super) messages: &'a [ChatMessage],
    pub(super) purpose: CallPurpose,
    pub(super) deadline: Deadline,
    /// Drafts that are wanted. Beyond one, no step is reported before the answer is complete.
    pub(super) drafts: usize,
    pub(super) spent: &'a Mutex<Spent>,
}

/// The result of a turn.
pub(super) struct TurnResult {
    pub(super) end: TurnEnd,
    pub(super) output: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) attempts: u32,
}

pub(super) enum TurnEnd {
    /// Valid plans, at least one.
    Accepted(Vec<PlanDraft>),
    Invalid(Violations),
    Refused(String),
    Failed(EngineError),
    Deadline,
}

impl TurnEnd {
    pub(super) fn recorded(&self) -> CallEnd {
        match self {
            Self::Accepted(_) => CallEnd::Accepted,
            Self::Invalid(violations) => CallEnd::Invalid { violations: violations.to_vec() },
            Self::Refused(said) => CallEnd::Failed { code: "refused".to_owned(), message: said.clone() },
            Self::Failed(error) => CallEnd::Failed { code: error.code().to_owned(), message: error.to_string() },
            Self::Deadline => CallEnd::Failed {
                code: "deadlineExceeded".to_owned(),
                message: "the deadline passed before the answer was complete".to_owned(),
            },
        }
    }
}

/// The result of one attempt.
pub(super) struct Attempt {
    pub(super) end: TurnEnd,
    pub(super) output: String,
    /// `true` if a part of the answer arrived. Then the request is not retried.
    pub(super) has_begun: bool,
}

/// Reports the reasoning of an accepted draft, and the least confidence of its steps.
pub(super) fn summarise(call: &mut OpenCall<'_>, draft: Option<&PlanDraft>) {
    let reasoning = draft.and_then(|draft| draft.reasoning_summary.as_ref()).map(ToString::to_string);
    let steps = draft.map(|draft| draft.steps.as_slice()).unwrap_or_default();
    let least = steps.iter().filter_map(|step| step.confidence).map(|p| p.get());
    let least = least.fold(None, |least: Option<f64>, p| Some(least.map_or(p, |least| least.min(p))));
    call.summary(reasoning.as_deref(), least);
}

impl<E: ChatEngine> Turn<'_, E> {
    pub(super) async fn run(&self, sink: &mut dyn PlanSink) -> TurnResult {
        let mut call = OpenCall::new(sink, self.opened(), self.spent);
        let mut retry = 0;
        let mut attempts = 0;
        let heard = loop {
            call.attempt();
            attempts += 1;
            let heard = self.attempt(&mut call).await;
            if heard.has_begun || !matches!(heard.end, TurnEnd::Failed(EngineError::Unreachable { .. })) {
                call.answered();
            }
            let wait = match &heard.end {
                // An answer that broke off is asked for again, unless some of it was carried out.
                TurnEnd::Failed(error)
                    if retry < self.limits.retries && (!heard.has_begun || error.breaks_off() && call.restart()) =>
                {
                    self.wait_before(error, retry, call.has_answered())
                }
                _ => None,
            };
            let Some(wait) = wait else { break heard };
            tracing::debug!(engine = self.engine.name(), retry, wait_ms = wait.as_millis(), "retrying");
            sleep(wait).await;
            retry += 1;
        };
        tracing::debug!(engine = self.engine.name(), attempts, elapsed_ms = call.elapsed().as_millis(), "call ended");
        let (input_tokens, output_tokens, attempts) = call.end(heard.end.recorded());
        TurnResult { end: heard.end, output: heard.output, input_tokens, output_tokens, attempts }
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
            others: Vec::new(),
            features: self.request.features.to_vec(),
        }
    }

    /// The wait before a retry. `None` if a retry is useless or there is no time for it.
    fn wait_before(&self, error: &EngineError, retry: u32, has_answered: bool) -> Option<Duration> {
        let is_servers_fault = match error {
            EngineError::RateLimited { .. }
            | EngineError::Server { .. }
            | EngineError::Stalled { .. }
            | EngineError::Lost(_)
            | EngineError::Cut => true,
            // A server that answered before is restarting. One that never did does not exist.
            EngineError::Unreachable { .. } => has_answered,
            EngineError::Exited { restarts, .. } => return restarts.then_some(Duration::ZERO),
            _ => false,
        };
        let wait = error.retry_after().unwrap_or_else(|| back_off(self.limits, retry));
        (is_servers_fault && wait < self.remaining()).then_some(wait)
    }

    fn remaining(&self) -> Duration {
        self.deadline.remaining(Instant::now().into_std())
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        let reader =
            Reader::new(self.grammar.dialect, &self.grammar.spec, self.request.observation, self.request.policy);
        match self.grammar.dialect {
            Dialect::Pointing(space) => {
                reader.of_actions(space, self.request.images.last().and_then(pointing::size_of))
            }
            _ => reader,
        }
    }

    async fn attempt(&self, call: &mut OpenCall<'_>) -> Attempt {
        if self.drafts > 1 {
            return self.several(call).await;
        }
        let mut reader = self.reader();
        if !self.purpose.is_for_plan() {
            reader = reader.of_object();
        }
        let mut has_begun = false;
        let end = match self.listen(&mut reader, call, &mut has_begun).await {
            Ok(drafts) => {
                summarise(call, drafts.first());
                TurnEnd::Accepted(drafts)
            }
            Err(end) => end,
        };
        let output = reader.output();
        call.output(output.clone());
        Attempt { end, output, has_begun }
    }

    pub(super) fn chat_request(&self) -> ChatRequest<'_> {
        let bound = u32::try_from(self.grammar.spec.max_tokens()).unwrap_or(u32::MAX);
        ChatRequest {
            messages: self.messages,
            grammar: self.grammar.emission.as_ref(),
            spec: &self.grammar.spec,
            max_tokens: self.limits.output_tokens.min(bound),
            purpose: self.purpose,
            drafts: 1,
            temperature: None,
        }
    }

    async fn listen(
        &self,
        reader: &mut Reader<'_>,
        call: &mut OpenCall<'_>,
        has_begun: &mut bool,
    ) -> Result<Vec<PlanDraft>, TurnEnd> {
        let request = self.chat_request();
        let max_tokens = request.max_tokens;
        let mut stream = self.within(self.limits.first_byte, self.engine.open(&request)).await?;
        let asked: usize = self.messages.iter().map(|message| message.text.len()).sum();
        // Stops a server that ignores `max_tokens`.
        let bytes = usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(16);
        let mut heard = 0_usize;
        let mut refusal = String::new();
        let mut finish = None;
        // A program need not be a model: what it does not report is no token.
        let estimated = |bytes| if self.grammar.dialect == Dialect::Document { 0 } else { estimated_tokens(bytes) };
        call.estimate(estimated(asked), 0);
        loop {
            let patience = if *has_begun { self.limits.stall } else { self.limits.first_byte };
            let event = self.within(patience, stream.next()).await.map_err(|end| self.judged(end))?;
            let Some(event) = event else { break };
            let steps = match event {
                ChatEvent::Alive | ChatEvent::Other { .. } => continue,
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
                ChatEvent::Tokens(tokens) => {
                    reader.tokens(tokens);
                    Ok(Vec::new())
                }
                ChatEvent::Done(reason) => {
                    finish = Some(reason);
                    break;
                }
            };
            call.estimate(estimated(asked), estimated(heard));
            let steps = steps.map_err(TurnEnd::Invalid)?;
            if !steps.is_empty()
                && let Some(memory) = reader.memory()
            {
                call.remember(&memory);
            }
            call.steps(&steps);
            if reader.is_done() {
                self.epilogue(&mut stream, call, reader).await;
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
                let message = format!("the answer did not end within {max_tokens} tokens");
                Err(TurnEnd::Invalid(vec![Violation::new(ViolationCode::Malformed, "", message)].into()))
            }
            Some(_) => {
                let (rest, drafts) = reader.finish(self.request.beam).map_err(TurnEnd::Invalid)?;
                call.steps(&rest);
                Ok(drafts)
            }
        }
    }

    /// Judges the end of a program's answer. Its output counts as an answer also where it is no JSON: it is asked
    /// again, as for an invalid plan.
    fn judged(&self, end: TurnEnd) -> TurnEnd {
        match end {
            TurnEnd::Failed(error @ EngineError::BadFormat { .. }) if self.grammar.dialect == Dialect::Document => {
                TurnEnd::Invalid(vec![Violation::new(ViolationCode::Malformed, "", error.to_string())].into())
            }
            end => end,
        }
    }

    /// Reads what follows a complete plan, for its tokens. Errors do not matter any more.
    async fn epilogue(&self, stream: &mut E::Stream, call: &mut OpenCall<'_>, reader: &mut Reader<'_>) {
        let listen = async {
            let mut bytes = 0;
            while let Ok(Some(event)) = stream.next().await {
                match event {
                    ChatEvent::Usage { input, output } => call.usage(input, output),
                    ChatEvent::Tokens(tokens) => reader.tokens(tokens),
                    ChatEvent::Done(_) => return,
                    ChatEvent::Text(text) => bytes += text.len(),
                    _ => bytes += 1,
                }
                if bytes > EPILOGUE_BYTES {
                    return;
                }
            }
        };
        // A timeout does not matter.
        drop(timeout(EPILOGUE.min(self.remaining()), listen).await);
    }

    /// Waits for the engine for at most `patience`, and never beyond the deadline.
    pub(super) async fn within<T>(
        &self,
        patience: Duration,
        future: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, TurnEnd> {
        let remaining = self.remaining();
        // A future that is always ready never reaches the timer.
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
