//! An agent with its own planner, log and handler, from the crate `cuebook` alone.
//! `cargo run -p cuebook --example own_layers -- URL "name of a button"`
use cuebook::grammar::seam::{ActionHandler, PlanReply, PlanRequest, PlanSink, Planner, StepLog, StepTicket};
use cuebook::grammar::{Delivery, deadline::Deadline, effect::EffectClass, outcome::StepOutcome, plan::BoundStep};
use cuebook::grammar::{policy::RegisteredAction, record::*};
use cuebook::{prelude::*, serde_json::json};
use std::{convert::Infallible as Never, time::Duration};

struct Own(u32);
impl Planner for Own {
    type Error = Never;
    async fn plan(&self, ask: &PlanRequest<'_>, _: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Never> {
        let Some(it) = ask.observation.candidates.iter().find(|candidate| candidate.name == ask.task) else {
            return Ok(PlanReply::none(format!("nothing is called {}", ask.task)));
        };
        let note = Call::named("note", json!({ "text": ask.task })).into();
        let steps = vec![Click::on(it.id).into(), note, Finish::done().into()];
        Ok(PlanReply::of(PlanDraft::of(Author::Operator, steps)))
    }
}
#[expect(clippy::print_stdout, reason = "an example is its own composition root")]
impl StepLog for Own {
    type Error = Never;
    async fn open(&mut self, _: &RunHeader) -> Result<(), Never> {
        Ok(())
    }
    async fn begin(&mut self, step: &StepIntent) -> Result<StepTicket, Never> {
        Ok(StepTicket { step_index: step.step_index, attempt: step.attempt })
    }
    async fn commit(&mut self, _: StepTicket, step: &StepRecord) -> Result<(), Never> {
        println!("{}: {:?}", step.action.action.kind().meta().name, step.result);
        Ok(())
    }
    async fn planned(&mut self, _: &PlanningRecord) -> Result<(), Never> {
        Ok(())
    }
    async fn close(&mut self, _: &RunEnd) -> Result<(), Never> {
        Ok(())
    }
}
impl ActionHandler for Own {
    type Error = Never;
    fn actions(&self) -> Vec<RegisteredAction> {
        let text = json!({ "type": "object", "properties": { "text": { "type": "string", "maxLength": 99 } } });
        vec![RegisteredAction::new("note", "Notes a text down", EffectClass::Reversible, text)]
    }
    async fn handle(&mut self, step: &BoundStep, _: Deadline) -> Result<StepOutcome, Never> {
        self.0 += 1;
        Ok(StepOutcome::handled(step, Delivery::Sent, Ok(json!(self.0)), Duration::ZERO))
    }
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, url, button] = std::env::args().collect::<Vec<_>>().try_into().map_err(|_| "expected a URL and a name")?;
    let mut agent = Agent::builder().planner(Own(0)).log(Own(0)).handler(Own(0)).build().await?;
    agent.open(&url).await?;
    agent.run(&button).await?;
    Ok(agent.close().await?)
}
