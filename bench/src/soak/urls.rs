//! Addresses as the policy and as Chrome read them, many times over: the test of the end-to-end tests, with a larger
//! count.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::chrome;
use xtask::commands::{cargo, root, stage};

/// The test that reads the count from its environment.
const TEST: &str = "e2e::cases::urls::s07_what_we_let_pass_leads_chrome_to_the_same_host";

/// Compares `count` addresses and writes `bench/urls.json`, which is committed.
///
/// # Errors
/// If the test cannot run, or one address leads Chrome to another host.
pub(super) fn run(count: u32, seed: u64) -> Result<()> {
    let file = root().join("bench/urls.json");
    let mut command = cargo(&["test", "--package=cuebook-tests", "--test=all", "--", "--exact", TEST]);
    command
        .env("CHROME", chrome::find_or_install()?)
        .env("CUEBOOK_URLS", count.to_string())
        .env("CUEBOOK_URLS_SEED", seed.to_string())
        .env("CUEBOOK_URLS_OUT", &file);
    let ran = stage(&format!("{count} addresses, seed {seed}"), &mut command);
    let text = fs::read_to_string(&file).with_context(|| format!("the test wrote no {}", file.display()))?;
    let figures: Value = serde_json::from_str(&text).context("expected figures")?;
    println!("{figures:#}\n{}", file.display());
    ran?;
    ensure!(figures["addresses"] == count, "there were {} addresses, not {count}", figures["addresses"]);
    Ok(())
}
