//! Checks that run nothing: dependencies, formatting, lints, documentation.

use anyhow::Result;
use xtask::commands::{cargo, has_subcommand, stage};

use crate::{check_deps, comments, coverage};

/// Models in this process take minutes to build: only the longer tier of the tests does, but all of it is checked.
const FEATURES: &[&str] = &["--workspace", "--features", "cuebook-planner/local"];

/// Runs every check and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    check_deps::run()?;
    comments::run()?;
    coverage::run()?;
    packages()?;
    stage("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    let lints = [&["clippy", "--all-targets"], FEATURES, &["--", "--deny=warnings"]].concat();
    stage("lints", &mut cargo(&lints))?;
    // With the examples, cargo takes the features that the lints have used: no dependency is checked twice.
    let documentation = [&["doc", "--no-deps", "--quiet", "--lib", "--examples"], FEATURES].concat();
    stage("documentation", cargo(&documentation).env("RUSTDOCFLAGS", "--deny=warnings"))
}

/// Licences, advisories and sources of what is depended on, by `deny.toml`.
fn packages() -> Result<()> {
    if !has_subcommand("deny") {
        println!("packages: not checked (cargo install cargo-deny)");
        return Ok(());
    }
    stage("packages", &mut cargo(&["deny", "check", "licenses", "bans", "sources"]))?;
    // The database of advisories comes from the network, which need not be there.
    if stage("database of advisories", &mut cargo(&["deny", "fetch", "db"])).is_err() {
        println!("advisories: not checked, for there is no database");
        return Ok(());
    }
    stage("advisories", &mut cargo(&["deny", "check", "advisories"]))
}
