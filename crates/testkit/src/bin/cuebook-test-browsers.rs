//! Starts browsers for the tests to share, prints their addresses in one line, and ends them when its standard input does.
//!
//! `cargo xtask test` starts it with one browser for each slot of the test runner; see `cuebook_testkit::shared_browser`.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::browser::CloseParams;
use cuebook_cdp::{AttachOptions, Browser, Transport};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = std::env::args().nth(1).ok_or("usage: cuebook-test-browsers COUNT")?.parse()?;
    let root = tempfile::tempdir()?;
    let mut browsers = Vec::new();
    let served = serve(count, root.path(), &mut browsers).await;
    for (slot, mut browser) in browsers.into_iter().enumerate() {
        // The program may be a script that started another: that one is to end, too.
        if close(&root.path().join(slot.to_string())).await.is_err() {
            browser.kill()?;
        }
        browser.wait()?;
    }
    served
}

async fn close(profile: &Path) -> Result<(), Box<dyn Error>> {
    let until = Instant::now() + Duration::from_secs(10);
    let browser = Browser::attach(&AttachOptions::new(address(profile).await?, profile), until).await?;
    browser.session().request(CloseParams {}, until).await?;
    Ok(())
}

async fn serve(count: usize, root: &Path, browsers: &mut Vec<Child>) -> Result<(), Box<dyn Error>> {
    let mut options = cuebook_testkit::browser(root);
    options.transport = Transport::WebSocket;
    // A renderer in reserve for each page, which few tests would use.
    options.disabled_features.push("SpareRendererForSitePerProcess".to_owned());
    let profiles: Vec<_> = (0..count).map(|slot| root.join(slot.to_string())).collect();
    for profile in &profiles {
        std::fs::create_dir(profile)?;
        let mut command = Command::new(&options.binary.path);
        command.args(options.arguments(profile)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        browsers.push(command.spawn()?);
    }
    let mut addresses = Vec::new();
    for profile in &profiles {
        addresses.push(address(profile).await?);
    }
    let mut output = std::io::stdout();
    writeln!(output, "{}", addresses.join(" "))?;
    output.flush()?;
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    Ok(())
}

/// The address that a browser has written into its profile, a moment after its start.
async fn address(profile: &Path) -> Result<String, Box<dyn Error>> {
    let until = cuebook_testkit::soon();
    while Instant::now() < until {
        let text = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap_or_default();
        if let Some((port, path)) = text.split_once('\n').filter(|(_, path)| !path.is_empty()) {
            return Ok(format!("ws://127.0.0.1:{port}{path}"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(format!("a browser did not write its address into {}", profile.display()).into())
}
