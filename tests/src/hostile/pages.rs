//! The cases: pages in files, each with its step and with what the page does if the step does what it means.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

/// The folder of the pages in this checkout.
#[must_use]
pub fn pages_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile")
}

/// Common trait of the pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The time of the step ends in the middle of its gesture, and a decoy takes the target's place.
    Late,
    /// One node comes to mean something else.
    Meaning,
    /// The page changes all the time, but not what the target means.
    Ticking,
    /// Controls inside of the target, and targets that do something else once they are pressed.
    Nested,
    /// Nothing comes of the step, or the page takes it back.
    Empty,
    /// The target acts on a part of the gesture and goes away.
    Vanishing,
    /// The page answers our own input.
    Answers,
    /// A plan file names ids, and the page changes between the commands.
    Ids,
    /// Pages that let files be downloaded, or almost.
    Downloads,
}

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::Late,
        Self::Meaning,
        Self::Ticking,
        Self::Nested,
        Self::Empty,
        Self::Vanishing,
        Self::Answers,
        Self::Ids,
        Self::Downloads,
    ];

    /// Those whose trials are steps on pages from a file.
    pub fn of_pages() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| !kind.is_of_commands())
    }

    /// Its name, and that of its file of pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Meaning => "meaning",
            Self::Ticking => "ticking",
            Self::Nested => "nested",
            Self::Empty => "empty",
            Self::Vanishing => "vanishing",
            Self::Answers => "answers",
            Self::Ids => "ids",
            Self::Downloads => "downloads",
        }
    }

    /// When pages change that do not say so themselves.
    const fn moments(self) -> &'static [&'static str] {
        match self {
            Self::Late => &["deadline", "stall", "stallPress", "busy", "interrupt", "none"],
            Self::Meaning => &["now", "soon", "frame", "over", "move", "scroll"],
            Self::Ticking => &["none", "scroll"],
            _ => &["none"],
        }
    }

    /// Returns `true` if the pages do nothing that a step may fail for.
    const fn is_benign(self) -> bool {
        matches!(self, Self::Ticking | Self::Vanishing | Self::Answers)
    }

    /// Returns `true` if its trials are commands on a server of their own, and not steps on pages from a file.
    pub(crate) const fn is_of_commands(self) -> bool {
        matches!(self, Self::Ids | Self::Downloads)
    }

    /// Returns `true` if a person comes after the step, and must be heard.
    pub(crate) const fn has_person(self) -> bool {
        matches!(self, Self::Late | Self::Vanishing)
    }
}

impl std::str::FromStr for Kind {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("expected one of {}", names()))
    }
}

/// One page with one step.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) header: Header,
    pub(crate) html: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// The step. Its targets are picks of observed candidates, or names of `candidates`.
    pub(crate) step: Value,
    /// Declared locators: the step is an operator's.
    #[serde(default)]
    pub(crate) candidates: Option<Value>,
    /// Event that the page reports if the step does what it means; `-` if nothing ever comes of it.
    pub(crate) want: String,
    #[serde(default)]
    moments: Option<Vec<String>>,
    /// `true` if the step must succeed; `None` where its kind decides.
    #[serde(default)]
    benign: Option<bool>,
}

impl Case {
    /// `type` of its step.
    pub(crate) fn verb(&self) -> &str {
        self.header.step["type"].as_str().unwrap_or_default()
    }

    pub(crate) fn is_benign(&self) -> bool {
        self.header.benign.unwrap_or(self.kind.is_benign())
    }
}

/// Every case of a kind with every moment at which its page may change.
///
/// # Errors
/// If the file or a header of it cannot be read.
pub(crate) fn cases(folder: &Path, kind: Kind) -> Result<Vec<(Case, String)>> {
    let mut all = Vec::new();
    let file = folder.join("pages").join(kind.name()).with_extension("html");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    for part in text.split("<!-- case ").skip(1) {
        let (head, html) = part.split_once(" -->\n").context("expected a header before a page")?;
        let (name, header) = head.split_once(' ').context("expected a name and a header")?;
        let header: Header = serde_json::from_str(header).with_context(|| format!("{} {name}", kind.name()))?;
        let usual = || kind.moments().iter().map(|&moment| moment.to_owned()).collect();
        let moments: Vec<String> = header.moments.clone().unwrap_or_else(usual);
        let case = Case { kind, name: name.to_owned(), header, html: html.to_owned() };
        all.extend(moments.into_iter().map(|moment| (case.clone(), moment)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Kind, cases, pages_folder};

    #[test]
    fn every_page_has_a_header_and_a_name_of_its_own() {
        for kind in Kind::of_pages() {
            let all = cases(&pages_folder(), kind).unwrap();
            let mut names: Vec<String> = all.iter().map(|(case, moment)| format!("{} {moment}", case.name)).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all.len(), "{}", kind.name());
            assert!(all.iter().all(|(case, _)| !case.verb().is_empty() && !case.html.is_empty()));
        }
    }
}
