//! One module: what it imports, declares and exports, and the rest of it.

use std::path::{Path, PathBuf};

/// Why modules cannot be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// A file cannot be read or written.
    #[error("{} cannot be read or written", path.display())]
    Io {
        /// File that was to be read or written.
        path: PathBuf,
        /// Error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// An import or export of a kind that is not joined.
    #[error("{}: `{statement}` is not joined; write {expected}", path.display())]
    Statement {
        /// Module that has the statement.
        path: PathBuf,
        /// Statement as the module has it.
        statement: String,
        /// Form of statement that is joined.
        expected: &'static str,
    },
    /// A name that is imported is not exported there.
    #[error("{}: {} does not export `{name}`", path.display(), from.display())]
    NotExported {
        /// The module that imports it.
        path: PathBuf,
        /// The module that it names.
        from: PathBuf,
        /// Name that `from` does not export.
        name: String,
    },
    /// A name that is imported is not used.
    #[error("{}: `{name}` is imported and not used", path.display())]
    Unused {
        /// Module that has the import.
        path: PathBuf,
        /// Imported name that nothing uses.
        name: String,
    },
    /// Two modules declare one name at their top.
    #[error("`{name}` is declared in {} and in {}", first.display(), second.display())]
    Twice {
        /// Name declared by both modules.
        name: String,
        /// Module that comes first in the joined order, or `cuebook:core`.
        first: PathBuf,
        /// Module that declares the name again.
        second: PathBuf,
    },
}

/// The specifier that stands for what the joined function is called with.
const CORE: &str = "cuebook:core";

/// A module, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) path: PathBuf,
    /// Files and the names that are imported from them, in order.
    pub(crate) imports: Vec<(PathBuf, Vec<String>)>,
    /// Names that are read from what the function is called with.
    pub(crate) core: Vec<String>,
    /// Names that are declared at the top.
    pub(crate) declared: Vec<String>,
    /// Those that others may import.
    pub(crate) exported: Vec<String>,
    /// All but imports and exports.
    pub(crate) body: String,
}

impl Module {
    pub(crate) fn read(path: &Path) -> Result<Self, ModuleError> {
        let io = |source| ModuleError::Io { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(io)?;
        let mut module = Self { path: path.canonicalize().map_err(io)?, ..Self::default() };
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let is_list = line.starts_with("export {") || line.starts_with("export *");
            if line.starts_with("import ") || line.starts_with("import{") || is_list {
                let mut statement = line.to_owned();
                while !statement.trim_end().ends_with(';') {
                    let Some(more) = lines.next() else { break };
                    statement.push(' ');
                    statement.push_str(more.trim());
                }
                module.statement(&statement)?;
                continue;
            }
            let kept = line.strip_prefix("export ");
            let names = declared_by(kept.unwrap_or(line));
            if kept.is_some() {
                if names.is_empty() {
                    return Err(module.refused(line, "`export const`, `let`, `function` or `class` with a name"));
                }
                module.exported.extend(names.iter().cloned());
            }
            module.declared.extend(names);
            module.body.push_str(kept.unwrap_or(line));
            module.body.push('\n');
        }
        Ok(module)
    }

    fn statement(&mut self, statement: &str) -> Result<(), ModuleError> {
        let expected = "`import { a, b } from \"./file.js\";` or `export { a, b } from \"./file.js\";`";
        let refused = || self.refused(statement, expected);
        let text = statement.trim_end().trim_end_matches(';').trim_end();
        let (verb, rest) = text.split_once(' ').ok_or_else(refused)?;
        let quoted = |text: &str| Some(text.trim().strip_prefix('"')?.strip_suffix('"')?.to_owned());
        if let Some(specifier) = quoted(rest) {
            let file = self.file(&specifier).ok_or_else(refused)?;
            self.imports.push((file, Vec::new()));
            return Ok(());
        }
        let (list, from) = match rest.split_once(" from ") {
            Some((list, from)) => (list, Some(quoted(from).ok_or_else(refused)?)),
            None => (rest, None),
        };
        if list.trim() == "* as cb" && verb == "import" && from.as_deref() == Some(CORE) {
            return Ok(());
        }
        let inner = list.trim().strip_prefix('{').and_then(|list| list.strip_suffix('}')).ok_or_else(refused)?;
        let names: Vec<String> =
            inner.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        if names.iter().any(|name| !is_name(name)) {
            return Err(refused());
        }
        match (verb, from) {
            ("import", Some(from)) if from == CORE => self.core.extend(names),
            ("export", None) => self.exported.extend(names),
            (verb, Some(from)) => {
                let file = self.file(&from).ok_or_else(refused)?;
                if verb == "export" {
                    self.exported.extend(names.iter().cloned());
                }
                self.imports.push((file, names));
            }
            _ => return Err(refused()),
        }
        Ok(())
    }

    fn file(&self, specifier: &str) -> Option<PathBuf> {
        let relative = specifier.starts_with("./") || specifier.starts_with("../");
        relative.then(|| self.path.parent().unwrap_or(Path::new("")).join(specifier))
    }

    fn refused(&self, statement: &str, expected: &'static str) -> ModuleError {
        ModuleError::Statement { path: self.path.clone(), statement: statement.to_owned(), expected }
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// The names that a line declares at the top of its module.
fn declared_by(line: &str) -> Vec<String> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let Some((_, rest)) =
        line.split_once(' ').filter(|(word, _)| matches!(*word, "const" | "let" | "class" | "function"))
    else {
        return Vec::new();
    };
    let name = |text: &str| -> String { text.chars().take_while(|c| is_name(&format!("a{c}"))).collect() };
    match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((names, _)) => names
            .split(',')
            .map(|part| name(part.rsplit(':').next().unwrap_or(part).trim()))
            .filter(|name| !name.is_empty())
            .collect(),
        None => Some(name(rest)).filter(|name| !name.is_empty()).into_iter().collect(),
    }
}
