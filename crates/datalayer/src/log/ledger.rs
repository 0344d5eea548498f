//! The order of entries: the rules for the writer, the reader and the log in memory.
//!
//! Invariant: after the first entry out of order, every other is rejected.

use std::collections::BTreeMap;

use cuebook_grammar::id::RunId;
use cuebook_grammar::record::{PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use cuebook_grammar::seam::StepTicket;

use crate::error::DataError;
use crate::log::entry::Entry;

/// Calls that a step may be ahead of the log: a step may run while the call that writes it still answers, which may be the
/// reformulation of another one; both are logged when planning has ended.
const UNFINISHED: u32 = 1;

/// The state of a log that the rules need.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    phase: Phase,
    run_id: Option<RunId>,
    /// The progress of steps, by index and attempt.
    steps: BTreeMap<(u32, u32), Progress>,
    /// The index of the next call of a model.
    calls: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Begun,
    Committed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    New,
    Open,
    Closed,
    Failed,
}

impl Ledger {
    /// Takes an entry that was read.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), DataError> {
        match entry {
            Entry::Header(header) => self.open(header),
            Entry::Planning(record) => self.planned(record),
            Entry::Observed(record) => self.between(&record.run_id),
            Entry::Event(record) => self.between(&record.run_id),
            Entry::Begin(intent) => self.begin(intent).map(drop),
            Entry::Commit(record) => {
                let ticket = StepTicket { step_index: record.step_index, attempt: record.attempt };
                self.commit(&ticket, record)
            }
            Entry::End(end) => self.close(end),
        }
    }

    pub(crate) fn open(&mut self, header: &RunHeader) -> Result<(), DataError> {
        match self.phase {
            Phase::New => {
                self.phase = Phase::Open;
                self.run_id = Some(header.run_id.clone());
                Ok(())
            }
            Phase::Open => {
                self.refuse(DataError::OutOfOrder { expected: "a step or the end", seen: "a second header" })
            }
            Phase::Closed => self.refuse(AFTER_END),
            Phase::Failed => Err(DataError::LogRefuses),
        }
    }

    pub(crate) fn planned(&mut self, record: &PlanningRecord) -> Result<(), DataError> {
        self.step(&record.run_id)?;
        if record.planning_index != self.calls {
            return self.refuse(DataError::OutOfOrder { expected: "calls that are numbered from 0", seen: "a gap" });
        }
        self.calls = self.calls.saturating_add(1);
        Ok(())
    }

    /// An entry that may stand anywhere between the header and the end.
    pub(crate) fn between(&mut self, run_id: &RunId) -> Result<(), DataError> {
        self.step(run_id)
    }

    pub(crate) fn begin(&mut self, intent: &StepIntent) -> Result<StepTicket, DataError> {
        self.step(&intent.run_id)?;
        let StepIntent { step_index, attempt, planning, .. } = *intent;
        if planning.is_some_and(|call| call > self.calls.saturating_add(UNFINISHED)) {
            return self.refuse(DataError::OutOfOrder { expected: "a call that has begun", seen: "a step" });
        }
        if self.steps.insert((step_index, attempt), Progress::Begun).is_some() {
            return self.refuse(DataError::Ticket { expected: "one begin", step_index, attempt });
        }
        Ok(StepTicket { step_index, attempt })
    }

    pub(crate) fn commit(&mut self, ticket: &StepTicket, record: &StepRecord) -> Result<(), DataError> {
        self.step(&record.run_id)?;
        let StepTicket { step_index, attempt } = *ticket;
        if (record.step_index, record.attempt) != (step_index, attempt) {
            return self.refuse(DataError::Ticket { expected: "a record that fits the ticket", step_index, attempt });
        }
        if self.steps.insert((step_index, attempt), Progress::Committed) != Some(Progress::Begun) {
            return self.refuse(DataError::Ticket { expected: "a begin before the one commit", step_index, attempt });
        }
        Ok(())
    }

    pub(crate) fn close(&mut self, end: &RunEnd) -> Result<(), DataError> {
        self.step(&end.run_id)?;
        self.phase = Phase::Closed;
        Ok(())
    }

    /// Returns `true` if the run has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub(crate) fn fail(&mut self) {
        self.phase = Phase::Failed;
    }

    fn step(&mut self, run_id: &RunId) -> Result<(), DataError> {
        match (self.phase, &self.run_id) {
            (Phase::Open, Some(expected)) if expected == run_id => Ok(()),
            (Phase::Open, Some(expected)) => {
                let error = DataError::OtherRun { expected: expected.clone(), seen: run_id.clone() };
                self.refuse(error)
            }
            (Phase::Closed, _) => self.refuse(AFTER_END),
            (Phase::Failed, _) => Err(DataError::LogRefuses),
            (Phase::New | Phase::Open, _) => {
                self.refuse(DataError::OutOfOrder { expected: "a header", seen: "another entry" })
            }
        }
    }

    fn refuse<T>(&mut self, error: DataError) -> Result<T, DataError> {
        self.fail();
        Err(error)
    }
}

const AFTER_END: DataError = DataError::OutOfOrder { expected: "nothing after the end", seen: "another entry" };
