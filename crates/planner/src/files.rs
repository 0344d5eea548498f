//! The files that a plan may upload: those below the directories that the policy opens.
//!
//! Invariants:
//! - Only names leave: of regular files, none of them hidden or a link, and none that the check would refuse.
//! - The walk is bounded, whatever the directories hold: at most 5,000 entries, 4 levels deep.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cuebook_grammar::policy::Policy;

/// Upper bound of the names that a model may choose from.
pub(crate) const LISTED: usize = 50;

/// Upper bound of the entries that are looked at.
const ENTRIES: usize = 5_000;

/// Levels below a declared directory.
const LEVELS: usize = 4;

/// Characters of a name.
const NAME: usize = 200;

/// The files of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// The first [`LISTED`] names in alphabetical order: relative to their directory, absolute where two have the same.
    pub(crate) names: Vec<String>,
    /// How many more there are; a lower bound where the walk ended early.
    pub(crate) more: usize,
}

/// The files that the policy declares for uploads. Reads directories.
pub(crate) fn declared(policy: &Policy) -> Files {
    let outside = policy.outside();
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in outside.read_roots.iter().chain(&outside.write_roots) {
        // A directory may be declared in two spellings.
        if let Ok(root) = Path::new(root).canonicalize()
            && !roots.contains(&root)
        {
            roots.push(root);
        }
    }
    let mut names = BTreeSet::new();
    let mut left = ENTRIES;
    for root in &roots {
        for file in below(root, &mut left) {
            let relative = file.strip_prefix(root).ok().and_then(Path::to_str);
            // A relative name means the file of the first directory that has one.
            let is_first = relative.is_some_and(|name| !names.contains(name));
            let Some(name) = (if is_first { relative } else { file.to_str() }) else { continue };
            let is_plain = name.chars().count() <= NAME && !name.contains(char::is_control);
            if is_plain && outside.reading(name).is_ok() {
                names.insert(name.to_owned());
            }
        }
    }
    let more = names.len().saturating_sub(LISTED);
    Files { names: names.into_iter().take(LISTED).collect(), more }
}

fn below(root: &Path, left: &mut usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![(root.to_owned(), 1)];
    while let Some((dir, level)) = open.pop() {
        let Ok(entries) = std::fs::read_dir(dir) else { continue };
        for entry in entries.flatten() {
            if *left == 0 {
                return files;
            }
            *left -= 1;
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            match entry.file_type() {
                Ok(kind) if kind.is_file() && !is_hidden => files.push(entry.path()),
                Ok(kind) if kind.is_dir() && !is_hidden && level < LEVELS => open.push((entry.path(), level + 1)),
                _ => {}
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::policy::Outside;

    use super::*;

    fn opening(roots: &[&Path]) -> Policy {
        let read_roots = roots.iter().map(|root| root.canonicalize().unwrap().to_str().unwrap().to_owned()).collect();
        Policy::default().opening(Outside { read_roots, ..Outside::default() })
    }

    #[test]
    fn the_files_below_the_declared_directories_are_named_in_order() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (dir, name) in [(&one, "b.txt"), (&one, "a.txt"), (&one, ".env"), (&two, "a.txt"), (&two, "deep/c.txt")] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let second = two.path().canonicalize().unwrap().join("a.txt");
        let mut names = ["a.txt", "b.txt", "deep/c.txt", second.to_str().unwrap()];
        names.sort_unstable();
        let found = declared(&opening(&[one.path(), two.path(), one.path()]));
        assert_eq!((found.names, found.more), (names.iter().map(ToString::to_string).collect(), 0));
        assert_eq!(declared(&Policy::default()), Files::default());
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out_of_a_declared_directory() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("dir")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), inside.path().join("file")).unwrap();
        assert_eq!(declared(&opening(&[inside.path()])), Files::default());
    }

    #[test]
    fn of_many_files_the_first_are_named_and_the_others_counted() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..LISTED + 7 {
            std::fs::write(dir.path().join(format!("{n:03}")), "x").unwrap();
        }
        let found = declared(&opening(&[dir.path()]));
        assert_eq!((found.names.len(), found.names[0].as_str(), found.more), (LISTED, "000", 7));
    }
}
