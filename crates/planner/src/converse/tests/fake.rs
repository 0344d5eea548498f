//! An engine in memory: it replays a list of answers and records its requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cuebook_decoding::emit::Target;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::planning::PlanningCall;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::step::Step;
use tokio::time::Instant;

use super::super::*;
use cuebook_grammar::sample;

/// The script of one request.
pub(super) enum Play {
    /// The request gets no stream, but this error.
    Fails(EngineError),
    /// The parts of the answer.
    Says(Vec<Part>),
}

/// A part of an answer.
pub(super) enum Part {
    Event(ChatEvent),
    Error(EngineError),
    /// Nothing is sent for this time.
    Wait(Duration),
}

/// The record of its requests.
#[derive(Default)]
pub(super) struct RecordedRequests {
    /// The conversations that were sent, and when.
    pub(super) asked: Vec<(Vec<ChatMessage>, u32, Duration)>,
    /// Events that were read from the last answer.
    pub(super) read: usize,
    /// Streams that were opened and not dropped.
    pub(super) open: usize,
}

pub(super) struct Fake {
    dialect: Dialect,
    plays: Mutex<VecDeque<Play>>,
    pub(super) seen: Arc<Mutex<RecordedRequests>>,
    begun: Instant,
}

impl Fake {
    pub(super) fn new(dialect: Dialect, plays: impl IntoIterator<Item = Play>) -> Self {
        let plays = Mutex::new(plays.into_iter().collect());
        Self { dialect, plays, seen: Arc::default(), begun: Instant::now() }
    }

    /// How long it is there.
    pub(super) fn begun_for(&self) -> Duration {
        self.begun.elapsed()
    }

    /// An engine that answers with plans in Ollama's schema.
    pub(super) fn planning(plays: impl IntoIterator<Item = Play>) -> Self {
        Self::new(Dialect::Plan(Target::Ollama), plays)
    }
}

/// A complete answer with this text, in pieces of a few characters.
pub(super) fn text(text: &str) -> Play {
    let mut events: Vec<Part> = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(3) {
        events.push(Part::Event(ChatEvent::Text(piece.iter().collect())));
    }
    events.push(Part::Event(ChatEvent::Usage { input: 100, output: 20 }));
    events.push(Part::Event(ChatEvent::Done(Finish::Stop)));
    Play::Says(events)
}

pub(super) struct FakeStream {
    events: VecDeque<Part>,
    seen: Arc<Mutex<RecordedRequests>>,
}

impl Drop for FakeStream {
    fn drop(&mut self) {
        self.seen.lock().unwrap().open -= 1;
    }
}

impl ChatStream for FakeStream {
    async fn next(&mut self) -> Result<Option<ChatEvent>, EngineError> {
        loop {
            match self.events.pop_front() {
                None => return Ok(None),
                Some(Part::Error(error)) => return Err(error),
                Some(Part::Wait(time)) => tokio::time::sleep(time).await,
                Some(Part::Event(event)) => {
                    self.seen.lock().unwrap().read += 1;
                    return Ok(Some(event));
                }
            }
        }
    }
}

impl ChatEngine for Fake {
    type Stream = FakeStream;

    fn name(&self) -> &'static str {
        "fake"
    }

    fn model(&self) -> Option<&str> {
        Some("tiny")
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    async fn open(&self, request: &ChatRequest<'_>) -> Result<FakeStream, EngineError> {
        let mut seen = self.seen.lock().unwrap();
        seen.asked.push((request.messages.to_vec(), request.max_tokens, self.begun.elapsed()));
        match self.plays.lock().unwrap().pop_front() {
            None => {
                let unexpected = request.messages.last().map(|message| message.text.clone());
                Err(EngineError::Inside(format!("a request too many: {unexpected:?}").into()))
            }
            Some(Play::Fails(error)) => Err(error),
            Some(Play::Says(events)) => {
                seen.open += 1;
                seen.read = 0;
                Ok(FakeStream { events: events.into(), seen: self.seen.clone() })
            }
        }
    }
}

/// Records the reported steps and calls.
#[derive(Default)]
pub(super) struct Sink {
    pub(super) steps: Vec<(usize, Step)>,
    pub(super) calls: Vec<PlanningCall>,
    pub(super) memory: Option<String>,
}

impl PlanSink for Sink {
    fn remember(&mut self, memory: &str) {
        self.memory = Some(memory.to_owned());
    }
    fn step_ready(&mut self, _: usize, index: usize, step: &Step) {
        self.steps.push((index, step.clone()));
    }
    fn call_ended(&mut self, call: PlanningCall) {
        self.calls.push(call);
    }
}

/// A page with a field, a button and a link: c1, c2, c3.
pub(super) fn login() -> (Observation, Policy) {
    let page = sample::page("textbox \"User\"\nbutton \"Sign in\"\nlink \"Help\" to=/help");
    let policy = Policy::default().starting_at(&page.url).unwrap();
    (page, policy)
}

pub(super) fn request<'a>(page: &'a Observation, policy: &'a Policy) -> PlanRequest<'a> {
    PlanRequest::new("Log in as ada", page, policy)
}

pub(super) fn soon(time: Duration) -> Deadline {
    Deadline::after(Instant::now().into_std(), time)
}

/// Plans on the login page, within a minute.
pub(super) async fn plan(planner: &ModelPlanner<Fake>) -> (Result<PlanReply, ModelError>, Sink) {
    let (page, policy) = login();
    let mut sink = Sink::default();
    let reply = planner.plan(&request(&page, &policy), &mut sink, soon(Duration::from_secs(60))).await;
    (reply, sink)
}

pub(super) const GOOD: &str = r#"{"version":"1.0","reasoningSummary":"fill in, then submit","steps":[{"type":"setValue","targetRef":"c1","value":"ada"}],"last":{"type":"click","targetRef":"c2","confidence":0.5}}"#;
