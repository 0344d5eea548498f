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
    EventRecord, ObservationRecord, PlanningRecord, RECORD_VERSION, RunEnd, RunHeader, StepIntent, StepRecord,
};
use cuebook_grammar::redaction::RedactError;
use cuebook_grammar::seam::{ArtifactKind, ArtifactSink as _, Redactor, StepLog, StepTicket};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};

use crate::artifact::ArtifactStore;
use crate::error::{DataError, Doing};
use crate::log::clock::StepClock;
use crate::log::entry::EntryKind;
use crate::log::ledger::Ledger;
use crate::log::observed::Encoder;
use crate::run_dir::{RunDir, sync_dir, try_lock};

/// The log of one run as a file. Dropping it ends its thread after the pending entries.
pub struct JsonlLog {
    jobs: mpsc::Sender<Job>,
    path: PathBuf,
    ledger: Ledger,
    redactor: Option<Arc<dyn Redactor>>,
    store: ArtifactStore,
    encoder: Encoder,
    clock: StepClock,
    /// Steps whose commit is durable.
    committed: u32,
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
        try_lock(&file);
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
        Ok(Self {
            jobs: sender,
            path,
            ledger: Ledger::default(),
            redactor,
            store,
            encoder: Encoder::default(),
            clock: StepClock::default(),
            committed: 0,
        })
    }

    /// The times at which its steps begin.
    #[must_use]
    pub fn clock(&self) -> StepClock {
        self.clock.clone()
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
                Refusal::Now(doing, source) => {
                    let (path, committed) = (self.path.clone(), self.committed);
                    DataError::LogFails { doing, path, committed, source }
                }
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
        self.clock.begun(intent.ts_ms, intent.step_index);
        Ok(ticket)
    }

    async fn commit(&mut self, ticket: StepTicket, record: &StepRecord) -> Result<(), DataError> {
        self.ledger.commit(&ticket, record)?;
        self.append(EntryKind::Commit, record).await?;
        self.committed = self.committed.saturating_add(1);
        Ok(())
    }

    async fn planned(&mut self, record: &PlanningRecord) -> Result<(), DataError> {
        self.ledger.planned(record)?;
        self.append(EntryKind::Planning, record).await
    }

    async fn observed(&mut self, run_id: &RunId, ts_ms: u64, observation: &Observation) -> Result<(), DataError> {
        self.ledger.between(run_id)?;
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

    async fn happened(&mut self, record: &EventRecord) -> Result<(), DataError> {
        self.ledger.between(&record.run_id)?;
        self.append(EntryKind::Event, record).await
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
    /// This entry could not be written or synced to the disk.
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
    use std::sync::Mutex;

    use cuebook_grammar::report::RunResult;
    use serde_json::json;

    use super::*;
    use crate::log::Run;

    /// A file as a crash may leave it: what was synced is there, of the rest some first part.
    #[derive(Default)]
    struct Medium {
        synced: Vec<u8>,
        pending: Vec<u8>,
        operations: u32,
    }

    /// Carries out `good` operations and breaks at the next one, which then has written a part of its line.
    struct Failing {
        medium: Arc<Mutex<Medium>>,
        good: u32,
        part: fn(&[u8]) -> usize,
    }

    impl Failing {
        fn after(good: u32, part: fn(&[u8]) -> usize) -> (Self, Arc<Mutex<Medium>>) {
            let medium = Arc::<Mutex<Medium>>::default();
            (Self { medium: medium.clone(), good, part }, medium)
        }

        fn operate(&self, line: &[u8]) -> io::Result<()> {
            let mut medium = self.medium.lock().unwrap();
            medium.operations += 1;
            let is_good = medium.operations <= self.good;
            let written = if is_good { line.len() } else { (self.part)(line) };
            medium.pending.extend(&line[..written]);
            if is_good { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
        }
    }

    impl Disk for Failing {
        fn append(&mut self, line: &[u8]) -> io::Result<()> {
            self.operate(line)
        }
        fn sync(&mut self) -> io::Result<()> {
            self.operate(&[])?;
            let mut medium = self.medium.lock().unwrap();
            let pending = std::mem::take(&mut medium.pending);
            medium.synced.extend(pending);
            Ok(())
        }
    }

    /// Runs three steps and returns the number that were begun, so that input was sent, the number that were reported,
    /// and the error.
    async fn run_on(disk: Failing) -> (usize, usize, Option<DataError>) {
        let part = |more: serde_json::Value| {
            let mut entry = json!({ "schemaVersion": RECORD_VERSION, "runId": "r1", "origin": "plan", "attempt": 1,
                                    "action": { "type": "click", "targetRef": "c1" } });
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            entry
        };
        let mut log = JsonlLog::on(disk, "log".into(), nowhere(), None).unwrap();
        let (mut acted, mut reported) = (0, 0);
        let mut write = async || {
            log.open(&header()).await?;
            for step in 0..3 {
                let intent = part(json!({ "stepIndex": step, "tsMs": 1 }));
                let ticket = log.begin(&serde_json::from_value(intent).unwrap()).await?;
                acted += 1;
                let record = part(json!({ "stepIndex": step, "url": "http://a.test/", "risk": "write", "result": "ok",
                    "effectClass": "destructive", "execution": { "tsMs": 1, "durationMs": 1 } }));
                log.commit(ticket, &serde_json::from_value(record).unwrap()).await?;
                reported += 1;
            }
            log.close(&end()).await
        };
        let error = write().await.err();
        if error.is_some() {
            assert!(matches!(log.close(&end()).await, Err(DataError::LogRefuses)), "no log, no action");
        }
        (acted, reported, error)
    }

    #[tokio::test]
    async fn a_failed_write_or_sync_loses_no_reported_step_and_hides_no_begun_one() {
        let (disk, medium) = Failing::after(u32::MAX, <[u8]>::len);
        assert_eq!((run_on(disk).await.0, medium.lock().unwrap().operations), (3, 16), "8 entries, each synced");
        for good in 0..16 {
            for part in [|_: &[u8]| 0, |line: &[u8]| line.len() / 2, <[u8]>::len] {
                let (disk, medium) = Failing::after(good, part);
                let (acted, reported, error) = run_on(disk).await;
                let said = cuebook_grammar::render::with_sources(&error.unwrap());
                assert!(said.contains(&format!("{reported} steps")), "{said}");
                let Medium { synced, pending, .. } = &*medium.lock().unwrap();
                for survived in 0..=pending.len() {
                    let left = [synced, &pending[..survived]].concat();
                    let run = Run::read_bytes(&left).unwrap_or_else(|error| panic!("{good} {survived}: {error}"));
                    let begun = run.steps.len() + run.open.len();
                    assert!((reported..=reported + 1).contains(&run.steps.len()), "{good} {survived}: {run:?}");
                    assert!((acted..=acted + 1).contains(&begun) && run.open.len() <= 1, "{good} {survived}: {run:?}");
                    assert_eq!(run.torn.is_some(), !left.is_empty() && !left.ends_with(b"\n"), "{good} {survived}");
                }
            }
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
            plan: None,
            session: None,
            case: None,
        }
    }

    fn end() -> RunEnd {
        RunEnd { run_id: RunId::new("r1"), ts_ms: 1, result: RunResult::Ok, conclusion: None, late: Default::default() }
    }

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_full_disk_is_an_error() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut log = JsonlLog::on(full, "/dev/full".into(), nowhere(), None).unwrap();
        let error = log.open(&header()).await.unwrap_err();
        assert!(
            matches!(&error, DataError::LogFails { doing: Doing::Write, committed: 0, source, .. }
                if source.kind() == io::ErrorKind::StorageFull),
            "{error:?}"
        );
        assert!(matches!(log.close(&end()).await, Err(DataError::LogRefuses)));
    }
}
