//! Shared code of the commands that export: the runs, the progress, the folder on the way, and the reason if there is
//! no export.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cuebook_datalayer::RunDir;
use cuebook_export::ExportError;
use cuebook_grammar::report::ErrorCode;

use crate::exit::{Output, Refusal};
use crate::progress;
use crate::text::with_sources;

/// How often a terminal hears how far it is.
const PAUSE: Duration = Duration::from_secs(1);

/// The runs below these folders.
pub(crate) fn runs(below: &[PathBuf]) -> Result<Vec<RunDir>, Refusal> {
    RunDir::find(below).map_err(|error| Refusal::invalid(ErrorCode::Unreadable, with_sources(&error)))
}

/// Says on a terminal how far it is.
pub(crate) fn progress(output: Output) -> impl FnMut(usize, usize) {
    let is_shown = !output.quiet && std::io::stderr().is_terminal();
    let mut said = Instant::now();
    move |read: usize, of: usize| {
        if is_shown && read < of && said.elapsed() >= PAUSE {
            progress::say(&format!("{read} of {of} runs"));
            said = Instant::now();
        }
    }
}

/// Why there is no export.
pub(crate) fn refusal(error: ExportError) -> Refusal {
    let message = with_sources(&error);
    match error {
        ExportError::OtherExport { .. }
        | ExportError::Changed { .. }
        | ExportError::Address { .. }
        | ExportError::Redaction { .. } => Refusal::invalid(ErrorCode::Usage, message),
        ExportError::Data(_) | ExportError::Redact(_) => Refusal::invalid(ErrorCode::Unreadable, message),
        _ => Refusal::unusable(ErrorCode::CannotWrite, message),
    }
}

/// Carries out blocking work in a temporary folder that only this user can read. It is removed at the end, and on the
/// first signal, which ends the command.
#[cfg(any(feature = "query", feature = "remote"))]
pub(crate) async fn in_temporary_folder<T: Send + 'static>(
    work: impl FnOnce(PathBuf) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let failed = |error: &dyn std::fmt::Display| {
        Refusal::unusable(ErrorCode::CannotWrite, format!("a temporary folder cannot be used: {error}"))
    };
    let guarded = async {
        let folder = tempfile::Builder::new().prefix("cuebook-export-").tempdir().map_err(|error| failed(&error))?;
        let path = folder.path().to_owned();
        tokio::task::spawn_blocking(move || work(path)).await.map_err(|error| failed(&error))?
    };
    crate::interrupt::Signals::listen().guard(guarded).await
}
