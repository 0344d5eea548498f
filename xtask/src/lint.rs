//! Checks that run nothing: dependencies, formatting, lints, documentation.

use anyhow::Result;
use xtask::commands::{cargo, has_subcommand, stage};

use crate::{check_deps, comments, coverage};

/// Runs every check and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    check_deps::run()?;
    comments::run()?;
    coverage::run()?;
    packages()?;
    stage("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    stage("lints", &mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny=warnings"]))?;
    stage(
        "documentation",
        cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny=warnings"),
    )
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
