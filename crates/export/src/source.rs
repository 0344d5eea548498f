//! The entries of a run, one after another, redacted.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use cuebook_datalayer::traffic::Exchanges;
use cuebook_datalayer::{ArtifactStore, DataError, Entries, Entry, Observations, RunDir};
use cuebook_grammar::action::Action;
use cuebook_grammar::id::ObservationId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{ObservationRecord, PlanningRecord, RunEnd, RunHeader, RunResult, StepRecord};
use cuebook_grammar::render::with_sources;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::error::ExportError;
use crate::format::Redaction;
use crate::judged::Judged;
use crate::redaction::Redact as _;

/// Bytes of a log that hold its last entry: an answer and the conditions of a goal have bounds.
const TAIL: u64 = 256 << 10;

/// Observations that are kept while the steps that were decided on them are read.
const KEPT: usize = 8;

/// A run that can be exported: its log has a header.
pub(crate) struct RunSource {
    dir: RunDir,
    /// The id in its log.
    pub(crate) id: String,
    /// Its start: milliseconds since 1970.
    pub(crate) started_ms: u64,
    /// The length of its log.
    pub(crate) bytes: u64,
    /// How it ended. A log without an end may still grow.
    pub(crate) result: Option<RunResult>,
    /// `true` if the judges of an evaluation found that its task was not done, though it says so.
    pub(crate) is_refuted: bool,
    /// `true` if its planner ended it by `fail`.
    pub(crate) gave_up: bool,
}

/// Entry of a log that formats read, in the log's order.
pub(crate) enum ExportEntry {
    Header(Box<RunHeader>),
    /// A page, with its content where that can be read.
    Observed(Box<ObservationRecord>),
    Planning(Box<PlanningRecord>),
    Step(Box<StepRecord>),
    End(Box<RunEnd>),
}

impl ExportEntry {
    /// Without what the profile removes; `None` for entries that no format reads.
    fn redacted(entry: Entry, redaction: Redaction) -> Result<Option<Self>, ExportError> {
        Ok(Some(match entry {
            Entry::Header(header) => Self::Header(Box::new(header.redacted(redaction)?)),
            Entry::Planning(record) => Self::Planning(Box::new(record.redacted(redaction)?)),
            Entry::Commit(record) => Self::Step(Box::new(record.redacted(redaction)?)),
            Entry::End(end) => Self::End(Box::new(end.redacted(redaction)?)),
            Entry::Observed(record) => Self::Observed(Box::new(record.redacted(redaction)?)),
            _ => return Ok(None),
        }))
    }
}

/// Reader of the entries of a run.
pub(crate) trait Reader {
    /// Takes the next entry. `pages` are the pages that were observed last.
    fn take(&mut self, seen: ExportEntry, pages: &Pages) -> Result<(), ExportError>;
}

impl<F: FnMut(ExportEntry, &Pages) -> Result<(), ExportError>> Reader for F {
    fn take(&mut self, seen: ExportEntry, pages: &Pages) -> Result<(), ExportError> {
        self(seen, pages)
    }
}

/// The pages of a run that were observed last.
#[derive(Default)]
pub(crate) struct Pages(VecDeque<Observation>);

impl Pages {
    pub(crate) fn get(&self, id: ObservationId) -> Option<&Observation> {
        self.0.iter().rev().find(|page| page.id == id)
    }

    pub(crate) fn last(&self) -> Option<&Observation> {
        self.0.back()
    }

    fn add(&mut self, page: Observation) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(page);
    }
}

