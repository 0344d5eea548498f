//! Quoting values from a page's text: one call of the model, and no reformulation.
//!
//! Invariant: every line of the page is fenced, as in the prompts of plans.

use std::time::Duration;

use cuebook_decoding::emit::{Emission, Target};
use cuebook_decoding::{GrammarSpec, quotes};
use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::filling::{FillReply, FillRequest, WantedForm};
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::planning::{CallPurpose, MessageRole};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::render::one_line;
use cuebook_grammar::report::Usage;
use cuebook_grammar::seam::{PlanRequest, PlanSink};
use serde_json::Value;
use tokio::time::Instant;

use super::chat::{ChatEngine, ChatMessage, Dialect};
use super::planner::{ModelError, ModelPlanner, Waiting};
use super::reading::object_in;
use super::turn::{Grammar, Turn, TurnEnd, TurnResult};

/// The instructions to the model.
const SYSTEM: &str = include_str!("../../prompts/fill.txt");

/// The most characters of what the schema says of a value.
const ABOUT: usize = 400;

impl<E: ChatEngine> ModelPlanner<E> {
    pub(super) async fn quote(
        &self,
        request: &FillRequest<'_>,
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> Result<FillReply, ModelError> {
        if self.engine.dialect() == Dialect::Document {
            return Ok(FillReply::none("the planner is a program, which only plans"));
        }
        self.within_budgets()?;
        let messages = [
            ChatMessage::new(MessageRole::System, SYSTEM.trim_end()),
            ChatMessage::new(MessageRole::User, question(request)),
        ];
        let of_wanted = |target| quotes(target, request.wanted);
        let (done, after) = self.ask_once(&messages, CallPurpose::Fill, &of_wanted, sink, deadline).await;
        let usage = Usage { planner_calls: 1, input_tokens: done.input_tokens, output_tokens: done.output_tokens };
        let note = match done.end {
            TurnEnd::Accepted(_) => {
                let answer = object_in(&done.output).map(Value::Object).unwrap_or_default();
                return Ok(FillReply { answer, note: None, usage });
            }
            TurnEnd::Refused(said) if said.is_empty() => "the model refuses".to_owned(),
            TurnEnd::Refused(said) => format!("the model refuses: {said}"),
            TurnEnd::Invalid(violations) => {
                let first = violations.first().map(|violation| violation.message.clone()).unwrap_or_default();
                format!("the model's answer cannot be read: {first}")
            }
            TurnEnd::Failed(source) => return Err(self.failed(done.attempts, source)),
            TurnEnd::Deadline => {
                return Err(ModelError::Deadline { engine: self.engine.name(), after });
            }
        };
        Ok(FillReply { usage, ..FillReply::none(note) })
    }

    /// Asks for an object that is no plan, in the grammar that `emitted` writes. Returns the time that it took, too.
    pub(super) async fn ask_once(
        &self,
        messages: &[ChatMessage],
        purpose: CallPurpose,
        emitted: &(dyn Fn(Target) -> (GrammarSpec, Emission) + Sync),
        sink: &mut dyn PlanSink,
        deadline: Deadline,
    ) -> (TurnResult, Duration) {
        let deadline = deadline.within(Instant::now().into_std(), self.limits.plan_time);
        let begun = Instant::now();
        let policy = Policy::default();
        let page = Observation::blank(PageId::new("text"), "about:blank");
        let turn = Turn {
            engine: &self.engine,
            limits: &self.limits,
            request: &PlanRequest::new("", &page, &policy),
            grammar: &grammar(self.engine.dialect(), emitted),
            messages,
            purpose,
            deadline,
            drafts: 1,
            spent: &self.spent,
        };
        let mut waiting = Waiting { engine: &self.engine, is_over: false };
        let done = turn.run(sink).await;
        waiting.is_over = matches!(done.end, TurnEnd::Accepted(_) | TurnEnd::Refused(_) | TurnEnd::Invalid(_));
        (done, begun.elapsed())
    }
}

fn grammar(asked: Dialect, emitted: &dyn Fn(Target) -> (GrammarSpec, Emission)) -> Grammar {
    let target = match asked {
        Dialect::Plan(target) | Dialect::Calls(target) => target,
        Dialect::Prompted | Dialect::Document | Dialect::Pointing(_) => Target::JsonSchema,
    };
    let (spec, emission) = emitted(target);
    let is_constrained = matches!(asked, Dialect::Plan(_) | Dialect::Calls(_)) && emission.is_within_limits();
    let dialect = if is_constrained { asked } else { Dialect::Prompted };
    Grammar { spec, emission: is_constrained.then_some(emission), dialect }
}

/// The page's text, and the values that are wanted of it.
fn question(request: &FillRequest<'_>) -> String {
    let mut out = vec!["The text of the page".to_owned()];
    let lines = request.text.lines().filter(|line| !line.trim().is_empty());
    out.extend(lines.map(|line| format!("| {}", one_line(line, usize::MAX))));
    out.extend([String::new(), "The keys, and what is wanted".to_owned()]);
    for wanted in request.wanted {
        let about = one_line(&wanted.about, ABOUT);
        match &wanted.form {
            WantedForm::Quote => out.push(format!("- {}: {about}", wanted.key)),
            WantedForm::Quotes => out.push(format!("- {}: {about}; a list of quotes", wanted.key)),
            WantedForm::Items(columns) => {
                out.push(format!("- {}: {about}; a list of objects with", wanted.key));
                let columns = columns.iter().map(|one| format!("  - {}: {}", one.key, one_line(&one.about, ABOUT)));
                out.extend(columns);
            }
        }
    }
    out.join("\n")
}
