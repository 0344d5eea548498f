//! The planners that the command line knows: a closed list.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_lexical::Lexical;
use cuebook_planner::converse::EngineError;
use cuebook_planner::{Anthropic, ModelError, ModelPlanner, Ollama, OpenAi, Scripted};
use cuebook_repair::NoPlanner;

use crate::compose::with_sources;

/// One of the planners.
pub(crate) enum AnyPlanner {
    /// No model.
    Lexical(Lexical),
    /// A plan from a file.
    Scripted(Box<Scripted>),
    /// A model of Ollama, and what to do where it does not answer.
    Ollama(Box<ModelPlanner<Ollama>>, Advice),
    /// A model of OpenAI or of what speaks like it.
    OpenAi(Box<ModelPlanner<OpenAi>>, Advice),
    /// A model of Anthropic or of what speaks like it.
    Anthropic(Box<ModelPlanner<Anthropic>>, Advice),
    /// The run has its plan.
    Given(NoPlanner),
}

/// What to do where a model does not answer.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    /// Nobody listens there.
    pub(crate) unreachable: String,
    /// It does not take the request.
    pub(crate) rejected: String,
}

impl Advice {
    fn on(&self, error: &ModelError) -> Option<&str> {
        match error.code() {
            "unreachable" => Some(&self.unreachable),
            "rejected" => Some(&self.rejected),
            "deadlineExceeded" | "stalled" => Some("--plan-timeout gives it more time"),
            _ => None,
        }
    }
}

/// Why a model gave no plan, and what to do about it.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    error: ModelError,
    advice: Option<String>,
}

impl NoAnswer {
    /// The violations of an answer that was no valid plan.
    pub(crate) fn violations(&self) -> &[cuebook_grammar::plan::Violation] {
        match &self.error {
            ModelError::Invalid { violations } => violations,
            _ => &[],
        }
    }
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.error {
            // Whose request it was matters less than where nobody is.
            ModelError::Engine { source: source @ EngineError::Unreachable { .. }, .. } => {
                f.write_str(&with_sources(source))?;
            }
            error => f.write_str(&with_sources(error))?,
        }
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NoAnswer {}

/// Whichever planner broke.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnyPlannerError {
    #[error(transparent)]
    Lexical(<Lexical as Planner>::Error),
    #[error(transparent)]
    Scripted(<Scripted as Planner>::Error),
    #[error(transparent)]
    Model(NoAnswer),
    #[error(transparent)]
    Given(<NoPlanner as Planner>::Error),
}

impl Planner for AnyPlanner {
    type Error = AnyPlannerError;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, Self::Error> {
        let advised = |advice: &Advice| {
            let advice = advice.clone();
            move |error: ModelError| {
                let advice = advice.on(&error).map(str::to_owned);
                AnyPlannerError::Model(NoAnswer { error, advice })
            }
        };
        match self {
            Self::Lexical(planner) => planner.plan(request, sink, deadline).await.map_err(AnyPlannerError::Lexical),
            Self::Scripted(planner) => planner.plan(request, sink, deadline).await.map_err(AnyPlannerError::Scripted),
            Self::Ollama(planner, advice) => planner.plan(request, sink, deadline).await.map_err(advised(advice)),
            Self::OpenAi(planner, advice) => planner.plan(request, sink, deadline).await.map_err(advised(advice)),
            Self::Anthropic(planner, advice) => planner.plan(request, sink, deadline).await.map_err(advised(advice)),
            Self::Given(planner) => planner.plan(request, sink, deadline).await.map_err(AnyPlannerError::Given),
        }
    }
}
