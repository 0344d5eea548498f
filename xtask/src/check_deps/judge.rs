//! The verdict: which rules a graph of crates breaks.

use std::fmt;

use super::graph::{Edge, Graph, Target};
use super::rules::{self, Allowed};

/// What to do about a violation that is meant.
pub(super) const HOW_TO_CHANGE: &str = "to change a rule, change the table in ARCHITECTURE.md and \
    the one in xtask/src/check_deps/rules.rs together, and say in ARCHITECTURE.md why";

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Violation {
    /// A crate that the table does not know.
    Unlisted { folder: String },
    /// An edge between two crates of this workspace that the table does not allow.
    Forbidden { from: String, to: String, kind: String, allowed: Allowed },
    /// Something that must stay out of reach is not.
    Reached { folder: String, path: Vec<String> },
    /// The wire's packages belong to one crate.
    Wire { from: String, to: String, kind: String },
    /// `ARCHITECTURE.md` has no table of crates.
    NoTable,
    /// `ARCHITECTURE.md` has a crate that the table here has not, or the other way round.
    Unmatched { folder: String, document: Presence },
    /// `ARCHITECTURE.md` allows something else than the table here.
    Disagreement { folder: String, document: String, rules: Allowed },
}

/// Whether the document has a crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Present,
    Absent,
}

/// All rules that `graph` breaks.
pub(super) fn judge(graph: &Graph) -> Vec<Violation> {
    let unlisted = graph
        .folders
        .iter()
        .filter(|folder| rules::allowed(folder).is_none())
        .map(|folder| Violation::Unlisted { folder: folder.clone() });
    let edges = graph.edges.iter().filter_map(judge_edge);
    let reached = rules::UNREACHABLE.into_iter().flat_map(|(folder, names)| {
        names.iter().filter_map(move |name| {
            let path = graph.path(folder, name)?;
            Some(Violation::Reached { folder: folder.to_owned(), path })
        })
    });
    unlisted.chain(edges).chain(reached).collect()
}

