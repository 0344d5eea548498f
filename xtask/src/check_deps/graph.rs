//! The part of `cargo metadata` that the rules are about.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context, Result};
use serde_json::Value;

/// One direct dependency of a crate of this workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    /// The depending crate's folder.
    pub(super) from: String,
    pub(super) to: Target,
    /// `normal`, `dev` or `build`.
    pub(super) kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// A crate of this workspace, by folder.
    Inside(String),
    /// Any other package, by name.
    Outside(String),
}

/// The crates of this workspace, what they name as dependencies, and what all resolves to.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) folders: BTreeSet<String>,
    pub(super) edges: BTreeSet<Edge>,
    names: BTreeMap<String, String>,
    ids: BTreeMap<String, String>,
    resolved: BTreeMap<String, Vec<String>>,
}

impl Graph {
    /// Reads the output of `cargo metadata --format-version=1`.
    pub(super) fn parse(metadata: &Value) -> Result<Self> {
        let packages = metadata["packages"].as_array().context("expected packages, saw none")?;
        let members: BTreeSet<&str> = metadata["workspace_members"]
            .as_array()
            .context("expected workspace_members, saw none")?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let is_member = |package: &&Value| package["id"].as_str().is_some_and(|id| members.contains(id));
        let mut graph = Self::default();
        let mut folder_of = BTreeMap::new();
        for package in packages {
            let id = text(package, "id")?;
            graph.names.insert(id.to_owned(), text(package, "name")?.to_owned());
        }
        for package in packages.iter().filter(is_member) {
            let folder = folder(text(package, "manifest_path")?)?;
            folder_of.insert(text(package, "name")?, folder);
            graph.ids.insert(folder.to_owned(), text(package, "id")?.to_owned());
            graph.folders.insert(folder.to_owned());
        }
        for package in packages.iter().filter(is_member) {
            let from = folder(text(package, "manifest_path")?)?;
            for dependency in package["dependencies"].as_array().context("expected dependencies")? {
                let name = text(dependency, "name")?;
                // Of two packages with one name, that without a source is ours.
                let inside = folder_of.get(name).filter(|_| dependency["source"].is_null());
                graph.edges.insert(Edge {
                    from: from.to_owned(),
                    to: match inside {
                        Some(&folder) => Target::Inside(folder.to_owned()),
                        None => Target::Outside(name.to_owned()),
                    },
                    kind: dependency["kind"].as_str().unwrap_or("normal").to_owned(),
                });
            }
        }
        for node in metadata["resolve"]["nodes"].as_array().context("expected resolve.nodes")? {
            let dependencies = node["dependencies"].as_array().context("expected dependencies")?;
            let dependencies = dependencies.iter().filter_map(Value::as_str).map(str::to_owned);
            graph.resolved.insert(text(node, "id")?.to_owned(), dependencies.collect());
        }
        Ok(graph)
    }

    /// The shortest chain of package names from the crate in `folder` to a package called `name`.
    pub(super) fn path(&self, folder: &str, name: &str) -> Option<Vec<String>> {
        let start = self.ids.get(folder)?;
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut queue = VecDeque::from([start.as_str()]);
        while let Some(id) = queue.pop_front() {
            if self.name(id) == name {
                let mut chain = vec![id];
                while let Some(before) = chain.last().and_then(|last| came_from.get(last)) {
                    chain.push(before);
                }
                return Some(chain.into_iter().rev().map(|id| self.name(id).to_owned()).collect());
            }
            for next in self.resolved.get(id).into_iter().flatten() {
                if next != start && !came_from.contains_key(next.as_str()) {
                    came_from.insert(next, id);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("expected a text in {key}, saw {}", value[key]))
}

/// The last directory of a manifest's path.
fn folder(manifest: &str) -> Result<&str> {
    manifest.rsplit(['/', '\\']).nth(1).with_context(|| format!("expected DIRECTORY/Cargo.toml, saw {manifest}"))
}
