//! The storage of the logs, artifacts and reports of an agent's runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cuebook_datalayer::{ArtifactStore, DataError, JsonlLog, MemoryArtifacts, MemoryLog, RunDir, write_report};
use cuebook_grammar::id::RunId;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::boxed::BoxedStepLog;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, Redactor};

/// The storage of all runs.
pub(crate) struct Keeping {
    logs: Logs,
    artifacts: RunArtifacts,
}

enum Logs {
    /// In memory, until the next run.
    None,
    /// In one subfolder per run.
    Folders(PathBuf),
    /// In the caller's log.
    Given,
}

/// The storage of the current run.
pub(crate) struct RunStorage {
    /// Replaces the log of the previous run.
    pub(crate) log: Option<Box<dyn BoxedStepLog>>,
    pub(crate) dir: Option<RunDir>,
}

impl Keeping {
    pub(crate) fn nothing() -> Self {
        Self { logs: Logs::None, artifacts: RunArtifacts::default() }
    }

    pub(crate) fn given() -> Self {
        Self { logs: Logs::Given, artifacts: RunArtifacts::default() }
    }

    pub(crate) fn in_folders(runs: PathBuf) -> Self {
        Self { logs: Logs::Folders(runs), artifacts: RunArtifacts::default() }
    }

    /// The artifacts of the current run.
    pub(crate) const fn artifacts(&self) -> &RunArtifacts {
        &self.artifacts
    }

    /// Prepares for a run. A folder that cannot be written is an error before anything acts.
    pub(crate) fn begin(&self, run_id: &RunId, redactor: &Arc<dyn Redactor>) -> Result<RunStorage, DataError> {
        let runs = match &self.logs {
            Logs::Folders(runs) => runs,
            Logs::None | Logs::Given => {
                self.artifacts.put(Store::Memory(MemoryArtifacts::default()));
                let is_given = matches!(self.logs, Logs::Given);
                let log: Option<Box<dyn BoxedStepLog>> =
                    if is_given { None } else { Some(Box::new(MemoryLog::default())) };
                return Ok(RunStorage { log, dir: None });
            }
        };
        let dir = RunDir::create(runs, run_id)?;
        let log = JsonlLog::create(&dir, Some(redactor.clone()))?;
        self.artifacts.put(Store::Folder(ArtifactStore::new(&dir, Some(redactor.clone()))));
        Ok(RunStorage { log: Some(Box::new(log)), dir: Some(dir) })
    }
}

impl RunStorage {
    /// Writes the report into the folder of the run. An error is only traced, because the log has the same content.
    pub(crate) fn end(&self, report: &RunReport, redactor: &dyn Redactor) {
        let Some(dir) = &self.dir else { return };
        if let Err(error) = write_report(dir, report, Some(redactor)) {
            tracing::warn!(%error, "the report cannot be written");
        }
    }
}

/// The artifacts of the current run. The executor holds a clone for the life of the agent, so the store behind it is
/// replaced for each run.
#[derive(Clone, Default)]
pub(crate) struct RunArtifacts(Arc<Mutex<Store>>);

#[derive(Clone)]
enum Store {
    Memory(MemoryArtifacts),
    Folder(ArtifactStore),
}

impl Default for Store {
    fn default() -> Self {
        Self::Memory(MemoryArtifacts::default())
    }
}

impl RunArtifacts {
    fn put(&self, store: Store) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = store;
    }
}

impl ArtifactSink for RunArtifacts {
    type Error = DataError;

    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, DataError> {
        let store = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match store {
            Store::Memory(store) => store.store(kind, media_type, bytes).await,
            Store::Folder(store) => store.store(kind, media_type, bytes).await,
        }
    }
}
