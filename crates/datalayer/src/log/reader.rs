//! Reads a log that a crash may have truncated anywhere.
//!
//! Invariants:
//! - A line without its end does not count. What follows the last complete line is reported as [`Torn`].
//! - Everything before is read. A complete line that is invalid is an error, never skipped.
//! - A line is at most [`MAX_LINE`] bytes. [`Entries`] holds one line and the numbers of the steps; [`Run`] holds all.
//! - [`Following`] reads each entry once, in the order in which they are written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use cuebook_grammar::record::{
    EventRecord, ObservationRecord, PlanningRecord, RunEnd, RunHeader, StepIntent, StepRecord,
};

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
    /// The observations that were kept, in order. [`Observations`](super::Observations) reads their content.
    pub observations: Vec<ObservationRecord>,
    /// Committed steps, in order.
    pub steps: Vec<StepRecord>,
    /// Events between them, in order, each with the number of steps that were committed before it.
    pub events: Vec<(usize, EventRecord)>,
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
    /// 1-based line that is incomplete.
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
        Self::of(Entries::open(path)?)
    }

    /// As [`Run::read`], from memory.
    ///
    /// # Errors
    /// As [`Run::read`].
    pub fn read_bytes(log: &[u8]) -> Result<Self, DataError> {
        Self::of(Entries::new(log, Path::new("memory")))
    }

    fn of(mut entries: Entries<impl BufRead>) -> Result<Self, DataError> {
        let mut run = Self::default();
        for entry in &mut entries {
            run.add(entry?);
        }
        run.torn = entries.torn;
        Ok(run)
    }

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Header(header) => self.header = Some(*header),
            Entry::Planning(record) => self.calls.push(*record),
            Entry::Observed(record) => self.observations.push(*record),
            Entry::Event(record) => self.events.push((self.steps.len(), *record)),
            Entry::Begin(intent) => self.open.push(*intent),
            Entry::Commit(record) => {
                let key = (record.step_index, record.attempt);
                self.open.retain(|intent| (intent.step_index, intent.attempt) != key);
                self.steps.push(*record);
            }
            Entry::End(end) => self.end = Some(*end),
        }
    }
}

/// A run whose log may still grow.
#[derive(Debug)]
pub struct Following {
    entries: Entries<BufReader<File>>,
    run: Run,
}

impl Following {
    /// Opens the log at `path`, and reads nothing yet.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn open(path: &Path) -> Result<Self, DataError> {
        Ok(Self { entries: Entries::open(path)?, run: Run::default() })
    }

    /// Reads what was written since the last call. Returns `true` if there was anything. Blocks; costs what is new.
    ///
    /// # Errors
    /// As [`Run::read`].
    pub fn read_on(&mut self) -> Result<bool, DataError> {
        self.entries.go_on()?;
        let mut is_news = false;
        for entry in &mut self.entries {
            self.run.add(entry?);
            is_news = true;
        }
        self.run.torn = self.entries.torn;
        Ok(is_news)
    }

    /// The run as far as it was read.
    #[must_use]
    pub const fn run(&self) -> &Run {
        &self.run
    }
}

/// The entries of a log, one after another: for runs that are larger than memory. Ends after the first error.
#[derive(Debug)]
pub struct Entries<R> {
    source: R,
    path: PathBuf,
    ledger: Ledger,
    buffer: Vec<u8>,
    line: u64,
    /// Complete lines, and where they end.
    lines: u64,
    offset: u64,
    torn: Option<Torn>,
    is_over: bool,
}

impl Entries<BufReader<File>> {
    /// Opens the log at `path`.
    ///
    /// # Errors
    /// [`DataError::Io`]
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(DataError::io(Doing::Read, path))?;
        Ok(Self::new(BufReader::with_capacity(1 << 16, file), path))
    }
}

impl Entries<BufReader<File>> {
    /// Goes back to the end of the last complete line, to read what was written since.
    fn go_on(&mut self) -> Result<(), DataError> {
        self.source.seek(SeekFrom::Start(self.offset)).map_err(DataError::io(Doing::Read, &self.path))?;
        (self.line, self.torn, self.is_over) = (self.lines, None, false);
        Ok(())
    }
}

impl<R: BufRead> Entries<R> {
    /// The entries of any source; errors name `path`.
    pub fn new(source: R, path: &Path) -> Self {
        let path = path.to_owned();
        Self {
            source,
            path,
            ledger: Ledger::default(),
            buffer: Vec::new(),
            line: 0,
            lines: 0,
            offset: 0,
            torn: None,
            is_over: false,
        }
    }

    /// The incomplete last line, once all entries were read.
    #[must_use]
    pub const fn torn(&self) -> Option<Torn> {
        self.torn
    }

    fn read(&mut self) -> Result<Option<Entry>, DataError> {
        loop {
            match self.read_line()? {
                Line::Entry(entry) => return Ok(Some(*entry)),
                // A kind that this version does not know yet.
                Line::Later => {}
                Line::End => return Ok(None),
            }
        }
    }

    fn read_line(&mut self) -> Result<Line, DataError> {
        self.line = self.line.saturating_add(1);
        let line = self.line;
        let in_line = |source: DataError| DataError::Line { line, source: Box::new(source) };
        let bytes = next_line(&mut self.source, &mut self.buffer).map_err(DataError::io(Doing::Read, &self.path))?;
        if bytes == 0 {
            return Ok(Line::End);
        }
        if bytes > MAX_LINE {
            return Err(in_line(DataError::TooLong { limit: MAX_LINE, seen: bytes }));
        }
        // A power failure during a write may leave blocks of zeros, which JSON text cannot contain.
        let is_whole = self.buffer.last() == Some(&b'\n') && !self.buffer.contains(&0);
        let is_last = is_whole || self.source.fill_buf().map_err(DataError::io(Doing::Read, &self.path))?.is_empty();
        if !is_whole && is_last {
            self.torn = Some(Torn { line, offset: self.offset, bytes });
            return Ok(Line::End);
        }
        let entry = Entry::read(&self.buffer).map_err(in_line)?;
        (self.lines, self.offset) = (line, self.offset.saturating_add(bytes));
        let Some(entry) = entry else { return Ok(Line::Later) };
        self.ledger.add(&entry).map_err(in_line)?;
        Ok(Line::Entry(Box::new(entry)))
    }
}

enum Line {
    Entry(Box<Entry>),
    Later,
    End,
}

impl<R: BufRead> Iterator for Entries<R> {
    type Item = Result<Entry, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = self.read().transpose();
        self.is_over = !matches!(read, Some(Ok(_)));
        read
    }
}

/// Reads to the end of the line, but at most one byte more than [`MAX_LINE`].
fn next_line(source: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<u64> {
    buffer.clear();
    Ok(source.take(MAX_LINE + 1).read_until(b'\n', buffer)? as u64)
}
