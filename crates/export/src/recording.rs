//! Recordings: a run as a plan that replays it, with further ways to find each target, and what came of each step.

use std::collections::BTreeMap;

use cuebook_datalayer::replay::Recording;
use cuebook_datalayer::{DataError, Run, Unreplayable};
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::render::with_sources;

use crate::error::ExportError;
use crate::job::Job;
use crate::source::RunSource;

/// Writes a recording of each run. One that cannot be replayed has none, and is named.
pub(crate) fn export(job: &mut Job<'_>, runs: &[RunSource]) -> Result<(), ExportError> {
    for run in runs {
        match recording(run) {
            Ok(recording) => {
                let text = serde_json::to_string_pretty(&recording)? + "\n";
                job.each(std::slice::from_ref(run), "recording.json", &|_, _, part| part.write(text.as_bytes()))?;
            }
            Err(error @ DataError::Unreplayable { .. }) => {
                job.exported.unreadable.push(format!("{}: {}", run.path().display(), with_sources(&error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The recording of a run. Texts that are kept secret become the secrets `secret_1`, `secret_2`, … in the order of the steps.
fn recording(run: &RunSource) -> Result<Recording, DataError> {
    let log = Run::read(&run.dir().log_path())?;
    let mut credentials = BTreeMap::new();
    loop {
        match Recording::of(&log, &credentials) {
            Err(DataError::Unreplayable { step: Some(step), why: Unreplayable::Text, .. })
                if !credentials.contains_key(&step) =>
            {
                credentials.insert(step, CredentialRef::new(format!("secret_{}", credentials.len() + 1)));
            }
            recording => return recording?.with_traffic(run.dir()),
        }
    }
}
