//! Listing what a picture shows: one call of the model, and no reformulation.

use cuebook_decoding::sights;
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::FillReply;
use cuebook_grammar::planning::{CallEnd, CallPurpose, MessageRole};
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{LookRequest, PlanSink};
use serde_json::Value;

use super::chat::{ChatEngine, ChatMessage, Dialect};
use super::planner::{ModelError, ModelPlanner};
use super::reading::object_in;
use super::turn::TurnEnd;
use crate::pointing;

/// The instructions to the model.
const SYSTEM: &str = include_str!("../../prompts/features.txt");

impl<E: ChatEngine> ModelPlanner<E> {
    /// A failure is the note of the reply, which counts the tokens of the failed call.
    pub(super) async fn list(
        &self,
        request: &LookRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, ModelError> {
        if self.engine.dialect() == Dialect::Document {
            return Ok(FillReply::none("the planner is a program, which only plans"));
        }
        self.within_budgets()?;
        let size = pointing::size_of(request.image);
        let size = size.map_or_else(String::new, |size| {
            format!("The picture is {} pixels wide and {} pixels high. ", size.width, size.height)
        });
        let mut asked = ChatMessage::new(MessageRole::User, format!("{size}List what is on it."));
        asked.images = vec![request.image.clone()];
        let messages = [ChatMessage::new(MessageRole::System, SYSTEM.trim_end()), asked];
        let (done, _) = self.ask_once(&messages, CallPurpose::Look, &sights, sink, deadline).await;
        let usage = Usage { planner_calls: 1, input_tokens: done.input_tokens, output_tokens: done.output_tokens };
        let note = match &done.end {
            TurnEnd::Accepted(_) => {
                let answer = object_in(&done.output).map(Value::Object).unwrap_or_default();
                return Ok(FillReply { answer, note: None, usage });
            }
            end => match end.recorded() {
                CallEnd::Invalid { violations } => violations.into_iter().next().map(|first| first.message),
                CallEnd::Failed { message, .. } => Some(message),
                CallEnd::Accepted => None,
            },
        };
        Ok(FillReply { usage, ..FillReply::none(note.unwrap_or_default()) })
    }
}
