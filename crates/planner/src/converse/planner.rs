//! The planner over a model, and its errors.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cuebook_decoding::emit::{Degraded, Target, emit_within};
use cuebook_decoding::{Caps, brief};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest};
use cuebook_grammar::id::TargetRef;
use cuebook_grammar::plan::{PlanDraft, Violation, Violations};
use cuebook_grammar::planner_input::PlannerInput;
use cuebook_grammar::planning::{CallPurpose, MessageRole};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{LookRequest, PlanReply, PlanRequest, PlanSink, Planner};
use tokio::time::Instant;

use super::chat::{Beam, ChatEngine, ChatMessage, Dialect, EngineError};
use super::limits::{Budget, Limits, Spent};
use super::memory::memory_in;
use super::turn::{Grammar, Turn, TurnEnd};
use crate::files::{self, Files};
use crate::prompt::{Form, Ground, Prompts};

/// Why a model gave no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The engine gave no complete answer.
    #[error("{engine} gave no answer after {attempts} request{}{}", plural(*.attempts), at(.address.as_deref()))]
    Engine {
        /// The name of the engine.
        engine: &'static str,
        /// The address of its server.
        address: Option<String>,
        /// The number of requests.
        attempts: u32,
        /// Error of the last request.
        #[source]
        source: EngineError,
    },
    /// Neither the first answer nor the reformulation is a valid plan; or the first one is not, and some of it ran.
    #[error("the last answer is not a valid plan: {} violations, the first: {}", .violations.len(), first(.violations))]
    Invalid {
        /// The violations of the last answer.
        violations: Violations,
    },
    /// A budget of the planner is used up: no request was sent.
    #[error("the budget of {allowed} {} is used up: {used}", .budget.as_str())]
    Budget {
        /// Budget that is used up; it states the unit of the numbers.
        budget: Budget,
        /// The amount that was used.
        used: u64,
        /// Upper bound from [`Limits`], in the budget's unit.
        allowed: u64,
    },
    /// The deadline or [`Limits::plan_time`] passed before the answer was complete.
    #[error("{engine} gave no complete answer within {} s", .after.as_secs_f32())]
    Deadline {
        /// Name of the engine, as [`ChatEngine::name`] returns it.
        engine: &'static str,
        /// The time that it had.
        after: Duration,
    },
}

const fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn at(address: Option<&str>) -> String {
    address.map(|address| format!(" to {address}")).unwrap_or_default()
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

impl ModelError {
    /// Stable code of the error, in camel case; that of the engine's error where there is one.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Engine { source, .. } => source.code(),
            Self::Invalid { .. } => "invalidPlan",
            Self::Budget { .. } => "budgetExceeded",
            Self::Deadline { .. } => "deadlineExceeded",
        }
    }
}

/// A planner over a model: [`Planner`] for any [`ChatEngine`].
#[derive(Debug)]
pub struct ModelPlanner<E> {
    pub(super) engine: E,
    prompts: Prompts,
    pub(super) limits: Limits,
    caps: Caps,
    pub(super) spent: Mutex<Spent>,
}

impl<E: ChatEngine> ModelPlanner<E> {
    /// A planner with the built-in prompts and the default limits. The budgets of a run start here, so each run needs its
    /// own planner.
    pub fn new(engine: E) -> Self {
        Self {
            engine,
            prompts: Prompts::default(),
            limits: Limits::default(),
            caps: Caps::default(),
            spent: Mutex::new(Spent::default()),
        }
    }

