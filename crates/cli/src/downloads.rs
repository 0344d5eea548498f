//! `--downloads DIR`: what a run downloaded, as files for its user.
//!
//! Invariant: a name that a page suggests never leaves the directory, and no file there is overwritten.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use cuebook_grammar::report::RunReport;

/// The most files of one name.
const MOST: u32 = 1_000;

/// Copies what the steps of a run downloaded and kept.
pub(crate) fn copy(report: &RunReport, run: &Path, into: &Path) -> io::Result<()> {
    let effects = report.steps.iter().filter_map(|step| step.effects.as_ref());
    let downloads = effects.flat_map(|effects| effects.downloads.iter().chain(&effects.late.downloads));
    for download in downloads.chain(&report.late.downloads) {
        let Some(sha256) = &download.sha256 else { continue };
        let mut kept = File::open(artifact(run, sha256)?)?;
        fs::create_dir_all(into)?;
        io::copy(&mut kept, &mut fresh(into, &download.filename)?)?;
    }
    Ok(())
}

/// The artifact of a run with this digest.
fn artifact(run: &Path, sha256: &str) -> io::Result<PathBuf> {
    let shelf = run.join("artifacts").join(sha256.get(..2).unwrap_or_default());
    for entry in fs::read_dir(shelf)? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == sha256) {
            return Ok(path);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("the run has no file {sha256}")))
}

/// A new file of this name, or of the next that is free: `ledger.csv`, `ledger (2).csv`.
fn fresh(into: &Path, suggested: &str) -> io::Result<File> {
    let safe = sanitize_filename::sanitize(suggested);
    let name = Path::new(if safe.is_empty() { "download" } else { &safe });
    let (stem, extension) = (name.file_stem().unwrap_or_default().to_string_lossy(), name.extension());
    let extension = extension.map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    for number in 1..=MOST {
        let name = if number == 1 { format!("{stem}{extension}") } else { format!("{stem} ({number}){extension}") };
        match OpenOptions::new().write(true).create_new(true).open(into.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened,
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{MOST} files are called {stem}{extension}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_the_directory_or_takes_the_place_of_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("here");
        fs::create_dir(&into).unwrap();
        let long = "x".repeat(4_000);
        for name in ["a.csv", "a.csv", "../a.csv", "/etc/passwd", "..", "", "C:\\x\\a.csv", "a\0\n.csv", &long] {
            fresh(&into, name).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&into).unwrap().count(), 9);
        assert!(into.join("a (2).csv").exists());
    }
}
