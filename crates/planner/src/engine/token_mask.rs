//! An engine in this process: any source of logits, under the mask of the grammar.
//!
//! It decodes on a blocking thread of Tokio and streams its text.
//!
//! Invariants:
//! - The output is a sentence of the grammar, and ends within the bound of the grammar.
//! - When the stream is dropped, the decode ends at its next token.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuebook_decoding::emit::Target;
use cuebook_decoding::mask::{DecodeError, DecodeOptions, Form, Logits, MaskError, Masks, Vocabulary, decode};
use tokio::sync::mpsc;

use crate::converse::{ChatEngine, ChatEvent, ChatMessage, ChatRequest, ChatStream, Dialect, EngineError, Finish};

/// A model in this process.
pub trait LogitsSource: Send + Sync {
    /// Predicts the tokens of one answer.
    type Logits: Logits<Error: Error + Send + Sync + 'static> + Send + 'static;

    /// The name of the model, for records.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Starts an answer to a conversation. Expensive work belongs in the first prediction, which runs on its own thread.
    ///
    /// # Errors
    /// The model cannot start.
    fn begin(
        &self,
        messages: &[ChatMessage],
    ) -> Result<Self::Logits, <<Self as LogitsSource>::Logits as Logits>::Error>;

    /// The number of tokens of the prompt of an answer, for records. `None` estimates four bytes a token.
    fn prompt_tokens(_logits: &Self::Logits) -> Option<u64> {
        None
    }
}

/// One model for several planners.
impl<S: LogitsSource> LogitsSource for Arc<S> {
    type Logits = S::Logits;

    fn model(&self) -> Option<&str> {
        self.as_ref().model()
    }

    fn begin(&self, messages: &[ChatMessage]) -> Result<S::Logits, <S::Logits as Logits>::Error> {
        self.as_ref().begin(messages)
    }

    fn prompt_tokens(logits: &S::Logits) -> Option<u64> {
        S::prompt_tokens(logits)
    }
}

/// Decodes under token masks.
#[derive(Debug)]
pub struct TokenMask<S> {
    source: S,
    masks: Arc<Masks>,
    options: DecodeOptions,
    seed: AtomicU64,
}

impl<S: LogitsSource> TokenMask<S> {
    /// An engine over a source of logits and their vocabulary, with the default [`DecodeOptions`].
    ///
    /// # Errors
    /// [`MaskError`] if the vocabulary cannot be masked.
    pub fn new(source: S, vocabulary: Vocabulary) -> Result<Self, MaskError> {
        let masks = Arc::new(Masks::new(vocabulary)?);
        Ok(Self { source, masks, options: DecodeOptions::default(), seed: AtomicU64::new(0) })
    }

    /// Sets the options, and the seed of random choices.
    #[must_use]
    pub fn with_options(mut self, options: DecodeOptions, seed: u64) -> Self {
        self.options = options;
        self.seed = AtomicU64::new(seed);
        self
    }
}

/// Streams the text of an answer while it is decoded.
struct Streaming<L> {
    inner: L,
    masks: Arc<Masks>,
    events: mpsc::Sender<ChatEvent>,
    /// The number of tokens that were sent.
    sent: usize,
    /// Bytes of an incomplete character.
    pending: Vec<u8>,
    max_tokens: u64,
}

/// Why a decode was stopped.
#[derive(Debug, thiserror::Error)]
enum Stopped<E> {
    #[error("the stream was dropped")]
    Dropped,
    #[error("the answer is longer than {0} tokens")]
    TooLong(u64),
    #[error("the model failed")]
    Model(#[source] E),
}

impl<L: Logits> Streaming<L> {
    fn send(&mut self, tokens: &[u32]) -> Result<(), Stopped<L::Error>> {
        for token in tokens.get(self.sent..).unwrap_or_default() {
            self.pending.extend_from_slice(self.masks.vocabulary().token(*token));
        }
        self.sent = tokens.len();
        let whole = match std::str::from_utf8(&self.pending) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.pending.split_off(whole);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        let event = if text.is_empty() { ChatEvent::Alive } else { ChatEvent::Text(text) };
        self.events.blocking_send(event).map_err(|_| Stopped::Dropped)
    }
}

impl<L: Logits> Logits for Streaming<L> {
    type Error = Stopped<L::Error>;

    fn next(&mut self, tokens: &[u32]) -> Result<Vec<f32>, Stopped<L::Error>> {
        if tokens.len() as u64 >= self.max_tokens {
            return Err(Stopped::TooLong(self.max_tokens));
        }
        self.send(tokens)?;
        self.inner.next(tokens).map_err(Stopped::Model)
    }
}

impl<S: LogitsSource> ChatEngine for TokenMask<S> {
    type Stream = TokenMaskStream;

