//! One line of a log.

use cuebook_grammar::id::RunId;
use cuebook_grammar::record::{
    EventRecord, ObservationRecord, PlanningRecord, RECORD_VERSION, RunEnd, RunHeader, StepIntent, StepRecord,
};
use cuebook_grammar::redaction::redacted_json;
use cuebook_grammar::seam::Redactor;
use cuebook_grammar::wire::{self, ReadError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{DataError, shown};

/// Upper bound of a line in bytes, with its end. Longer ones are neither written nor read.
pub const MAX_LINE: u64 = 64 << 20;

const TAG: &str = "entry";

/// One entry of a log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// Header of the run: always the first entry.
    Header(Box<RunHeader>),
    /// A call of a model.
    Planning(Box<PlanningRecord>),
    /// A page as it was observed, before what was decided on it.
    Observed(Box<ObservationRecord>),
    /// Something that came to pass between steps.
    Event(Box<EventRecord>),
    /// A step that starts: it may send input from now on.
    Begin(Box<StepIntent>),
    /// A step that ran.
    Commit(Box<StepRecord>),
    /// The end of the run, last.
    End(Box<RunEnd>),
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// Kind of [`Entry::Header`], always first.
    Header,
    /// A call of a model.
    Planning,
    /// A page as it was observed, before what was decided on it.
    Observed,
    /// Something that came to pass between steps.
    Event,
    /// A step that starts: it may send input from now on.
    Begin,
    /// A step that ran.
    Commit,
    /// The end of the run, last.
    End,
}

impl EntryKind {
    /// The tag on the line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Planning => "planning",
            Self::Observed => "observed",
            Self::Event => "event",
            Self::Begin => "begin",
            Self::Commit => "commit",
            Self::End => "end",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let all = [Self::Header, Self::Planning, Self::Observed, Self::Event, Self::Begin, Self::Commit, Self::End];
        all.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The line of a value of this kind, with its end, redacted.
    pub(crate) fn line<T: Serialize + DeserializeOwned>(
        self,
        body: &T,
        redactor: Option<&dyn Redactor>,
    ) -> Result<Vec<u8>, DataError> {
        let json = redacted_json(body, redactor)?;
        let fields = json.strip_prefix('{').unwrap_or(&json);
        let line = format!("{{\"{TAG}\":\"{}\",{fields}\n", self.as_str()).into_bytes();
        let seen = line.len() as u64;
        if seen > MAX_LINE { Err(DataError::TooLong { limit: MAX_LINE, seen }) } else { Ok(line) }
    }
}

impl Entry {
    /// The kind of the entry.
    #[must_use]
    pub const fn kind(&self) -> EntryKind {
        match self {
            Self::Header(_) => EntryKind::Header,
            Self::Planning(_) => EntryKind::Planning,
            Self::Observed(_) => EntryKind::Observed,
            Self::Event(_) => EntryKind::Event,
            Self::Begin(_) => EntryKind::Begin,
            Self::Commit(_) => EntryKind::Commit,
            Self::End(_) => EntryKind::End,
        }
    }

    /// The run of the entry.
    #[must_use]
    pub const fn run_id(&self) -> &RunId {
        match self {
            Self::Header(header) => &header.run_id,
            Self::Planning(record) => &record.run_id,
            Self::Observed(record) => &record.run_id,
            Self::Event(record) => &record.run_id,
            Self::Begin(intent) => &intent.run_id,
            Self::Commit(record) => &record.run_id,
            Self::End(end) => &end.run_id,
        }
    }

    /// Reads one complete line. `None` for an entry of a kind that a later minor version added.
    ///
    /// # Errors
    /// [`DataError::NotJson`], [`DataError::NotAnEntry`], or [`DataError::Version`] for an entry of
    /// another major version. Fields of a later minor version are ignored.
    pub fn read(line: &[u8]) -> Result<Option<Self>, DataError> {
        let mut fields: Map<String, Value> =
            serde_json::from_slice(line).map_err(|source| DataError::NotJson { column: source.column(), source })?;
        let version = fields.get("schemaVersion").and_then(Value::as_str).unwrap_or(RECORD_VERSION);
        if wire::check_version(version, RECORD_VERSION).is_err() {
            return Err(DataError::Version { seen: shown(version) });
        }
        let is_later = minor(version) > minor(RECORD_VERSION);
        let tag = fields.remove(TAG);
        let tag = tag.as_ref().and_then(Value::as_str);
        let Some(kind) = tag.and_then(EntryKind::parse) else {
            if tag.is_some() && is_later {
                return Ok(None);
            }
            let message = "expected the tag header, planning, observed, event, begin, commit or end";
            return Err(DataError::NotAnEntry(ReadError::new(message).under(TAG)));
        };
        let body = Value::Object(fields);
        match kind {
            EntryKind::Header => wire::read(body).map(|body| Self::Header(Box::new(body))),
            EntryKind::Planning => wire::read(body).map(|body| Self::Planning(Box::new(body))),
            EntryKind::Observed => wire::read(body).map(|body| Self::Observed(Box::new(body))),
            EntryKind::Event => wire::read(body).map(|body| Self::Event(Box::new(body))),
            EntryKind::Begin => wire::read(body).map(|body| Self::Begin(Box::new(body))),
            EntryKind::Commit => wire::read(body).map(|body| Self::Commit(Box::new(body))),
            EntryKind::End => wire::read(body).map(|body| Self::End(Box::new(body))),
        }
        .map(Some)
        .map_err(DataError::NotAnEntry)
    }
}

fn minor(version: &str) -> u32 {
    version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0)
}
