//! An export: the runs that can be read, handed to their format.

use std::collections::BTreeSet;

use cuebook_datalayer::RunDir;

use crate::error::ExportError;
use crate::folder::Folder;
use crate::format::{Format, Redaction};
use crate::job::{Exported, Job, Options};
use crate::judged::Judged;
use crate::mind2web::Mind2Web;
use crate::source::RunSource;
use crate::steplog::StepLog;
use crate::training::{Dataset, Examples, Preferences};
use crate::{har, otlp, parquet, playwright, recording};

/// Exports runs. `progress` hears after each run how many were read, and of how many. Blocks.
///
/// # Errors
/// [`ExportError`]. Files that were finished before stay, and the next export goes on from there.
pub fn export(
    runs: &[RunDir],
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Exported, ExportError> {
    if options.format == Format::Recording && options.redaction != Redaction::None {
        let (format, redaction) = (options.format.as_str(), options.redaction.as_str());
        return Err(ExportError::Redaction { format, redaction });
    }
    let folder = Folder::open(&options.out, options.format, options.redaction, options.rewrite)?;
    let mut exported = Exported::default();
    let mut ids = BTreeSet::new();
    let mut found = Vec::new();
    let mut judged = Judged::default();
    for dir in runs {
        match RunSource::open(dir, &mut judged) {
            Ok(run) if ids.insert(run.id.clone()) => found.push(run),
            Ok(run) => {
                exported.unreadable.push(format!("{}: a run of this id is exported already", run.path().display()))
            }
            Err(problem) => exported.unreadable.push(problem),
        }
    }
    found.sort_by(|a, b| (a.started_ms, &a.id).cmp(&(b.started_ms, &b.id)));
    exported.runs = found.len();
    let mut job = Job::new(folder, options.redaction, exported, progress);
    match options.format {
        Format::Parquet => parquet::export(&mut job, &found)?,
        Format::Vectors => parquet::export_vectors(&mut job, &found)?,
        Format::StepLog => job.lines(&found, "steps.jsonl", &mut StepLog)?,
        Format::Sft => job.lines(&found, "sft.jsonl", &mut Examples::of(options))?,
        Format::Preferences => job.lines(&found, "preferences.jsonl", &mut Preferences::default())?,
        Format::HuggingFace => job.lines(&found, "README.md", &mut Dataset::of(options))?,
        Format::PlaywrightTrace => job.each(&found, "zip", &playwright::trace)?,
        Format::PlaywrightTest => job.each(&found, "spec.ts", &playwright::test)?,
        Format::Recording => recording::export(&mut job, &found)?,
        Format::Har => job.each(&found, "har", &har::archive)?,
        Format::Otlp => job.each(&found, "otlp.jsonl", &otlp::trace)?,
        Format::Mind2Web => job.lines(&found, "mind2web.jsonl", &mut Mind2Web::default())?,
    }
    Ok(job.exported)
}