    fn name(&self) -> &'static str {
        "tokenMask"
    }

    fn model(&self) -> Option<&str> {
        self.source.model()
    }

    fn dialect(&self) -> Dialect {
        Dialect::Plan(match self.options.form {
            Form::Json => Target::Lark,
            Form::Lines => Target::Line,
        })
    }

    async fn open(&self, request: &ChatRequest<'_>) -> Result<TokenMaskStream, EngineError> {
        let inner = self.source.begin(request.messages).map_err(|error| EngineError::Inside(Box::new(error)))?;
        let estimated = request.messages.iter().map(|message| message.text.len().div_ceil(4) as u64).sum();
        let input = S::prompt_tokens(&inner).unwrap_or(estimated);
        let (sender, events) = mpsc::channel(64);
        let masks = self.masks.clone();
        let max_tokens = u64::from(request.max_tokens);
        let mut streaming =
            Streaming { inner, masks: masks.clone(), events: sender, sent: 0, pending: Vec::new(), max_tokens };
        let spec = request.spec.clone();
        // Only plans have a line form.
        let form = if request.purpose.is_for_plan() { self.options.form } else { Form::Json };
        let warmest = request.temperature.map_or(self.options.temperature, |t| self.options.temperature.max(t.into()));
        let options = DecodeOptions { form, temperature: warmest, ..self.options };
        let mut chance = Chance(self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed));
        let done = tokio::task::spawn_blocking(move || {
            let decoded = decode(&masks, &spec, &mut streaming, options, &mut || chance.uniform())
                .map_err(|error| EngineError::Inside(boxed(error)))?;
            let last = streaming.send(&decoded.tokens);
            let usage = ChatEvent::Usage { input, output: decoded.tokens.len() as u64 };
            let rest = [usage, ChatEvent::Tokens(decoded.probabilities), ChatEvent::Done(Finish::Stop)];
            if last.is_ok() {
                for event in rest {
                    if streaming.events.blocking_send(event).is_err() {
                        break;
                    }
                }
            }
            Ok(())
        });
        Ok(TokenMaskStream { events, done: Some(done) })
    }
}

fn boxed<E: Error + Send + Sync + 'static>(error: DecodeError<Stopped<E>>) -> Box<dyn Error + Send + Sync> {
    match error {
        DecodeError::Engine(stopped) => Box::new(stopped),
        DecodeError::Mask(mask) => Box::new(mask),
        other => other.to_string().into(),
    }
}

/// An answer in progress.
#[derive(Debug)]
pub struct TokenMaskStream {
    events: mpsc::Receiver<ChatEvent>,
    done: Option<tokio::task::JoinHandle<Result<(), EngineError>>>,
}

impl ChatStream for TokenMaskStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        if let Some(event) = self.events.recv().await {
            return Ok(Some(event));
        }
        let Some(done) = self.done.take() else { return Ok(None) };
        done.await.map_err(|error| EngineError::Inside(Box::new(error)))?.map(|()| None)
    }
}

