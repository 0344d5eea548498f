//! Rewrites the published schemas from the types.

use std::process::Command;

use anyhow::{Result, ensure};
use xtask::commands::root;

/// The test that compares them also writes them, on request.
pub(crate) fn run() -> Result<()> {
    let status = Command::new("cargo")
        // The whole workspace: of the package alone, the features of dependencies are others, and the order of members.
        .args(["test", "--quiet", "--workspace", "--test", "wire", "published_schemas"])
        .env("UPDATE_SCHEMAS", "1")
        .current_dir(root())
        .status()?;
    ensure!(status.success(), "the schemas could not be written");
    Ok(())
}
