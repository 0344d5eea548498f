//! Reads a log that a crash may have cut anywhere.
//!
//! Invariants:
//! - A line counts once its end is there. What follows the last whole line is reported as [`Torn`].
//! - Everything before a tear is read; a whole line that makes no sense is an error, never skipped.
//! - A line is bounded by [`MAX_LINE`]; memory grows with the log and nothing else.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use cuebook_grammar::record::{PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use cuebook_grammar::seam::StepTicket;

use crate::error::{DataError, Doing};
use crate::log::{Entry, Ledger, MAX_LINE};

/// A run as its log tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The run; absent only if nothing whole was written.
    pub header: Option<RunHeader>,
    /// Calls of models, in that order: the position of one is what steps name it by.
    pub calls: Vec<PlanningRecord>,
    /// Steps that were committed, in that order.
    pub steps: Vec<StepRecord>,
    /// Steps that were begun and not committed: whether they sent input is unknown.
    pub open: Vec<StepIntent>,
    /// The end; absent if the run was cut off.
    pub end: Option<RunEnd>,
    /// What was cut off, if something was.
    pub torn: Option<Torn>,
}

/// The rest of a log after its last whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// The line, from 1.
    pub line: u64,
    /// Where it begins, in bytes from the start of the log.
    pub offset: u64,
    /// How much of it is there, in bytes.
    pub bytes: u64,
}

impl Run {
    /// Reads the log at `path`. Blocks; costs one pass over the file.
    ///
    /// # Errors
    /// [`DataError::Io`]; [`DataError::Line`] with the number of a whole line that is no entry, stands out
    /// of order or belongs to another run.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(DataError::io(Doing::Read, path))?;
        read_from(BufReader::with_capacity(1 << 16, file), path)
    }

    /// Reads a log from memory, as [`Run::read`] does.
    ///
    /// # Errors
    /// As [`Run::read`].
    pub fn read_bytes(log: &[u8]) -> Result<Self, DataError> {
        read_from(log, Path::new("memory"))
    }
}

fn read_from(mut source: impl BufRead, path: &Path) -> Result<Run, DataError> {
    let mut builder = Builder::default();
    let mut offset = 0;
    let mut buffer = Vec::new();
    for line in 1.. {
        let in_line = |source: DataError| DataError::Line { line, source: Box::new(source) };
        let bytes = read_line(&mut source, &mut buffer).map_err(DataError::io(Doing::Read, path))?;
        if bytes == 0 {
            break;
        }
        if bytes > MAX_LINE {
            return Err(in_line(DataError::TooLong { limit: MAX_LINE, seen: bytes }));
        }
        // A write that a power failure interrupted may leave blocks of zeros, which no JSON text holds.
        let is_whole = buffer.last() == Some(&b'\n') && !buffer.contains(&0);
        let is_last = is_whole || source.fill_buf().map_err(DataError::io(Doing::Read, path))?.is_empty();
        if !is_whole && is_last {
            builder.run.torn = Some(Torn { line, offset, bytes });
            break;
        }
        Entry::read(&buffer).and_then(|entry| builder.add(entry)).map_err(in_line)?;
        offset += bytes;
    }
    Ok(builder.finish())
}

/// Reads up to the end of the line, and at most one byte more than is allowed.
fn read_line(source: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<u64> {
    buffer.clear();
    Ok(source.take(MAX_LINE + 1).read_until(b'\n', buffer)? as u64)
}

#[derive(Default)]
struct Builder {
    run: Run,
    ledger: Ledger,
    open: BTreeMap<(u32, u32), (usize, StepIntent)>,
    begun: usize,
}

impl Builder {
    fn add(&mut self, entry: Entry) -> Result<(), DataError> {
        match entry {
            Entry::Header(header) => {
                self.ledger.open(&header)?;
                self.run.header = Some(*header);
            }
            Entry::Planning(record) => {
                self.ledger.planned(&record)?;
                self.run.calls.push(*record);
            }
            Entry::Begin(intent) => {
                let StepTicket { step_index, attempt } = self.ledger.begin(&intent)?;
                self.open.insert((step_index, attempt), (self.begun, *intent));
                self.begun += 1;
            }
            Entry::Commit(record) => {
                let key = (record.step_index, record.attempt);
                self.ledger.commit(&StepTicket { step_index: key.0, attempt: key.1 }, &record)?;
                self.open.remove(&key);
                self.run.steps.push(*record);
            }
            Entry::End(end) => {
                self.ledger.close(&end)?;
                self.run.end = Some(*end);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Run {
        let mut open: Vec<_> = self.open.into_values().collect();
        open.sort_by_key(|(position, _)| *position);
        self.run.open = open.into_iter().map(|(_, intent)| intent).collect();
        self.run
    }
}
