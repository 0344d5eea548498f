//! First steps of a program with its own model: a login, values read from the page, and tools for the model.
//!
//! Run it with `cargo run -p cuebook --example login`.

use cuebook::decoding::emit::Target;
use cuebook::prelude::*;
use cuebook_site::Site;
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Cart {
    lines: Vec<Line>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Line {
    product: String,
    size: String,
    quantity: u32,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example is its own composition root")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let site = Site::builder().build().bind(0).await?;
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("state.json");

    let mut agent = Agent::builder().headed(false).viewport(1024, 600).build().await?;
    let mut events = agent.events();
    agent.open(&site.url("/login")).await?;
    // A step names its target by a locator or by what was observed, and is checked like any plan.
    agent.act(SetValue::at(Locator::role(Role::TextBox, "Email"), "user@example.com")).await?;
    agent.act(SetValue::at(Locator::role(Role::TextBox, "Password"), "hunter2")).await?;
    let page = agent.observe(Scope::View).await?;
    let button = page.find(Role::Button, "Log in")?; // an error names the buttons that are there instead
    agent.act(Click::on(button).expect(Condition::url_changes_to("/dashboard"))).await?;
    agent.save_storage(&state).await?;
    agent.close().await?;
    while let Some(event) = events.next().await {
        if let AgentEvent::StepEnded(step) = event {
            println!("{:?} {:?} in {} ms", step.action.action.kind(), step.result, step.execution.duration_ms);
        }
    }

    // Another browser is signed in from the start.
    let mut agent = Agent::builder().storage(&state).build().await?;
    agent.open(&site.url("/dashboard")).await?;
    agent.open(&site.url("/shop")).await?;

    // The model of the program gets the page as tools. What it calls is checked, run and judged.
    let tools = agent.tools(Target::Tools).await?;
    println!("{} candidates", tools.page.candidates.len());
    let add = tools.page.candidates.iter().find(|one| one.name == "Add to cart").ok_or("nothing to buy")?;
    let message = json!({ "role": "assistant", "tool_calls": [{ "type": "function", "function":
        { "name": "click", "arguments": json!({ "targetRef": add.id }).to_string() } }] });
    agent.call(&message).await?;

    // The members of a type say what to read.
    let cart: Cart = agent.extract().await?;
    for Line { product, size, quantity } in cart.lines {
        println!("{quantity} × {product}, {size}");
    }
    Ok(agent.close().await?)
}
