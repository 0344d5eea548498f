//! The source folder of an application: which files are read, and how one is replaced.
//!
//! Invariants:
//! - Files are opened relative to the folder, by a handle that does not follow a path or a link out of it.
//! - Links are not read and not written. What `.gitignore` names, what is hidden, and what a build or a package manager
//!   leaves is not read.
//! - All files are compared with what was read before the first of them is replaced; each is replaced as a whole.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use ignore::WalkBuilder;

use crate::error::SuggestError;
use crate::markup::{Markup, Syntax};

/// The largest file that is read, in bytes.
pub const MAX_FILE: u64 = 1 << 20;
/// The most files that are read.
pub const MAX_FILES: usize = 20_000;
/// The most bytes that are read.
pub const MAX_TOTAL: u64 = 64 << 20;
/// The longest line of a file that a person writes; files with longer ones are generated.
const MAX_LINE: usize = 10_000;
/// Folders that builds and package managers fill.
const BUILT: [&str; 9] =
    ["node_modules", "bower_components", "dist", "build", "out", "target", "coverage", "vendor", "storybook-static"];
/// Parts of the names of files that no page comes from: their ids count, and they are not patched.
const BESIDE: [&str; 4] = [".test.", ".spec.", ".stories.", ".cy."];

/// The source of an application.
#[derive(Debug)]
pub struct Source {
    dir: Dir,
    pub(crate) files: Vec<SourceFile>,
    /// Files that were not read: too large, generated, or not UTF-8.
    pub skipped: Vec<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Below the folder, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) markup: Markup,
}

impl Source {
    /// Reads the files of markup below `folder`: HTML, JSX and TSX, Vue. Other scripts are read for the ids in them. Blocks;
    /// costs a pass over all of them.
    ///
    /// # Errors
    /// [`SuggestError::Folder`] and [`SuggestError::TooLarge`]
    pub fn read(folder: &Path) -> Result<Self, SuggestError> {
        let failed = |source| SuggestError::Folder { path: folder.to_owned(), source };
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
        let mut source = Self { dir, files: Vec::new(), skipped: Vec::new() };
        // The walk does not follow links, and the folder may be one.
        let root = folder.canonicalize().map_err(failed)?;
        let mut walk = WalkBuilder::new(&root);
        walk.require_git(false).git_global(false).sort_by_file_path(Path::cmp);
        walk.filter_entry(|entry| {
            let name = entry.file_name().to_str();
            entry.depth() == 0 || !entry.path().is_dir() || !name.is_some_and(|name| BUILT.contains(&name))
        });
        let mut total = 0;
        // A folder that cannot be entered is none of the source, as for whoever builds it.
        for entry in walk.build().filter_map(Result::ok) {
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let Some(path) = entry.path().strip_prefix(&root).ok().filter(|_| is_file) else { continue };
            let Some(syntax) = Syntax::of(path) else { continue };
            let Some(text) = source.text(path) else {
                source.skipped.push(path.to_owned());
                continue;
            };
            total += text.len() as u64;
            if source.files.len() >= MAX_FILES || total > MAX_TOTAL {
                return Err(SuggestError::TooLarge { path: folder.to_owned(), limit: MAX_FILES, total: MAX_TOTAL });
            }
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let stem = name.split('.').next().unwrap_or_default();
            let is_beside =
                BESIDE.iter().any(|part| name.contains(part)) || path.iter().any(|part| part == "__tests__");
            let markup = if is_beside { Markup::default() } else { Markup::read(&text, syntax, stem) };
            if markup.is_cut {
                source.skipped.push(path.to_owned());
            }
            let parts: Vec<_> = path.iter().map(OsStr::to_string_lossy).collect();
            source.files.push(SourceFile { path: parts.join("/"), text, markup });
        }
        Ok(source)
    }

    /// `None` for a file that nobody writes by hand, and one that cannot be read.
    fn text(&self, path: &Path) -> Option<String> {
        let mut bytes = Vec::new();
        self.dir.open(path).ok()?.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_FILE)?;
        text.lines().all(|line| line.len() <= MAX_LINE).then_some(text)
    }

    /// Replaces files by new content, where they still are what was read.
    pub(crate) fn write(&self, changes: &[(&SourceFile, String)]) -> Result<(), SuggestError> {
        for (file, _) in changes {
            let path = PathBuf::from(&file.path);
            let is_file = self.dir.symlink_metadata(&path).is_ok_and(|about| about.is_file());
            if !is_file {
                return Err(SuggestError::Outside { path });
            }
            if self.text(&path).as_ref() != Some(&file.text) {
                return Err(SuggestError::Changed { path });
            }
        }
        for (file, text) in changes {
            let path = Path::new(&file.path);
            self.replace(path, text).map_err(|source| SuggestError::Write { path: path.to_owned(), source })?;
        }
        Ok(())
    }

    fn replace(&self, path: &Path, text: &str) -> io::Result<()> {
        let draft = path.with_file_name(format!(".cuebook-{}.tmp", std::process::id()));
        let written = (|| {
            let permissions = self.dir.metadata(path)?.permissions();
            let mut file = self.dir.open_with(&draft, OpenOptions::new().write(true).create_new(true))?;
            file.set_permissions(permissions)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            self.dir.rename(&draft, &self.dir, path)
        })();
        if written.is_err() {
            self.dir.remove_file(&draft).ok();
        }
        written
    }
}