/// Numbers from 0 up to 1. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (SplitMix64).
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // 53 bits are exact as a float.
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use cuebook_grammar::deadline::Deadline;
    use cuebook_grammar::planning::{CallEnd, PlanningCall};
    use cuebook_grammar::policy::Policy;
    use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
    use cuebook_grammar::step::Step;

    use super::*;
    use crate::converse::{Limits, ModelError, ModelPlanner};
    use cuebook_grammar::sample;

    /// Random logits that favour the end of strings. While they are held, they come for the first token only.
    struct Random {
        chance: Chance,
        held: Arc<AtomicBool>,
        size: usize,
        asked: Arc<Mutex<usize>>,
    }

    impl Logits for Random {
        type Error = Infallible;

        fn next(&mut self, _: &[u32]) -> Result<Vec<f32>, Infallible> {
            *self.asked.lock().unwrap() += 1;
            while *self.asked.lock().unwrap() > 1 && self.held.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            let mut logits: Vec<f32> = (0..self.size).map(|_| self.chance.uniform() as f32 * 6.0).collect();
            logits[usize::from(b'"')] = 8.0;
            Ok(logits)
        }
    }

    #[derive(Default)]
    struct RandomSource {
        seed: AtomicU64,
        held: Arc<AtomicBool>,
        asked: Arc<Mutex<usize>>,
    }

    impl LogitsSource for RandomSource {
        type Logits = Random;

        fn begin(&self, messages: &[ChatMessage]) -> Result<Random, Infallible> {
            assert!(messages[1].text.contains("[c1]"));
            let chance = Chance(self.seed.fetch_add(1, Ordering::Relaxed));
            Ok(Random { chance, held: self.held.clone(), size: Vocabulary::bytes().size(), asked: self.asked.clone() })
        }
    }

    #[derive(Default)]
    struct Sink(Vec<Step>, Vec<PlanningCall>);

    impl PlanSink for Sink {
        fn step_ready(&mut self, _: usize, _: usize, step: &Step) {
            self.0.push(step.clone());
        }
        fn call_ended(&mut self, call: PlanningCall) {
            self.1.push(call);
        }
    }

    fn engine(form: Form) -> TokenMask<RandomSource> {
        let options = DecodeOptions { form, temperature: 1.0, risk_aversion: 1.0 };
        TokenMask::new(RandomSource::default(), Vocabulary::bytes()).unwrap().with_options(options, 7)
    }

    async fn plan(planner: &ModelPlanner<TokenMask<RandomSource>>) -> (Result<PlanReply, ModelError>, Sink) {
        let page =
            sample::page("textbox \"User\"\nbutton \"Delete account\"\nlink \"Help\" to=/help\ncheckbox \"Remember\"");
        let policy = Policy::default().starting_at(&page.url).unwrap();
        let request = PlanRequest::new("t", &page, &policy);
        let mut sink = Sink::default();
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(60));
        let reply = planner.plan(&request, &mut sink, deadline).await;
        (reply, sink)
    }

    #[tokio::test]
    async fn any_logits_yield_a_valid_plan_at_the_first_try() {
        let limits = Limits { output_tokens: u32::MAX, ..Limits::default() };
        let planner = ModelPlanner::new(engine(Form::Json)).with_limits(limits);
        for _ in 0..30 {
            let (reply, sink) = plan(&planner).await;
            let reply = reply.unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!((sink.1.len(), &sink.1[0].end), (1, &CallEnd::Accepted));
            let steps = &reply.drafts[0].steps;
            assert_eq!(steps.len(), sink.0.len());
            assert!(steps.iter().all(|step| step.confidence.is_some_and(|p| p.get() > 0.0 && p.get() <= 1.0)));
        }
    }

    #[tokio::test]
    async fn lines_are_decoded_too() {
        let limits = Limits { output_tokens: u32::MAX, ..Limits::default() };
        let planner = ModelPlanner::new(engine(Form::Lines)).with_limits(limits);
        for _ in 0..5 {
            let (reply, _) = plan(&planner).await;
            assert_eq!(reply.unwrap_or_else(|error| panic!("{error:?}")).drafts.len(), 1);
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_an_error() {
        let limits = Limits { output_tokens: 5, ..Limits::default() };
        let planner = ModelPlanner::new(engine(Form::Json)).with_limits(limits);
        let (reply, _) = plan(&planner).await;
        let error = reply.unwrap_err();
        assert!(matches!(&error, ModelError::Engine { source: EngineError::Inside(_), attempts: 1, .. }), "{error:?}");
        assert!(format!("{error:?}").contains("TooLong(5)"), "{error:?}");
    }

    #[tokio::test]
    async fn a_decode_ends_when_its_stream_is_dropped() {
        let engine = engine(Form::Json);
        // Otherwise a short answer is complete before its stream is dropped.
        let held = engine.source.held.clone();
        held.store(true, Ordering::SeqCst);
        let asked = engine.source.asked.clone();
        let page = sample::page("textbox \"User\"");
        let policy = Policy::default().starting_at(&page.url).unwrap();
        let spec = cuebook_decoding::specialise(&page, &policy);
        let user = ChatMessage::new(cuebook_grammar::planning::MessageRole::User, "textbox [c1]");
        let messages = [user.clone(), user];
        let request = ChatRequest {
            messages: &messages,
            grammar: None,
            spec: &spec,
            max_tokens: u32::MAX,
            purpose: cuebook_grammar::planning::CallPurpose::Plan,
            drafts: 1,
            temperature: None,
        };
        let mut stream = engine.open(&request).await.unwrap();
        assert!(stream.next().await.unwrap().is_some());
        let done = stream.done.take().unwrap();
        drop(stream);
        held.store(false, Ordering::SeqCst);
        // The thread ends without completing its sentence.
        let end = tokio::time::timeout(Duration::from_secs(30), done).await.unwrap().unwrap();
        assert!(matches!(end, Err(EngineError::Inside(_))), "{end:?}");
        assert!(*asked.lock().unwrap() <= 2, "{}", asked.lock().unwrap());
    }
}
