//! Several drafts of one plan: asked for at once or one by one, and judged each by itself.
//!
//! Invariants:
//! - What came counts: a server that ignores the number, sends fewer, or breaks off after the first has written fewer.
//! - No step of any draft is reported: which of them is taken is decided when all are there.

use cuebook_grammar::plan::{PlanDraft, Violation, ViolationCode, Violations};
use cuebook_grammar::planning::OtherDraft;
use cuebook_grammar::render::one_line;

use super::audit::OpenCall;
use super::chat::{Beam, ChatEngine, ChatEvent, ChatStream, EngineError, Finish};
use super::limits::estimated_tokens;
use super::reading::Reader;
use super::turn::{Attempt, Turn, TurnEnd, summarise};

/// Temperature of further drafts, for engines that are greedy.
const TEMPERATURE: f32 = 0.8;

/// A draft on its way.
struct Arriving<'a> {
    reader: Reader<'a>,
    broken: Option<Violations>,
    refusal: String,
    finish: Option<Finish>,
}

/// A draft that was read: its text, and the plan or why it is none.
type Written = (String, Result<PlanDraft, TurnEnd>);

impl<E: ChatEngine> Turn<'_, E> {
    /// Asks for all drafts. The first valid one is the output of the call.
    pub(super) async fn several(&self, call: &mut OpenCall<'_>) -> Attempt {
        let at_once = if self.engine.beam() == Beam::AtOnce { self.drafts } else { 1 };
        let mut written: Vec<Written> = Vec::new();
        let mut end = None;
        while end.is_none() && written.len() < self.drafts {
            if !written.is_empty() {
                call.next_request();
            }
            match self.hear(call, at_once, !written.is_empty()).await {
                Ok(more) => written.extend(more),
                Err(failed) => end = Some(failed),
            }
            if at_once > 1 || written.is_empty() {
                break;
            }
        }
        let has_begun = !written.is_empty();
        let mut drafts = Vec::new();
        let mut outputs: Vec<(String, TurnEnd)> = Vec::new();
        for (output, judged) in written {
            match judged {
                Ok(draft) => {
                    drafts.push(draft);
                    outputs.push((output, TurnEnd::Accepted(Vec::new())));
                }
                Err(end) => outputs.push((output, end)),
            }
        }
        let first = outputs.iter().position(|(_, end)| matches!(end, TurnEnd::Accepted(_))).unwrap_or(0);
        let (output, judged) = if outputs.is_empty() {
            (String::new(), end.unwrap_or(TurnEnd::Failed(EngineError::Cut)))
        } else {
            outputs.remove(first)
        };
        call.output(output.clone());
        let other = |(output, end): (String, TurnEnd)| OtherDraft { output, end: end.recorded() };
        call.others(outputs.into_iter().map(other).collect());
        let end = if drafts.is_empty() {
            judged
        } else {
            summarise(call, drafts.first());
            TurnEnd::Accepted(drafts)
        };
        Attempt { end, output, has_begun }
    }

    /// One request for `at_once` drafts. An error only if not even one came whole.
    async fn hear(&self, call: &mut OpenCall<'_>, at_once: usize, is_further: bool) -> Result<Vec<Written>, TurnEnd> {
        let mut request = self.chat_request();
        request.drafts = at_once;
        request.temperature = is_further.then_some(TEMPERATURE);
        let mut stream = self.within(self.limits.first_byte, self.engine.open(&request)).await?;
        let asked: usize = self.messages.iter().map(|message| message.text.len()).sum();
        // Stops a server that ignores `max_tokens`.
        let bytes = usize::try_from(request.max_tokens).unwrap_or(usize::MAX).saturating_mul(16 * at_once);
        let mut heard = 0_usize;
        let mut all: Vec<Arriving<'_>> = (0..at_once).map(|_| Arriving::new(self.reader())).collect();
        call.estimate(estimated_tokens(asked), 0);
        loop {
            let patience = if heard == 0 { self.limits.first_byte } else { self.limits.stall };
            let event = match self.within(patience, stream.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) if all.iter().any(Arriving::is_whole) => break,
                Err(end) => return Err(end),
            };
            if let ChatEvent::Usage { input, output } = event {
                call.usage(input, output);
                continue;
            }
            let (draft, event) = match event {
                ChatEvent::Other { draft, event } => (draft, *event),
                event => (0, event),
            };
            let Some(one) = all.get_mut(draft) else { continue };
            let is_last = draft == 0 && matches!(event, ChatEvent::Done(_));
            heard = heard.saturating_add(one.take(event));
            call.estimate(estimated_tokens(asked), estimated_tokens(heard));
            if is_last {
                break;
            }
            if heard > bytes {
                return Err(TurnEnd::Failed(EngineError::TooLong { bound: bytes }));
            }
        }
        let written: Vec<Written> = all.into_iter().filter_map(|one| one.judged(request.max_tokens)).collect();
        if written.is_empty() { Err(TurnEnd::Failed(EngineError::Cut)) } else { Ok(written) }
    }
}

impl<'a> Arriving<'a> {
    const fn new(reader: Reader<'a>) -> Self {
        Self { reader, broken: None, refusal: String::new(), finish: None }
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some() || self.reader.is_done()
    }

    /// Takes a piece. Returns its length in bytes.
    fn take(&mut self, event: ChatEvent) -> usize {
        let (steps, length) = match event {
            ChatEvent::Text(text) => (self.reader.text(&text), text.len()),
            ChatEvent::Call { index, name, arguments } => {
                (self.reader.call(index, name.as_deref(), &arguments), arguments.len())
            }
            ChatEvent::Refusal(text) => {
                self.refusal.push_str(&text);
                (Ok(Vec::new()), text.len())
            }
            ChatEvent::Reasoning(text) => (Ok(Vec::new()), text.len()),
            ChatEvent::Tokens(tokens) => {
                self.reader.tokens(tokens);
                return 0;
            }
            ChatEvent::Done(reason) => {
                self.finish = Some(reason);
                return 0;
            }
            _ => return 0,
        };
        if let Err(violations) = steps {
            self.broken.get_or_insert(violations);
        }
        length
    }

    /// The draft, or why it is none; `None` if nothing of it came.
    fn judged(mut self, max_tokens: u32) -> Option<Written> {
        let output = self.reader.output();
        if output.is_empty() && self.refusal.is_empty() && self.finish.is_none() {
            return None;
        }
        let is_whole = self.is_whole();
        let judged = if !self.refusal.is_empty() || self.finish == Some(Finish::Refused) {
            Err(TurnEnd::Refused(one_line(&self.refusal, 300)))
        } else if let Some(violations) = self.broken {
            Err(TurnEnd::Invalid(violations))
        } else if self.finish == Some(Finish::Length) && !self.reader.is_done() {
            let message = format!("the answer did not end within {max_tokens} tokens");
            Err(TurnEnd::Invalid(vec![Violation::new(ViolationCode::Malformed, "", message)].into()))
        } else if !is_whole {
            Err(TurnEnd::Failed(EngineError::Cut))
        } else {
            let read = self.reader.finish(1).map_err(TurnEnd::Invalid);
            read.and_then(|(_, drafts)| drafts.into_iter().next().ok_or(TurnEnd::Failed(EngineError::Cut)))
        };
        Some((output, judged))
    }
}
