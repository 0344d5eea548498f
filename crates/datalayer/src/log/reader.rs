//! Reads a log that a crash may have truncated anywhere.
//!
//! Invariants:
//! - A line without its end does not count. What follows the last complete line is reported as [`Torn`].
//! - Everything before is read. A complete line that is invalid is an error, never skipped.
//! - A line is at most [`MAX_LINE`] bytes. Memory is linear in the size of the log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use cuebook_grammar::record::{PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord};
use cuebook_grammar::seam::StepTicket;

use crate::error::{DataError, Doing};
use crate::log::entry::{Entry, MAX_LINE};
use crate::log::ledger::Ledger;

/// A run, from its log.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// The header. `None` only if the log has no complete entry.
    pub header: Option<RunHeader>,
    /// Calls of models, in order. Steps refer to their positions.
    pub calls: Vec<PlanningRecord>,
    /// Committed steps, in order.
    pub steps: Vec<StepRecord>,
    /// Steps that were begun and not committed. Whether they sent input is unknown.
    pub open: Vec<StepIntent>,
    /// The end. `None` if the run was cut off.
    pub end: Option<RunEnd>,
    /// The incomplete last line, if any.
    pub torn: Option<Torn>,
}

/// The rest of a log after its last complete line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Torn {
    /// 1-based line.
    pub line: u64,
    /// Its offset in the log, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Run {
    /// Reads the log at `path`. Blocks; costs one pass over the file.
    ///
    /// # Errors
    /// [`DataError::Io`]; [`DataError::Line`] for a complete line that is not an entry, is out of order or belongs to
    /// another run.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(DataError::io(Doing::Read, path))?;
        read_from(BufReader::with_capacity(1 << 16, file), path)
    }

    /// As [`Run::read`], from memory.
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
        // A power failure during a write may leave blocks of zeros, which JSON text cannot contain.
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

/// Reads to the end of the line, but at most one byte more than [`MAX_LINE`].
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
