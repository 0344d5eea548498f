//! Joins the ES modules of a page script into one function, at build time.
//!
//! A page script is written as modules, so that editors, type checkers and browsers read it as it is, and runs in
//! a page as one function, so that it costs one call. Modules come in the order in which a browser would evaluate
//! them, without their imports and exports, in one scope: what is joined runs as fast as what is written in one
//! file. A build script needs this crate and no Node.
//!
//! Invariant: what is joined means what the modules mean. Whatever this reader does not know how to keep (renamed,
//! default and dynamic imports, a name that two modules declare, one that is not exported) is an error.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("bundle-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("two.js"), "export const two = 2;\n")?;
//! std::fs::write(folder.join("main.js"), "import { two } from \"./two.js\";\nexport const four = two * two;\n")?;
//! let bundle = cuebook_bundle::join(&folder.join("main.js"))?;
//! assert_eq!(bundle.function, "(cb) => {\n\"use strict\";\nconst two = 2;\nconst four = two * two;\nreturn { four };\n}");
//! # Ok(())
//! # }
//! ```

mod join;
mod module;
mod tokens;

pub use join::{Bundle, join};
pub use module::ModuleError;
pub use tokens::{Token, TokenKind, tokens};

use std::path::Path;

/// Joins `entry` in a build script: writes `NAME.js`, the function, and `NAME.version`, its hash, into `out`, and
/// prints a `rerun-if-changed` line for every file that was read.
///
/// # Errors
/// [`ModuleError`], also where a file cannot be written.
pub fn build(entry: &Path, name: &str, out: &Path) -> Result<(), ModuleError> {
    let bundle = join(entry)?;
    for (extension, text) in [("js", &bundle.function), ("version", &bundle.version)] {
        let path = out.join(name).with_extension(extension);
        std::fs::write(&path, text).map_err(|source| ModuleError::Io { path, source })?;
    }
    let mut watched = String::new();
    for path in &bundle.files {
        watched.push_str(&format!("cargo::rerun-if-changed={}\n", path.display()));
    }
    use std::io::Write as _;
    let written = std::io::stdout().write_all(watched.as_bytes());
    written.map_err(|source| ModuleError::Io { path: entry.to_owned(), source })
}
