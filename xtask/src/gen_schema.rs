//! Rewrites the published schemas from the types.

use std::process::Command;

use anyhow::{Result, ensure};
use xtask::commands::root;

/// The test that compares them also writes them, on request.
pub(crate) fn run() -> Result<()> {
    let status = Command::new("cargo")
        .args(["test", "--quiet", "--package", "cuebook-grammar", "--test", "wire", "published_schemas"])
        .env("UPDATE_SCHEMAS", "1")
        .current_dir(root())
        .status()?;
    ensure!(status.success(), "the schemas could not be written");
    Ok(())
}
