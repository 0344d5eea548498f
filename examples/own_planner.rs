//! A planner of your own as a Rust type. `cargo run -p cuebook --example own_planner -- URL "name of a button"`
use cuebook::grammar::deadline::Deadline;
use cuebook::grammar::seam::{PlanReply, PlanRequest, PlanSink, Planner};
use cuebook::prelude::*;

// ANCHOR: planner
struct Clicks;
impl Planner for Clicks {
    type Error = std::convert::Infallible;
    async fn plan(&self, ask: &PlanRequest<'_>, _: &mut dyn PlanSink, _: Deadline) -> Result<PlanReply, Self::Error> {
        let Some(it) = ask.observation.candidates.iter().find(|candidate| candidate.name == ask.task) else {
            return Ok(PlanReply::none(format!("nothing is called {}", ask.task)));
        };
        Ok(PlanReply::of(PlanDraft::of(Author::Model, vec![Click::on(it.id).into(), Finish::done().into()])))
    }
} // let agent = Agent::builder().planner(Clicks).build().await?;
// ANCHOR_END: planner

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, url, button] = std::env::args().collect::<Vec<_>>().try_into().map_err(|_| "expected a URL and a name")?;
    let mut agent = Agent::builder().planner(Clicks).build().await?;
    agent.open(&url).await?;
    agent.run(&button).await?;
    Ok(agent.close().await?)
}
