//! Tables read back as the entries of a log, as far as metrics count them.
//!
//! Invariants:
//! - Each entry goes through the reader of logs: what metrics count of a table is what they count of a log.
//! - The rows of a run are read in the order of its log, one run after another: memory is that of one run.
//! - Rows of no run are an error, and so are columns of other types than an export writes.

use std::fs::File;
use std::iter::{self, Peekable};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field};
use cuebook_datalayer::Entry;
use cuebook_grammar::render::with_sources;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use serde_json::{Map, Value, json};

use super::column::Column;
use super::tables::{ConditionRow, PlanningRow, RequestRow, RunRow, StepRow};
use crate::error::ExportError;
use crate::folder::{List, is_below};
use crate::format::{Format, Redaction};

const RUNS: &[&str] =
    &["run_id", "started", "ended", "result", "command", "task", "url", "cuebook", "log_version", "case", "plan"];
const PLANNING: &[&str] = &[
    "run_id",
    "planning_index",
    "ended",
    "engine",
    "model",
    "purpose",
    "input_tokens",
    "output_tokens",
    "latency_ms",
    "requests",
    "result",
    "violations",
    "failure_code",
    "failure_message",
];
const STEPS: &[&str] = &[
    "run_id",
    "step_index",
    "attempt",
    "origin",
    "planning_index",
    "started",
    "duration_ms",
    "url",
    "action_json",
    "targets",
    "declared_json",
    "risk",
    "effect_class",
    "result",
    "failure_stage",
    "failure_cause",
    "failure_message",
];
const CONDITIONS: &[&str] =
    &["run_id", "step_index", "attempt", "phase", "condition_json", "verdict", "vacuous", "is_default", "latency_ms"];
const REQUESTS: &[&str] = &[
    "run_id",
    "step_index",
    "attempt",
    "method",
    "url",
    "status",
    "failure",
    "retry_after_ms",
    "denied_rule",
    "duration_ms",
];
/// Columns by which rows belong to a run, and to an attempt of a step.
const OF_RUN: &[&str] = &["run_id"];
const OF_ATTEMPT: &[&str] = &["run_id", "step_index", "attempt"];

/// The tables of an export to Parquet, to be counted.
#[derive(Debug)]
pub struct ExportedTables {
    folder: PathBuf,
    redaction: Redaction,
    /// The first run of each part, and the file of its runs. Ids begin with the time of the start.
    parts: Vec<(String, String)>,
}

impl ExportedTables {
    /// Opens the export in a folder; `None` if there is none.
    ///
    /// # Errors
    /// [`ExportError::Io`] if its list cannot be read, and [`ExportError::NoTables`] if it has another format.
    pub fn open(folder: &Path) -> Result<Option<Self>, ExportError> {
        let list = List::read(folder)?;
        let redaction = match list.holds() {
            None => return Ok(None),
            Some((Format::Parquet, redaction)) => redaction,
            Some((other, _)) => return Err(ExportError::NoTables { path: folder.to_owned(), seen: other.as_str() }),
        };
        let whole = list.units().into_values().filter(|unit| !unit.inputs.is_empty());
        let of_runs = |file: &&String| file.starts_with("runs/") && is_below(file);
        let mut parts: Vec<(String, String)> = whole
            .filter_map(|unit| Some((unit.runs.first()?.0.clone(), unit.files.iter().find(of_runs)?.clone())))
            .collect();
        parts.sort();
        Ok(Some(Self { folder: folder.to_owned(), redaction, parts }))
    }

    /// The redaction of the export. Under [`Redaction::Strict`], things that differ in their texts alone are one.
    #[must_use]
    pub const fn redaction(&self) -> Redaction {
        self.redaction
    }

