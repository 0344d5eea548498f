//! What is checked without running anything: dependencies, formatting, lints, documentation.

use anyhow::Result;

use crate::check_deps;
use crate::commands::{cargo, stage};

/// Runs every check and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    check_deps::run()?;
    stage("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    stage("lints", &mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny=warnings"]))?;
    stage(
        "documentation",
        cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "--deny=warnings"),
    )
}
