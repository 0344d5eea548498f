//! A registered action: a model may plan it, it is checked like any other, and this code runs it.
//!
//! Run it with `cargo run -p cuebook --example own_action`. The answer of the model is recorded here. With another engine
//! than `Recorded` it is live. `Controller::with_handler(registry)` makes the action part of a run.

use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::effect::EffectClass;
use cuebook_grammar::id::PageId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::{ActionHandler as _, IgnoreSteps, PlanRequest, Planner as _};
use cuebook_outside::Registry;
use cuebook_planner::Recorded;
use cuebook_planner::converse::ModelPlanner;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example is its own composition root")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = json!({
        "type": "object",
        "properties": { "text": { "type": "string", "maxLength": 200 } },
        "required": ["text"],
    });
    let notify = |args: Value| async move {
        println!("note to the team: {}", args["text"]);
        Ok::<Value, std::io::Error>(json!({ "delivered": true }))
    };
    let mut registry =
        Registry::new().with("notify", "Sends a note to the team", EffectClass::Reversible, schema, notify)?;

    let page = Observation::blank(PageId::new("none"), "about:blank");
    let policy = registry.opened_in(Policy::default());
    let planner =
        ModelPlanner::new(Recorded::from_texts([r#"[{"name": "notify", "arguments": {"text": "It is paid"}}]"#]));
    let request = PlanRequest::new("Tell the team that it is paid", &page, &policy);
    let deadline = Deadline::after(Instant::now(), Duration::from_secs(30));
    let draft = planner.plan(&request, &mut IgnoreSteps, deadline).await?.drafts.remove(0);
    let plan = draft.check(&page, &policy)?;
    let step = plan.bind(0, &page)?;
    println!("{:?}", registry.handle(&step, deadline).await?);
    Ok(())
}