    /// Hands each run to `take`: its header, calls of models, steps and end, in the order of their parts. Observations, events,
    /// and what metrics do not count of the others are missing. Returns the number of runs of which the tables, of a
    /// version before 1.4, do not say to which test case they belong.
    ///
    /// # Errors
    /// [`ExportError::Table`] if a table cannot be read, or its rows are not entries or not those of the runs.
    pub fn each(&self, take: &mut dyn FnMut(Vec<Entry>)) -> Result<usize, ExportError> {
        let mut caseless = 0;
        for (_, part) in &self.parts {
            let path = |table: &str| self.folder.join(part.replacen("runs", table, 1));
            let runs = rows::<RunRow>(path("runs"), RUNS)?;
            let mut planning = rows::<PlanningRow>(path("planning"), PLANNING)?;
            let mut steps = rows::<StepRow>(path("steps"), STEPS)?;
            let mut conditions = rows::<ConditionRow>(path("conditions"), CONDITIONS)?;
            let mut requests = rows::<RequestRow>(path("requests"), REQUESTS)?;
            for run in runs {
                let run = run?;
                caseless += usize::from(run["command"] == "test" && run.get("case").is_none());
                let mut entries = vec![header(&run)];
                entries.extend(of(&mut planning, &run, OF_RUN)?.iter().map(|call| planned(&run, call)));
                for row in of(&mut steps, &run, OF_RUN)? {
                    let judged = of(&mut conditions, &row, OF_ATTEMPT)?;
                    let sent = of(&mut requests, &row, OF_ATTEMPT)?;
                    entries.push(step(&run, &row, &judged, &sent));
                }
                if !run["result"].is_null() {
                    let (id, ended, result) = (&run["run_id"], &run["ended"], &run["result"]);
                    entries.push(json!({ "entry": "end", "runId": id, "tsMs": ended, "result": result }));
                }
                let entries = entries.iter().map(|entry| Entry::read(entry.to_string().as_bytes()));
                let entries = entries.filter_map(Result::transpose).collect::<Result<_, _>>();
                let id = run["run_id"].as_str().unwrap_or_default();
                take(entries.map_err(|error| wrong(&path("steps"), format!("run {id}: {}", with_sources(&error))))?);
            }
            let rest = [("planning", planning), ("steps", steps), ("conditions", conditions), ("requests", requests)];
            for (table, mut rows) in rest {
                if rows.next().is_some() {
                    let why = "its rows are not those of the table `runs`, in their order".to_owned();
                    return Err(wrong(&path(table), why));
                }
            }
        }
        Ok(caseless)
    }
}

/// The rows of a file as objects, by column. A column that an earlier version lacks is no member.
type Rows = Peekable<Box<dyn Iterator<Item = Result<Value, ExportError>>>>;

fn rows<T: Column>(path: PathBuf, columns: &[&str]) -> Result<Rows, ExportError> {
    let opened = || {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(&path)?, options)?;
        let DataType::Struct(known) = T::data_type() else { unreachable!("rows are structs") };
        for column in known.iter().filter(|column| columns.contains(&column.name().as_str())) {
            let seen = builder.schema().field_with_name(column.name()).ok().map(Field::data_type);
            if seen.map_or(!column.is_nullable(), |seen| seen != column.data_type()) {
                let seen = seen.map_or_else(|| "none".to_owned(), ToString::to_string);
                let (name, expected) = (column.name(), column.data_type());
                let why = format!("expected the column `{name}` of type {expected}, saw {seen}");
                return Err(ParquetError::General(why));
            }
        }
        // The reader would panic.
        let chunks = builder.metadata().row_groups().iter().flat_map(|group| group.columns());
        let places = chunks
            .flat_map(|one| [Some(one.compressed_size()), Some(one.data_page_offset()), one.dictionary_page_offset()]);
        if places.flatten().any(|place| place < 0) {
            return Err(ParquetError::General("a place in the file is negative".to_owned()));
        }
        let names = builder.schema().fields().iter().enumerate();
        let places = names.filter(|(_, field)| columns.contains(&field.name().as_str())).map(|(at, _)| at);
        let mask = ProjectionMask::roots(builder.parquet_schema(), places);
        builder.with_projection(mask).build()
    };
    let batches = opened().map_err(|error| wrong(&path, error.to_string()))?;
    let objects = move |batch: Result<RecordBatch, ArrowError>| {
        let batch = batch.map(StructArray::from).map_err(|error| wrong(&path, error.to_string()));
        let (rows, error) = batch.map_or_else(|error| (None, Some(Err(error))), |rows| (Some(rows), None));
        rows.into_iter().flat_map(|rows| (0..rows.len()).map(move |at| Ok(value(&rows, at)))).chain(error)
    };
    Ok((Box::new(batches.flat_map(objects)) as Box<dyn Iterator<Item = _>>).peekable())
}

/// A value of a column, of a type that rows have. Times are milliseconds since 1970.
fn value(array: &dyn Array, at: usize) -> Value {
    if array.is_null(at) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(at).into(),
        DataType::Boolean => array.as_boolean().value(at).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).into(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(at).into(),
        DataType::Timestamp(..) => (array.as_primitive::<TimestampMicrosecondType>().value(at) / 1_000).into(),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(at);
            (0..items.len()).map(|at| value(items.as_ref(), at)).collect()
        }
        DataType::Struct(fields) => {
            let members = fields.iter().zip(array.as_struct().columns());
            Value::Object(members.map(|(field, column)| (field.name().clone(), value(column, at))).collect())
        }
        _ => Value::Null,
    }
}