fn judge_edge(edge: &Edge) -> Option<Violation> {
    let Edge { from, to, kind } = edge;
    match to {
        // A crate may test itself with features on.
        Target::Inside(to) if to == from => None,
        Target::Inside(to) => {
            let allowed = rules::allowed(from)?;
            (!allowed.permits(to)).then(|| Violation::Forbidden {
                from: from.clone(),
                to: to.clone(),
                kind: kind.clone(),
                allowed,
            })
        }
        Target::Outside(to) => (rules::is_wire(to) && from != rules::WIRE_OWNER).then(|| Violation::Wire {
            from: from.clone(),
            to: to.clone(),
            kind: kind.clone(),
        }),
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only([]) => f.write_str("none"),
            Self::Only(folders) => f.write_str(&folders.join(", ")),
            Self::All => f.write_str("all"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlisted { folder } => {
                write!(f, "{folder}: expected a row in the table of crates, saw none")
            }
            Self::Forbidden { from, to, kind, allowed } => {
                write!(f, "{from} -> {to} ({kind} dependency): expected {from} to depend on {allowed} only")
            }
            Self::Reached { folder, path } => {
                write!(f, "{}: expected {folder} to stay without it", path.join(" -> "))
            }
            Self::Wire { from, to, kind } => write!(
                f,
                "{from} -> {to} ({kind} dependency): expected only {} to depend on the wire's packages",
                rules::WIRE_OWNER
            ),
            Self::NoTable => f.write_str("ARCHITECTURE.md: expected a table whose first heading is Crate, saw none"),
            Self::Unmatched { folder, document: Presence::Present } => {
                write!(f, "{folder}: in the table of ARCHITECTURE.md, but not in rules.rs")
            }
            Self::Unmatched { folder, document: Presence::Absent } => {
                write!(f, "{folder}: in rules.rs, but not in the table of ARCHITECTURE.md")
            }
            Self::Disagreement { folder, document, rules } => {
                write!(f, "{folder}: ARCHITECTURE.md allows {document}, rules.rs allows {rules}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Violation, judge};
    use crate::check_deps::graph::Graph;

    /// Crates of a workspace with what they depend on: ours by folder, others with `!`.
    fn metadata(crates: &[(&str, &[(&str, &str)])]) -> Value {
        let ours = |name: &str| format!("cuebook-{name}");
        let dependency = |&(name, kind): &(&str, &str)| match name.strip_prefix('!') {
            Some(other) => json!({ "name": other, "kind": kind_of(kind), "source": "registry" }),
            None => json!({ "name": ours(name), "kind": kind_of(kind), "source": null }),
        };
        let packages = crates.iter().map(|(name, dependencies)| {
            json!({
                "id": ours(name), "name": ours(name), "manifest_path": format!("/w/{name}/Cargo.toml"),
                "dependencies": dependencies.iter().map(dependency).collect::<Vec<_>>(),
            })
        });
        let nodes = crates.iter().map(|(name, dependencies)| {
            let ids = dependencies.iter().map(|(name, _)| match name.strip_prefix('!') {
                Some(other) => other.to_owned(),
                None => ours(name),
            });
            json!({ "id": ours(name), "dependencies": ids.collect::<Vec<_>>() })
        });
        // Outside packages: `url` leads to `hyper`, which leads back.
        let outside = [("url", vec!["idna"]), ("idna", vec!["hyper"]), ("hyper", vec!["url"])];
        json!({
            "workspace_members": crates.iter().map(|(name, _)| ours(name)).collect::<Vec<_>>(),
            "packages": packages.collect::<Vec<_>>(),
            "resolve": { "nodes": nodes
                .chain(outside.iter().map(|(id, next)| json!({ "id": id, "dependencies": next })))
                .collect::<Vec<_>>() },
        })
    }

    fn kind_of(kind: &str) -> Value {
        if kind == "normal" { Value::Null } else { json!(kind) }
    }

    fn violations(crates: &[(&str, &[(&str, &str)])]) -> Vec<Violation> {
        judge(&Graph::parse(&metadata(crates)).unwrap())
    }

    fn told(crates: &[(&str, &[(&str, &str)])]) -> Vec<String> {
        violations(crates).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn allowed_edges_are_allowed() {
        let crates: &[(&str, &[(&str, &str)])] = &[
            ("grammar", &[]),
            ("cdp", &[("!chromiumoxide_cdp", "normal"), ("!command-fds", "normal")]),
            ("executor", &[("grammar", "normal"), ("cdp", "normal")]),
            ("cli", &[("executor", "normal"), ("grammar", "dev")]),
        ];
        assert_eq!(told(crates), Vec::<String>::new());
    }

    #[test]
    fn a_layer_that_depends_on_a_layer_is_reported_for_every_kind() {
        for kind in ["normal", "dev", "build"] {
            let crates: &[(&str, &[(&str, &str)])] = &[("repair", &[("executor", kind)]), ("executor", &[])];
            assert_eq!(
                told(crates),
                [format!("repair -> executor ({kind} dependency): expected repair to depend on grammar only")]
            );
        }
    }

    #[test]
    fn a_crate_of_the_workspace_that_xtask_links_is_reported() {
        let crates: &[(&str, &[(&str, &str)])] = &[("xtask", &[("grammar", "dev")]), ("grammar", &[])];
        assert_eq!(told(crates), ["xtask -> grammar (dev dependency): expected xtask to depend on none only"]);
    }

    #[test]
    fn a_leak_is_reported_with_its_path() {
        let crates: &[(&str, &[(&str, &str)])] = &[("grammar", &[("!url", "normal")])];
        assert_eq!(told(crates), ["cuebook-grammar -> url -> idna -> hyper: expected grammar to stay without it"]);
    }

    #[test]
    fn the_wire_belongs_to_cdp() {
        for package in ["!chromiumoxide_types", "!tokio-tungstenite", "!command-fds"] {
            let crates: &[(&str, &[(&str, &str)])] = &[("executor", &[(package, "normal")])];
            let violations = violations(crates);
            assert!(matches!(violations.as_slice(), [Violation::Wire { .. }]), "{package}");
        }
    }

    #[test]
    fn an_unknown_crate_is_reported() {
        let told = told(&[("helpers", &[])]);
        assert_eq!(told, ["helpers: expected a row in the table of crates, saw none"]);
    }

    #[test]
    fn metadata_of_another_shape_is_an_error() {
        for other in [json!({}), json!({ "packages": [], "workspace_members": [] }), json!([])] {
            assert!(Graph::parse(&other).is_err(), "{other}");
        }
    }
}
