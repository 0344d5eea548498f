//! A file that a command writes at its end, and whose place is tried at its start.
//!
//! Invariant: a file that cannot be written whole leaves nothing behind, and nothing is done in vain that it was to hold.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use cuebook_grammar::report::ErrorCode;
use tempfile::NamedTempFile;

use crate::exit::Refusal;
use crate::text::plain;

/// The file to be, still under another name.
pub(crate) struct NewFile {
    file: NamedTempFile,
    path: PathBuf,
    replaces: bool,
}

impl NewFile {
    /// Takes the place of a file. `instead` says what to do if one is there and is not to be replaced.
    pub(crate) fn at(path: &Path, replaces: bool, instead: &str) -> Result<Self, Refusal> {
        if !replaces && path.exists() {
            return Err(refusal(path, &format!("it exists; {instead}")));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.prefix(".cuebook-").tempfile_in(folder);
        let file = file.map_err(|error| refusal(path, &error))?;
        Ok(Self { file, path: path.to_owned(), replaces })
    }

    /// Writes its text, and gives the file its name.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Refusal> {
        self.file.write_all(text.as_bytes()).map_err(|error| refusal(&self.path, &error))?;
        let kept = if self.replaces { self.file.persist(&self.path) } else { self.file.persist_noclobber(&self.path) };
        kept.map(drop).map_err(|error| refusal(&self.path, &error.error))
    }
}

fn refusal(path: &Path, why: &dyn std::fmt::Display) -> Refusal {
    Refusal::unusable(ErrorCode::CannotWrite, format!("{}: {why}", plain(&path.display().to_string())))
}
