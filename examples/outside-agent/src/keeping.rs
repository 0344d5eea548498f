//! The log, artifacts and traffic, in memory.

use std::collections::BTreeMap;

use cuebook_grammar::outcome::ArtifactRef;
use cuebook_grammar::record::{PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use cuebook_grammar::seam::{
    ArtifactKind, ArtifactSink, ExchangeTimes, FixtureSource, HttpReply, HttpRequest, StepLog, StepTicket, TrafficSink,
};
use sha2::{Digest as _, Sha256};

use crate::{FakeError, Shared};

/// One entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEntry {
    /// The beginning of the run; always the first entry.
    Header(Box<RunHeader>),
    /// A call of a model.
    Planning(Box<PlanningRecord>),
    /// A step that starts: it may send input from now on.
    Begin(Box<StepIntent>),
    /// A step that ran.
    Commit(Box<StepRecord>),
    /// The end of the run.
    End(Box<RunEnd>),
}

/// A step log in memory.
#[derive(Clone, Debug, Default)]
pub struct FakeLog {
    entries: Shared<Vec<LogEntry>>,
}

impl FakeLog {
    /// The entries, in order.
    #[must_use]
    pub fn entries(&self) -> Vec<LogEntry> {
        self.entries.lock().clone()
    }

    /// The records of the steps that ran, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<StepRecord> {
        let committed = |entry: &LogEntry| match entry {
            LogEntry::Commit(record) => Some((**record).clone()),
            _ => None,
        };
        self.entries.lock().iter().filter_map(committed).collect()
    }

    /// The calls of models, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<PlanningRecord> {
        let call = |entry: &LogEntry| match entry {
            LogEntry::Planning(record) => Some((**record).clone()),
            _ => None,
        };
        self.entries.lock().iter().filter_map(call).collect()
    }

    fn push(
        &self,
        expected: &'static str,
        may_follow: impl Fn(&[LogEntry]) -> bool,
        entry: LogEntry,
    ) -> Result<(), FakeError> {
        let mut entries = self.entries.lock();
        if !may_follow(&entries) {
            return Err(FakeError::OutOfOrder { expected });
        }
        entries.push(entry);
        Ok(())
    }
}

fn is_open(entries: &[LogEntry]) -> bool {
    !entries.is_empty() && !matches!(entries.last(), Some(LogEntry::End(_)))
}

impl StepLog for FakeLog {
    type Error = FakeError;

    async fn open(&mut self, header: &RunHeader) -> Result<(), FakeError> {
        self.push("one header", <[LogEntry]>::is_empty, LogEntry::Header(Box::new(header.clone())))
    }

    async fn begin(&mut self, intent: &StepIntent) -> Result<StepTicket, FakeError> {
        self.push("an open log", is_open, LogEntry::Begin(Box::new(intent.clone())))?;
        Ok(StepTicket { step_index: intent.step_index, attempt: intent.attempt })
    }

    async fn commit(&mut self, ticket: StepTicket, record: &StepRecord) -> Result<(), FakeError> {
        let key = (ticket.step_index, ticket.attempt);
        let may_follow = |entries: &[LogEntry]| {
            let count = |wanted: fn(&LogEntry) -> Option<(u32, u32)>| {
                entries.iter().filter(|entry| wanted(entry) == Some(key)).count()
            };
            let begun = count(|entry| match entry {
                LogEntry::Begin(intent) => Some((intent.step_index, intent.attempt)),
                _ => None,
            });
            let committed = count(|entry| match entry {
                LogEntry::Commit(record) => Some((record.step_index, record.attempt)),
                _ => None,
            });
            is_open(entries) && begun == committed + 1 && key == (record.step_index, record.attempt)
        };
        self.push("a record of a step that was begun", may_follow, LogEntry::Commit(Box::new(record.clone())))
    }

    async fn planned(&mut self, record: &PlanningRecord) -> Result<(), FakeError> {
        self.push("an open log", is_open, LogEntry::Planning(Box::new(record.clone())))
    }

    async fn close(&mut self, end: &RunEnd) -> Result<(), FakeError> {
        self.push("an open log", is_open, LogEntry::End(Box::new(end.clone())))
    }
}

/// Files in memory, by their digest.
#[derive(Clone, Debug, Default)]
pub struct FakeArtifacts {
    files: Shared<BTreeMap<String, Vec<u8>>>,
}

impl FakeArtifacts {
    /// The content of an artifact.
    #[must_use]
    pub fn read(&self, reference: &ArtifactRef) -> Option<Vec<u8>> {
        self.files.lock().get(&reference.sha256).cloned()
    }

    /// The number of distinct files.
    #[must_use]
    pub fn count(&self) -> usize {
        self.files.lock().len()
    }
}

impl ArtifactSink for FakeArtifacts {
    type Error = FakeError;

    async fn store(&self, kind: ArtifactKind, media_type: &str, bytes: Vec<u8>) -> Result<ArtifactRef, FakeError> {
        let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let reference = ArtifactRef {
            kind: kind.as_str().into(),
            path: format!("memory/{sha256}"),
            sha256,
            media_type: media_type.into(),
            bytes: bytes.len() as u64,
        };
        self.files.lock().insert(reference.sha256.clone(), bytes);
        Ok(reference)
    }
}

/// Records traffic, and serves responses from the record.
#[derive(Clone, Debug, Default)]
pub struct FakeTape {
    exchanges: Shared<Vec<(HttpRequest, HttpReply)>>,
    missed: Shared<Vec<HttpRequest>>,
}

impl FakeTape {
    /// Requests without a recorded response.
    #[must_use]
    pub fn missed(&self) -> Vec<HttpRequest> {
        self.missed.lock().clone()
    }
}

impl TrafficSink for FakeTape {
    type Error = FakeError;

    async fn record(&self, request: HttpRequest, reply: HttpReply, _: ExchangeTimes) -> Result<(), FakeError> {
        self.exchanges.lock().push((request, reply));
        Ok(())
    }
}

impl FixtureSource for FakeTape {
    type Error = FakeError;

    async fn reply(&self, request: &HttpRequest) -> Result<Option<HttpReply>, FakeError> {
        let found = self.exchanges.lock().iter().find(|(known, _)| known == request).map(|(_, reply)| reply.clone());
        if found.is_none() {
            self.missed.lock().push(request.clone());
        }
        Ok(found)
    }
}
