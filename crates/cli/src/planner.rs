//! A planner of any kind, and advice for when it fails.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest};
use cuebook_grammar::plan::Violation;
use cuebook_grammar::seam::boxed::{BoxError, BoxedPlanner};
use cuebook_grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_planner::ModelError;
use cuebook_planner::converse::EngineError;

use crate::text::with_sources;

/// A planner of any kind.
pub(crate) struct AnyPlanner {
    planner: Box<dyn BoxedPlanner>,
    advice: Option<Advice>,
    /// It can be asked to mend a single step of its plan: a model, which reads what it is asked for.
    pub(crate) mends: bool,
}

impl AnyPlanner {
    /// A planner whose errors need no advice.
    pub(crate) fn plain(planner: impl Planner + 'static) -> Self {
        Self { planner: Box::new(planner), advice: None, mends: false }
    }

    /// A planner over a model.
    pub(crate) fn advised(planner: Box<dyn BoxedPlanner>, advice: Advice) -> Self {
        Self { planner, advice: Some(advice), mends: false }
    }

    fn advised_on(&self, error: BoxError) -> NoAnswer {
        let model_error = error.get_ref().downcast_ref::<ModelError>();
        let advice = self.advice.as_ref().zip(model_error).and_then(|(advice, error)| advice.on(error));
        let advice = advice.map(str::to_owned);
        NoAnswer { error, advice }
    }
}

/// Advice for a failure of the server of a model.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    /// The advice if it cannot be reached or started.
    pub(crate) unreachable: String,
    /// The advice if it rejects the request.
    pub(crate) rejected: String,
}

impl Advice {
    fn on(&self, error: &ModelError) -> Option<&str> {
        match error.code() {
            "unreachable" | "notStarted" => Some(&self.unreachable),
            "rejected" => Some(&self.rejected),
            "deadlineExceeded" | "stalled" => Some("--plan-timeout allows more time"),
            _ => None,
        }
    }
}

/// Why there is no plan, and advice.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    error: BoxError,
    advice: Option<String>,
}

impl NoAnswer {
    fn model_error(&self) -> Option<&ModelError> {
        self.error.get_ref().downcast_ref()
    }

    /// The violations of an answer that was not a valid plan.
    pub(crate) fn violations(&self) -> &[Violation] {
        match self.model_error() {
            Some(ModelError::Invalid { violations }) => violations,
            _ => &[],
        }
    }
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.model_error() {
            // The address says enough; the number of attempts does not help.
            Some(ModelError::Engine { source: source @ EngineError::Unreachable { .. }, .. }) => {
                f.write_str(&with_sources(source))?;
            }
            _ => f.write_str(&with_sources(&self.error))?,
        }
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NoAnswer {}

impl Planner for AnyPlanner {
    type Error = NoAnswer;

    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, NoAnswer> {
        Planner::plan(&self.planner, request, sink, deadline).await.map_err(|error| self.advised_on(error))
    }

    async fn fill(
        &self,
        request: &FillRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, NoAnswer> {
        Planner::fill(&self.planner, request, sink, deadline).await.map_err(|error| self.advised_on(error))
    }
}
