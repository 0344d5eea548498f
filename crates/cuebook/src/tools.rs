//! The page as tools for a model loop that is not Cuebook's, and what the model called.

use cuebook_decoding::Caps;
use cuebook_decoding::emit::{Body, Degraded, Loss, Target, emit_within};
use cuebook_decoding::read::{Form, read_as};
use cuebook_grammar::observation::{Observation, Scope};
use cuebook_grammar::plan::Author;
use cuebook_grammar::report::{RunFailure, RunReport, RunResult};
use serde_json::Value;

use crate::agent::Agent;
use crate::error::AgentError;

/// The actions that are possible on the page now, in the notation of a provider of models.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageTools {
    /// The page, to be described to the model: `render::text` names its candidates by the ids that the tools take.
    pub page: Observation,
    /// The members of a request that hold the tools or the schema, or the grammar as a text.
    pub body: Body,
    /// Constraints that the notation does not express; [`Agent::call`] enforces them.
    pub lost: Vec<Loss>,
    /// Reduction that made the tools fit the limits of the notation.
    pub degraded: Degraded,
}

impl Agent {
    /// Observes the page and writes what may be done on it for a model: the verbs that the policy opens, on the
    /// candidates that are there.
    ///
    /// ```no_run
    /// use cuebook::decoding::emit::{Body, Target};
    ///
    /// # async fn run(agent: &mut cuebook::Agent, reply: serde_json::Value) -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = agent.tools(Target::Tools).await?;
    /// let Body::Json(request) = tools.body else { unreachable!("tools are JSON") };
    /// // … send `request` with your own messages; `reply` is the message of the model …
    /// let report = agent.call(&reply).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`AgentError::Layer`] if the page modeler broke.
    pub async fn tools(&mut self, notation: Target) -> Result<PageTools, AgentError> {
        let page = self.observe(Scope::View).await?;
        let (_, emission, degraded) = emit_within(notation, &page, &self.policy, &Caps::default());
        Ok(PageTools { page, body: emission.body, lost: emission.lost, degraded })
    }

    /// Reads the calls of tools in a model's message, as OpenAI, Anthropic or Ollama write them, and runs them in order
    /// as the plan of a model: only observed candidates, checked, judged, repaired, logged.
    ///
    /// # Errors
    /// [`RunFailure`], whose error is what to send back to the model. Nothing ran if the message holds no valid call: the error
    /// then has the violations of form.
    pub async fn call(&mut self, message: &Value) -> Result<RunReport, RunFailure> {
        match read_as(Form::ToolCalls, &message.to_string(), Author::Model) {
            Ok(plan) => self.follow(plan).await,
            Err(violations) => RunReport::without_run(RunResult::Invalid, Some(violations.into())).into_result(),
        }
    }
}
