//! Writes the log: one thread owns the file, and each entry is on the disk before its call returns.
//!
//! Invariants:
//! - No log, no action: after the first error every entry is rejected, so that an incomplete line is the last one.
//! - A call whose future is dropped may or may not write its entry, but never a part of it. Entries stay in order.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use cuebook_grammar::id::RunId;
use cuebook_grammar::observation::Observation;
use cuebook_grammar::record::{
    ObservationRecord, PlanningRecord, RECORD_VERSION, RunEnd, RunHeader, StepIntent, StepRecord,
};
use cuebook_grammar::redaction::RedactError;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink as _, Redactor, StepLog, StepTicket};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};

use crate::artifact::ArtifactStore;
use crate::error::{DataError, Doing};
use crate::log::entry::EntryKind;
use crate::log::ledger::Ledger;
use crate::log::observed::Encoder;
use crate::run_dir::{RunDir, sync_dir};

/// The log of one run as a file. Dropping it ends its thread after the pending entries.
pub struct JsonlLog {
    jobs: mpsc::Sender<Job>,
    path: PathBuf,
    ledger: Ledger,
    redactor: Option<Arc<dyn Redactor>>,
    store: ArtifactStore,
    encoder: Encoder,
}

/// Capacity of the queue of entries. More than one are pending only if futures were dropped.
const QUEUE: usize = 8;

impl JsonlLog {
    /// Creates the log in the folder of the run, durably, and starts the thread that owns it. Every entry goes through
    /// `redactor`, as the last line of defence.
    ///
    /// # Errors
    /// [`DataError::Io`], also if the log exists.
    pub fn create(dir: &RunDir, redactor: Option<Arc<dyn Redactor>>) -> Result<Self, DataError> {
        let path = dir.log_path();
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(DataError::io(Doing::Create, &path))?;
        file.sync_all().map_err(DataError::io(Doing::Sync, &path))?;
        sync_dir(dir.path())?;
        Self::on(file, path, ArtifactStore::new(dir, redactor.clone()), redactor)
    }

    fn on(
        disk: impl Disk,
        path: PathBuf,
        store: ArtifactStore,
        redactor: Option<Arc<dyn Redactor>>,
    ) -> Result<Self, DataError> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name("step-log".into())
            .spawn(move || work(disk, receiver))
            .map_err(DataError::io(Doing::Create, &path))?;
        Ok(Self { jobs: sender, path, ledger: Ledger::default(), redactor, store, encoder: Encoder::default() })
    }

    async fn append<T: Serialize + DeserializeOwned>(&mut self, kind: EntryKind, body: &T) -> Result<(), DataError> {
        let line = match kind.line(body, self.redactor.as_deref()) {
            Ok(line) => line,
            Err(error) => {
                self.ledger.fail();
                return Err(error);
            }
        };
        let (done, answer) = oneshot::channel();
        let result = match self.jobs.send(Job { line, done }).await {
            Ok(()) => answer.await.unwrap_or(Err(Refusal::Earlier)),
            Err(_) => Err(Refusal::Earlier),
        };
        result.map_err(|refusal| {
            self.ledger.fail();
            match refusal {
                Refusal::Earlier => DataError::LogRefuses,
                Refusal::Now(doing, source) => DataError::Io { doing, path: self.path.clone(), source },
            }
        })
    }
}

impl StepLog for JsonlLog {
    type Error = DataError;

    async fn open(&mut self, header: &RunHeader) -> Result<(), DataError> {
        self.ledger.open(header)?;
        self.append(EntryKind::Header, header).await
    }

    async fn begin(&mut self, intent: &StepIntent) -> Result<StepTicket, DataError> {
        let ticket = self.ledger.begin(intent)?;
        self.append(EntryKind::Begin, intent).await?;
        Ok(ticket)
    }

    async fn commit(&mut self, ticket: StepTicket, record: &StepRecord) -> Result<(), DataError> {
        self.ledger.commit(&ticket, record)?;
        self.append(EntryKind::Commit, record).await
    }

    async fn planned(&mut self, record: &PlanningRecord) -> Result<(), DataError> {
        self.ledger.planned(record)?;
        self.append(EntryKind::Planning, record).await
    }

