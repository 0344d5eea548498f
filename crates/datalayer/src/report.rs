//! Writes the report of a run into its folder.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use cuebook_grammar::redaction::redacted_json;
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::Redactor;

use crate::error::{DataError, Doing};
use crate::run_dir::{RunDir, sync_dir};

/// Writes `report.json` atomically, redacted, and replaces an existing one. Blocks for one write and one sync. Returns its
/// path.
///
/// # Errors
/// [`DataError::Io`], or [`DataError::Redact`].
pub fn write_report(dir: &RunDir, report: &RunReport, redactor: Option<&dyn Redactor>) -> Result<PathBuf, DataError> {
    let mut json = redacted_json(report, redactor)?;
    json.push('\n');
    let path = dir.report_path();
    let part = path.with_extension("part");
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(json.as_bytes())?;
        file.sync_data()
    };
    write().map_err(DataError::io(Doing::Write, &part))?;
    fs::rename(&part, &path).map_err(DataError::io(Doing::Rename, &path))?;
    sync_dir(dir.path())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::RunId;
    use cuebook_grammar::outcome::Cause;
    use cuebook_grammar::report::{RunError, RunResult};

    use super::*;
    use crate::redactor::ValueRedactor;

    fn report(message: &str) -> RunReport {
        let error = RunError::new(Cause::TargetNotFound, message);
        RunReport::without_run(RunResult::Failed, Some(error))
    }

    #[test]
    fn a_report_replaces_the_one_before_and_holds_no_secret() {
        let out = tempfile::tempdir().unwrap();
        let dir = RunDir::create(out.path(), &RunId::new("r1")).unwrap();
        write_report(&dir, &report("first"), None).unwrap();
        let redactor = ValueRedactor::new(["hunter22"]);
        let path = write_report(&dir, &report("saw hunter22"), Some(&redactor)).unwrap();
        assert_eq!(path, dir.report_path());
        let read: RunReport = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read, report("saw [redacted]"));
        assert!(!path.with_extension("part").exists());
    }

    #[test]
    fn a_folder_in_place_of_the_report_is_an_error() {
        let out = tempfile::tempdir().unwrap();
        let dir = RunDir::create(out.path(), &RunId::new("r1")).unwrap();
        fs::create_dir(dir.report_path()).unwrap();
        let error = write_report(&dir, &report("x"), None).unwrap_err();
        assert!(matches!(error, DataError::Io { doing: Doing::Rename, .. }), "{error}");
    }
}
