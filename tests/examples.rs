//! The examples that the end-to-end tests run as they are, by the name in `EXAMPLE`. One program for all of them, because
//! linking takes longer than compiling.

#[path = "../examples/agent.rs"]
mod agent;
#[path = "../examples/login.rs"]
mod login;
#[path = "../examples/own_layers.rs"]
mod own_layers;
#[path = "../examples/own_planner.rs"]
mod own_planner;
#[path = "../examples/several.rs"]
mod several;

#[expect(clippy::disallowed_methods, reason = "this program is its own composition root")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::var("EXAMPLE")?.as_str() {
        "agent" => agent::main(),
        "login" => login::main(),
        "own_layers" => own_layers::main(),
        "own_planner" => own_planner::main(),
        "several" => several::main(),
        other => Err(format!("there is no example {other:?}").into()),
    }
}
