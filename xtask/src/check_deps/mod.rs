//! Who may depend on whom: the workspace's `cargo metadata` against a table.
//!
//! The table stands in `rules` and, for people, in `ARCHITECTURE.md`; the two must agree.
//! Judging is a pure function over parsed metadata, so forbidden edges can be tried in tests.

mod architecture;
mod graph;
mod judge;
mod rules;

use anyhow::{Context, Result, bail};

use crate::commands::{cargo, output_of, root};
use graph::Graph;
use judge::Violation;

/// Judges this workspace.
///
/// # Errors
/// If a crate depends on what it may not, naming the edge, the rule, and how to change it.
pub(crate) fn run() -> Result<()> {
    let violations = judge_workspace()?;
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        println!("{}", judge::HOW_TO_CHANGE);
        bail!("{} dependency rules are broken", violations.len());
    }
    println!("dependencies: as ARCHITECTURE.md says");
    Ok(())
}

fn judge_workspace() -> Result<Vec<Violation>> {
    let metadata = output_of(&mut cargo(&["metadata", "--format-version=1"]))?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?;
    let graph = Graph::parse(&metadata).context("cargo metadata has an unknown shape")?;
    let mut violations = judge::judge(&graph);
    // A source package may come without the documents.
    if let Ok(document) = std::fs::read_to_string(root().join("ARCHITECTURE.md")) {
        violations.extend(architecture::compare(&document));
    }
    Ok(violations)
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_workspace_keeps_its_rules() {
        let violations = super::judge_workspace().unwrap();
        let told: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{}\n{}", told.join("\n"), super::judge::HOW_TO_CHANGE);
    }
}
