//! An agent in ten lines, on the built-in site.
//!
//! Run it with `cargo run -p cuebook --example agent`.

use cuebook::prelude::*;
use cuebook_site::Site;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example is its own composition root")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let site = Site::builder().build().bind(0).await?;

    let mut agent = Agent::builder().build().await?;
    agent.open(&site.url("/login")).await?;
    let page = agent.observe(Scope::View).await?;
    println!("{}", render::text(&page, &TextOptions::default()));
    agent.run("Log in as ann with password correct-horse").await?;
    println!("now at {}", agent.observe(Scope::View).await?.url);
    Ok(agent.close().await?)
}