    async fn observed(&mut self, run_id: &RunId, ts_ms: u64, observation: &Observation) -> Result<(), DataError> {
        self.ledger.observed(run_id)?;
        let encoded = self.encoder.encode(observation).map_err(RedactError::from)?;
        let bytes = encoded.bytes.clone();
        let content = self.store.store(ArtifactKind::Observation, "application/json", bytes).await?;
        let record = ObservationRecord {
            schema_version: RECORD_VERSION.to_owned(),
            run_id: run_id.clone(),
            ts_ms,
            observation: observation.id,
            url: observation.url.clone(),
            base: encoded.base.clone(),
            content,
        };
        self.encoder.stored(encoded, &record.content.sha256);
        self.append(EntryKind::Observed, &record).await
    }

    async fn close(&mut self, end: &RunEnd) -> Result<(), DataError> {
        self.ledger.close(end)?;
        self.append(EntryKind::End, end).await
    }
}

struct Job {
    line: Vec<u8>,
    done: oneshot::Sender<Result<(), Refusal>>,
}

#[derive(Debug)]
enum Refusal {
    /// An entry before this one failed.
    Earlier,
    /// This entry failed.
    Now(Doing, io::Error),
}

/// The destination of lines: a file, or in tests one that fails.
trait Disk: Send + 'static {
    fn append(&mut self, line: &[u8]) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.write_all(line)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

fn work(mut disk: impl Disk, mut jobs: mpsc::Receiver<Job>) {
    while let Some(Job { line, done }) = jobs.blocking_recv() {
        let result = disk
            .append(&line)
            .map_err(|error| Refusal::Now(Doing::Write, error))
            .and_then(|()| disk.sync().map_err(|error| Refusal::Now(Doing::Sync, error)));
        let failed = result.is_err();
        // The caller may have dropped its future. The entry counts nevertheless.
        let _ = done.send(result);
        if failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use cuebook_grammar::report::RunResult;

    use super::*;

    /// Succeeds `good` times, then fails.
    struct Failing {
        good: u32,
        at: Doing,
    }

    impl Disk for Failing {
        fn append(&mut self, _: &[u8]) -> io::Result<()> {
            self.fail_at(Doing::Write)
        }
        fn sync(&mut self) -> io::Result<()> {
            self.fail_at(Doing::Sync)?;
            self.good = self.good.saturating_sub(1);
            Ok(())
        }
    }

    impl Failing {
        fn fail_at(&self, doing: Doing) -> io::Result<()> {
            if self.good == 0 && self.at == doing { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    /// A store that is not used.
    fn nowhere() -> ArtifactStore {
        let out = tempfile::tempdir().unwrap();
        ArtifactStore::new(&RunDir::create(out.path(), &RunId::new("r1")).unwrap(), None)
    }

    fn header() -> RunHeader {
        RunHeader {
            schema_version: RECORD_VERSION.into(),
            run_id: RunId::new("r1"),
            ts_ms: 0,
            cuebook: "0".into(),
            browser: None,
            browser_path: None,
            command: "exec".into(),
            task: None,
            url: None,
        }
    }

    fn end() -> RunEnd {
        RunEnd { run_id: RunId::new("r1"), ts_ms: 1, result: RunResult::Ok }
    }

    #[tokio::test]
    async fn a_disk_that_fails_is_an_error_and_the_log_rejects_later_entries() {
        for at in [Doing::Write, Doing::Sync] {
            let mut log = JsonlLog::on(Failing { good: 1, at }, "log".into(), nowhere(), None).unwrap();
            log.open(&header()).await.unwrap();
            let error = log.close(&end()).await.unwrap_err();
            assert!(matches!(&error, DataError::Io { doing, .. } if *doing == at), "{error}");
            assert!(matches!(log.close(&end()).await, Err(DataError::LogRefuses)));
        }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_full_disk_is_an_error() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut log = JsonlLog::on(full, "/dev/full".into(), nowhere(), None).unwrap();
        let error = log.open(&header()).await.unwrap_err();
        assert!(
            matches!(&error, DataError::Io { doing: Doing::Write, source, .. } if source.kind() == io::ErrorKind::StorageFull),
            "{error:?}"
        );
        assert!(matches!(log.close(&end()).await, Err(DataError::LogRefuses)));
    }
}
