//! Parquet files: one of each table a part, a part for as many runs of a day as make a good file.
//!
//! Invariants:
//! - The files of a part have one name, and are listed together once all are complete.
//! - A run that has not ended is a part of its own, so that it can be replaced when it has.
//! - A row group holds at most 122,880 rows and 16 MiB a table, which bounds what is held in memory.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;

use arrow_array::{Array as _, RecordBatch, StructArray};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use cuebook_datalayer::embedding;
use cuebook_grammar::secret::MASK;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::column::Column;
use super::episodes::EpisodeRow;
use super::tables::{self, CandidateRow, ConditionRow, PlanningRow, RequestRow, RunRow, StepRow};
use super::vector_row::VectorRow;
use crate::error::ExportError;
use crate::folder::{Folder, Part, Unit};
use crate::format::Redaction;
use crate::job::{Job, inputs};
use crate::source::{ExportEntry, Pages, RunSource};

/// The version of the tables, in the metadata of each file as `cuebook.schemaVersion`. The minor version is raised when a
/// column is added, at the end of its table and nullable. Nothing else ever changes, so files of all versions can be
/// read together.
pub const SCHEMA_VERSION: &str = "1.4";

/// Log bytes of a part. A log shrinks to about a tenth, so that files come to tens of megabytes.
const PART: u64 = 512 << 20;
const GROUP_ROWS: usize = 122_880;
const GROUP_BYTES: usize = 16 << 20;
/// Rows that are made into columns together.
const BATCH: usize = 1_024;
/// Bytes of them, roughly.
const BATCH_BYTES: usize = 4 << 20;

/// The columns of each table, a line each: `steps.targets.element.role: Utf8?`, where `?` means that it may be null.
#[must_use]
pub fn columns() -> String {
    let mut out = String::new();
    for (table, data_type) in tables() {
        list(&mut out, table, &data_type);
    }
    out
}

fn tables() -> [(&'static str, DataType); 8] {
    [
        ("runs", RunRow::data_type()),
        ("steps", StepRow::data_type()),
        ("conditions", ConditionRow::data_type()),
        ("candidates", CandidateRow::data_type()),
        ("requests", RequestRow::data_type()),
        ("planning", PlanningRow::data_type()),
        ("episodes", EpisodeRow::data_type()),
        ("vectors", VectorRow::data_type()),
    ]
}

fn list(out: &mut String, above: &str, data_type: &DataType) {
    let mut one = |field: &FieldRef| {
        let path = format!("{above}.{}", field.name());
        let absent = if field.is_nullable() { "?" } else { "" };
        // Writing to a string cannot fail.
        let _ = match field.data_type() {
            DataType::Struct(_) => writeln!(out, "{path}: Struct{absent}"),
            DataType::List(_) => writeln!(out, "{path}: List{absent}"),
            DataType::FixedSizeList(element, size) => {
                writeln!(out, "{path}: FixedSizeList({size} of {}){absent}", element.data_type())
            }
            DataType::Timestamp(..) => writeln!(out, "{path}: Timestamp(us, UTC){absent}"),
            plain => writeln!(out, "{path}: {plain}{absent}"),
        };
        list(out, &path, field.data_type());
    };
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(one),
        DataType::List(element) => one(element),
        _ => {}
    }
}

/// Exports runs that are not in the folder yet.
pub(crate) fn export(job: &mut Job<'_>, runs: &[RunSource]) -> Result<(), ExportError> {
    export_parts(job, runs, part)
}

