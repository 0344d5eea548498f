//! The table: what each crate may depend on. `ARCHITECTURE.md` says the same and why.

/// Which crates of this workspace a crate may depend on, for any purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    Only(&'static [&'static str]),
    All,
}

impl Allowed {
    pub(super) fn permits(self, folder: &str) -> bool {
        match self {
            Self::Only(folders) => folders.contains(&folder),
            Self::All => true,
        }
    }
}

/// Crates by folder. One that is not here may not exist.
pub(super) const TABLE: [(&str, Allowed); 15] = [
    ("grammar", Allowed::Only(&[])),
    ("decoding", Allowed::Only(&["grammar"])),
    ("extract", Allowed::Only(&["grammar"])),
    ("cdp", Allowed::Only(&[])),
    ("probe", Allowed::Only(&["grammar", "cdp"])),
    ("page-modeler", Allowed::Only(&["grammar", "cdp", "probe"])),
    ("planner", Allowed::Only(&["grammar", "decoding"])),
    ("executor", Allowed::Only(&["grammar", "cdp", "probe", "extract"])),
    ("outside", Allowed::Only(&["grammar"])),
    ("repair", Allowed::Only(&["grammar"])),
    ("datalayer", Allowed::Only(&["grammar"])),
    ("site", Allowed::Only(&[])),
    ("cli", Allowed::All),
    ("tests", Allowed::All),
    ("xtask", Allowed::Only(&[])),
];

/// What a crate must not reach, not even through others.
pub(super) const UNREACHABLE: [(&str, &[&str]); 1] =
    [("grammar", &["tokio", "reqwest", "hyper", "tokio-tungstenite", "tungstenite", "async-std"])];

/// Packages that belong to the wire; a name that ends in `*` stands for all that begin so.
pub(super) const WIRE: [&str; 4] = ["tokio-tungstenite", "tungstenite", "command-fds", "chromiumoxide*"];

/// The only crate that may depend on the packages in [`WIRE`] directly.
pub(super) const WIRE_OWNER: &str = "cdp";

/// What the crate in `folder` may depend on.
pub(super) fn allowed(folder: &str) -> Option<Allowed> {
    TABLE.iter().find(|(name, _)| *name == folder).map(|(_, allowed)| *allowed)
}

/// Whether a package belongs to the wire.
pub(super) fn is_wire(package: &str) -> bool {
    WIRE.iter().any(|name| match name.strip_suffix('*') {
        Some(prefix) => package.starts_with(prefix),
        None => package == *name,
    })
}
