//! An agent from the crates, without the command line: the built-in site, a browser, the lexical planner.
//!
//! Run it with `cargo run -p cuebook --example compose`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, LaunchOptions, SearchPlaces, find_chrome};
use cuebook_datalayer::{MemoryArtifacts, MemoryLog, ValueRedactor};
use cuebook_executor::{ExecutorOptions, LiveExecutor};
use cuebook_grammar::id::{PageId, RunId};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::seam::{DenyAll, NoSecrets};
use cuebook_grammar::secret::DigestKey;
use cuebook_page_modeler::{LivePageModeler, ModelerOptions};
use cuebook_planner::Lexical;
use cuebook_repair::{Controller, Ladder, Layers, RunRequest, Work};
use cuebook_site::Site;

#[tokio::main]
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "an example is its own composition root")]
async fn main() -> anyhow::Result<()> {
    let site = Site::builder().build().bind(0).await?;
    let url = site.url("/login");

    let places = SearchPlaces {
        path: std::env::var_os("PATH"),
        chrome_variable: std::env::var_os("CHROME"),
        ..SearchPlaces::default()
    };
    let profiles = tempfile::tempdir()?;
    let until = Instant::now() + Duration::from_secs(30);
    let browser = Arc::new(Browser::launch(&LaunchOptions::new(find_chrome(&places)?, profiles.path()), until).await?);
    let page = PageId::new(browser.new_page("about:blank", until).await?.target_id().as_str());

    let key = DigestKey::new([7; 32]); // Use a random key if logs are kept.
    let layers = Layers {
        modeler: LivePageModeler::new(browser.clone(), key.clone(), ModelerOptions::default()),
        planner: Arc::new(Lexical),
        executor: LiveExecutor::new(
            browser.clone(),
            key.clone(),
            NoSecrets,
            MemoryArtifacts::default(),
            ExecutorOptions::default(),
        ),
        repair: Ladder::default(),
        log: MemoryLog::default(),
        confirm: DenyAll,
    };
    let request = RunRequest::new(
        RunId::new("example"),
        Work::Task("Log in as ann with password correct-horse".to_owned()),
        page,
        Policy::default().starting_at(&url)?,
    )
    .starting_at(url);
    let report = Controller::new(layers, key, Arc::new(ValueRedactor::default())).run(request).await;
    println!("{}", serde_json::to_string_pretty(&report)?);
    browser.close(Instant::now() + Duration::from_secs(5)).await?;
    Ok(())
}