/// Writes the files of a part: the runs, and the date in the names of their folders.
pub(super) type WritePart = fn(&mut Job<'_>, &[&RunSource], &str) -> Result<(), ExportError>;

/// Exports runs that are not in the folder yet, by parts.
pub(super) fn export_parts(job: &mut Job<'_>, runs: &[RunSource], part: WritePart) -> Result<(), ExportError> {
    let wanted = due(job, runs)?;
    job.skip(runs.len() - wanted.len());
    let mut start = 0;
    while let Some(first) = wanted.get(start) {
        let date = date(first);
        let mut bytes = 0;
        let fits = wanted.iter().skip(start).take_while(|run| {
            let is_first = bytes == 0;
            bytes += run.bytes.max(1);
            is_first || (first.result.is_some() && run.result.is_some() && bytes <= PART && self::date(run) == date)
        });
        let end = start + fits.count();
        part(job, wanted.get(start..end).unwrap_or_default(), &date)?;
        start = end;
    }
    Ok(())
}

fn date(run: &RunSource) -> String {
    cuebook_datalayer::run_dir::utc(run.started_ms).chars().take(10).collect()
}

/// The runs that are to be written, oldest first. Parts with a run that has changed are removed.
fn due<'a>(job: &mut Job<'_>, runs: &'a [RunSource]) -> Result<Vec<&'a RunSource>, ExportError> {
    let parts: Vec<Unit> = job.folder.units().cloned().collect();
    let given: std::collections::BTreeMap<&str, &RunSource> = runs.iter().map(|run| (run.id.as_str(), run)).collect();
    let mut there = std::collections::BTreeSet::new();
    for part in parts {
        let is_whole = job.folder.has(&part.name, &part.inputs);
        let changed = part.runs.iter().find_map(|(id, bytes)| given.get(id.as_str()).filter(|run| run.bytes != *bytes));
        if is_whole && changed.is_none() {
            let held: Vec<&str> =
                part.runs.iter().filter_map(|(id, _)| given.get(id.as_str()).map(|run| run.id.as_str())).collect();
            if !held.is_empty() {
                job.exported.kept += part.files.len();
            }
            there.extend(held);
            continue;
        }
        // What is not given could not be written again.
        if let Some(run) = changed.filter(|_| part.runs.iter().any(|(id, _)| !given.contains_key(id.as_str()))) {
            return Err(ExportError::Changed { run: run.path(), part: part.name });
        }
        job.folder.remove(&part.name)?;
    }
    Ok(runs.iter().filter(|run| !there.contains(run.id.as_str())).collect())
}

fn part(job: &mut Job<'_>, runs: &[&RunSource], date: &str) -> Result<(), ExportError> {
    let inputs = inputs(runs.iter().copied());
    let name = format!("part-{inputs}");
    let mut tables = Tables::create(&job.folder, date, &name)?;
    for run in runs {
        let mut row = None;
        let problem = job.read(run, &mut |seen, pages: &Pages| tables.take(&mut row, seen, pages))?;
        if let Some(row) = row {
            // It may quote the log, and names folders.
            let unreadable = match job.redaction {
                Redaction::None => problem,
                Redaction::Strict => problem.map(|_| MASK.to_owned()),
            };
            tables.runs.push(RunRow { unreadable, ..row }, 500)?;
        }
    }
    job.add(unit(name, inputs, runs), tables.close()?)
}

/// A part in the list.
pub(super) fn unit(name: String, inputs: String, runs: &[&RunSource]) -> Unit {
    let runs = runs.iter().map(|run| (run.id.clone(), run.bytes)).collect();
    Unit { name, inputs, files: Vec::new(), runs }
}

/// The tables of a part.
struct Tables {
    runs: Table<RunRow>,
    steps: Table<StepRow>,
    conditions: Table<ConditionRow>,
    candidates: Table<CandidateRow>,
    requests: Table<RequestRow>,
    planning: Table<PlanningRow>,
}

impl Tables {
    fn create(folder: &Folder, date: &str, part: &str) -> Result<Self, ExportError> {
        let file = |table: &str| folder.file(&format!("{table}/date={date}/{part}.parquet"));
        Ok(Self {
            runs: Table::create(file("runs")?)?,
            steps: Table::create(file("steps")?)?,
            conditions: Table::create(file("conditions")?)?,
            candidates: Table::create(file("candidates")?)?,
            requests: Table::create(file("requests")?)?,
            planning: Table::create(file("planning")?)?,
        })
    }

    fn take(&mut self, run: &mut Option<RunRow>, seen: ExportEntry, pages: &Pages) -> Result<(), ExportError> {
        match seen {
            ExportEntry::Header(header) => *run = Some(RunRow::new(&header)),
            ExportEntry::Observed(record) => {
                if let Some(run) = run {
                    run.observations += 1;
                }
                if let Some(page) = pages.get(record.observation) {
                    for row in tables::candidates(&record, page) {
                        self.candidates.push(row, 1_000)?;
                    }
                }
            }
            ExportEntry::Planning(record) => {
                if let Some(run) = run {
                    run.call(&record);
                }
                let row = PlanningRow::new(&record);
                let bytes = row.output.len() + row.input.iter().map(|message| message.text.len()).sum::<usize>();
                self.planning.push(row, bytes)?;
            }
            ExportEntry::Step(record) => {
                if let Some(run) = run {
                    run.steps += 1;
                    run.failed_steps += i64::from(record.failure.is_some());
                }
                for row in tables::conditions(&record) {
                    self.conditions.push(row, 500)?;
                }
                for row in tables::requests(&record) {
                    self.requests.push(row, 500)?;
                }
                let row = StepRow::new(&record);
                let bytes = row.action_json.len() + row.data_json.as_ref().map_or(0, String::len);
                self.steps.push(row, 1_000 + bytes)?;
            }
            ExportEntry::End(end) => {
                if let Some(run) = run {
                    run.end(&end);
                }
            }
        }
        Ok(())
    }

    /// Completes all files. Those of runs come last.
    fn close(self) -> Result<Vec<Part>, ExportError> {
        Ok(vec![
            self.steps.close()?,
            self.conditions.close()?,
            self.candidates.close()?,
            self.requests.close()?,
            self.planning.close()?,
            self.runs.close()?,
        ])
    }
}

/// Writes a Parquet file of episodes.
///
/// # Errors
/// [`ExportError::Parquet`] if `out` cannot be written.
pub fn episodes(rows: &[EpisodeRow], out: impl Write + Send) -> Result<(), ExportError> {
    let mut writer = ArrowWriter::try_new(out, schema::<EpisodeRow>(), Some(properties()?))?;
    let array = EpisodeRow::array(&rows.iter().map(Some).collect::<Vec<_>>());
    if let Some(rows) = array.as_any().downcast_ref::<StructArray>() {
        writer.write(&RecordBatch::from(rows))?;
    }
    writer.close()?;
    Ok(())
}

/// A file under way.
pub(super) struct Table<T> {
    part: Part,
    writer: ArrowWriter<File>,
    rows: Vec<T>,
    bytes: usize,
}

impl<T: Column> Table<T> {
    pub(super) fn create(part: Part) -> Result<Self, ExportError> {
        let writer = ArrowWriter::try_new(part.handle()?, schema::<T>(), Some(properties()?))?;
        Ok(Self { part, writer, rows: Vec::new(), bytes: 0 })
    }

    /// Adds a row of about so many bytes.
    pub(super) fn push(&mut self, row: T, bytes: usize) -> Result<(), ExportError> {
        self.rows.push(row);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.rows.len() >= BATCH || self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ExportError> {
        let array = T::array(&self.rows.iter().map(Some).collect::<Vec<_>>());
        if let Some(rows) = array.as_any().downcast_ref::<StructArray>().filter(|rows| !rows.is_empty()) {
            self.writer.write(&RecordBatch::from(rows))?;
        }
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }

    pub(super) fn close(mut self) -> Result<Part, ExportError> {
        self.flush()?;
        self.writer.close()?;
        self.part.closed()
    }
}

/// Returns the properties that all files have in common.
fn properties() -> Result<WriterProperties, ExportError> {
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let metadata = vec![
        pair("cuebook.schemaVersion", SCHEMA_VERSION.to_owned()),
        pair("cuebook.vectorDimensions", embedding::DIMENSIONS.to_string()),
        pair("cuebook.vectorFunction", embedding::FUNCTION.to_owned()),
    ];
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .set_created_by(format!("cuebook {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .build())
}

fn schema<T: Column>() -> SchemaRef {
    match T::data_type() {
        DataType::Struct(fields) => Schema::new(fields).into(),
        _ => Schema::empty().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_only_ever_added_at_the_end_of_their_table_and_nullable() {
        let now = columns();
        let committed = include_str!("columns.txt");
        let parent = |line: &str| line.rsplit_once(": ").unwrap().0.rsplit_once('.').unwrap().0.to_owned();
        for line in committed.lines() {
            assert!(now.lines().any(|there| there == line), "{line} is gone or has another type");
        }
        let mut below = std::collections::BTreeMap::<String, Vec<&str>>::new();
        for line in now.lines() {
            below.entry(parent(line)).or_default().push(line);
        }
        for (above, lines) in below {
            let known = lines.iter().take_while(|line| committed.lines().any(|there| there == **line)).count();
            for new in &lines[known..] {
                assert!(!committed.lines().any(|there| there == *new), "{new} stands after a new column of {above}");
                let is_in_new =
                    !committed.lines().any(|there| there.starts_with(&format!("{above}:")) || !above.contains('.'));
                assert!(new.ends_with('?') || is_in_new, "{new} must be nullable: files of earlier versions lack it");
            }
        }
        assert_eq!(now, committed, "add the new columns to columns.txt, and raise SCHEMA_VERSION");
    }
}
