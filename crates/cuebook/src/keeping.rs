//! Where the logs, artifacts and reports of an agent's runs go.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cuebook_datalayer::{ArtifactStore, DataError, JsonlLog, MemoryArtifacts, MemoryLog, RunDir, write_report};
use cuebook_grammar::id::RunId;
use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::report::RunReport;
use cuebook_grammar::seam::boxed::BoxedStepLog;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, Redactor};

/// What is kept of runs, and where.
pub(crate) struct Keeping {
    logs: Logs,
    artifacts: RunArtifacts,
}

enum Logs {
    /// In memory, until the next run.
    None,
    /// In a folder a run, under this one.
    Folders(PathBuf),
    /// In the caller's log.
    Given,
}

/// What is kept of the run at hand.
pub(crate) struct Kept {
    /// In place of the log of the run before.
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

    /// Where the artifacts of the run at hand go.
    pub(crate) const fn artifacts(&self) -> &RunArtifacts {
        &self.artifacts
    }

    /// Gets ready for a run. What cannot be written is an error before anything acts.
    pub(crate) fn begin(&self, run_id: &RunId, redactor: &Arc<dyn Redactor>) -> Result<Kept, DataError> {
        let runs = match &self.logs {
            Logs::Folders(runs) => runs,
            Logs::None | Logs::Given => {
                self.artifacts.put(Store::Memory(MemoryArtifacts::default()));
                let is_given = matches!(self.logs, Logs::Given);
                let log: Option<Box<dyn BoxedStepLog>> =
                    if is_given { None } else { Some(Box::new(MemoryLog::default())) };
                return Ok(Kept { log, dir: None });
            }
        };
        let dir = RunDir::create(runs, run_id)?;
        let log = JsonlLog::create(&dir, Some(redactor.clone()))?;
        self.artifacts.put(Store::Folder(ArtifactStore::new(&dir, Some(redactor.clone()))));
        Ok(Kept { log: Some(Box::new(log)), dir: Some(dir) })
    }
}

impl Kept {
    /// Adds the report to the folder of the run. The log has all of it already, so a report that cannot be written is
    /// only traced.
    pub(crate) fn end(&self, report: &RunReport, redactor: &dyn Redactor) {
        let Some(dir) = &self.dir else { return };
        if let Err(error) = write_report(dir, report, Some(redactor)) {
            tracing::warn!(%error, "the report could not be stored");
        }
    }
}

/// The artifacts of the run at hand. The executor holds it for as long as the agent lives, so what lies behind it
/// changes from run to run. Clones share it.
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