impl RunSource {
    pub(crate) fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// Reads the first and the last line of its log, and its verdict in an evaluation.
    ///
    /// # Errors
    /// Why it cannot be exported, in words.
    pub(crate) fn open(dir: &RunDir, judged: &mut Judged) -> Result<Self, String> {
        let path = dir.log_path();
        let problem = |error: DataError| format!("{}: {}", path.display(), with_sources(&error));
        let first = Entries::open(&path).map_err(problem)?.next().transpose().map_err(problem)?;
        let Some(Entry::Header(header)) = first else { return Err(format!("{}: no complete entry", path.display())) };
        let (bytes, end) = tail(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let conclusion = end.as_ref().and_then(|end| end.conclusion.as_ref());
        Ok(Self {
            dir: dir.clone(),
            id: header.run_id.as_str().to_owned(),
            started_ms: header.ts_ms,
            bytes,
            gave_up: conclusion.is_some_and(|conclusion| matches!(conclusion.step.action, Action::Fail(_))),
            result: end.map(|end| end.result),
            is_refuted: judged.refutes(dir)?,
        })
    }

    /// Returns `true` if it did its task, as far as anybody knows.
    pub(crate) fn ended_well(&self) -> bool {
        self.result == Some(RunResult::Ok) && !self.is_refuted
    }

    /// Its recorded traffic, if there is any.
    pub(crate) fn traffic(&self) -> Result<Option<Exchanges>, DataError> {
        Ok(Exchanges::open(&self.dir)?.map(|(_, exchanges)| exchanges))
    }

    /// Store of the run's artifacts, without a redactor.
    pub(crate) fn store(&self) -> ArtifactStore {
        ArtifactStore::new(&self.dir, None)
    }

    /// Path of the run's folder.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// A name for files of the run: that of its folder, if the run calls itself so and it is a plain name.
    pub(crate) fn name(&self) -> String {
        let is_plain = self.id.len() <= 100
            && self.id.starts_with(|c: char| c.is_ascii_alphanumeric())
            && self.id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        let is_folder = self.dir.path().file_name().is_some_and(|name| name == self.id.as_str());
        if is_plain && is_folder { self.id.clone() } else { format!("run-{}", digest([self.id.as_bytes()])) }
    }

    /// Hands every entry to `reader`, as long as they can be read. Returns why the rest cannot.
    ///
    /// # Errors
    /// Those of `reader`.
    pub(crate) fn read(&self, redaction: Redaction, reader: &mut dyn Reader) -> Result<Option<String>, ExportError> {
        match self.read_all(redaction, reader) {
            Err(error @ ExportError::Redact(_)) => {
                Ok(Some(format!("{}: {}", self.dir.log_path().display(), with_sources(&error))))
            }
            read => read,
        }
    }

    fn read_all(&self, redaction: Redaction, reader: &mut dyn Reader) -> Result<Option<String>, ExportError> {
        let log = self.dir.log_path();
        let store = ArtifactStore::new(&self.dir, None);
        let mut observations = Observations::following(store);
        let mut pages = Pages::default();
        let mut problem = None;
        let problem_of = |error: &DataError| format!("{}: {}", log.display(), with_sources(error));
        for entry in Entries::open(&log)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Ok(Some(problem_of(&error))),
            };
            if let Entry::Observed(record) = &entry {
                observations.add((**record).clone());
                match observations.read(record.observation) {
                    Ok(Some(page)) => pages.add(page.redacted(redaction)?),
                    Ok(None) => {}
                    // The log is whole without it; files of a run may be cleaned away.
                    Err(error) => problem = problem.or_else(|| Some(problem_of(&error))),
                }
            }
            let Some(seen) = ExportEntry::redacted(entry, redaction)? else { continue };
            reader.take(seen, &pages)?;
        }
        Ok(problem)
    }

    /// A picture of the run, compared with its digest; `None` if it cannot be read.
    pub(crate) fn picture(&self, artifact: &ArtifactRef) -> Option<Vec<u8>> {
        ArtifactStore::new(&self.dir, None).read(artifact).ok()
    }
}

/// The length of a log, and its last entry, if that is its end.
fn tail(path: &std::path::Path) -> std::io::Result<(u64, Option<RunEnd>)> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let last = tail.strip_suffix(b"\n").and_then(|whole| whole.rsplit(|byte| *byte == b'\n').next());
    let end = match last.and_then(|line| Entry::read(line).ok().flatten()) {
        Some(Entry::End(end)) => Some(*end),
        _ => None,
    };
    Ok((bytes, end))
}

/// 16 hexadecimal digits that stand for these parts and their order.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// An enum of words as it is spelled on the wire.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => other.map_or_else(|_| String::new(), |value| value.to_string()),
    }
}
