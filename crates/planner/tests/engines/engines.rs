//! Builds the engine of each dialect.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest};
use cuebook_grammar::seam::{LookRequest, PlanReply, PlanRequest, PlanSink, Planner as _};
use cuebook_grammar::secret::Secret;
use cuebook_planner::{Anthropic, Limits, ModelError, ModelPlanner, Ollama, OpenAi, OpenAiMode, OpenAiResponses};

use crate::servers::Dialect;

/// A planner over any of the HTTP engines.
#[derive(Debug)]
pub(crate) enum Engine {
    Ollama(ModelPlanner<Ollama>),
    OpenAi(ModelPlanner<OpenAi>),
    Anthropic(ModelPlanner<Anthropic>),
    Responses(ModelPlanner<OpenAiResponses>),
}

impl Engine {
    /// The engine that speaks a dialect, before a server at this origin.
    pub(crate) fn new(dialect: Dialect, origin: &str, key: &str, limits: Limits) -> Self {
        let key = Secret::new(key);
        let mode = match dialect {
            Dialect::Ollama => {
                let engine = Ollama::new(origin, "tiny").expect("an address");
                return Self::Ollama(ModelPlanner::new(engine).with_limits(limits));
            }
            Dialect::Anthropic => {
                let engine = Anthropic::new(origin, "tiny").and_then(|engine| engine.with_key(key));
                let engine = engine.expect("an address and a key");
                return Self::Anthropic(ModelPlanner::new(engine).with_limits(limits));
            }
            Dialect::Responses => {
                let engine = OpenAiResponses::new(&format!("{origin}/v1"), "tiny");
                let engine = engine.and_then(|engine| engine.with_key(key)).expect("an address and a key");
                return Self::Responses(ModelPlanner::new(engine).with_limits(limits));
            }
            Dialect::OpenAi => OpenAiMode::Strict,
            Dialect::OpenAiTools => OpenAiMode::Tools,
            Dialect::OwnServer => OpenAiMode::Schema,
            Dialect::LlamaCpp => OpenAiMode::LlamaCpp,
            Dialect::Vllm => OpenAiMode::Vllm,
        };
        let engine = OpenAi::new(&format!("{origin}/v1"), "tiny").and_then(|engine| engine.with_key(key));
        let engine = engine.expect("an address and a key").with_mode(mode);
        Self::OpenAi(ModelPlanner::new(engine).with_limits(limits))
    }

    /// Asks for a plan.
    pub(crate) async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, ModelError> {
        match self {
            Self::Ollama(planner) => planner.plan(request, sink, deadline).await,
            Self::OpenAi(planner) => planner.plan(request, sink, deadline).await,
            Self::Anthropic(planner) => planner.plan(request, sink, deadline).await,
            Self::Responses(planner) => planner.plan(request, sink, deadline).await,
        }
    }

    /// Asks for quotes of a page's text.
    pub(crate) async fn fill(
        &self,
        request: &FillRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, ModelError> {
        match self {
            Self::Ollama(planner) => planner.fill(request, sink, deadline).await,
            Self::OpenAi(planner) => planner.fill(request, sink, deadline).await,
            Self::Anthropic(planner) => planner.fill(request, sink, deadline).await,
            Self::Responses(planner) => planner.fill(request, sink, deadline).await,
        }
    }

    /// Has it list what a picture shows.
    pub(crate) async fn look(
        &self,
        request: &LookRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, ModelError> {
        match self {
            Self::Ollama(planner) => planner.look(request, sink, deadline).await,
            Self::OpenAi(planner) => planner.look(request, sink, deadline).await,
            Self::Anthropic(planner) => planner.look(request, sink, deadline).await,
            Self::Responses(planner) => planner.look(request, sink, deadline).await,
        }
    }
}
