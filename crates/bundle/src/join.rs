//! Modules in one scope.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::module::{Module, ModuleError};
use crate::tokens::{TokenKind, tokens};

/// A script in one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// `(cb) => { … return { … }; }`: takes what `cuebook:core` stands for, and returns what the entry exports.
    pub function: String,
    /// A hash of it: 16 hexadecimal digits.
    pub version: String,
    /// The files that it was joined from.
    pub files: Vec<PathBuf>,
}

/// Joins a module and all that it imports.
///
/// # Errors
/// [`ModuleError`]
pub fn join(entry: &Path) -> Result<Bundle, ModuleError> {
    let mut order = Vec::new();
    visit(entry, &mut BTreeSet::new(), &mut order)?;
    let by_path: BTreeMap<&Path, &Module> = order.iter().map(|module| (module.path.as_path(), module)).collect();
    let mut owners: BTreeMap<&str, &Path> = BTreeMap::new();
    let core: BTreeSet<&str> = order.iter().flat_map(|module| module.core.iter().map(String::as_str)).collect();
    for module in &order {
        for name in &module.declared {
            let taken = core.contains(name.as_str()).then_some(Path::new("cuebook:core"));
            if let Some(first) = owners.insert(name, &module.path).or(taken) {
                let (first, second) = (first.to_owned(), module.path.clone());
                return Err(ModuleError::Twice { name: name.clone(), first, second });
            }
        }
        for (from, names) in &module.imports {
            let Some(known) = by_path.get(from.as_path()) else { continue };
            if let Some(name) = names.iter().find(|name| !known.exported.contains(name)) {
                let (path, from, name) = (module.path.clone(), from.clone(), name.clone());
                return Err(ModuleError::NotExported { path, from, name });
            }
        }
        unused(module)?;
    }
    let mut function = "(cb) => {\n\"use strict\";\n".to_owned();
    if !core.is_empty() {
        function.push_str(&format!("const {{ {} }} = cb;\n", core.into_iter().collect::<Vec<_>>().join(", ")));
    }
    for module in &order {
        function.push_str(&compact(&module.body));
    }
    let exported = order.last().map(|entry| entry.exported.join(", ")).unwrap_or_default();
    function.push_str(&format!("return {{ {exported} }};\n}}"));
    let version = hash(&function);
    Ok(Bundle { function, version, files: order.into_iter().map(|module| module.path).collect() })
}

/// The lines that hold more than comments, without their indentation: neither is worth its way to a page.
fn compact(body: &str) -> String {
    // For each line, whether it holds a token, and whether it begins within one.
    let mut lines: Vec<(bool, bool)> = vec![(false, false); body.lines().count() + 1];
    for token in tokens(body) {
        let height = token.text.matches('\n').count();
        for line in token.line..=token.line + height {
            if let Some((holds, within)) = lines.get_mut(line - 1) {
                *holds = true;
                *within |= line > token.line;
            }
        }
    }
    let kept = body.lines().zip(lines).filter(|(_, (holds, _))| *holds);
    kept.map(|(line, (_, within))| if within { line } else { line.trim_start() }.to_owned() + "\n").collect()
}

/// Modules in the order of evaluation: what is imported first, circles broken where they close.
fn visit(path: &Path, seen: &mut BTreeSet<PathBuf>, order: &mut Vec<Module>) -> Result<(), ModuleError> {
    let mut module = Module::read(path)?;
    if !seen.insert(module.path.clone()) {
        return Ok(());
    }
    for (file, _) in &mut module.imports {
        *file = file.canonicalize().map_err(|source| ModuleError::Io { path: file.clone(), source })?;
        if !seen.contains(file) {
            visit(file, seen, order)?;
        }
    }
    order.push(module);
    Ok(())
}

fn unused(module: &Module) -> Result<(), ModuleError> {
    let used: BTreeSet<String> = tokens(&module.body)
        .into_iter()
        .filter(|token| token.kind == TokenKind::Name)
        .map(|token| token.text.to_owned())
        .collect();
    let imported = module.imports.iter().flat_map(|(_, names)| names).chain(&module.core);
    for name in imported {
        if !used.contains(name) && !module.exported.contains(name) {
            return Err(ModuleError::Unused { path: module.path.clone(), name: name.clone() });
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits: says whether two scripts are the same one, and nothing more.
fn hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(files: &[(&str, &str)]) -> Result<Bundle, ModuleError> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        join(&folder.path().join("main.js"))
    }

    #[test]
    fn modules_come_in_the_order_of_evaluation_and_circles_end() {
        let bundle = joined(&[
            ("main.js", "import { a } from \"./a.js\";\nimport {\n  b,\n} from \"./b.js\";\nexport { b } from \"./b.js\";\nexport const main = () => a(b);\n"),
            ("a.js", "// @ts-check\nimport { b } from \"./b.js\";\nexport const a = () => b;\n"),
            ("b.js", "import { a } from \"./a.js\";\nimport { idOf } from \"cuebook:core\";\nexport const b = () => idOf(a);\n"),
        ])
        .unwrap();
        let expected = "(cb) => {\n\"use strict\";\nconst { idOf } = cb;\nconst b = () => idOf(a);\nconst a = () => b;\nconst main = () => a(b);\nreturn { b, main };\n}";
        assert_eq!(bundle.function, expected);
        assert_eq!((bundle.version.len(), bundle.files.len()), (16, 3));
    }

    #[test]
    fn comments_and_indentation_are_left_out_and_texts_are_not() {
        let text = "// One.\nexport const a = `x\n  // y ${\n  1}`;\n/* Two\n  three. */\n\n  a;\n";
        let bundle = joined(&[("main.js", text)]).unwrap();
        let expected = "(cb) => {\n\"use strict\";\nconst a = `x\n  // y ${\n1}`;\na;\nreturn { a };\n}";
        assert_eq!(bundle.function, expected);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let a = ("a.js", "export const a = 1;\nconst hidden = 2;\n");
        for (main, why) in [
            ("import a from \"./a.js\";\na;\n", "not joined"),
            ("import { a as b } from \"./a.js\";\nb;\n", "not joined"),
            ("import * as all from \"./a.js\";\nall;\n", "not joined"),
            ("export default 1;\n", "not joined"),
            ("import { hidden } from \"./a.js\";\nhidden;\n", "does not export `hidden`"),
            ("import { a } from \"./a.js\";\n", "not used"),
            ("import { a } from \"./a.js\";\nconst hidden = a;\n", "declared in"),
            ("import { a } from \"./missing.js\";\na;\n", "cannot be read"),
        ] {
            let error = joined(&[("main.js", main), a]).unwrap_err().to_string();
            assert!(error.contains(why), "{main}: {error}");
        }
    }

    #[test]
    fn another_text_is_another_version() {
        let version = |text: &str| joined(&[("main.js", text)]).unwrap().version;
        assert_ne!(version("export const a = 1;\n"), version("export const a = 2;\n"));
        assert_eq!(version("export const a = 1;\n"), version("export const a = 1;\n"));
    }
}
