//! Measures an agent of one's own on the built-in site: here the default layers but for a policy that never repairs.
//! `cargo run -p cuebook --features eval --example measure -- 0 3`
use cuebook::eval::{Options, Oracle, Quiet, Suite, run};
use cuebook::grammar::observation::Observation;
use cuebook::grammar::seam::{Repair, RepairBudget, RepairCase, RepairPolicy};
use cuebook::measured::Agents;

struct GiveUp;

impl RepairPolicy for GiveUp {
    fn next(&mut self, _: &RepairCase<'_>, _: &Observation, _: &RepairBudget) -> Repair {
        Repair::Abandon
    }
}

#[expect(clippy::print_stdout, reason = "an example is its own composition root")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seeds: Vec<u64> = std::env::args().skip(1).map(|seed| seed.parse()).collect::<Result<_, _>>()?;
    let [first, last] = seeds.try_into().map_err(|_| "expected the first seed and the one after the last")?;
    let agents = Agents::new(|builder, episode| {
        let script = episode.script.clone().ok_or("the suite does not say how the task is done")?;
        Ok(builder.planner(Oracle::new(script)).repair(GiveUp))
    })?;
    let mut options = Options::default();
    options.seeds = first..last;
    let results = run(&agents, &[Suite::built_in("site")?], &options, &Quiet).await?;
    agents.close().await;
    println!("{}", results.summary().to_markdown());
    Ok(())
}
