//! One engine and one simulated server: requests a plan, and checks the result against all invariants.

use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::plan::{Author, PlanDraft};
use cuebook_grammar::planning::{CallEnd, PlanningCall};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink};
use cuebook_grammar::step::Step;
use cuebook_planner::{Limits, ModelError};

use crate::engines::Engine;
use crate::page::{self, TASK};
use crate::servers::{Dialect, Play, Request, Server};

/// The key that every engine is given.
pub(crate) const KEY: &str = "sk-cuebook-0123456789abcdef";

/// How long beyond its deadline a plan may take on a machine that is busy with other things.
const GRACE: Duration = Duration::from_secs(30);

/// An engine's surroundings, before it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    dialect: Dialect,
    limits: Limits,
    deadline: Duration,
    page: Observation,
    policy: Policy,
}

/// The events that an engine reported.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    /// Draft, index and step.
    pub(crate) steps: Vec<(usize, usize, Step)>,
    pub(crate) calls: Vec<PlanningCall>,
}

impl PlanSink for Sink {
    fn step_ready(&mut self, draft: usize, index: usize, step: &Step) {
        self.steps.push((draft, index, step.clone()));
    }

    fn call_ended(&mut self, call: PlanningCall) {
        self.calls.push(call);
    }
}

/// Result of a request to an engine.
#[derive(Debug)]
pub(crate) struct EngineReply {
    pub(crate) dialect: Dialect,
    pub(crate) result: Result<PlanReply, ModelError>,
    pub(crate) steps: Vec<(usize, usize, Step)>,
    pub(crate) calls: Vec<PlanningCall>,
    pub(crate) server: Server,
}

impl Stage {
    /// Patient with servers, quick to ask again.
    pub(crate) fn new(dialect: Dialect) -> Self {
        let limits = Limits {
            first_byte: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            first_wait: Duration::from_millis(5),
            longest_wait: Duration::from_millis(20),
            ..Limits::default()
        };
        let deadline = Duration::from_secs(100);
        Self { dialect, limits, deadline, page: page::page(), policy: page::policy() }
    }

    /// The plan must be there after so long.
    pub(crate) fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// With these limits otherwise.
    pub(crate) fn limited(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Plans on another page, under the same policy.
    pub(crate) fn on(mut self, page: Observation) -> Self {
        self.page = page;
        self
    }

    /// The engine, before a server at this origin.
    pub(crate) fn engine(&self, origin: &str) -> Engine {
        Engine::new(self.dialect, origin, KEY, self.limits.clone())
    }

    /// The request for a plan.
    pub(crate) fn request(&self) -> PlanRequest<'_> {
        PlanRequest::new(TASK, &self.page, &self.policy)
    }

    /// When a plan that is asked for now must be there.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::after(Instant::now(), self.deadline)
    }

    /// Asks for a plan while the server plays these.
    pub(crate) async fn ask(self, plays: impl IntoIterator<Item = Play>) -> EngineReply {
        let server = Server::playing(plays).await;
        let engine = self.engine(&server.origin());
        self.ask_of(&engine, server).await
    }

    /// Asks an engine that is there already.
    pub(crate) async fn ask_of(&self, engine: &Engine, server: Server) -> EngineReply {
        let before = server.requests().len();
        let mut sink = Sink::default();
        let request = self.request();
        let planning = engine.plan(&request, &mut sink, self.deadline());
        let result = tokio::time::timeout(self.deadline + GRACE, planning).await;
        let result = result.unwrap_or_else(|_| panic!("expected an end by the deadline of {:?}", self.deadline));
        let asked = EngineReply { dialect: self.dialect, result, steps: sink.steps, calls: sink.calls, server };
        asked.keeps_what_always_holds(&self.page, &self.policy, before);
        asked
    }
}

impl EngineReply {
    /// The requests that the server saw.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// The reply of an engine that had one.
    pub(crate) fn reply(&self) -> &PlanReply {
        self.result.as_ref().unwrap_or_else(|error| panic!("expected a reply, saw {error:?}: {:#?}", self.calls))
    }

    /// The error of an engine that had none.
    pub(crate) fn error(&self) -> &ModelError {
        self.result.as_ref().expect_err("expected no reply")
    }

    /// Code of the error of an engine that had no reply.
    pub(crate) fn code(&self) -> &'static str {
        self.error().code()
    }

    /// Everything that the error says, causes included.
    pub(crate) fn message(&self) -> String {
        let mut message = self.error().to_string();
        let mut cause = std::error::Error::source(self.error());
        while let Some(error) = cause {
            message.push_str(&format!(": {error}"));
            cause = error.source();
        }
        message
    }

    /// How the calls ended: `accepted`, `invalid`, or the code of the failure.
    pub(crate) fn ends(&self) -> Vec<&str> {
        let end = |call: &'_ PlanningCall| match &call.end {
            CallEnd::Accepted => "accepted",
            CallEnd::Invalid { .. } => "invalid",
            CallEnd::Failed { .. } => "failed",
        };
        self.calls.iter().map(end).collect()
    }

    /// The reply is the plan of [`page::order`], and every step was reported, in order.
    pub(crate) fn is_the_order(&self) {
        let [draft] = &self.reply().drafts[..] else { panic!("expected one draft, saw {:?}", self.reply()) };
        let steps: Vec<Step> =
            page::order().into_iter().map(|step| serde_json::from_value(step).expect("a step")).collect();
        assert_eq!(draft.steps, steps);
    }

    fn keeps_what_always_holds(&self, page: &Observation, policy: &Policy, before: usize) {
        for (_, index, step) in &self.steps {
            let alone = PlanDraft::of(Author::Model, vec![step.clone()]);
            if let Err(violations) = alone.check(page, policy) {
                panic!("step {index} was reported and is invalid: {violations:?}");
            }
        }
        if let Ok(reply) = &self.result {
            for draft in &reply.drafts {
                assert_eq!(draft.author, Author::Model);
                if let Err(violations) = draft.check(page, policy) {
                    panic!("the draft is invalid: {violations:?}");
                }
                // The steps reported since the last first step are those of the draft.
                let from = self.steps.iter().rposition(|(_, index, _)| *index == 0).unwrap_or(self.steps.len());
                let reported = &self.steps[from..];
                let reported: Vec<(usize, &Step)> = reported.iter().map(|(_, index, step)| (*index, step)).collect();
                assert_eq!(reported, draft.steps.iter().enumerate().collect::<Vec<_>>());
            }
        }
        if let Err(error) = &self.result {
            let said = format!("{error} {error:?} {}", self.message());
            assert!(!said.contains(KEY), "the key is in the error: {said}");
        }
        let said = serde_json::to_string(&self.calls).expect("calls are JSON");
        assert!(!said.contains(KEY), "the key is in a call: {said}");
        let attempts: u32 = self.calls.iter().map(|call| call.attempts).sum();
        let requests = self.requests().split_off(before);
        assert!(attempts as usize >= requests.len(), "{attempts} attempts were reported, {} arrived", requests.len());
        let auth = match self.dialect {
            Dialect::Ollama => None,
            Dialect::Anthropic => Some("x-api-key"),
            _ => Some("authorization"),
        };
        for request in &requests {
            assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", self.dialect.path()));
            if let Some(auth) = auth {
                assert!(request.header(auth).is_some_and(|value| value.contains(KEY)), "{:?}", request.headers);
            }
            assert!(!request.everything_but(auth.unwrap_or_default()).contains(KEY), "the key outside of its header");
        }
    }
}
