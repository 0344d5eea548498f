//! Several agents over one browser, at once, each with cookies and a policy of its own.
//!
//! Run it with `cargo run -p cuebook --example several`.

use std::time::{Duration, Instant};

use cuebook::prelude::*;
use cuebook::{Containment, Tab};
use cuebook_site::Site;

/// Signs in, and returns the title of the page after that.
async fn sign_in(
    agent: &mut Agent,
    url: &str,
    user: &str,
    password: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    agent.open(url).await?;
    agent.run(&format!("Log in as {user} with password {password}")).await?;
    Ok(format!("{user}: {}", agent.observe(Scope::View).await?.title))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example is its own composition root")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let site = Site::builder().build().bind(0).await?;
    let url = site.url("/login");
    // One proxy has one policy; each agent checks its own steps and the pages that they open.
    let tab = Tab::open(BrowserSource::Installed, Containment::None, Instant::now() + Duration::from_secs(30)).await?;
    let isolated = || Agent::builder().browser(BrowserSource::Isolated(tab.browser.clone())).build();
    let (mut one, mut other) = tokio::try_join!(isolated(), isolated())?;
    let (ann, user) = tokio::join!(
        sign_in(&mut one, &url, "ann", "correct-horse"),
        sign_in(&mut other, &url, "user@example.com", "hunter2"),
    );
    one.close().await?;
    other.close().await?;
    tab.close(Instant::now() + Duration::from_secs(5)).await?;
    println!("{}\n{}", ann?, user?);
    Ok(())
}