/// The next rows, as long as they have the values of `owner` in these columns.
fn of(rows: &mut Rows, owner: &Value, columns: &[&str]) -> Result<Vec<Value>, ExportError> {
    let fits = |row: &Value| columns.iter().all(|column| row[*column] == owner[*column]);
    iter::from_fn(|| rows.next_if(|row| row.as_ref().map_or(true, fits))).collect()
}

fn wrong(path: &Path, why: String) -> ExportError {
    ExportError::Table { path: path.to_owned(), why }
}

/// The value of a column of JSON; null if it has none.
fn parsed(row: &Value, column: &str) -> Value {
    row[column].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn header(run: &Value) -> Value {
    json!({ "entry": "header", "schemaVersion": run["log_version"], "runId": run["run_id"], "tsMs": run["started"],
            "cuebook": run["cuebook"], "command": run["command"], "task": run["task"], "url": run["url"],
            "plan": run["plan"], "case": run["case"] })
}

fn planned(run: &Value, call: &Value) -> Value {
    let end = match call["result"].as_str() {
        Some("invalid") => json!({ "invalid": { "violations": call["violations"] } }),
        Some("failed") => json!({ "failed": { "code": call["failure_code"], "message": call["failure_message"] } }),
        _ => call["result"].clone(),
    };
    json!({ "entry": "planning", "schemaVersion": run["log_version"], "runId": call["run_id"],
            "planningIndex": call["planning_index"], "tsMs": call["ended"],
            "call": { "engine": call["engine"], "model": call["model"], "purpose": call["purpose"], "input": [],
                      "output": "", "inputTokens": call["input_tokens"], "outputTokens": call["output_tokens"],
                      "latencyMs": call["latency_ms"], "attempts": call["requests"], "end": end } })
}

fn step(run: &Value, row: &Value, judged: &[Value], sent: &[Value]) -> Value {
    let check = |phase: &str| -> Vec<Value> {
        let of_phase = judged.iter().filter(|one| one["phase"] == phase);
        let judged = of_phase.map(|one| {
            json!({ "condition": parsed(one, "condition_json"), "verdict": one["verdict"], "vacuous": one["vacuous"],
                    "default": one["is_default"], "latencyMs": one["latency_ms"] })
        });
        judged.collect()
    };
    let sent = sent.iter().filter(|one| one["denied_rule"].is_null()).map(|one| {
        json!({ "method": one["method"], "url": one["url"], "status": one["status"], "failure": one["failure"],
                "retryAfterMs": one["retry_after_ms"], "durationMs": one["duration_ms"] })
    });
    let failure = (!row["failure_cause"].is_null()).then(
        || json!({ "stage": row["failure_stage"], "cause": row["failure_cause"], "message": row["failure_message"] }),
    );
    json!({ "entry": "commit", "schemaVersion": run["log_version"], "runId": row["run_id"],
            "stepIndex": row["step_index"], "attempt": row["attempt"], "origin": row["origin"],
            "planning": row["planning_index"], "action": parsed(row, "action_json"), "url": row["url"],
            "candidates": targets(row), "risk": row["risk"], "effectClass": row["effect_class"],
            "execution": { "tsMs": row["started"], "durationMs": row["duration_ms"] }, "preCheck": check("pre"),
            "postCheck": check("post"), "effects": { "requests": sent.collect::<Vec<_>>() },
            "result": row["result"], "failure": failure })
}

/// The targets by which a step is named.
fn targets(row: &Value) -> Map<String, Value> {
    let declared = parsed(row, "declared_json");
    let declared = declared.as_object().into_iter().flatten();
    let declared = declared.map(|(target, locator)| (target.clone(), json!({ "declared": locator })));
    let observed = row["targets"].as_array().into_iter().flatten().filter(|target| !target["role"].is_null());
    let observed = observed.filter_map(|target| {
        let (role, name, context) = (&target["role"], &target["name"], &target["context"]);
        let candidate = json!({ "id": "c1", "role": role, "name": name, "context": context,
                                "fingerprint": { "role": role, "name": name, "path": "" } });
        Some((target["target_ref"].as_str()?.to_owned(), json!({ "observed": candidate })))
    });
    declared.chain(observed).collect()
}
