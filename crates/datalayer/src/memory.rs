//! A log and a store of artifacts in memory, with the rules of those on disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{EventRecord, PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink, StepLog, StepTicket};

use crate::artifact_name::reference;
use crate::error::DataError;
use crate::log::{Entry, Ledger};

/// A log in memory, of one or more consecutive runs. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    inner: Arc<Mutex<(Ledger, Vec<Entry>)>>,
}

impl MemoryLog {
    /// The entries so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().1.clone()
    }

    /// The records of the committed steps.
    #[must_use]
    pub fn steps(&self) -> Vec<StepRecord> {
        let records = self.entries().into_iter().filter_map(|entry| match entry {
            Entry::Commit(record) => Some(*record),
            _ => None,
        });
        records.collect()
    }

    /// The calls of models so far.
    #[must_use]
    pub fn calls(&self) -> Vec<PlanningRecord> {
        let records = self.entries().into_iter().filter_map(|entry| match entry {
            Entry::Planning(record) => Some(*record),
            _ => None,
        });
        records.collect()
    }

    fn lock(&self) -> MutexGuard<'_, (Ledger, Vec<Entry>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StepLog for MemoryLog {
    type Error = DataError;

    async fn open(&mut self, header: &RunHeader) -> Result<(), DataError> {
        let (ledger, entries) = &mut *self.lock();
        if ledger.is_closed() {
            *ledger = Ledger::default();
        }
        ledger.open(header)?;
        entries.push(Entry::Header(Box::new(header.clone())));
        Ok(())
    }

    async fn begin(&mut self, intent: &StepIntent) -> Result<StepTicket, DataError> {
        let (ledger, entries) = &mut *self.lock();
        let ticket = ledger.begin(intent)?;
        entries.push(Entry::Begin(Box::new(intent.clone())));
        Ok(ticket)
    }

    async fn commit(&mut self, ticket: StepTicket, record: &StepRecord) -> Result<(), DataError> {
        let (ledger, entries) = &mut *self.lock();
        ledger.commit(&ticket, record)?;
        entries.push(Entry::Commit(Box::new(record.clone())));
        Ok(())
    }

    async fn planned(&mut self, record: &PlanningRecord) -> Result<(), DataError> {
        let (ledger, entries) = &mut *self.lock();
        ledger.planned(record)?;
        entries.push(Entry::Planning(Box::new(record.clone())));
        Ok(())
    }

    async fn happened(&mut self, record: &EventRecord) -> Result<(), DataError> {
        let (ledger, entries) = &mut *self.lock();
        ledger.between(&record.run_id)?;
        entries.push(Entry::Event(Box::new(record.clone())));
        Ok(())
    }

    async fn close(&mut self, end: &RunEnd) -> Result<(), DataError> {
        let (ledger, entries) = &mut *self.lock();
        ledger.close(end)?;
        entries.push(Entry::End(Box::new(end.clone())));
        Ok(())
    }
}

/// Artifacts in memory, by digest. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryArtifacts {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl MemoryArtifacts {
    /// The content of an artifact.
    #[must_use]
    pub fn read(&self, reference: &ArtifactRef) -> Option<Vec<u8>> {
        self.lock().get(&reference.sha256).cloned()
    }

    /// The number of distinct contents.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ArtifactSink for MemoryArtifacts {
    type Error = DataError;

    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, DataError> {
        let reference = reference(kind, media_type, &bytes);
        self.lock().insert(reference.sha256.clone(), bytes);
        Ok(reference)
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::id::RunId;
    use cuebook_grammar::record::{RECORD_VERSION, RunResult};

    use super::*;

    fn header(run: &str) -> RunHeader {
        RunHeader {
            schema_version: RECORD_VERSION.to_owned(),
            run_id: RunId::new(run),
            ts_ms: 0,
            cuebook: "test".to_owned(),
            browser: None,
            browser_path: None,
            command: "exec".to_owned(),
            task: None,
            url: None,
            plan: None,
            session: None,
            case: None,
        }
    }

    #[tokio::test]
    async fn a_second_run_begins_after_the_first_has_ended_and_not_before() {
        let mut log = MemoryLog::default();
        log.open(&header("r1")).await.unwrap();
        log.close(&RunEnd {
            run_id: RunId::new("r1"),
            ts_ms: 1,
            result: RunResult::Ok,
            conclusion: None,
            late: Default::default(),
        })
        .await
        .unwrap();
        log.open(&header("r2")).await.unwrap();
        assert_eq!(log.entries().len(), 3);
        assert!(log.open(&header("r3")).await.is_err());
    }
}
