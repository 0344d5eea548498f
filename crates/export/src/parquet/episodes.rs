//! Episodes of an evaluation as one table, which joins with those of its runs.

use std::io::Write;

use arrow_array::{Array as _, RecordBatch, StructArray};
use parquet::arrow::ArrowWriter;

use super::column::{Column, nulls, rows, structure};
use super::parts::{properties, schema};
use crate::error::ExportError;

rows! { pub,
    /// The result of one episode.
    EpisodeRow {
        /// Its suite.
        suite: String,
        /// Its task.
        task: String,
        /// Its seed.
        seed: i64,
        /// The part of the suite.
        split: String,
        /// The planner that was measured.
        planner: String,
        /// The kinds of drift, if there was any.
        drift: Option<String>,
        /// Whether failed steps were repaired.
        repair: bool,
        /// `solved`, `failed`, `silentlyWrong` or `broken`.
        outcome: String,
        /// Solved, but reported as failed.
        denied: bool,
        /// What changed in the application and should not have.
        unwanted: Vec<String>,
        /// Steps that ran.
        steps: i64,
        /// Repairs of them.
        repairs: i64,
        /// Calls of the planner.
        planner_calls: i64,
        /// Tokens read by a model.
        input_tokens: i64,
        /// Tokens written by a model.
        output_tokens: i64,
        /// Duration in milliseconds, without opening the page and judging.
        duration_ms: i64,
        /// The error code of the run.
        code: Option<String>,
        /// What is wrong, in words.
        why: Option<String>,
        /// `run_id` in the table `runs`.
        run_id: Option<String>,
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
