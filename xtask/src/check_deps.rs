//! Who may depend on whom: `cargo metadata` against the table of crates in `ARCHITECTURE.md`, which is the rule.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use xtask::commands::root;

use crate::circles;

/// Crates that a crate must not reach, not even through others: the language does no I/O.
const UNREACHABLE: [(&str, &[&str]); 1] =
    [("grammar", &["tokio", "reqwest", "hyper", "ureq", "tungstenite", "async-std"])];
/// Crates that only `cdp` itself may depend on; a name that ends in `*` stands for all that begin so.
const WIRE: [&str; 4] = ["tokio-tungstenite", "tungstenite", "command-fds", "chromiumoxide*"];

/// Crates that each crate may depend on, by folder; `None` for all.
type Table = BTreeMap<String, Option<BTreeSet<String>>>;

/// Judges this workspace.
///
/// # Errors
/// If a crate depends on what it may not, or files of a crate use each other: every such edge, and what to do.
pub(crate) fn run() -> Result<()> {
    let path = root().join("ARCHITECTURE.md");
    let document = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let metadata = MetadataCommand::new().current_dir(root()).exec().context("cargo metadata failed")?;
    let broken = judge(&table(&document)?, &metadata);
    if !broken.is_empty() {
        bail!(
            "{}\nto allow an edge, change the table of crates in ARCHITECTURE.md and say there why",
            broken.join("\n")
        );
    }
    let circles = circles::find()?;
    if !circles.is_empty() {
        bail!("{}\nmove what both need into a file that uses neither", circles.join("\n"));
    }
    println!("dependencies: as ARCHITECTURE.md says");
    Ok(())
}

/// Reads the table whose first heading is "Crate": the first cell names a folder, the last one what it may depend on.
fn table(document: &str) -> Result<Table> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.replace('`', "").trim().to_owned()).collect()
    };
    let rows = document.lines().skip_while(|line| !line.starts_with("| Crate")).skip(2);
    let table: Table = rows
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .filter_map(|cells| Some((cells.first()?.clone(), cells.last()?.clone())))
        .map(|(folder, allowed)| match allowed.as_str() {
            "all" => (folder, None),
            "none" => (folder, Some(BTreeSet::new())),
            listed => (folder, Some(listed.split(',').map(|name| name.trim().to_owned()).collect())),
        })
        .collect();
    ensure!(!table.is_empty(), "ARCHITECTURE.md has no table of crates: a table whose first heading is `Crate`");
    Ok(table)
}

/// Every rule that the workspace breaks.
fn judge(table: &Table, metadata: &Metadata) -> Vec<String> {
    let packages = metadata.workspace_packages();
    let folders: BTreeMap<&str, &str> = packages.iter().map(|one| (one.name.as_str(), folder(one))).collect();
    let mut broken: Vec<String> = table
        .keys()
        .filter(|row| !folders.values().any(|folder| folder == row))
        .map(|row| format!("{row}: in the table of crates, but no crate"))
        .collect();
    for package in &packages {
        let from = folder(package);
        let Some(allowed) = table.get(from) else {
            broken.push(format!("{from}: no row in the table of crates"));
            continue;
        };
        for dependency in &package.dependencies {
            let (name, kind) = (dependency.name.as_str(), dependency.kind);
            // A crate may depend on itself, to test itself with features on. Of two with one name, ours has a path.
            let ours = folders.get(name).filter(|_| dependency.path.is_some());
            if let (Some(to), Some(allowed)) = (ours, allowed)
                && *to != from
                && !allowed.contains(*to)
                && (*to, kind) != ("testkit", DependencyKind::Development)
            {
                broken.push(format!("{from} -> {to} ({kind} dependency): not in the row of {from}"));
            }
            // Servers of tests speak it as well.
            if !matches!(from, "cdp" | "tests") && is_wire(name) {
                broken
                    .push(format!("{from} -> {name} ({kind} dependency): only cdp may depend on the wire's packages"));
            }
        }
        for (_, names) in UNREACHABLE.iter().filter(|(folder, _)| *folder == from) {
            let reached = reached(metadata, &package.id);
            let found = names.iter().filter(|name| reached.contains(*name));
            broken.extend(found.map(|name| format!("{from} -> … -> {name}: {from} must not reach it")));
        }
    }
    broken
}

fn is_wire(name: &str) -> bool {
    WIRE.iter().any(|known| known.strip_suffix('*').map_or(*known == name, |prefix| name.starts_with(prefix)))
}

/// The last directory of a package's manifest.
fn folder(package: &Package) -> &str {
    package.manifest_path.parent().and_then(|folder| folder.file_name()).unwrap_or_default()
}

/// The names of all that a package depends on, directly or not. What its own tests need is counted too.
fn reached<'m>(metadata: &'m Metadata, from: &PackageId) -> BTreeSet<&'m str> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: BTreeMap<&PackageId, &[PackageId]> = nodes.map(|node| (&node.id, &node.dependencies[..])).collect();
    let mut queue = vec![from];
    let mut seen = BTreeSet::from([from]);
    while let Some(id) = queue.pop() {
        queue.extend(nodes.get(id).into_iter().copied().flatten().filter(|next| seen.insert(*next)));
    }
    metadata.packages.iter().filter(|one| seen.contains(&one.id)).map(|one| one.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "| Crate | About | May depend on |\n|---|---|---|\n";

    fn judged(rows: &str) -> Vec<String> {
        let metadata = MetadataCommand::new().current_dir(root()).exec().unwrap();
        judge(&table(&format!("{ROWS}{rows}\n")).unwrap(), &metadata)
    }

    #[test]
    fn this_workspace_keeps_its_rules() {
        run().unwrap();
    }

    #[test]
    fn an_edge_missing_in_the_table_and_a_row_without_a_crate_are_reported() {
        let broken =
            judged("| `planner` | x | none |\n| `probe` | x | `grammar`, `cdp`, `bundle` |\n| `gone` | x | all |");
        let has = |line: &str| broken.iter().any(|one| one == line);
        assert!(has("planner -> grammar (normal dependency): not in the row of planner"), "{broken:?}");
        assert!(has("planner -> grammar (dev dependency): not in the row of planner"), "{broken:?}");
        assert!(has("gone: in the table of crates, but no crate"), "{broken:?}");
        assert!(has("cdp: no row in the table of crates"), "{broken:?}");
        assert!(!broken.iter().any(|one| one.starts_with("probe")), "{broken:?}");
    }

    #[test]
    fn a_document_without_the_table_is_an_error() {
        assert!(table("# Crates\n\n| Other |\n|---|\n| x |\n").is_err());
    }
}
