//! Rewrites the published schemas from the types, and the keys of configurations from the command line.

use std::process::Command;

use anyhow::{Result, ensure};
use xtask::commands::root;

/// The tests that compare them also write them, on request.
pub(crate) fn run() -> Result<()> {
    let status = Command::new("cargo")
        // The whole workspace: of the package alone, the features of dependencies are others, and the order of members.
        .args(["test", "--quiet", "--workspace", "--test", "wire", "--bin", "cuebook", "published_"])
        .env("UPDATE_SCHEMAS", "1")
        .current_dir(root())
        .status()?;
    ensure!(status.success(), "the schemas could not be written");
    Ok(())
}