    /// Sets the prompts, in place of the built-in ones.
    #[must_use]
    pub fn with_prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = prompts;
        self
    }

    /// Sets the limits, in place of [`Limits::default`].
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the bounds of the output: credentials, files, candidates, lengths. Default of the files: those below the
    /// directories that the policy opens for reading, 50 at most.
    #[must_use]
    pub fn with_caps(mut self, caps: Caps) -> Self {
        self.caps = caps;
        self
    }

    /// Engine that the planner asks.
    #[must_use]
    pub const fn engine(&self) -> &E {
        &self.engine
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bounds of the output, with the files that the policy declares where none were set.
    fn caps_under(&self, policy: &Policy) -> Caps {
        let caps = if self.prompts.is_compact() { brief::caps(self.caps.clone()) } else { self.caps.clone() };
        if !caps.files.is_empty() {
            return caps;
        }
        let Files { names, more } = files::declared(policy);
        Caps { files: names, more_files: more, ..caps }
    }

    fn grammar(&self, request: &PlanRequest<'_>) -> Grammar {
        let asked = self.engine.dialect();
        let target = match asked {
            Dialect::Plan(target) | Dialect::Calls(target) => target,
            Dialect::Prompted | Dialect::Document | Dialect::Pointing(_) => Target::JsonSchema,
        };
        let caps = self.caps_under(request.policy);
        let (spec, emission, degraded) = emit_within(target, request.observation, request.policy, &caps);
        let dialect = match asked {
            Dialect::Plan(_) | Dialect::Calls(_) if degraded == Degraded::InPrompt => Dialect::Prompted,
            asked => asked,
        };
        let is_constrained = matches!(dialect, Dialect::Plan(_) | Dialect::Calls(_));
        let failed =
            request.history.iter().filter(|past| past.failure.is_some() || past.refused.is_some() || past.no_effect);
        let spec = spec.blaming(failed.map(|past| {
            let action = &past.step.action;
            (action.kind(), action.target().and_then(TargetRef::candidate_id))
        }));
        Grammar { spec, emission: is_constrained.then_some(emission), dialect }
    }

    /// The document of a request, for programs.
    fn document(&self, request: &PlanRequest<'_>, violations: &[Violation]) -> Result<ChatMessage, EngineError> {
        let caps = self.caps_under(request.policy);
        let input = PlannerInput {
            secrets: caps.credentials,
            files: caps.files,
            more_files: u32::try_from(caps.more_files).unwrap_or(u32::MAX),
            violations: violations.to_vec(),
            ..PlannerInput::of(request)
        };
        let text = serde_json::to_string(&input).map_err(|error| EngineError::Request(Box::new(error)))?;
        let mut message = ChatMessage::new(MessageRole::User, text);
        message.images = request.images.to_vec();
        Ok(message)
    }

    fn first_messages(&self, request: &PlanRequest<'_>, grammar: &Grammar) -> Result<Vec<ChatMessage>, EngineError> {
        let form = match grammar.dialect {
            Dialect::Document => return Ok(vec![self.document(request, &[])?]),
            Dialect::Calls(_) => Form::Calls,
            Dialect::Pointing(space) => Form::Pointing(space),
            Dialect::Plan(Target::Line) => Form::Lines,
            Dialect::Plan(_) | Dialect::Prompted => Form::Plan,
        };
        let ground = Ground { request, spec: &grammar.spec, form };
        let mut task = ChatMessage::new(MessageRole::User, self.prompts.turn(&ground));
        task.images = request.images.to_vec();
        Ok(vec![ChatMessage::new(MessageRole::System, self.prompts.system(&ground)), task])
    }

    /// Returns an error if a budget of the planner is used up.
    pub(super) fn within_budgets(&self) -> Result<(), ModelError> {
        match self.spent().exhausted(&self.limits) {
            Some((budget, used, allowed)) => Err(ModelError::Budget { budget, used, allowed }),
            None => Ok(()),
        }
    }

    pub(super) fn failed(&self, attempts: u32, source: EngineError) -> ModelError {
        let address = self.engine.address().map(str::to_owned);
        ModelError::Engine { engine: self.engine.name(), address, attempts, source }
    }

    /// Number of drafts to ask for: several of a repair only, and of no program, which writes several by itself.
    fn drafts(&self, request: &PlanRequest<'_>, grammar: &Grammar) -> usize {
        let asks = grammar.dialect != Dialect::Document && self.engine.beam() != Beam::One;
        if asks { self.limits.drafts.clamp(1, request.beam.max(1)) } else { 1 }
    }

    async fn converse(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
        usage: &mut Usage,
    ) -> Result<ModelReply, ModelError> {
        let grammar = self.grammar(request);
        let mut messages = self.first_messages(request, &grammar).map_err(|source| self.failed(0, source))?;
        let mut purpose = if request.failure.is_some() { CallPurpose::Repair } else { CallPurpose::Plan };
        let begun = Instant::now();
        loop {
            self.within_budgets()?;
            let turn = Turn {
                engine: &self.engine,
                limits: &self.limits,
                request,
                grammar: &grammar,
                messages: &messages,
                purpose,
                deadline,
                drafts: self.drafts(request, &grammar),
                spent: &self.spent,
            };
            let done = turn.run(sink).await;
            usage.planner_calls += 1;
            usage.input_tokens += done.input_tokens;
            usage.output_tokens += done.output_tokens;
            match done.end {
                TurnEnd::Accepted(drafts) => return Ok(ModelReply::Drafts(drafts)),
                TurnEnd::Refused(said) => return Ok(ModelReply::Refused(said)),
                TurnEnd::Failed(source) => return Err(self.failed(done.attempts, source)),
                TurnEnd::Deadline => {
                    return Err(ModelError::Deadline { engine: self.engine.name(), after: begun.elapsed() });
                }
                TurnEnd::Invalid(violations) if purpose == CallPurpose::Reformulate || !sink.restart() => {
                    return Err(ModelError::Invalid { violations });
                }
                TurnEnd::Invalid(violations) if grammar.dialect == Dialect::Document => {
                    let again = self.document(request, &violations).map_err(|source| self.failed(0, source))?;
                    messages = vec![again];
                    purpose = CallPurpose::Reformulate;
                }
                TurnEnd::Invalid(violations) => {
                    messages.push(ChatMessage::new(MessageRole::Assistant, Prompts::quoted_answer(&done.output)));
                    messages.push(ChatMessage::new(MessageRole::User, self.prompts.reformulate(&violations)));
                    purpose = CallPurpose::Reformulate;
                }
            }
        }
    }
}

