//! Which files of a crate use which, by their `use` items and paths: none may use itself through others.
//!
//! Paths within macros are not seen, nor is code under `#[cfg(test)]`. What a file re-exports belongs to the file that
//! defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use syn::visit::{self, Visit};
use xtask::commands::root;

/// A module with a file, or a path to an item: its names from the root of the crate.
type Names = Vec<String>;

#[derive(Default)]
struct File {
    module: Names,
    /// The modules within the file that are being visited.
    inline: Names,
    uses: BTreeSet<Names>,
    exports: BTreeMap<String, Names>,
}

/// The circles of files in each crate below `crates/`.
///
/// # Errors
/// If a file cannot be read or parsed.
pub(crate) fn find() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in fs::read_dir(root().join("crates"))? {
        let folder = folder?.path();
        let mut files = BTreeMap::new();
        read(&folder.join("src"), &Vec::new(), &mut files)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.extend(circles(&files).into_iter().map(|circle| format!("{name}: the files {circle} use each other")));
    }
    Ok(found)
}

fn read(folder: &Path, module: &Names, files: &mut BTreeMap<Names, File>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let inner = || module.iter().cloned().chain([stem.clone()]).collect::<Names>();
        if path.is_dir() {
            read(&path, &inner(), files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            let module = if matches!(&*stem, "lib" | "main" | "mod") { module.clone() } else { inner() };
            let text = fs::read_to_string(&path)?;
            let parsed = syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))?;
            let mut file = File { module: module.clone(), ..File::default() };
            file.visit_file(&parsed);
            files.insert(module, file);
        }
    }
    Ok(())
}

impl File {
    /// A path from the root of the crate; `None` for one that begins elsewhere.
    fn absolute(&self, path: &[String]) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let mut base: Names = self.module.iter().chain(&self.inline).cloned().collect();
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                let above = rest.iter().take_while(|name| *name == "super").count();
                base.truncate(base.len().saturating_sub(above));
                return Some(base.into_iter().chain(rest.iter().skip(above).cloned()).collect());
            }
            _ => return None,
        }
        Some(base.into_iter().chain(rest.iter().cloned()).collect())
    }

    fn tree(&mut self, tree: &syn::UseTree, front: &[String], is_export: bool) {
        let with = |ident: &syn::Ident| front.iter().cloned().chain([ident.to_string()]).collect::<Names>();
        let (path, name) = match tree {
            syn::UseTree::Path(path) => return self.tree(&path.tree, &with(&path.ident), is_export),
            syn::UseTree::Group(group) => return group.items.iter().for_each(|one| self.tree(one, front, is_export)),
            syn::UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(rename) => (with(&rename.ident), rename.rename.to_string()),
            syn::UseTree::Glob(_) => (front.to_vec(), String::new()),
        };
        let absolute = self.absolute(&path);
        if is_export {
            // A module exports what its children define by a path that begins with the child.
            let own = self.module.iter().cloned().chain(path).collect();
            self.exports.insert(name, absolute.unwrap_or(own));
        } else {
            self.uses.extend(absolute);
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_cfg = |one: &syn::Attribute| one.path().is_ident("cfg");
    attributes
        .iter()
        .any(|one| is_cfg(one) && one.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test")))
}

impl<'a> Visit<'a> for File {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.inline.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.inline.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.tree(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.uses.extend(self.absolute(&names));
        visit::visit_path(self, path);
    }
}

/// The file that defines what a path names.
fn defined<'f>(files: &'f BTreeMap<Names, File>, path: &[String]) -> Option<&'f File> {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let length = (0..=path.len()).rev().find(|length| files.contains_key(&path[..*length]))?;
        let file = files.get(&path[..length])?;
        match path.get(length).and_then(|name| file.exports.get(name)) {
            Some(exported) => path = exported.iter().chain(&path[length + 1..]).cloned().collect(),
            None => return Some(file),
        }
    }
    None
}

fn circles(files: &BTreeMap<Names, File>) -> Vec<String> {
    let edges: BTreeMap<&Names, BTreeSet<&Names>> = files
        .values()
        .map(|file| {
            let used = file.uses.iter().filter_map(|path| defined(files, path)).map(|used| &used.module);
            // The root of a crate declares its modules; to name it is to name none of them.
            (&file.module, used.filter(|used| !used.is_empty() && **used != file.module).collect())
        })
        .collect();
    let reached = |from: &Names| {
        let mut seen = BTreeSet::new();
        let mut queue: Vec<&Names> = edges.get(from).into_iter().flatten().copied().collect();
        while let Some(next) = queue.pop() {
            if seen.insert(next) {
                queue.extend(edges.get(next).into_iter().flatten());
            }
        }
        seen
    };
    let reach: BTreeMap<&Names, BTreeSet<&Names>> = edges.keys().map(|from| (*from, reached(from))).collect();
    let together: BTreeSet<Vec<String>> = reach
        .iter()
        .filter(|(from, seen)| seen.contains(*from))
        .map(|(from, seen)| seen.iter().filter(|to| reach[*to].contains(from)).map(|to| to.join("::")).collect())
        .collect();
    together.into_iter().map(|circle| circle.join(", ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> BTreeMap<Names, File> {
        let file = |(module, text): &(&str, &str)| {
            let module: Names = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let mut file = File { module: module.clone(), ..File::default() };
            file.visit_file(&syn::parse_file(text).unwrap());
            (module, file)
        };
        texts.iter().map(file).collect()
    }

    #[test]
    fn no_files_of_a_crate_use_each_other() {
        assert_eq!(find().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_circle_is_found_through_exports_and_paths() {
        let crate_of = |last: &str| {
            files(&[
                ("", "mod a; mod b; mod c;"),
                ("a", "use crate::b::Two;"),
                ("b", "mod inner; pub use inner::Two;"),
                ("b::inner", "pub struct Two; fn f() { crate::c::g() }"),
                ("c", last),
            ])
        };
        assert_eq!(circles(&crate_of("pub fn g() { super::a::h() }")), ["a, b::inner, c"]);
        assert_eq!(circles(&crate_of("#[cfg(test)] mod tests { use crate::a::h; }")), Vec::<String>::new());
    }
}
