//! A planner without a model whose plans are kept as a model's: what it would have been sent, and would have answered.

use cuebook::PromptSource;
use cuebook_decoding::brief;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::planning::PlanningCall;
use cuebook_grammar::render::estimate_tokens;
use cuebook_grammar::seam::boxed::{BoxError, BoxedPlanner};
use cuebook_grammar::seam::{IgnoreSteps, PlanReply, PlanRequest, PlanSink, Planner};
use cuebook_grammar::step::Step;
use cuebook_planner::{ModelPlanner, Prompts, Recorded};

/// Another planner, with each of its plans written, read and logged as the answer of a model.
pub(crate) struct Spoken {
    planner: Box<dyn BoxedPlanner>,
    prompts: Prompts,
    is_compact: bool,
}

impl Spoken {
    /// # Errors
    /// The folder has no prompts that can be used.
    pub(crate) fn of(planner: Box<dyn BoxedPlanner>, source: &PromptSource) -> Result<Self, BoxError> {
        let prompts = match source {
            PromptSource::Compact => Prompts::compact(),
            PromptSource::Folder(folder) => Prompts::from_dir(folder).map_err(BoxError::new)?,
            _ => Prompts::default(),
        };
        Ok(Self { planner, prompts, is_compact: *source == PromptSource::Compact })
    }
}

impl Planner for Spoken {
    type Error = BoxError;

    /// A plan that a model may not write stays as it is; the log has the call that failed for it.
    async fn plan(
        &self,
        request: &PlanRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<PlanReply, BoxError> {
        let reply = Planner::plan(&self.planner, request, &mut IgnoreSteps, deadline).await?;
        let Some(draft) = reply.drafts.first() else { return Ok(reply) };
        let text =
            if self.is_compact { brief::answer(draft) } else { serde_json::to_string(draft).map_err(BoxError::new)? };
        let sink = &mut Counting(sink);
        let model = ModelPlanner::new(Recorded::from_texts([text])).with_prompts(self.prompts.clone());
        Ok(match Planner::plan(&model, request, sink, deadline).await {
            Ok(spoken) if !spoken.drafts.is_empty() => PlanReply { state: reply.state, ..spoken },
            _ => reply,
        })
    }
}

/// Passes everything on, with the tokens of each call as they are estimated: nobody counted them.
struct Counting<'a>(&'a mut dyn PlanSink);

impl PlanSink for Counting<'_> {
    fn step_ready(&mut self, draft: usize, index: usize, step: &Step) {
        self.0.step_ready(draft, index, step);
    }

    fn call_begun(&mut self) {
        self.0.call_begun();
    }

    fn call_ended(&mut self, call: PlanningCall) {
        let read: usize = call.input.iter().map(|message| estimate_tokens(&message.text)).sum();
        let written = estimate_tokens(&call.output);
        self.0.call_ended(PlanningCall { input_tokens: read as u64, output_tokens: written as u64, ..call });
    }

    fn remember(&mut self, memory: &str) {
        self.0.remember(memory);
    }

    fn restart(&mut self) -> bool {
        self.0.restart()
    }
}