/// Abandons the engine unless its answer came.
pub(super) struct Waiting<'a, E: ChatEngine> {
    pub(super) engine: &'a E,
    pub(super) is_over: bool,
}

impl<E: ChatEngine> Drop for Waiting<'_, E> {
    fn drop(&mut self) {
        if !self.is_over {
            self.engine.abandon();
        }
    }
}

enum ModelReply {
    Drafts(Vec<PlanDraft>),
    Refused(String),
}

impl<E: ChatEngine> Planner for ModelPlanner<E> {
    type Error = ModelError;

    /// One draft; of a program as many as the beam, of a model up to [`Limits::drafts`]. A refusal of the model is a reply without drafts.
    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, ModelError> {
        let deadline = deadline.within(Instant::now().into_std(), self.limits.plan_time);
        let mut usage = Usage::default();
        let mut waiting = Waiting { engine: &self.engine, is_over: false };
        let answer = self.converse(request, sink, deadline, &mut usage).await;
        waiting.is_over = matches!(answer, Ok(_) | Err(ModelError::Invalid { .. } | ModelError::Budget { .. }));
        drop(waiting);
        Ok(match answer? {
            ModelReply::Drafts(drafts) => {
                let note = drafts.first().and_then(|draft| draft.reasoning_summary.as_ref()).map(ToString::to_string);
                let memory = note.as_deref().and_then(memory_in);
                PlanReply { drafts, usage, note, memory, ..PlanReply::default() }
            }
            ModelReply::Refused(said) => {
                let said = if said.is_empty() { "it gives no reason" } else { &said };
                PlanReply { usage, ..PlanReply::none(format!("the model refuses: {said}")) }
            }
        })
    }

    /// Quotes values from a page's text in one call. A program that plans is not asked.
    async fn fill(
        &self,
        request: &FillRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, ModelError> {
        self.quote(request, sink, deadline).await
    }

    /// Lists what a picture shows in one call. A program that plans is not asked; a failure is the reply's note.
    async fn look(
        &self,
        request: &LookRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, ModelError> {
        self.list(request, sink, deadline).await
    }
}
